"""Log-weights of drawn observations, for all nodes and sequences at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.observed.points import log_weights
from hidiv.divergences.observed.finite import family_symbols
from hidiv.emissions.family import Family
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.terms import log_ratio

Array = NDArray[np.float64]


def weigh(model: Model, tree: Tree, x: Array, other: Model | None = None) -> Array:
    """(N, K, n): log e_u(s, x_u) of x (n, N, F); with `other`, log other/model instead, accurate where they are close."""
    count, n_nodes, _ = x.shape
    groups = max(len(model.emissions), 1 if other is None else len(other.emissions))
    out = np.empty((n_nodes, model.n_states, count))
    for g in range(groups):
        nodes = np.arange(n_nodes) if groups == 1 else np.flatnonzero(tree.group == g)
        if nodes.size:
            mine = model.emissions[min(g, len(model.emissions) - 1)]
            its = None if other is None else other.emissions[min(g, len(other.emissions) - 1)]
            out[nodes] = _weights(mine, its, x[:, nodes].transpose(1, 0, 2))
    return out


def _weights(family: Family, other: Family | None, x: Array) -> Array:
    """(L, K, n) of x (L, n, F)."""
    length, count, _ = x.shape
    if not family.n_features:
        return np.zeros((length, family.n_states, count))
    try:
        table = family_symbols(family)
        if other is not None:
            table = log_ratio(table, family_symbols(other))
        else:
            with np.errstate(divide="ignore"):
                table = np.log(table)
        return np.ascontiguousarray(table[:, x[:, :, 0].astype(np.int64)].transpose(1, 0, 2))
    except NotApplicable:
        pass
    rows = x[:, :, : family.n_features].reshape(length * count, -1)
    logs = log_weights(family, rows) if other is None else family.log_ratio(other, rows)
    return np.ascontiguousarray(logs.reshape(length, count, -1).transpose(0, 2, 1))
