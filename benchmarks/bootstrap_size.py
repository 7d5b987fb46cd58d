"""How often the bootstrap's p-value is at most .05 where two samples have one law.

    python -m benchmarks.bootstrap_size [NULLS] [CASE ...]

Each null draws two data sets from one model and fits them apart, from random starts of their own; the p-value is that
of `bootstrap_divergence` with 19 replicates, by which an exact test rejects 1 in 20. Not a table of ratios: it is run
by hand, and its numbers stand in docs/fitting.md.
"""

from __future__ import annotations

import sys
from time import process_time

import numpy as np

import hidiv as hd
from hidiv.fitting.bootstrap import fitted_apart, fitted_apart_by_chance, pooled_model
from hidiv.fitting.bootstrap_measures import measures
from hidiv.fitting.evidence_forest import forest_of
from hidiv.fitting.fit import read_options

REPLICATES = 19
LEVEL = 0.05
TOL = 1e-4
STICKY = [[0.8, 0.2], [0.3, 0.7]]
THREE = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
# The law, the length of a chain, the number of chains.
CASES = {
    "poisson2": (hd.Model([0.5, 0.5], STICKY, hd.Poisson([1.0, 6.0])), 10, 6),
    "poisson3": (hd.Model([0.4, 0.3, 0.3], THREE, hd.Poisson([1.0, 5.0, 12.0])), 15, 6),
    "gaussian2": (hd.Model([0.5, 0.5], STICKY, hd.Gaussian([0.0, 3.0], std=[1.0, 1.0])), 10, 6),
    "symbols2": (hd.Model([0.5, 0.5], STICKY, hd.Categorical([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])), 10, 6),
}


def rejected(law: hd.Model, length: int, chains: int, seed: int) -> dict[str, bool]:
    """Of one null: whether the test by each divergence says that the samples differ.

    With 19 replicates it does where none of them reaches the statistic, so that the first that does ends the drawing.
    """
    samples = [list(hd.sample(law, length, size=chains, seed=np.random.default_rng([seed, i]))[1]) for i in range(2)]
    p, q = (
        hd.fit(x, None, law.n_states, law.emissions[0].name, n_init=1, seed=seed + 10**6 * i, workers=1, tol=TOL).model
        for i, x in enumerate(samples)
    )
    known = [forest_of(x, None, None, None) for x in samples]
    options = read_options(TOL, 200, 0.0, ())
    both = pooled_model(p, q, *known, options)
    data = fitted_apart(both, *known, options)
    by = {name: measures(name, None, known[0], p)[1] for name in ("observed", "aligned", "joint")}
    standing = {name: measure(*data) for name, measure in by.items()}
    for rng in np.random.default_rng([seed, 2]).spawn(REPLICATES):
        if not standing:
            break
        drawn = fitted_apart_by_chance(both, *known, options, rng)
        standing = {name: value for name, value in standing.items() if by[name](*drawn) < value}
    return {name: name in standing for name in by}


def interval(nulls: int) -> tuple[int, int]:
    """Rejections that an exact test makes in 95 of 100 such studies."""
    from scipy.stats import binom

    return int(binom.ppf(0.025, nulls, LEVEL)), int(binom.ppf(0.975, nulls, LEVEL))


def study(name: str, nulls: int) -> None:
    """One case: rejections beside the interval."""
    law, length, chains = CASES[name]
    began, found = process_time(), []
    for seed in range(nulls):
        found.append(rejected(law, length, chains, seed))
        if (seed + 1) % 50 == 0 or seed + 1 == nulls:
            said = ", ".join(f"{key} {sum(each[key] for each in found)}" for key in found[0])
            low, high = interval(seed + 1)
            spent = process_time() - began
            print(f"{name}, {seed + 1} nulls: rejected {said}; {low} to {high} expected; {spent:.0f} s", flush=True)


if __name__ == "__main__":
    for case in sys.argv[2:] or CASES:
        study(case, int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
