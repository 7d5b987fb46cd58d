"""Weights of drawn observations, for all nodes and sequences at once."""

from __future__ import annotations

import numpy as np

from hidiv.divergences.observed.alphabets import family_symbols, has_symbols
from hidiv.divergences.observed.log_weights import log_weights
from hidiv.emissions.family import Family
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.filters import Weights
from hidiv.recursions.terms import log_ratio
from hidiv.types import Array, IntArray


def weigh(model: Model, tree: Tree, x: Array) -> Weights:
    """e_u(s, x_u) of x (n, N, F), rescaled where they are densities."""
    if len(model.emissions) == 1 and has_symbols(model.emissions[0]):
        return Weights(_looked_up(family_symbols(model.emissions[0]), x[:, :, 0].T), None)
    logs = np.empty((x.shape[1], model.n_states, x.shape[0]))
    for g, family in enumerate(model.emissions):
        nodes = nodes_of(tree, g, len(model.emissions))
        if nodes.size:
            logs[nodes] = _log_weights(family, x[:, nodes].transpose(1, 0, 2))
    top = logs.max(axis=1)
    scale = np.where(np.isfinite(top), top, 0.0)
    return Weights(np.exp(logs - scale[:, None, :]), scale, logs)


def weigh_ratio(p: Model, q: Model, tree: Tree, x: Array) -> Array:
    """(N, K, n): log e_q/e_p of x (n, N, F), accurate where they are close."""
    groups = max(len(p.emissions), len(q.emissions))
    out = np.zeros((x.shape[1], p.n_states, x.shape[0]))
    for g in range(groups):
        nodes = nodes_of(tree, g, groups)
        one, two = (m.emissions[min(g, len(m.emissions) - 1)] for m in (p, q))
        if not nodes.size or not one.n_features:
            continue
        mine = x[:, nodes].transpose(1, 0, 2)
        if has_symbols(one) and has_symbols(two):
            out[nodes] = _looked_up(log_ratio(family_symbols(one), family_symbols(two)), mine[:, :, 0])
        else:
            ratios = one.log_ratio(two, mine.reshape(-1, mine.shape[2]))
            out[nodes] = ratios.reshape(*mine.shape[:2], -1).transpose(0, 2, 1)
    return out


def nodes_of(tree: Tree, group: int, groups: int) -> IntArray:
    """The nodes of a group; all of them where there is one group."""
    return np.arange(tree.n_nodes) if groups == 1 else np.flatnonzero(tree.group == group)


def _looked_up(table: Array, x: Array) -> Array:
    """(L, K, n) of symbols x (L, n) in table (K, M)."""
    index = x.astype(np.intp)
    out = np.empty((x.shape[0], len(table), x.shape[1]))
    for k, row in enumerate(table):
        out[:, k] = row[index]
    return out


def _log_weights(family: Family, x: Array) -> Array:
    """(L, K, n) of x (L, n, F)."""
    length, count, _ = x.shape
    if not family.n_features:
        return np.zeros((length, family.n_states, count))
    if has_symbols(family):
        with np.errstate(divide="ignore"):
            return _looked_up(np.log(family_symbols(family)), x[:, :, 0])
    logs = log_weights(family, x[:, :, : family.n_features].reshape(length * count, -1))
    return np.ascontiguousarray(logs.reshape(length, count, -1).transpose(0, 2, 1))
