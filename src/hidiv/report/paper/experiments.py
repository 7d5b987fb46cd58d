"""The paper's experiments run again: exact values, its Monte Carlo estimates, and the observed divergence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import permutations
from math import exp

import numpy as np
from numpy.typing import NDArray

from hidiv.divergences.joint.do_bound import do_bound
from hidiv.divergences.joint.kl import joint_kl, joint_kl_rate
from hidiv.divergences.montecarlo import montecarlo
from hidiv.divergences.observed.kl import observed_kl
from hidiv.divergences.observed.rate import observed_kl_rate
from hidiv.divergences.posterior.kl import posterior_kl
from hidiv.divergences.result import Divergence
from hidiv.inference.likelihood import log_likelihood
from hidiv.models.evidence import Evidence
from hidiv.models.model import Model
from hidiv.report.paper import printed
from hidiv.types import Array

Tick = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Table1:
    """Table I: estimates of the divergence of two trees over the number of trials."""

    joint: Divergence
    do: Divergence
    summed_out: Divergence  # the observed divergence, by quadrature
    estimates: list[Divergence] = field(default_factory=list)
    observed: list[Divergence] = field(default_factory=list)  # with the same numbers of trials, states summed out
    asked: list[int] = field(default_factory=list)  # numbers of trials; an interrupted run has fewer estimates


@dataclass(frozen=True, eq=False)
class Figure2:
    """Figure 2: divergences of chains over their length, and their rates."""

    lengths: list[int]
    joint: list[Divergence]
    estimates: list[Divergence]
    observed: list[Divergence]
    joint_rate: Divergence
    observed_rate: Divergence
    stationary: Array


@dataclass(frozen=True, eq=False)
class Figure3:
    """Figure 3: posterior divergences over the length of the evidence; `expected` is their mean over data of p."""

    lengths: list[int]
    posterior: list[Divergence]
    sampled: list[int]
    estimates: list[Divergence]
    expected: list[Divergence]
    log_ratios: list[float]  # log p(x) / q(x) of the evidence


@dataclass(frozen=True, eq=False)
class Supplement:
    """The supplement's example of a chain with ten steps."""

    path_p: float
    path_q: float
    joint: Divergence
    do: Divergence
    observed: Divergence
    relabelled: dict[str, float]  # the largest path probability over relabellings of states and symbols


@dataclass(frozen=True, eq=False)
class Experiments:
    """Everything the paper computes; None for what is not finished."""

    trees: Table1 | None = None
    lengths: Figure2 | None = None
    given: Figure3 | None = None
    supplement: Supplement | None = None

    @property
    def missing(self) -> list[str]:
        """What is not finished, by its place in the paper."""
        parts = {"Figure 2": self.lengths, "Figure 3": self.given, "the supplement's example": self.supplement}
        if self.trees is None:
            return ["Table I", *(place for place, part in parts.items() if part is None)]
        undrawn = self.trees.asked[len(self.trees.estimates) :]
        rows = [f"Table I, 10^{len(str(n)) - 1} trials" for n in undrawn]
        return rows + [place for place, part in parts.items() if part is None]


def run(seed: int = 0, most_trials: int = 10**6, tick: Tick = lambda _: None) -> Experiments:
    """Run all experiments; `tick` is called with the name of the next one."""
    *_, last = steps(seed, most_trials, tick)
    return last


def steps(seed: int = 0, most_trials: int = 10**6, tick: Tick = lambda _: None) -> Iterator[Experiments]:
    """Yield what is finished so far after every experiment and every row of Table I; the longest come last."""
    tick("the supplement")
    experiments = Experiments(supplement=supplement())
    yield experiments
    tick("Figure 2")
    chains = figure_2(seed)
    experiments = replace(experiments, lengths=chains)
    yield experiments
    tick("Figure 3")
    experiments = replace(experiments, given=figure_3(seed, chains))
    yield experiments
    for trees in table_1(seed, most_trials, tick):
        experiments = replace(experiments, trees=trees)
        yield experiments


