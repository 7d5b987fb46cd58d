"""Hidden configurations drawn from the posterior, node by node from the root."""

from __future__ import annotations

import numpy as np

from hidiv.recursions.kernels import ranged_kernel
from hidiv.recursions.tables import Law, Layout, Places, Tables
from hidiv.recursions.upward import conditional_rows, root_law, upward
from hidiv.types import Array, IntArray


def sample_states(tables: Tables, layout: Layout, uniform: Array) -> tuple[IntArray, int | None]:
    """(states (size, n), impossible node or None) from uniform (size, n) in [0, 1); log weights of 0 give the prior."""
    states, failed = drawn_states(layout.n_nodes, layout.places, tables.arrays, uniform)
    return (states, None) if failed < 0 else (states[:0], failed)


@ranged_kernel
def drawn_states(n_nodes: int, places: Places, law: Law, uniform: Array) -> tuple[IntArray, int]:
    """(states (size, n), failing node or -1)."""
    tables, layout = Tables(*law), Layout(n_nodes, *places)
    up = upward(tables, layout)
    size, n = uniform.shape
    states = np.zeros((size, n), dtype=np.int64)
    if up.impossible is not None:
        return states, up.impossible
    k = tables.n_states
    states[:, 0] = pick(np.cumsum(root_law(tables, up)), uniform[:, 0])
    for nodes in layout.downward(k * k + k * size):
        cumulative = np.cumsum(conditional_rows(tables, layout, up, nodes), axis=2)
        chosen = cumulative[np.arange(nodes.size), states[:, layout.parents(nodes)]]
        states[:, nodes] = pick(chosen, uniform[:, nodes])
    return states, -1


def pick(cumulative: Array, uniform: Array) -> IntArray:
    """The first state whose cumulative probability passes the uniform; states of probability zero are never picked."""
    passed = uniform[..., None] * cumulative[..., -1:] >= cumulative
    return np.asarray(np.minimum(passed.sum(axis=-1, dtype=np.int64), cumulative.shape[-1] - 1))
