"""What the paper claims in words: each claim, a verdict on it, and what we find."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from hidiv.divergences.joint.inward_quantities import inward
from hidiv.divergences.joint.kl import joint_kl
from hidiv.divergences.joint.local_terms import Local, local_terms
from hidiv.divergences.montecarlo import Z95
from hidiv.divergences.pair import Pair
from hidiv.emissions.families.poisson import Poisson
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.report.paper import printed
from hidiv.report.paper.experiments import Experiments, Figure2, Figure3, Table1
from hidiv.types import Array

Found = Literal["holds", "holds in part", "does not hold", "cannot be checked"]
PERIOD = 30  # symbols after which the evidence of Figure 3 repeats
LONG = 10**12


@dataclass(frozen=True)
class Claim:
    """A claim, whether it holds, and what we find."""

    place: str
    said: str
    verdict: Found
    found: str

    def to_dict(self) -> dict[str, str]:
        """The fields as plain text."""
        return asdict(self)


def claims(experiments: Experiments) -> list[Claim]:
    """The claims that the finished experiments can judge, in the order of the paper."""
    trees, chains, given = experiments.trees, experiments.lengths, experiments.given
    return [
        *(_about_the_bound(trees, chains) if trees is not None and chains is not None else []),
        *_about_recursions(),
        *(_about_rates(chains) if chains is not None else []),
        *(_about_draws(trees, chains) if trees is not None and chains is not None else []),
        *(_about_evidence(given) if given is not None else []),
        *_about_formulas(),
    ]


def _about_the_bound(trees: Table1, chains: Figure2) -> list[Claim]:
    """The main conclusion, and the condition for equality."""
    gap = f"{chains.observed_rate.value:.6f} a step where the joint one is {chains.joint_rate.value:.6f}"
    on_trees = f"{trees.summed_out.value:.4f} where the trees' joint one is {trees.joint.value:.4f}"
    return [
        Claim(
            "Section I", "Do's bound is not a bound but the actual value of the divergence.", "does not hold",
            "It is the value of the joint divergence, of states and observations together. Do bounds the divergence of "
            f"what is observed, which is smaller: {gap}, {on_trees}. It stays a bound.",
        ),
        Claim(
            "Conclusion", "Do's condition for equality, equal laws of the states given the observations, is sufficient "
            "but not necessary.", "does not hold",
            "For the observed divergence it is both: the joint one exceeds it by the expected divergence of those "
            "laws, which is zero only where they are equal. Here that is "
            f"{chains.joint[-1].value - chains.observed[-1].value:.4f} at N = {chains.lengths[-1]}.",
        ),
    ]  # fmt: skip


def _about_recursions() -> list[Claim]:
    """Theorem 1 and Corollary 2, each against a second way to the same number."""
    p, q = printed.trees()
    theorem = abs(joint_kl(p, q, printed.binary_tree()).value / _recursion(p, q, printed.binary_tree()) - 1)
    chains = printed.chains()
    closed, direct = _closed_form(*chains, 2, 6), _recursion(*chains, Tree.regular(2, 6))
    return [
        Claim(
            "Theorem 1", "The inward recursion gives the exact divergence of two trees.", "holds",
            "For the joint law, on any tree. On the trees of Table I it and the sum of all local terms weighted by "
            f"visits agree to {_size(theorem)}.",
        ),
        Claim(
            "Corollary 2, equation 6", "Homogeneous trees in which every node has C children have a closed form.",
            "holds" if abs(closed / direct - 1) < 1e-12 else "does not hold",
            f"On a binary tree of 6 levels with the chains' parameters it gives {closed:.12g}, and "
            f"Theorem 1 {direct:.12g}.",
        ),
    ]  # fmt: skip


def _recursion(p: Model, q: Model, tree: Tree) -> float:
    """Theorem 1: the inward quantities, down to the root."""
    return float(_local(p, q).initial + p.initial @ inward(p, q, tree)[0])


def _closed_form(p: Model, q: Model, children: int, depth: int) -> float:
    """k_0 + mu (C I + C^2 pi + ... + C^(N-1) pi^(N-2)) k, as printed."""
    move = np.asarray(p.transitions[0])
    start, step = _terms(p, q)
    power, total = np.eye(len(move)), np.zeros_like(move)
    for level in range(1, depth):
        total += children**level * power
        power = power @ move
    return float(start + p.initial @ total @ step)


def _terms(p: Model, q: Model) -> tuple[float, Array]:
    """The paper's k of the root, and its vector k."""
    local = _local(p, q)
    emission = local.states[0]
    return float(local.initial + p.initial @ emission), np.asarray(local.rows[0] + p.transitions[0] @ emission)


