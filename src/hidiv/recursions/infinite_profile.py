"""The profile by node of an infinite posterior divergence: which nodes are infinite, and the terms of the others."""

from __future__ import annotations

import numpy as np

from hidiv.recursions.boolean_messages import gaps, posterior_support, upward_support
from hidiv.recursions.tables import Layout, PairTables, Tables
from hidiv.recursions.terms import log_of, row_divergence
from hidiv.recursions.upward import Upward, upward
from hidiv.types import Array, IntArray


def infinite_profile(pair: PairTables, layout: Layout) -> Array:
    """(n,): the local terms of each node, +inf where p's posterior goes and q's cannot follow.

    Which nodes those are is decided by zeros, however small p's posterior is there.
    """
    up_p, up_q = upward(pair.p, layout), upward(pair.q, layout)
    n, k = layout.n_nodes, pair.p.n_states
    reached = posterior_support(pair.p, layout, upward_support(pair.p, layout)[0])
    marginals, profile = np.zeros((n, k)), np.zeros(n)
    root = np.zeros(1, dtype=np.int64)
    rows_p, rows_q = (
        (log_of(tables.initial) + up.log_own[0] - up.log_mass[0, 0])[None]
        for tables, up in ((pair.p, up_p), (pair.q, up_q))
    )
    marginals[0] = np.exp(rows_p[0])
    profile[0] = _divergence(rows_p, rows_q)[0] + _expected(pair, layout, marginals[:1], root)[0]
    profile[root[gaps(pair, layout, reached, root).any(axis=(1, 2))]] = np.inf
    for nodes in layout.downward(k * k):
        rows_p, rows_q = (_log_rows(t, layout, up, nodes) for t, up in ((pair.p, up_p), (pair.q, up_q)))
        above = marginals[layout.parents(nodes)]
        marginals[nodes] = (above[:, :, None] * np.exp(rows_p)).sum(axis=1)
        profile[nodes] = (above * np.where(above > 0, _divergence(rows_p, rows_q), 0.0)).sum(axis=1)
        profile[nodes] += _expected(pair, layout, marginals[nodes], nodes)
        profile[nodes[gaps(pair, layout, reached, nodes).any(axis=(1, 2))]] = np.inf
    return profile


def _log_rows(tables: Tables, layout: Layout, up: Upward, nodes: IntArray) -> Array:
    """(L, K, K): log p(S_u = s | S_parent = r, E), -inf in rows of impossible parent states."""
    mass = up.log_mass[nodes]
    term = log_of(tables.transition[layout.transitions(nodes)]) + up.log_own[nodes][:, None, :]
    return np.asarray(term - np.where(mass > -np.inf, mass, 0.0)[:, :, None])


def _divergence(log_p: Array, log_q: Array) -> Array:
    """KL along the last axis, always finite: entries where q is zero are left out, since `gaps` finds those, and an
    entry of q that only underflows counts by its logarithm."""
    p, q = np.exp(log_p), np.exp(log_q)
    lost = (p > 0) & (q == 0)
    with np.errstate(invalid="ignore"):
        alone = np.where(lost & (log_q > -np.inf), p * (log_p - log_q) - p, 0.0)
    return np.asarray(row_divergence(np.where(lost, 0.0, p), q) + alone.sum(axis=-1))


def _expected(pair: PairTables, layout: Layout, laws: Array, nodes: IntArray) -> Array:
    """The expected residual of each node."""
    if pair.residual is None:
        return np.zeros(len(laws))
    residual = pair.residual[layout.rows(nodes)]
    return np.asarray((laws * np.where(laws > 0, residual, 0.0)).sum(axis=1))
