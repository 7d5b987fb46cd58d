"""k-medoids: clusters around models that are themselves in the list."""

from __future__ import annotations

import numpy as np

from hidiv.types import Array, IntArray


def pam(table: Array, count: int, seed: int) -> IntArray:
    """(M,): the nearest of `count` medoids, swapped one by one for as long as the sum of divergences falls.

    Ten starts drawn as k-means++ does; the best is kept.
    """
    rng = np.random.default_rng(seed)
    results = [_descend(table, _start(table, count, rng)) for _ in range(10)]
    best = min(results, key=lambda medoids: float(table[:, medoids].min(axis=1).sum()))
    return np.asarray(table[:, best].argmin(axis=1), dtype=np.int64)


def medoids_of(table: Array, labels: IntArray) -> IntArray:
    """(C,): of each cluster the model with the smallest sum of divergences to the rest of it."""
    chosen = []
    for c in range(int(labels.max()) + 1):
        inside = np.flatnonzero(labels == c)
        chosen.append(inside[table[np.ix_(inside, inside)].sum(axis=1).argmin()])
    return np.array(chosen, dtype=np.int64)


def _start(table: Array, count: int, rng: np.random.Generator) -> IntArray:
    chosen = [int(rng.integers(len(table)))]
    while len(chosen) < count:
        nearest = table[:, chosen].min(axis=1)
        nearest[chosen] = 0.0
        total = nearest.sum()
        left = np.setdiff1d(np.arange(len(table)), chosen)
        chosen.append(int(rng.choice(len(table), p=nearest / total) if total > 0 else left[0]))
    return np.array(chosen, dtype=np.int64)


def _descend(table: Array, medoids: IntArray) -> IntArray:
    """The best swap of a medoid for any other model, again and again."""
    cost = float(table[:, medoids].min(axis=1).sum())
    while True:
        best = None
        for i in range(len(medoids)):
            rest = np.delete(medoids, i)
            kept = table[:, rest].min(axis=1) if rest.size else np.full(len(table), np.inf)
            costs = np.minimum(kept[:, None], table).sum(axis=0)  # of every candidate in place of medoid i
            at = int(costs.argmin())
            if costs[at] < cost * (1.0 - 1e-12) and (best is None or costs[at] < best[0]):
                best = float(costs[at]), i, at
        if best is None:
            return medoids
        cost, i, at = best
        medoids = medoids.copy()
        medoids[i] = at
