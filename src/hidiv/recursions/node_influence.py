"""What each observation changes: D( P(S | E) || P(S | E without X_j) ), all n in one pass (definitions (6.1))."""

from __future__ import annotations

import numpy as np

from hidiv.recursions.kernels import ranged_kernel
from hidiv.recursions.tables import Law, Layout, Places, Tables, add_to_parents
from hidiv.recursions.terms import local_divergence, log_of, log_sum
from hidiv.recursions.upward import Upward, upward
from hidiv.types import Array


def influence(tables: Tables, layout: Layout, unseen: Array) -> tuple[Array, int | None]:
    """((n,), impossible node or None); unseen (R, K): log weights left when X_j is not seen, 0 or -inf by state."""
    values, failed = influences(layout.n_nodes, layout.places, tables.arrays, np.ascontiguousarray(unseen))
    return (values, None) if failed < 0 else (values[:0], failed)


@ranged_kernel
def influences(n_nodes: int, places: Places, law: Law, unseen: Array) -> tuple[Array, int]:
    """(influence of every node (n,), failing node or -1)."""
    tables, layout = Tables(*law), Layout(n_nodes, *places)
    up = upward(tables, layout)
    if up.impossible is not None:
        return np.zeros(n_nodes), up.impossible
    outside = outside_messages(tables, layout, up)
    nodes = np.arange(layout.n_nodes)
    rows = layout.rows(nodes)
    seen, left = tables.log_weight[rows], unseen[rows]
    below = children_messages(tables, layout, up)
    with_x, without_x = outside + below + seen, outside + below + left
    return node_divergence(with_x, without_x, left - np.where(seen > -np.inf, seen, 0.0)), -1


def node_divergence(log_g: Array, log_h: Array, ratio: Array) -> Array:
    """(n,): KL of two laws given by unnormalised logs (n, K); ratio = log_h - log_g where log_g is finite."""
    total = log_sum(log_g)[:, None]
    return local_divergence(log_g - total, ratio, log_h - total)[1]


def children_messages(tables: Tables, layout: Layout, up: Upward) -> Array:
    """(n, K) log b_u: the product of the children's messages, u's own weight left out."""
    k = tables.n_states
    message = np.zeros((layout.n_nodes, k), dtype=np.longdouble)
    for nodes in layout.upward(k * k):
        add_to_parents(message, layout.parents(nodes), up.log_mass[nodes])
    return np.asarray((message - message.max(axis=1, keepdims=True)).astype(np.float64))


def outside_messages(tables: Tables, layout: Layout, up: Upward) -> Array:
    """(n, K): log of everything outside u's subtree as a function of S_u, shifted to a largest value of 0.

    A child's own message is taken out of its parent's product by subtraction; impossible ones are counted apart,
    because a state the child forbids comes back when the child's evidence is left out.
    """
    n, k = up.log_own.shape
    log_transition = log_of(tables.transition)
    finite, zeros = np.zeros((n, k), dtype=np.longdouble), np.zeros((n, k), dtype=np.longdouble)
    for nodes in layout.upward(k * k):
        mass, parents = up.log_mass[nodes], layout.parents(nodes)
        add_to_parents(finite, parents, np.where(mass > -np.inf, mass, 0.0))
        add_to_parents(zeros, parents, (mass == -np.inf).astype(np.float64))
    outside = np.zeros((n, k))
    outside[0] = log_of(tables.initial)
    for nodes in layout.downward(k * k):
        parents = layout.parents(nodes)
        mass = up.log_mass[nodes]
        closed = zeros[parents] - (mass == -np.inf) > 0
        rest = finite[parents] - np.where(mass > -np.inf, mass, 0.0)
        cavity = outside[parents] + tables.log_weight[layout.rows(parents)] + np.where(closed, -np.inf, rest)
        cavity = (cavity - cavity.max(axis=1, keepdims=True)).astype(np.float64)
        term = log_transition[layout.transitions(nodes)] + cavity[:, :, None]
        message = log_sum(np.swapaxes(term, 1, 2))
        outside[nodes] = message - message.max(axis=1, keepdims=True)
    return outside
