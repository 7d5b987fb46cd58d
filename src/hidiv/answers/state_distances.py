"""How far apart the states of two models are: a distance that is symmetric, and finite where laws overlap.

It is the Renyi divergence of order 1/2, minus twice the logarithm of the overlap (Bhattacharyya's coefficient).
"""

from __future__ import annotations

import numpy as np

from hidiv.divergences.pair import check_observations, families
from hidiv.emissions.family import Family
from hidiv.errors import HidivError
from hidiv.models.model import Model
from hidiv.types import Array

DRAWS = 300  # from each state, where the overlap has no formula


def law_distances(p: Model, q: Model) -> Array:
    """(K, K'): between the laws of what states show, summed over groups."""
    check_observations(p, q)
    return np.asarray(sum(_family_distances(one, two) for one, two in families(p, q)))


def row_distances(p: Model, q: Model) -> Array:
    """(K, K): between the rows of transitions of two models with paired states, averaged over groups."""
    total = np.zeros((p.n_states, q.n_states))
    count = max(len(p.transitions), len(q.transitions))
    for g in range(count):
        one, two = (m.transitions[min(g, len(m.transitions) - 1)] for m in (p, q))
        rows = [np.sqrt(t if m.end is None else np.column_stack([t, m.end])) for t, m in ((one, p), (two, q))]
        with np.errstate(divide="ignore"):
            total += -2.0 * np.log(np.minimum(rows[0] @ rows[1].T, 1.0)) / count
    return total


def _family_distances(p: Family, q: Family) -> Array:
    """(K, K'): by formula where there is one, else on draws."""
    if not p.n_features:
        return np.zeros((p.n_states, q.n_states))
    first, second = (index.ravel() for index in np.indices((p.n_states, q.n_states)))
    if p.alphabet() is not None and q.alphabet() is not None:
        overlap = np.sqrt(p.symbol_table()) @ np.sqrt(q.symbol_table()).T
        with np.errstate(divide="ignore"):
            return np.asarray(-2.0 * np.log(np.minimum(overlap, 1.0)))
    try:
        table = p.take(first).renyi(q.take(second), 0.5).reshape(p.n_states, q.n_states)
    except (HidivError, NotImplementedError):
        table = _drawn(p, q)
    return np.maximum(table, 0.0)


def _drawn(p: Family, q: Family) -> Array:
    """(K, K'): the overlap as the mean of 2 sqrt(pq) / (p + q) over draws from both."""
    rng = np.random.default_rng(0)
    x = [family.draw(np.repeat(np.arange(family.n_states), DRAWS), rng) for family in (p, q)]
    overlap = np.zeros((p.n_states, q.n_states))
    for side, points in enumerate(x):
        one, two = p.log_weight(points), q.log_weight(points)  # (n, K), (n, K')
        with np.errstate(over="ignore", invalid="ignore"):
            each = 1.0 / np.cosh(0.5 * (one[:, :, None] - two[:, None, :]))
        each = np.where(np.isnan(each), 0.0, each)
        size = (p, q)[side].n_states
        means = each.reshape(size, DRAWS, p.n_states, q.n_states).mean(axis=1)
        index = np.arange(size)
        overlap += 0.5 * (means[index, index] if side == 0 else means[index, :, index].T)
    with np.errstate(divide="ignore"):
        return np.asarray(-2.0 * np.log(np.minimum(overlap, 1.0)))