def table_1(seed: int, most_trials: int, tick: Tick = lambda _: None) -> Iterator[Table1]:
    """Yield the table after each of its rows: 10^2 up to `most_trials` trees, drawn anew for each row."""
    p, q = printed.trees()
    tree = printed.binary_tree()
    asked = [row.trials for row in printed.TABLE_1 if row.trials <= most_trials]
    table = Table1(joint_kl(p, q, tree), do_bound(p, q, tree), observed_kl(p, q, tree), asked=asked)
    for k, n in enumerate(asked):
        tick(f"Table I, {n} trials")
        joint, observed = (
            montecarlo(p, q, tree, quantity=quantity, samples=n, seed=_seed(seed, k))
            for quantity in ("joint", "observed")
        )
        table = replace(table, estimates=[*table.estimates, joint], observed=[*table.observed, observed])
        yield table


def figure_2(seed: int) -> Figure2:
    """Divergences of chains of 1 to 100 nodes."""
    p, q = printed.chains()
    lengths = [1, 2, 3, 4, *range(5, 101, 5)]
    return Figure2(
        lengths,
        [joint_kl(p, q, n) for n in lengths],
        [montecarlo(p, q, n, samples=printed.FIGURE_2_TRIALS, seed=_seed(seed, 100 + n)) for n in lengths],
        [observed_kl(p, q, n) for n in lengths],
        joint_kl_rate(p, q),
        observed_kl_rate(p, q),
        p.stationary(),
    )


def figure_3(seed: int, chains: Figure2) -> Figure3:
    """Posterior divergences given the first N values of the evidence, exact for every N, sampled for every fifth."""
    p, q = printed.chains()
    lengths = list(printed.FIGURE_3_LENGTHS)
    sampled = [n for n in lengths if n % 5 == 0]
    place = {n: i for i, n in enumerate(chains.lengths)}
    return Figure3(
        lengths,
        [posterior_kl(p, q, printed.evidence(n)) for n in lengths],
        sampled,
        [
            montecarlo(
                p, q, None, quantity="posterior", evidence=printed.evidence(n),
                samples=printed.FIGURE_2_TRIALS, seed=_seed(seed, 300 + n),
            )
            for n in sampled
        ],
        [_expected(chains.joint[place[n]], chains.observed[place[n]]) for n in sampled],
        [log_likelihood(p, printed.evidence(n)) - log_likelihood(q, printed.evidence(n)) for n in lengths],
    )  # fmt: skip


def supplement() -> Supplement:
    """The probability P(S = s | X = x) under both models, the divergence D, and Do's bound U."""
    p, q = printed.chains()
    n = printed.SUPPLEMENT_N
    states, x = (np.array(values) for values in (printed.SUPPLEMENT_STATES, printed.SUPPLEMENT_X))
    relabelled = {
        name: max(path_probability(model, s, np.array(order)[x]) for s in (states, 1 - states) for order in ORDERS)
        for name, model in (("theta_1", p), ("theta_0", q))
    }
    return Supplement(
        path_probability(p, states, x),
        path_probability(q, states, x),
        joint_kl(p, q, n),
        do_bound(p, q, n),
        observed_kl(p, q, n),
        relabelled,
    )


ORDERS = list(permutations(range(3)))


def path_probability(model: Model, states: NDArray[np.int64], x: NDArray[np.int64]) -> float:
    """The probability P(S = states | X = x)."""
    only = np.eye(model.n_states, dtype=bool)[states]
    return exp(log_likelihood(model, Evidence(x, allowed=only)) - log_likelihood(model, x))


def _expected(joint: Divergence, observed: Divergence) -> Divergence:
    """The mean of the posterior divergence over observations of p: by the chain rule, joint minus observed."""
    low = None if observed.upper is None else joint.value - observed.upper
    high = None if observed.lower is None else joint.value - observed.lower
    return Divergence(
        joint.value - observed.value, "posterior", observed.status, low, high, subject=joint.subject,
        notes=["joint minus observed"],
    )  # fmt: skip


def _seed(seed: int, which: int) -> int:
    """A seed of its own for every experiment."""
    return 1000 * seed + which
