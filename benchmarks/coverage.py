"""How often 95 % intervals of estimates hold the truth, and how many draws they take over those that would do.

    python -m benchmarks.coverage 400 [directory of ChromHMM model files] [part of the names of pairs] [seconds]

So many seeds at most, no more than take fifteen seconds (or as many as are given), but at least forty. The truth is
certified for chains of two states; elsewhere it is an estimate by another seed to a tenth of the standard errors that
were reported (not of the tolerance: many runs are far better than asked for, and an error of the truth is an error of
all runs alike). "used" is the number of draws over the number whose standard error is the wanted one, at least that of
the first draws; "scatter" is the standard deviation of (value - truth) / standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np

import hidiv as hd
from benchmarks.models import MARKS, chromhmm_models

LENGTH, RELATIVE, FIRST = 50, 1e-2, 128
SECONDS, FEWEST = 15.0, 40  # of the processor that the seeds of a pair may take; seeds all the same
FINE, LONGEST = 10.0, 60.0  # errors of the truth to one of a run; seconds of an estimate that is taken for the truth


def stochastic(rng: np.random.Generator, states: int, kind: str) -> np.ndarray:
    rows = rng.dirichlet(np.ones(states), states)
    if kind.startswith("sticky"):
        stay = float(kind.partition(" ")[2] or 0.9)
        return stay * np.eye(states) + (1.0 - stay) * rows
    if kind == "sparse":
        rows *= rng.random((states, states)) > 0.4
        rows += 0.5 * np.roll(np.eye(states), 1, axis=1)
        return rows / rows.sum(axis=1, keepdims=True)
    return rows


def random_model(rng: np.random.Generator, family: str, states: int, kind: str) -> hd.Model:
    if family == "categorical":
        emission = hd.Categorical(rng.dirichlet(np.ones(6), states))
    elif family == "bernoulli":
        emission = hd.Bernoulli(rng.uniform(0.05, 0.95, (states, 4)))
    elif family == "poisson":
        emission = hd.Poisson(rng.uniform(1.0, 10.0, states))
    elif family == "gaussian":
        emission = hd.Gaussian(rng.normal(size=states), std=rng.uniform(0.5, 1.5, states))
    else:
        emission = hd.Gaussian(rng.normal(size=(states, 5)), std=rng.uniform(0.5, 1.5, (states, 5)))
    return hd.Model(rng.dirichlet(np.ones(states)), stochastic(rng, states, kind), emission)


def in_two_groups(rng: np.random.Generator, family: str) -> hd.Model:
    """Three states whose emissions and transitions differ between two groups of nodes."""
    one, two = (random_model(rng, family, 3, "sticky") for _ in range(2))
    return hd.Model(one.initial, np.stack([one.transition, two.transition]), [one.emission, two.emission])


def marked(rng: np.random.Generator, states: int) -> hd.Model:
    """Like a ChromHMM model: binary marks, a fifth of the transitions zero, an almost certain first state."""
    rows = 0.8 * np.eye(states) + 0.2 * stochastic(rng, states, "sparse")
    first = np.full(states, 1e-12)
    first[rng.integers(states)] = 1.0
    marks = np.clip(rng.beta(0.3, 0.5, (states, len(MARKS))), 1e-3, 1.0 - 1e-3)
    return hd.Model(first / first.sum(), rows / rows.sum(axis=1, keepdims=True), hd.Bernoulli(marks))


def kinds(directory: str | None) -> Iterator[tuple[str, hd.Model, hd.Model, hd.Tree | None]]:
    """Name, p, q and the tree they are compared on; without a tree the rate."""
    chain = hd.Tree.chain(LENGTH)
    for family in ("categorical", "bernoulli", "poisson", "gaussian", "gaussian, 5 columns"):
        for states in (3, 8):
            for kind in ("random", "sticky", "sparse"):
                rng = np.random.default_rng([len(family), states, len(kind)])
                p, q = (random_model(rng, family, states, k) for k in (kind, "random" if kind == "sparse" else kind))
                yield f"{family}, {states} states, {kind}", p, q, chain
    rng = np.random.default_rng(5)
    for kind in ("random", "sticky"):
        p, q = (random_model(rng, "categorical", 3, kind) for _ in range(2))
        yield f"categorical, 3 states, {kind}, binary tree", p, q, hd.Tree.regular(2, 5)
    grouped = hd.Tree.chain(LENGTH, group=np.arange(LENGTH) % 2)
    for family in ("categorical", "gaussian"):
        p, q = (in_two_groups(rng, family) for _ in range(2))
        yield f"{family}, 3 states, sticky, two groups of nodes", p, q, grouped
    for stay in ("0.9", "0.99", "0.999"):
        p, q = (random_model(rng, "categorical", 2, f"sticky {stay}") for _ in range(2))
        yield f"categorical, 2 states, sticky {stay}, 1000 nodes", p, q, hd.Tree.chain(1000)
        yield f"categorical, 2 states, sticky {stay}, rate", p, q, None
    if directory is None:
        for number in range(2):
            yield f"like ChromHMM, number {number}", marked(rng, 10), marked(rng, 10), chain
        return
    models = chromhmm_models(directory)
    for i, j in ((0, 1), (2, 9), (5, 14), (20, 3)):
        p, q = models[i % len(models)], models[j % len(models)]
        yield f"ChromHMM, files {i} and {j}", p, q, chain


def estimate(p: hd.Model, q: hd.Model, tree: hd.Tree | None, rtol: float, seed: int, **options: Any) -> hd.Divergence:
    if tree is None:
        return hd.observed_kl_rate(p, q, method="montecarlo", rtol=rtol, seed=seed, **options)
    return hd.observed_kl(p, q, tree, method="montecarlo", rtol=rtol, seed=seed, max_samples=10**6, **options)


def truth(p: hd.Model, q: hd.Model, tree: hd.Tree | None, rtol: float) -> hd.Divergence:
    if p.n_states == q.n_states == 2:
        return hd.observed_kl_rate(p, q) if tree is None else hd.observed_kl(p, q, tree, method="certified")
    return estimate(p, q, tree, rtol, 10**6, max_seconds=LONGEST)


def main(seeds: int, directory: str | None, part: str, seconds: float = SECONDS) -> None:
    heads = ("held", "runs", "scatter", "used", "worst", "seconds")
    print(f"{'pair':52} " + " ".join(f"{head:>7}" for head in heads) + "  error of the truth")
    for name, p, q, tree in kinds(directory):
        if part not in name:
            continue
        began = process_time()
        found: list[hd.Divergence] = []
        while len(found) < seeds and (len(found) < FEWEST or process_time() - began < seconds):
            found.append(estimate(p, q, tree, RELATIVE, len(found)))
        spent = (process_time() - began) / len(found)
        if found[0].infinite:
            print(f"{name:52} infinite", flush=True)
            continue
        values, errors, upper, drawn = (
            np.array([getattr(one, key) for one in found]) for key in ("value", "std_error", "upper", "n_samples")
        )
        right = truth(p, q, tree, float(np.quantile(errors, 0.1)) / FINE / float(values.mean()))
        held = np.mean(np.abs(values - right.value) <= upper - values)
        first = FIRST if tree is not None else drawn.min()  # a rate counts steps
        used = drawn / np.maximum(drawn * (errors / (RELATIVE * values)) ** 2, first)
        numbers = (
            f"{held:7.3f} {len(found):7d} {np.std((values - right.value) / errors):7.2f} {np.median(used):7.2f} "
            f"{used.max():7.2f} {spent:7.3f}"
        )
        print(f"{name:52} {numbers}  {(right.std_error or 0.0) / np.median(errors):.2f}", flush=True)


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 400, (sys.argv[2] or None) if len(sys.argv) > 2 else None,
        sys.argv[3] if len(sys.argv) > 3 else "", float(sys.argv[4]) if len(sys.argv) > 4 else SECONDS,
    )  # fmt: skip
