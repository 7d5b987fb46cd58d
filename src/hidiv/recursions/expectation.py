"""Expected counts of many trees at once: what the maximisation step reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.recursions.kernels import ranged_kernel
from hidiv.recursions.levels import levels
from hidiv.recursions.tables import Law, Places, Tables
from hidiv.recursions.terms import log_of, log_sum
from hidiv.types import Array, Flags, IntArray


@dataclass(frozen=True, eq=False)
class ExpectedCounts:
    """Sums of posterior probabilities over all nodes of all trees.

    log_likelihoods (m,), -inf for a tree that is impossible (which adds nothing to the counts); initial (K,) at the
    roots; transition (G, K, K) over the edges; rows (R, K) over the nodes that use each row of weights.
    """

    log_likelihoods: Array
    initial: Array
    transition: Array
    rows: Array


def expect(tables: Tables, places: Places, start: IntArray, threads: int = 0) -> ExpectedCounts:
    """Expected counts; tree i holds the nodes start[i]..start[i+1]-1, whose parents are -1 at its root.

    threads: 0 for all processors; the numbers are the same, bit for bit, whatever it is.
    """
    return ExpectedCounts(*expected_counts(start, places, tables.arrays, threads))


@ranged_kernel
def expected_counts(start: IntArray, places: Places, law: Law, threads: int = 0) -> tuple[Array, Array, Array, Array]:
    """(log-likelihoods (m,), initial (K,), transition (G, K, K), rows (R, K)); parents None for chains."""
    initial, transition, log_weight = law
    parent, transition_of, row_of = places
    n, k = int(start[-1]), len(initial)
    up = np.arange(-1, n - 1) if parent is None else parent.copy()
    up[start[:-1]] = -1
    rows = np.arange(n) if row_of is None else row_of.astype(np.int64)
    which = np.zeros(n, dtype=np.int64) if transition_of is None else transition_of
    log_transition = log_of(transition)
    # A forest is a tree whose root is left out: all trees are swept together, level by level.
    level = levels(np.append(-1, up + 1))[1:] - 1
    order = np.argsort(level, kind="stable")
    lines = np.split(order, np.cumsum(np.bincount(level))[:-1])
    reached = _reached(lines, up, rows, which, law)
    message = np.zeros((n, k), dtype=np.longdouble)
    own, mass, scale = np.zeros((n, k)), np.zeros((n, k)), np.zeros(n, dtype=np.longdouble)

    def shifted(part: NDArray[Any], nodes: IntArray) -> NDArray[Any]:
        """(L, K): part less its largest entry among the reached states, which goes into scale."""
        top = np.where(reached[nodes], part, -np.inf).max(axis=1, keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)
        scale[nodes] += top[:, 0]
        return np.asarray(part - top)

    def weigh(nodes: IntArray) -> Array:
        """(L, K): log w_u b_u, its largest entry 0."""
        # Weights and messages are shifted apart, by the states that count: a sum would round the lesser of the two.
        sums = shifted(log_weight[rows[nodes]], nodes) + shifted(message[nodes], nodes)
        return np.asarray(shifted(sums, nodes), dtype=np.float64)

    for nodes in reversed(lines[1:]):
        own[nodes] = weigh(nodes)
        mass[nodes] = log_sum(log_transition[which[nodes]] + own[nodes][:, None, :])
        if parent is None:
            message[up[nodes]] = mass[nodes]
        else:
            np.add.at(message, up[nodes], mass[nodes])
    roots = start[:-1]
    own[roots] = weigh(roots)
    at_root = log_sum(log_of(initial) + own[roots])
    values = (np.add.reduceat(scale, roots) + at_root).astype(np.float64)
    marginals, counts = np.zeros((n, k)), np.zeros(transition.shape)
    possible = values > -np.inf
    marginals[roots[possible]] = np.exp(log_of(initial) + own[roots[possible]] - at_root[possible, None])
    for nodes in lines[1:]:
        above = np.where(mass[nodes] > -np.inf, mass[nodes], 0.0)
        with np.errstate(invalid="ignore"):
            given = np.exp(log_transition[which[nodes]] + own[nodes][:, None, :] - above[:, :, None])
        pairs = marginals[up[nodes]][:, :, None] * np.where(np.isnan(given), 0.0, given)
        marginals[nodes] = pairs.sum(axis=1)
        if len(counts) == 1:
            counts[0] += pairs.sum(axis=0)
        else:
            np.add.at(counts, which[nodes], pairs)
    by_row = np.zeros(log_weight.shape)
    np.add.at(by_row, rows, marginals)
    return values, marginals[roots].sum(axis=0), counts, by_row


def _reached(lines: list[IntArray], up: IntArray, rows: IntArray, which: IntArray, law: Law) -> Flags:
    """(n, K): the states of positive posterior probability, decided on zeros alone; none in an impossible tree."""
    initial, transition, log_weight = law
    positive = transition > 0
    reached = log_weight[rows] > -np.inf
    for nodes in reversed(lines[1:]):
        message = (positive[which[nodes]] & reached[nodes][:, None, :]).any(axis=2)
        np.logical_and.at(reached, up[nodes], message)
    reached[lines[0]] &= initial > 0
    for nodes in lines[1:]:
        reached[nodes] &= (positive[which[nodes]] & reached[up[nodes]][:, :, None]).any(axis=1)
    return np.asarray(reached)