def _local(p: Model, q: Model) -> Local:
    """Divergences of the initial laws, the rows and the states."""
    return Pair.models(p, q).once(local_terms)


def _about_rates(chains: Figure2) -> list[Claim]:
    """The rate, its time, and the time of the sum."""
    p, q = printed.chains()
    rate = chains.joint_rate.value
    long = joint_kl(p, q, Tree.chain(LONG), per_node=True).value
    at = chains.lengths.index(10)
    near = abs(chains.joint[at].value / 10 / rate - 1)
    last = abs(chains.joint[-1].value / chains.lengths[-1] / rate - 1)
    return [
        Claim(
            "Section III", "D / N tends to nu k, the divergence rate.", "holds",
            f"nu k is {rate:.12g}, and D / N at N = 10^12 is {long:.12g}. This is for chains with one recurrent class; "
            "with several the rate depends on where the chain starts.",
        ),
        Claim(
            "Section III", "nu k can be computed in constant time with N.", "holds",
            "The stationary law and k do not contain N: one elimination, O(d^3) for d states.",
        ),
        Claim(
            "Section III", "The closed form is computable in O(log N).", "holds",
            f"By doubling: N = 10^12 takes {LONG.bit_length()} squarings of a {p.n_states} x {p.n_states} matrix. No "
            "eigenvectors are needed for that.",
        ),
        Claim(
            "Section IV", "D / N converges very fast to the rate.", "holds",
            f"It is within {100 * near:.2g} % of it at N = 10 and within {100 * last:.2g} % at N = "
            f"{chains.lengths[-1]}: the difference shrinks like 1 / N.",
        ),
    ]  # fmt: skip


def _about_draws(trees: Table1, chains: Figure2) -> list[Claim]:
    """What the Monte Carlo of the paper shows, and what it says about Do's numbers."""
    per_step = chains.observed[-1].value / chains.lengths[-1]
    half = "; ".join(f"± {Z95 * (one.std_error or 0.0):.2g} from {one.n_samples:,} trials" for one in trees.estimates)
    return [
        Claim(
            "Section IV", "Monte Carlo clearly validates the computations.", "holds in part",
            "It averages the joint log-ratio, so it estimates the joint divergence: that one it confirms. It says "
            "nothing about the observed divergence, of which Do speaks.",
        ),
        Claim(
            "Section IV", "Many simulations are needed for a good estimate.", "holds",
            f"Ours for the trees: {half}.",
        ),
        Claim(
            "Section IV", 'Do\'s values for the trees differ by "a minor numerical issue".', "cannot be checked",
            "Do's figure is not reprinted, so that its numbers are not known here. None is needed to explain a gap "
            f"between his bound and his Monte Carlo: {trees.joint.value:.4f} bounds the observed "
            f"{trees.summed_out.value:.4f}.",
        ),
        Claim(
            "Section IV", "Do's Figure 2, where the bound is not attained at N = 100, is inconsistent with the exact "
            "values.", "does not hold",
            f"The bound is {chains.joint[-1].value / chains.lengths[-1]:.4f} a step at N = {chains.lengths[-1]} and "
            f"what is observed {per_step:.4f}: the gap that Do's figure shows is there, and does not close with N.",
        ),
    ]  # fmt: skip


