"""Theorem 1 with evidence: the divergence of what is hidden below a node, given the state above it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hidiv.recursions.boolean_messages import first_gap, upward_support
from hidiv.recursions.posterior_sweep import finite_posterior
from hidiv.recursions.tables import Layout, PairTables, add_to_parents
from hidiv.recursions.terms import row_divergence
from hidiv.recursions.upward import conditional_rows, upward
from hidiv.types import Array, IntArray


def inward_given(pair: PairTables, layout: Layout) -> Array:
    """(n, K): K_u(r) of definitions (2.2); row 0 is the root's residual plus the sum over its children.

    0 for states that the evidence below rules out under p; +inf where, from that state on, q cannot follow p.
    The evidence must be possible under both.
    """
    possible, _ = upward_support(pair.p, layout)
    up_p = upward(pair.p, layout)
    own = _own_terms(pair, layout, possible)
    n, k = possible.shape
    out, below = np.zeros((n, k)), np.zeros((n, k), dtype=np.longdouble)
    for nodes in layout.upward(k * k):
        rows = conditional_rows(pair.p, layout, up_p, nodes)
        under = below[nodes].astype(np.float64)[:, None, :]
        with np.errstate(invalid="ignore"):
            out[nodes] = own[nodes] + np.where(rows > 0, rows * under, 0.0).sum(axis=2)
        add_to_parents(below, layout.parents(nodes), out[nodes])
    root = np.zeros(1, dtype=np.int64)
    out[0] = _residual(pair, layout, root)[0] + below[0].astype(np.float64)
    return out


def _own_terms(pair: PairTables, layout: Layout, possible: NDArray[np.bool_]) -> Array:
    """(n, K): divergence of the two conditional rows plus the expected residual, by parent state."""
    n, k = possible.shape
    if first_gap(pair, layout, possible) is None:
        kept = {name: np.zeros((n, k)) for name in ("own", "log_mass", "log_z")}
        finite_posterior(pair, layout, possible, kept)
        return kept["own"]
    up_p, up_q = upward(pair.p, layout), upward(pair.q, layout)
    own = np.zeros((n, k))
    for nodes in layout.upward(k * k):
        rows_p, rows_q = (conditional_rows(t, layout, up, nodes) for t, up in ((pair.p, up_p), (pair.q, up_q)))
        residual = _residual(pair, layout, nodes)[:, None, :]
        alive = rows_p.sum(axis=2) > 0
        with np.errstate(invalid="ignore"):
            expected = np.where(rows_p > 0, rows_p * residual, 0.0).sum(axis=2)
        own[nodes] = np.where(alive, row_divergence(rows_p, rows_q) + expected, 0.0)
    return own


def _residual(pair: PairTables, layout: Layout, nodes: IntArray) -> Array:
    """(L, K): what the hidden part of the observation adds."""
    if pair.residual is None:
        return np.zeros((len(nodes), pair.p.n_states))
    return pair.residual[layout.rows(nodes)]
