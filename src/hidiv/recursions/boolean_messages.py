"""What is possible, decided on zeros alone: nothing is multiplied, nothing underflows (definitions, section 8)."""

from __future__ import annotations

import numpy as np

from hidiv.recursions.tables import Layout, PairTables, Tables
from hidiv.types import Flags, IntArray


def upward_support(tables: Tables, layout: Layout) -> tuple[Flags, int | None]:
    """(n, K) states from which the evidence of a node's subtree is possible, and the first node, counted from the last
    one down, whose subtree no parent state allows (None when the evidence is possible)."""
    k = tables.n_states
    support = np.ones((layout.n_nodes, k), dtype=bool)
    positive = tables.transition > 0
    failed = -1
    for nodes in layout.upward(k * k):
        support[nodes] &= tables.log_weight[layout.rows(nodes)] > -np.inf
        message: Flags = np.any(positive[layout.transitions(nodes)] & support[nodes][:, None, :], axis=2)
        np.logical_and.at(support, layout.parents(nodes), message)
        dead = nodes[~message.any(axis=1)]
        failed = max(failed, int(dead.max(initial=-1)))
    root = np.zeros(1, dtype=np.int64)
    support[root] &= tables.log_weight[layout.rows(root)] > -np.inf
    if failed < 0 and not (support[0] & (tables.initial > 0)).any():
        failed = 0
    return support, None if failed < 0 else failed


def posterior_support(tables: Tables, layout: Layout, upward: Flags) -> Flags:
    """(n, K) states of positive posterior probability, from the upward support."""
    k = tables.n_states
    positive = tables.transition > 0
    reached = upward.copy()
    reached[0] &= tables.initial > 0
    for nodes in layout.downward(k * k):
        pairs = positive[layout.transitions(nodes)] & reached[layout.parents(nodes)][:, :, None]
        reached[nodes] &= pairs.any(axis=1)
    return reached


def first_gap(pair: PairTables, layout: Layout, reached: Flags) -> tuple[int, int, int] | None:
    """The first (node, parent state, state) that p reaches and q forbids by a zero of its own, or whose residual is
    infinite; parent state -1 at the root; None when the divergence is finite."""
    k = pair.p.n_states
    bad = gaps(pair, layout, reached, np.zeros(1, dtype=np.int64))[0, 0]
    if bad.any():
        return 0, -1, int(np.argmax(bad))
    first: tuple[int, int, int] | None = None
    for nodes in layout.downward(k * k):
        shut = gaps(pair, layout, reached, nodes)
        for i in np.flatnonzero(shut.any(axis=(1, 2))):
            r, s = np.argwhere(shut[i])[0]
            place = (int(nodes[i]), int(r), int(s))
            first = place if first is None or place < first else first
    return first


def gaps(pair: PairTables, layout: Layout, reached: Flags, nodes: IntArray) -> Flags:
    """(L, K, K), (1, 1, K) for the root alone: whether p goes from r to s there and q cannot, or the residual is
    infinite."""
    rows = layout.rows(nodes)
    closed = pair.q.log_weight[rows] == -np.inf
    if pair.residual is not None:
        closed |= pair.residual[rows] == np.inf
    if nodes[0] == 0:
        return np.asarray((reached[:1] & (closed | (pair.q.initial == 0)))[:, None])
    which = layout.transitions(nodes)
    shut = (pair.q.transition[which] == 0) | closed[:, None, :]
    shut &= (pair.p.transition[which] > 0) & reached[nodes][:, None, :]
    shut &= reached[layout.parents(nodes)][:, :, None]
    return np.asarray(shut)
