"""How often 95 % intervals of estimates hold the truth, and how many draws they take over those that would do.

    python -m benchmarks.coverage 40 [directory of ChromHMM model files]

For each kind of pair the truth is an estimate to a tenth of the tolerance by another seed; its own error, which is not
small where few draws do, is added to the intervals. "used" is the number of draws over the number whose standard error
is the wanted one, at least that of the first draws.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from time import process_time

import numpy as np

import hidiv as hd

LENGTH, RELATIVE, FIRST = 50, 1e-2, 128
MARKS = 5  # columns of ChromHMM models


def stochastic(rng: np.random.Generator, states: int, kind: str) -> np.ndarray:
    rows = rng.dirichlet(np.ones(states), states)
    if kind == "sticky":
        return 0.9 * np.eye(states) + 0.1 * rows
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


def kinds(directory: str | None) -> Iterator[tuple[str, hd.Model, hd.Model, hd.Tree]]:
    """Name, p, q and the tree they are compared on."""
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
    if directory is not None:
        models = [hd.load(path) for path in sorted(Path(directory).glob("model_*.txt"))[:6]]
        names = sorted(set.intersection(*(set(m.column_names or ()) for m in models)))[:MARKS]
        models = [m.select(names) for m in models] if names else models
        for i in range(0, len(models) - 1, 2):
            yield f"ChromHMM files {i} and {i + 1}", models[i], models[i + 1], chain


def main(seeds: int, directory: str | None) -> None:
    print(f"{'pair':48} {'held':>6} {'runs':>5} {'used':>6} {'worst':>6} {'seconds':>8}")
    for name, p, q, tree in kinds(directory):
        options = {"method": "montecarlo", "max_samples": 10**6}
        truth = hd.observed_kl(p, q, tree, rtol=RELATIVE / 10, seed=10**6, **options)
        if truth.infinite:
            print(f"{name:48} infinite", flush=True)
            continue
        held, used, began = 0, list[float](), process_time()
        for seed in range(seeds):
            found = hd.observed_kl(p, q, tree, rtol=RELATIVE, seed=seed, **options)
            half = (found.upper - found.lower) / 2.0
            held += abs(found.value - truth.value) <= half * np.hypot(1.0, truth.std_error / found.std_error)
            needed = found.n_samples * (found.std_error / (RELATIVE * found.value)) ** 2
            used.append(found.n_samples / max(needed, FIRST))
        spent = (process_time() - began) / seeds
        print(
            f"{name:48} {held / seeds:6.3f} {seeds:5d} {np.median(used):6.2f} {max(used):6.2f} {spent:8.3f}", flush=True
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40, sys.argv[2] if len(sys.argv) > 2 else None)
