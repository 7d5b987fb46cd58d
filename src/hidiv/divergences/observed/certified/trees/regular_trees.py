"""Certified observed divergences of regular trees with two-state messages (definitions (5.1))."""

from __future__ import annotations

from math import inf, log2, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hidiv.divergences.observed.alphabets import TreeLaw, no_alphabet, tree_laws
from hidiv.divergences.observed.budget import Effort
from hidiv.divergences.observed.certified.joint_bound import cut_at_joint
from hidiv.divergences.observed.certified.refining import bounded
from hidiv.divergences.observed.certified.trees.message_grid import Grid, spread, sum_of_copies
from hidiv.divergences.observed.interval import TINY, UNIT, Interval, NotApplicable, difference, outward
from hidiv.divergences.observed.support.symbols import emits_forbidden_tree
from hidiv.errors import counted
from hidiv.models.tree import Tree
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget
    from hidiv.divergences.pair import Pair
    from hidiv.divergences.result import Divergence

WIDTH = 1e-6  # of the interval, when nothing else is asked for
FEWEST, MOST = 1 << 10, 1 << 18  # cells of a grid of messages
POINTS = 1 << 22  # of a grid times symbols, at most


def applies(pair: Pair) -> str | None:
    """Symbols of a finite alphabet, at most two states in p and in q."""
    return no_alphabet(pair) or more_than_two(pair)


def run(pair: Pair, budget: Budget) -> Divergence:
    """Bounds on a regular tree, or on a chain whose parameters differ from node to node: a tree of one child."""
    assert isinstance(pair.tree, Tree)
    laws, shape = pair.once(tree_laws), (pair.tree.children or 1, pair.tree.depth)
    interval = observed_regular(*laws, *shape, WIDTH, budget.effort())
    return bounded(cut_at_joint(pair, budget, interval), pair, budget)


def more_than_two(pair: Pair) -> str | None:
    """Why messages are no numbers on a line; None where p and q have at most two states."""
    for name, model in (("q", pair.q), ("p", pair.p)):
        if model.n_states > 2:
            return f"the messages of {name} have {counted(model.n_states, 'state')}, not two"
    return None


