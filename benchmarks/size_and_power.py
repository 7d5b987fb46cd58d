"""How often `differ` errs under the hypothesis, how often it finds a difference, and what its intervals cover.

    python -m benchmarks.size_and_power size [REPLICATES] [FIRST SEED] [DESIGN ...]
    python -m benchmarks.size_and_power power [REPLICATES]
    python -m benchmarks.size_and_power coverage [REPLICATES]
    python -m benchmarks.size_and_power groups [REPLICATES]
    python -m benchmarks.size_and_power cost

size: data sets without a difference for every design; the shares of p-values at most .05 and .01, beside the interval
in which 95 % of such shares lie where the test is exact. power: the permutation test beside the likelihood ratio with a
chi-square law and with a parametric bootstrap, on one ladder of differences. coverage: 95 % intervals of parameters and
of divergences. groups: the intervals of divergences that `differ` returns, also where states are hardly told apart or
too many. cost: the time of the test beside that of one fit. Run by hand; the numbers stand in docs/differ.md.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from time import process_time

import numpy as np
from scipy.stats import binom, chi2

import hidiv as hd
from hidiv.answers.differ import drawn_like
from hidiv.answers.permutation import p_value, reference, statistic, whitened
from hidiv.fitting.divergence_interval import delta_method
from hidiv.fitting.evidence_forest import EvidenceForest, forest_of
from hidiv.fitting.fit import read_options, refit
from hidiv.fitting.information import covariance_of, forest_scores
from hidiv.fitting.parameter_errors import errors_of
from hidiv.inference.parameter_vector import blocks_of

PERMUTATIONS = 999
OPTIONS = read_options(1e-4, 60, 0.0, ())
TWO = [[0.9, 0.1], [0.2, 0.8]]
THREE = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
GAUSSIAN2 = hd.Model([0.5, 0.5], TWO, hd.Gaussian([0.0, 2.5], std=[1.0, 1.0]))
GAUSSIAN3 = hd.Model([0.4, 0.3, 0.3], THREE, hd.Gaussian([0.0, 2.5, 5.0], std=[1.0, 1.0, 1.0]))
POISSON2 = hd.Model([0.5, 0.5], TWO, hd.Poisson([1.0, 6.0]))
POISSON3 = hd.Model([0.4, 0.3, 0.3], THREE, hd.Poisson([1.0, 5.0, 12.0]))
SYMBOLS2 = hd.Model([0.5, 0.5], TWO, hd.Categorical([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]))
FAMILY = hd.Tree.regular(2, 4)


@dataclass(frozen=True)
class Design:
    """A law, the number of states fitted, sequences a group, their lengths (the least and the most), and a tree."""

    law: hd.Model
    fitted: int
    sequences: int
    lengths: tuple[int, int] = (40, 40)
    tree: hd.Tree | None = None
    groups: int = 2

    def words(self) -> str:
        """The design in a table."""
        what = self.law.emissions[0].name
        low, high = self.lengths
        size = f"{self.tree.n_nodes}-node trees" if self.tree else (f"{low}" if low == high else f"{low} to {high}")
        return f"{what}, {self.law.n_states} states, {self.fitted} fitted | {self.groups} x {self.sequences} | {size}"


DESIGNS = {
    "gaussian": Design(GAUSSIAN2, 2, 10),
    "gaussian_too_few": Design(GAUSSIAN3, 2, 10),
    "gaussian_too_many": Design(GAUSSIAN2, 3, 10),
    "gaussian_uneven": Design(GAUSSIAN2, 2, 10, (10, 90)),
    "gaussian_5": Design(GAUSSIAN2, 2, 5, (60, 60)),
    "poisson": Design(POISSON2, 2, 10),
    "poisson_too_few": Design(POISSON3, 2, 20, (20, 20)),
    "poisson_too_many": Design(POISSON2, 3, 10),
    "poisson_50": Design(POISSON2, 2, 50, (10, 10)),
    "symbols": Design(SYMBOLS2, 2, 10),
    "symbols_too_few": Design(SYMBOLS2, 1, 20),
    "symbols_uneven": Design(SYMBOLS2, 2, 20, (10, 60)),
    "trees": Design(GAUSSIAN2, 2, 10, tree=FAMILY),
    "trees_too_few": Design(POISSON2, 1, 10, tree=FAMILY),
    "three_groups": Design(POISSON2, 2, 8, groups=3),
}


def drawn(design: Design, laws: list[hd.Model], rng: np.random.Generator) -> tuple[EvidenceForest, np.ndarray]:
    """The sequences of all groups, group g from laws[g], and their labels."""
    items, trees, labels = [], [], []
    for g, law in enumerate(laws):
        for _ in range(design.sequences):
            tree = design.tree or hd.Tree.chain(int(rng.integers(design.lengths[0], design.lengths[1] + 1)))
            items.append(hd.sample(law, tree, seed=rng)[1])
            trees.append(tree)
            labels.append(g)
    return forest_of(items, trees, None, "none" if design.tree else None), np.array(labels)


def start_of(design: Design) -> hd.Model:
    """A model to climb from: a fit to a large sample of the law."""
    if design.fitted == design.law.n_states:
        return design.law
    forest, _ = drawn(
        Design(design.law, design.fitted, 100, design.lengths, design.tree), [design.law], np.random.default_rng(9)
    )
    return hd.fit(forest, None, design.fitted, design.law.emissions[0].name, n_init=2, seed=0, tol=1e-4).model


def tested(forest: EvidenceForest, labels: np.ndarray, start: hd.Model, rng: np.random.Generator) -> float:
    """The p-value of the permutation test at the pooled maximum reached from a start."""
    pooled = refit(start, forest, OPTIONS, polish=False).model
    blocks = blocks_of(pooled)
    scores = forest_scores(pooled, forest, blocks)
    like = forest_scores(pooled, drawn_like(pooled, forest, scores.shape[1], rng), blocks)
    white = whitened(scores, np.zeros(len(labels), dtype=np.int64), like)
    groups = int(labels.max()) + 1
    observed = statistic(white, labels, groups)
    return p_value(observed, reference(white, labels, groups, PERMUTATIONS, rng, "serial"))


def size(replicates: int, first: int, names: list[str]) -> None:
    """Print a row of a table for every design."""
    print(f"{replicates} data sets a design, {PERMUTATIONS} permutations")
    bands = [binom.interval(0.95, replicates, level) for level in (0.05, 0.01)]
    print(
        "exact tests reject "
        + " and ".join(f"{low / replicates:.4f} to {high / replicates:.4f}" for low, high in bands)
    )
    print("| design | groups | length | at .05 | at .01 | seconds |\n|---|---|---|---|---|---|")
    for name in names or DESIGNS:
        design = DESIGNS[name]
        start, began = start_of(design), process_time()
        found = []
        for seed in range(first, first + replicates):
            rng = np.random.default_rng([seed, 77])
            forest, labels = drawn(design, [design.law] * design.groups, rng)
            found.append(tested(forest, labels, start, rng))
        shares = [np.mean(np.array(found) <= level) for level in (0.05, 0.01)]
        print(f"| {design.words()} | {shares[0]:.4f} | {shares[1]:.4f} | {process_time() - began:.0f} |", flush=True)


def log_ratio(forest: EvidenceForest, labels: np.ndarray, start: hd.Model) -> tuple[float, hd.Model, int]:
    """Twice the gain in log-likelihood by a model for each group, the pooled model, and the degrees of freedom."""
    pooled = refit(start, forest, OPTIONS, polish=False)
    apart = [refit(pooled.model, forest.take(np.flatnonzero(labels == g)), OPTIONS, polish=False) for g in (0, 1)]
    gain = sum(each.log_likelihood for each in apart) - pooled.log_likelihood
    return 2.0 * gain, pooled.model, pooled.n_parameters


def power(replicates: int, bootstraps: int = 99) -> None:
    """Print the share of data sets found to differ by each test, and its time, along a ladder of differences."""
    from hidiv.fitting.simulation import redrawn

    design = Design(POISSON2, 2, 10)
    print(f"{replicates} data sets of {design.words()}; the second group's rates are larger by a share")
    print(
        "| larger by | permutation of scores | likelihood ratio, chi-square | likelihood ratio, bootstrap | seconds |"
    )
    print("|---|---|---|---|---|")
    for more in (0.0, 0.05, 0.1, 0.15, 0.2):
        other = hd.Model(POISSON2.initial, TWO, hd.Poisson((1.0 + more) * POISSON2.emission.rate))
        found, seconds = np.zeros(3), np.zeros(3)
        for seed in range(replicates):
            rng = np.random.default_rng([seed, 78])
            forest, labels = drawn(design, [POISSON2, other], rng)
            began = process_time()
            found[0] += tested(forest, labels, POISSON2, rng) <= 0.05
            seconds[0] += process_time() - began
            began = process_time()
            ratio, pooled, free = log_ratio(forest, labels, POISSON2)
            found[1] += chi2.sf(ratio, free) <= 0.05
            seconds[1] += process_time() - began
            reached = 0
            for _ in range(bootstraps):
                reached += log_ratio(redrawn(pooled, forest, rng), labels, pooled)[0] >= ratio
            found[2] += (1 + reached) / (1 + bootstraps) <= 0.05
            seconds[2] += process_time() - began
        shares, each = found / replicates, seconds / replicates
        times = ", ".join(f"{one:.2g}" for one in each)
        print(f"| {more:.0%} | {shares[0]:.3f} | {shares[1]:.3f} | {shares[2]:.3f} | {times} |", flush=True)


def coverage(replicates: int) -> None:
    """Print what share of 95 % intervals hold the true parameters, and the true divergences."""
    cases = {
        "gaussian, 40 x 50": (GAUSSIAN2, 40, 50),
        "poisson, 40 x 50": (POISSON2, 40, 50),
        "symbols, 40 x 50": (SYMBOLS2, 40, 50),
        "gaussian, 1 x 2000": (GAUSSIAN2, 1, 2000),
        "poisson, 200 x 20": (POISSON2, 200, 20),
    }
    print(f"{replicates} data sets\n| data | information by | initial | transition | emission |\n|---|---|---|---|---|")
    for name, (law, count, length) in cases.items():
        inside: dict[str, list[float]] = {"initial": [], "transition": [], "emission": []}
        method = ""
        for seed in range(replicates):
            rng = np.random.default_rng([seed, 79])
            forest, _ = drawn(Design(law, 2, count, (length, length)), [law], rng)
            fitted = refit(law, forest, read_options(1e-7, 300, 0.0, ()), polish=False).model
            errors = errors_of(fitted, covariance_of(fitted, forest), 0.95)
            method = errors.method
            for part in inside:
                if part == "initial" and count == 1:
                    continue
                true = getattr(law, part) if part != "emission" else next(iter(law.emission.parameters().values()))
                low, high = errors.lower[part], errors.upper[part]
                if part == "emission":
                    key = next(iter(law.emission.parameters()))
                    low, high = low[key], high[key]
                inside[part].append(float(np.mean((low <= true) & (true <= high))))
        shares = " | ".join(f"{np.mean(each):.3f}" if each else "none" for each in inside.values())
        print(f"| {name} | {method} | {shares} |", flush=True)
    print(f"\n{replicates} pairs of data sets, 20 x 50 each, Poisson; intervals of the delta method")
    print("| rates larger by | true divergence | covered | below | above |")
    print("|---|---|---|---|---|")
    for more in (0.0, 0.1, 0.2, 0.4, 0.8):
        other = hd.Model(POISSON2.initial, TWO, hd.Poisson((1.0 + more) * POISSON2.emission.rate))
        true = 0.0 if more == 0.0 else hd.observed_kl(POISSON2, other, 50, rtol=1e-3, seed=0).value
        below = above = 0
        for seed in range(replicates):
            rng = np.random.default_rng([seed, 80])
            sides = []
            for law in (POISSON2, other):
                forest, _ = drawn(Design(law, 2, 20, (50, 50)), [law], rng)
                sides.append((refit(law, forest, OPTIONS, polish=False).model, forest, frozenset[str]()))
            found = delta_method(*sides, "observed", 50, 0.95, rng)
            below += found.upper < true
            above += found.lower > true
        share = 1.0 - (below + above) / replicates
        print(
            f"| {more:.0%} | {true:.4f} | {share:.3f} | {below / replicates:.3f} | {above / replicates:.3f} |",
            flush=True,
        )


def groups(replicates: int) -> None:
    """Print what share of the intervals of `differ` hold the true divergence a step."""
    mixed = 0.85 * np.eye(3) + 0.05
    poor = [
        hd.Model([0.5, 0.5], TWO, hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]])),
        hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]])),
    ]
    cases = [
        (POISSON2, hd.Model([0.5, 0.5], [[0.8, 0.2], [0.3, 0.7]], hd.Poisson([1.3, 7.0])), 2, 8, 200),
        (
            hd.Model(np.full(3, 1 / 3), mixed, hd.Gaussian([0.0, 2.0, 5.0], std=[1.0, 1.0, 1.0])),
            hd.Model(np.full(3, 1 / 3), mixed, hd.Gaussian([0.0, 2.5, 5.0], std=[1.0, 1.0, 1.2])), 3, 10, 100,
        ),
        (hd.Model([1.0], [[1.0]], hd.Poisson([3.0])), hd.Model([1.0], [[1.0]], hd.Poisson([4.0])), 2, 10, 100),
        (poor[0], poor[1], 2, 8, 200),
    ]  # fmt: skip
    print(f"{replicates} pairs of groups\n| groups | true divergence | covered | missed above | below |")
    print("|---|---|---|---|---|")
    for one, two, fitted, count, length in cases:
        true = hd.observed_kl(one, two, 100, rtol=1e-3, seed=1).value / 100
        above = below = 0
        for i in range(replicates):
            data = [
                list(hd.sample(law, length, size=count, seed=2 * i + 1000 + g)[1]) for g, law in enumerate((one, two))
            ]
            name = one.emissions[0].name
            found = hd.differ(data, n_states=fitted, emission=name, n_init=2, seed=i, permutations=19)
            (each,) = found.divergences.values()
            above += true > each.upper
            below += true < each.lower
        words = Design(one, fitted, count, (length, length)).words().replace(" | ", ", ")
        print(f"| {words} | {true:.4f} | {replicates - above - below} | {above} | {below} |", flush=True)


def cost() -> None:
    """Print the CPU time of the test on 2 x 20 sequences of 500, three states, beside that of one fit."""
    rng = np.random.default_rng(0)
    forest, labels = drawn(Design(GAUSSIAN3, 3, 20, (500, 500)), [GAUSSIAN3, GAUSSIAN3], rng)
    began = process_time()
    pooled = hd.fit(forest, None, 3, "gaussian", n_init=1, seed=1, workers=1).model
    one = process_time() - began
    began = process_time()
    blocks = blocks_of(pooled)
    scores = forest_scores(pooled, forest, blocks)
    like = forest_scores(pooled, drawn_like(pooled, forest, scores.shape[1], rng), blocks)
    white = whitened(scores, np.zeros(len(labels), dtype=np.int64), like)
    p_value(statistic(white, labels, 2), reference(white, labels, 2, 9999, rng, "serial"))
    test = process_time() - began
    print(f"CPU seconds: one fit from one start {one:.2f}; the test at it, 9,999 permutations, {test:.2f}")


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or ["size"]
    number = int(rest[0]) if rest else {"size": 2000, "power": 200, "coverage": 500, "groups": 80}.get(what, 0)
    if what == "size":
        size(number, int(rest[1]) if len(rest) > 1 else 0, rest[2:])
    elif what == "power":
        power(number)
    elif what == "coverage":
        coverage(number)
    elif what == "groups":
        groups(number)
    else:
        cost()
