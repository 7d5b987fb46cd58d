"""The most probable hidden configuration given the evidence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hidiv.recursions.layout import IntArray, Layout, add_to_parents
from hidiv.recursions.support import upward_support
from hidiv.recursions.tables import Tables
from hidiv.recursions.upward import log_of

Array = NDArray[np.float64]


def viterbi(tables: Tables, layout: Layout) -> tuple[IntArray, float, int | None]:
    """(states (n,), log P(states, E), impossible node or None); among equals the lowest state wins."""
    n, k = layout.n_nodes, tables.n_states
    _, failed = upward_support(tables, layout)
    if failed is not None:
        return np.zeros(0, dtype=np.int64), -np.inf, failed
    log_transition = log_of(tables.transition)
    best = np.zeros((n, k), dtype=np.longdouble)
    choice = np.zeros((n, k), dtype=np.int64)
    total = np.longdouble(0.0)
    for nodes in layout.upward(k * k):
        top = best[nodes].max(axis=1, keepdims=True)
        own = tables.log_weight[layout.rows(nodes)] + (best[nodes] - top).astype(np.float64)
        term = log_transition[layout.transitions(nodes)] + own[:, None, :]
        choice[nodes] = term.argmax(axis=2)
        add_to_parents(best, layout.parents(nodes), term.max(axis=2))
        total += top.sum()
    root = np.zeros(1, dtype=np.int64)
    last = log_of(tables.initial) + tables.log_weight[layout.rows(root)[0]] + best[0]
    states = np.zeros(n, dtype=np.int64)
    states[0] = last.argmax()
    for nodes in layout.downward(k * k):
        states[nodes] = choice[nodes, states[layout.parents(nodes)]]
    return states, float(total + last.max()), None