def observed_regular(
    p: TreeLaw, q: TreeLaw, children: int, depth: int, width: float = WIDTH, effort: Effort | None = None
) -> Interval:
    """Bounds of D_X on a regular tree; p and q with two states, transition (N, K, K), probabilities (N, K, M) by level.

    The grid is refined until the interval is as narrow as asked, the grid as fine as it may be, the effort is spent or
    an interrupt comes. +inf where p emits a configuration that q cannot.
    """
    if emits_forbidden_tree(p, q, children, depth):
        return Interval(inf, inf, {"method": "support of configurations"})
    finest = max(FEWEST, min(MOST, POINTS // (children * p.probabilities.shape[2])))
    effort = effort or Effort()
    each = 60.0 * depth * (children + 1) * p.probabilities.shape[2] * (len(p.initial) + 1)  # operations of a cell
    cells, interval = FEWEST, None
    while True:
        try:
            cross, entropy = (cross_entropy_regular(p, law, children, depth, cells) for law in (q, p))
        except KeyboardInterrupt:
            if interval is None:
                raise
            return stopped(interval, "an interrupt")
        effort.spend(2.0 * each * cells)
        interval = difference(cross, entropy)
        # The width goes with the square of a cell, the operations with their number.
        wanted = finest
        if width > 0:
            wanted = min(finest, max(4 * cells, int(1.2 * cells * sqrt(interval.width / width)) + 1))
        if interval.width <= width or wanted < 2 * cells:
            why = "the wanted width" if interval.width <= width else "the finest grid"
            return stopped(interval, "the time" if effort.late else why)
        finer, in_time = (0.35 * operations / each for operations in (effort.left, effort.affordable()))
        if min(finer, in_time) < 2 * cells:
            return stopped(interval, "the time" if in_time < finer else "the operations allowed")
        effort.late = effort.late or in_time < min(wanted, finer)
        cells = int(min(wanted, finer, in_time))


class Below(NamedTuple):
    """All that lies below a node, given p's state there (K,).

    q's probability of it is scale (z, 1) for q's two states, or scale (1, 0): the law of log z on a grid,
    E[-log scale] (K,), what spreading may have added to any convex cost (K,), and what rounding may have done (K,).
    """

    grid: Grid
    cost: Array
    loss: Array
    rounding: Array


def cross_entropy_regular(p: TreeLaw, q: TreeLaw, children: int, depth: int, cells: int) -> Interval:
    """Bounds of -E_p log q(X) on a regular tree of `depth` levels; q with two states, p with any number.

    Given p's state at a node the messages of its children are independent, and -log(c z + d) is convex in each of
    them. Moving a message to its two neighbours on a grid, mean kept, gives an upper bound; it adds at most what it
    adds to -log z, whatever c and d are, which gives the lower one. Uniform grids of log z: children add up exactly.
    """
    q = with_two_states(q, depth)
    below = nothing_below(len(p.initial))
    for level in reversed(range(1, depth)):
        below = together(messages_up(below, p, q, level, cells), children)
    how = {"method": "messages spread on a grid of log-odds", "cells": cells}
    return at_root(below, p, q, how)


def with_two_states(q: TreeLaw, count: int) -> TreeLaw:
    """q of one or two states written with two; NotApplicable for more, or for products below TINY."""
    if len(q.initial) == 1:  # written with two states that are alike
        double = np.full((len(q.transition), 2, 2), 0.5)
        q = TreeLaw(np.full(2, 0.5), double, np.repeat(q.probabilities, 2, axis=1))
    if len(q.initial) != 2:
        raise NotApplicable(f"the messages of q have {counted(len(q.initial), 'state')}, not two")
    products = q.transition[1:count, :, :, None] * q.probabilities[1:count, None, :, :]
    possible = (q.transition[1:count, :, :, None] > 0) & (q.probabilities[1:count, None, :, :] > 0)
    if (possible & (products < TINY)).any():
        raise NotApplicable("q has probabilities too small for doubles")
    return q


def nothing_below(n_states: int) -> Below:
    """The message of no children."""
    nothing = np.zeros(n_states)
    return Below(Grid(0.0, 0.0, nothing[:, None] + 1.0, np.zeros((n_states, 2))), nothing, nothing, nothing)


def at_root(below: Below, p: TreeLaw, q: TreeLaw, how: dict[str, Any]) -> Interval:
    """The bounds from all that lies below the root."""
    values, laws = below.grid.messages()
    weights = np.einsum("s,sx,si->xi", p.initial, p.probabilities[0], laws)
    logs = _logs(_likelihoods(q.initial, q.probabilities[0], values), weights)
    if np.isneginf(logs).any():
        raise NotApplicable("q cannot emit what p does")
    value = float(p.initial @ below.cost - (weights * logs).sum())
    off = float(p.initial @ below.rounding) + _allowance(logs, below.grid) + 8.0 * UNIT * abs(value)
    loss = float(p.initial @ below.loss) * (1.0 + 1e-9)
    return outward(value - loss - off, value + off, how | {"spreading": loss, "rounding": off})


def messages_up(below: Below, p: TreeLaw, q: TreeLaw, level: int, cells: int, step: float = 0.0) -> Below:
    """From the nodes of a level to their parents' states: emission, transition, and back on a grid."""
    values, laws = below.grid.messages()
    move = p.transition[level]
    weights = np.einsum("as,sx,si->axi", move, p.probabilities[level], laws, optimize=True)  # (K, M, n + 2)
    total = weights.sum(axis=0)
    zero, one = (_logs(_likelihoods(q.transition[level, r], q.probabilities[level], values), total) for r in (0, 1))
    certain = np.stack([(weights * np.isneginf(row)).sum(axis=(1, 2)) for row in (zero, one)], axis=1)
    if (np.isneginf(zero) & np.isneginf(one)).any():
        raise NotApplicable("q cannot emit what p does")
    scale = np.where(np.isneginf(one), zero, one)
    finite = np.isfinite(zero) & np.isfinite(one) & (total > 0)
    moved = spread((zero[finite] - one[finite]), weights[:, finite], certain, cells, step)
    return Below(
        moved.grid,
        move @ below.cost - (weights * scale).sum(axis=(1, 2)),
        move @ below.loss + moved.cost,
        move @ below.rounding + _allowance(scale, below.grid) + moved.rounding,
    )


def _likelihoods(row: Array, probabilities: Array, values: Array) -> Array:
    """(M, n): sum over q's states of row(s) probabilities(s, x) message(s), messages (2, n)."""
    return np.asarray(row[0] * probabilities[0][:, None] * values[0] + row[1] * probabilities[1][:, None] * values[1])


def _logs(terms: Array, weights: Array) -> Array:
    """Logarithms of terms (M, n) that occur, -inf at their zeros; 0 in place of the others."""
    with np.errstate(divide="ignore"):
        return np.log(np.where(weights > 0, terms, 1.0))


def _allowance(logs: Array, grid: Grid) -> float:
    """Rounding of an expected logarithm: the points, the logarithms, and sums of n terms taken in pairs."""
    largest = float(np.abs(logs).max()) + float(np.abs(grid.points()).max())
    return UNIT * ((32.0 + 2.0 * log2(logs.size + 1)) * largest + 32.0)


def together(message: Below, children: int) -> Below:
    """The messages of all children of a node."""
    moved = sum_of_copies(message.grid, children)
    rounding = children * message.rounding + moved.rounding
    return Below(moved.grid, children * message.cost + moved.cost, children * message.loss, rounding)


def stopped(interval: Interval, why: str) -> Interval:
    """The interval with why it is not narrower in its certificate."""
    return Interval(interval.lower, interval.upper, interval.how | {"stopped": why})
