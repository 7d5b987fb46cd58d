"""Upward messages of one model, leaves to root (definitions (2.1))."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hidiv.recursions.boolean_messages import posterior_support, upward_support
from hidiv.recursions.count_rows import CountTables
from hidiv.recursions.kernels import kernel, ranged_kernel
from hidiv.recursions.normal_rows import NormalLaws
from hidiv.recursions.tables import Law, Layout, MakeRows, Places, Tables, add_to_parents
from hidiv.recursions.terms import exact_sum, log_of, log_sum
from hidiv.types import Array, IntArray


@dataclass(frozen=True, eq=False)
class Upward:
    """log_likelihood; log_own (n, K) = log w_u b_u, log_mass (n, K) = log B_u by parent state, one scale a node.

    p(s | r, E) = exp(log transition(r, s) + log_own[u, s] - log_mass[u, r]);
    log_mass[0] is the root's one number, repeated.
    impossible: the first node in upward order where the evidence fails, or None; log_likelihood is -inf then.
    """

    log_likelihood: float
    log_own: Array
    log_mass: Array
    impossible: int | None = None


def log_likelihood(tables: Tables, layout: Layout) -> tuple[float, int | None]:
    """log P(E), and the first node in upward order where the evidence fails (log P is -inf then) or None."""
    value, failed = likelihood_value(layout.n_nodes, layout.places, tables.arrays)
    return (value + tables.taken_out(layout), None) if failed < 0 else (-np.inf, failed)


@ranged_kernel
def likelihood_value(n_nodes: int, places: Places, law: Law) -> tuple[float, int]:
    """(log P(E), failing node or -1)."""
    up = upward(Tables(*law), Layout(n_nodes, *places))
    return up.log_likelihood, -1 if up.impossible is None else up.impossible


@kernel
def likelihood_stream(
    n_nodes: int,
    transition_of: IntArray | None,
    initial: Array,
    transition: Array,
    make: MakeRows,
    chunk: int,
    normal: tuple[Array, NormalLaws] | None = None,
    counts: CountTables | None = None,
) -> float | None:
    """log P(E) of a chain whose log-weights come from make(first, end)[0], (end - first, K), `chunk` nodes at a time.

    normal: x (n, F) and laws of which a kernel makes the rows itself, but for parts with numbers that are none or far
    out; counts: the same for x and tables in which they are looked up. None where the chain has zeros or numbers out
    of range: tables are the way then.
    """
    value, failed = likelihood_value(n_nodes, (None, transition_of, None), (initial, transition, make(0, n_nodes)[0]))
    return None if failed >= 0 else value


def upward(tables: Tables, layout: Layout) -> Upward:
    """Messages of every node; nothing underflows, since all of it is in logarithms."""
    n, k = layout.n_nodes, tables.n_states
    support, failed = upward_support(tables, layout)
    if failed is not None:
        return Upward(-np.inf, np.zeros((0, k)), np.zeros((0, k)), failed)
    reached = posterior_support(tables, layout, support)
    log_transition = log_of(tables.transition)
    # Extended precision where there is one: a star adds up a hundred thousand logarithms.
    message = np.zeros((n, k), dtype=np.longdouble)
    log_own, log_mass = np.zeros((n, k)), np.zeros((n, k))
    scales: list[Array] = []

    def own_of(nodes: IntArray) -> Array:
        """(L, K): log w_u b_u, its largest entry 0."""
        # Weights and messages are shifted apart, by the states that count: a sum would round the lesser of the two.
        weight, below = tables.log_weight[layout.rows(nodes)], message[nodes]
        tops = [np.where(reached[nodes], each, -np.inf).max(axis=1, keepdims=True) for each in (weight, below)]
        own = (weight - tops[0]) + (below - tops[1])
        tops.append(np.where(reached[nodes], own, -np.inf).max(axis=1, keepdims=True))
        scales.extend(top.ravel() for top in tops)
        return np.asarray((own - tops[2]).astype(np.float64))

    for nodes in layout.upward(k * k):
        log_own[nodes] = own = own_of(nodes)
        log_mass[nodes] = mass = log_sum(log_transition[layout.transitions(nodes)] + own[:, None, :])
        add_to_parents(message, layout.parents(nodes), mass)
    root = np.zeros(1, dtype=np.int64)
    log_own[0] = own_of(root)[0]
    log_mass[0] = log_sum(log_of(tables.initial) + log_own[0])
    return Upward(exact_sum(np.append(np.concatenate(scales), log_mass[0, 0])), log_own, log_mass)


def conditional_rows(tables: Tables, layout: Layout, up: Upward, nodes: IntArray) -> Array:
    """(L, K, K): p(S_u = s | S_parent = r, E); rows of impossible parent states are zero."""
    mass = up.log_mass[nodes]
    term = log_of(tables.transition[layout.transitions(nodes)]) + up.log_own[nodes][:, None, :]
    return np.asarray(np.exp(term - np.where(mass > -np.inf, mass, 0.0)[:, :, None]))


def root_law(tables: Tables, up: Upward) -> Array:
    """(K,): p(S_0 = s | E)."""
    return np.asarray(np.exp(log_of(tables.initial) + up.log_own[0] - up.log_mass[0, 0]))