def _about_evidence(given: Figure3) -> list[Claim]:
    """The posterior divergence along periodic evidence grows by the same amount in every period."""
    values = dict(zip(given.lengths, (one.value for one in given.posterior), strict=True))
    last = given.lengths[-1]
    grown, before = (values[n] - values[n - PERIOD] for n in (last, last - PERIOD))
    return [
        Claim(
            "Section IV", "There is no asymptotic behaviour of the posterior divergence, because of the irregularity "
            "of the evidence.", "does not hold",
            f"The evidence is periodic: it repeats after {PERIOD} symbols. So the divergence grows by the same amount "
            f"every {PERIOD} symbols: {before:.3f} from N = {last - 2 * PERIOD} to {last - PERIOD}, {grown:.3f} from "
            f"there to {last}, which is {grown / PERIOD:.4f} a step.",
        )
    ]  # fmt: skip


def _about_formulas() -> list[Claim]:
    """Statements of the supplement about formulas."""
    p, q = printed.chains()
    transition = np.asarray(p.transitions[0])
    values, vectors = np.linalg.eig(transition)
    tilde = (vectors * np.where(np.isclose(values, 1.0), 0.0, values)) @ np.linalg.inv(vectors)
    agrees = abs(eigenvector_route(p, q, 100) / joint_kl(p, q, 100).value - 1)
    defective = _defective()
    try:
        off = abs(eigenvector_route(*defective, 100) / joint_kl(*defective, 100).value - 1)
        fails = f"has a relative error of {off:.1g} at N = 100"
    except np.linalg.LinAlgError:  # some builds of LAPACK find the basis singular, others do not
        fails = "ends with a singular matrix"
    return [
        Claim(
            "Supplement", "The matrix pi tilde (the transition without its eigenvalue 1) is invertible.",
            "does not hold",
            "It is singular, for 0 has taken the place of the eigenvalue 1. What is invertible, and needed, is "
            f"I - pi tilde: its determinant on the paper's chains is {np.linalg.det(np.eye(2) - tilde):.3g}.",
        ),
        Claim(
            "Supplement", "The sum of powers can be computed through a basis of eigenvectors.", "holds in part",
            f"Where there is such a basis: on the paper's chains it is right to {_size(agrees)}. A chain with a "
            f"defective transition matrix has none: on one of three states the route {fails}. Doubling needs no basis "
            "and loses no digits.",
        ),
        Claim(
            "Supplement", "The formula for two Gaussians, with the same pair of parameters on both sides.",
            "does not hold", "A misprint: D(N(m1, s1) || N(m0, s0)) is meant, and with it Table I comes out.",
        ),
    ]  # fmt: skip


def eigenvector_route(p: Model, q: Model, n: int) -> float:
    """k_0 + mu ((N-1) k_1 v_1 + (I - R^(N-1)) (I - R)^(-1) (k - k_1 v_1)), R the transition without eigenvalue 1."""
    start, step = _terms(p, q)
    values, vectors = np.linalg.eig(np.asarray(p.transitions[0]))
    one = int(np.argmin(np.abs(values - 1)))
    constant = np.linalg.solve(vectors, step.astype(complex))[one] * vectors[:, one]
    rest = vectors @ np.diag(np.where(np.arange(len(values)) == one, 0.0, values)) @ np.linalg.inv(vectors)
    left = np.eye(len(step)) - np.linalg.matrix_power(rest, n - 1)
    total = (n - 1) * constant + left @ np.linalg.solve(np.eye(len(step)) - rest, step - constant)
    return float((start + p.initial @ total).real)


def _defective() -> tuple[Model, Model]:
    """Two chains of three states; the transition of the first has one eigenvector less than states."""
    law = [0.25, 0.25, 0.5]
    p = Model(law, [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]], Poisson([1.0, 2.0, 4.0]))
    return p, Model(law, [law, [0.5, 0.25, 0.25], [0.25, 0.5, 0.25]], Poisson([1.5, 0.5, 9.0]))


def _size(relative: float) -> str:
    """A relative difference in words."""
    return "the last digit of doubles" if relative < 1e-15 else f"a relative {relative:.0e}"
