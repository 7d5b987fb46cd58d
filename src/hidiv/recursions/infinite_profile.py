"""The profile of an infinite posterior divergence: which nodes make it so, and what the others hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hidiv.recursions.layout import Layout
from hidiv.recursions.tables import PairTables
from hidiv.recursions.terms import row_divergence
from hidiv.recursions.upward import conditional_rows, root_law, upward

Array = NDArray[np.float64]


def infinite_profile(pair: PairTables, layout: Layout) -> Array:
    """(n,): the local terms of each node, +inf where p's posterior goes and q's cannot follow."""
    up_p, up_q = upward(pair.p, layout), upward(pair.q, layout)
    n, k = layout.n_nodes, pair.p.n_states
    marginals, profile = np.zeros((n, k)), np.zeros(n)
    marginals[0] = root_law(pair.p, up_p)
    profile[0] = (
        row_divergence(marginals[0], root_law(pair.q, up_q))
        + _expected(pair, layout, marginals[:1], np.zeros(1, dtype=np.int64))[0]
    )
    for nodes in layout.downward(k * k):
        rows_p, rows_q = (conditional_rows(t, layout, up, nodes) for t, up in ((pair.p, up_p), (pair.q, up_q)))
        above = marginals[layout.parents(nodes)]
        local = row_divergence(rows_p, rows_q)
        marginals[nodes] = (above[:, :, None] * rows_p).sum(axis=1)
        profile[nodes] = np.where(above > 0, above * np.where(above > 0, local, 0.0), 0.0).sum(axis=1)
        profile[nodes] += _expected(pair, layout, marginals[nodes], nodes)
    return profile


def _expected(pair: PairTables, layout: Layout, laws: Array, nodes: NDArray[np.int64]) -> Array:
    """The expected residual of each node."""
    if pair.residual is None:
        return np.zeros(len(laws))
    residual = pair.residual[layout.rows(nodes.astype(np.int64))]
    return np.asarray((laws * np.where(laws > 0, residual, 0.0)).sum(axis=1))
