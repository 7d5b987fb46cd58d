"""The most probable hidden configuration given the evidence."""

from __future__ import annotations

import numpy as np

from hidiv.recursions.boolean_messages import upward_support
from hidiv.recursions.kernels import ranged_kernel
from hidiv.recursions.tables import Law, Layout, Places, Tables, add_to_parents
from hidiv.recursions.terms import log_of
from hidiv.types import IntArray


def viterbi(tables: Tables, layout: Layout) -> tuple[IntArray, float, int | None]:
    """(states (n,), log P(states, E), impossible node or None); among equals the lowest state wins."""
    states, value, failed = best_states(layout.n_nodes, layout.places, tables.arrays)
    return (states, value + tables.taken_out(layout), None) if failed < 0 else (states[:0], -np.inf, failed)


@ranged_kernel
def best_states(n_nodes: int, places: Places, law: Law) -> tuple[IntArray, float, int]:
    """(states (n,), log P(states, E), failing node or -1)."""
    tables, layout = Tables(*law), Layout(n_nodes, *places)
    n, k = n_nodes, tables.n_states
    _, failed = upward_support(tables, layout)
    if failed is not None:
        return np.zeros(n, dtype=np.int64), -np.inf, failed
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
    return states, float(total + last.max()), -1
