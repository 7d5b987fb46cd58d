"""Proven bounds on the Bhattacharyya coefficient of two observed processes (definitions 10).

Recursions over pairs of states bound it on any tree. Chains of symbols are bounded more narrowly from blocks of several
observations: Phi(s, s' -> t, t') = sum over the words w of a block of sqrt(p(w, t | s) q(w, t' | s')). Along the chain
of block ends its products add up to an upper bound, sqrt(a + b) <= sqrt(a) + sqrt(b), and those of its squares to the
square of a lower bound (Minkowski). The longer the blocks, the narrower.
"""

from __future__ import annotations

from math import exp, expm1, inf
from typing import NamedTuple

import numpy as np

from hidiv.divergences.joint.renyi import renyi
from hidiv.divergences.measures.product_kernel import (
    half_products,
    log_radius_above,
    log_sum,
    subtrees_of,
    with_like_states,
)
from hidiv.divergences.observed.alphabets import FiniteChain, finite_chains
from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.pair import Pair
from hidiv.errors import HidivError
from hidiv.models.tree import Tree
from hidiv.types import Array

ROUNDING = 1e-12  # relative room for rounding that bounds are given
WORDS = 1 << 12  # of a block
CELLS = 1 << 20  # words times pairs of states of one model
GAPS = 40  # observations left out between blocks at most
WIDEST = 256  # pairs of states of both models


class Bracket(NamedTuple):
    """Proven bounds on the Bhattacharyya coefficient BC: logs, and one less each."""

    log_lower: float
    log_upper: float
    gap_lower: float  # 1 - BC is at least this
    gap_upper: float  # and at most this

    @property
    def lower(self) -> float:
        return exp(self.log_lower)

    @property
    def upper(self) -> float:
        return exp(self.log_upper)


def log_upper(pair: Pair) -> float:
    """log of a proven upper bound on the Bhattacharyya coefficient, at most 0; so D(p || q) >= -2 log_upper.

    A step along an endless chain where the pair has no tree; 0 where the emissions have no integral of sqrt(e e').
    """
    if pair.tree is not None:
        return pair.once(bracket).log_upper
    try:
        return min(log_radius_above(pair.p, pair.q, pair.once(half_products)[0]), 0.0)
    except HidivError:
        return 0.0


def bracket(pair: Pair) -> Bracket:
    """Bounds on BC from recursions over pairs of states; [0, 1] where the emissions have no integrals.

    Above: B of `log_upper`, and on chains of symbols the same for blocks of several observations. Below: the square
    root of the sum over both paths of p(s) q(s') prod Phi^2 (Minkowski), for blocks too, and the coefficient of states
    and observations together, states paired by their emissions, which tell more than observations alone.
    """
    tree = pair.known_tree("the Bhattacharyya coefficient needs")
    if pair.p == pair.q:
        return Bracket(0.0, 0.0, 0.0, 0.0)
    try:
        phi = pair.once(half_products)
    except HidivError:
        return Bracket(-inf, 0.0, 0.0, 1.0)
    kinds = subtrees_of(tree, max(pair.p.n_groups, pair.q.n_groups) > 1)
    above = min(log_sum(pair.p, pair.q, tree, 0.5, phi, kinds), 0.0)
    below = min(0.5 * log_sum(pair.p, pair.q, tree, 1.0, 2.0 * phi, kinds), 0.0)
    gap_upper = -expm1(below)
    if pair.same_states:
        try:
            joint = renyi(with_like_states(pair), 0.5).value
        except HidivError:
            joint = inf
        if -0.5 * joint > below:
            below, gap_upper = -0.5 * joint, -expm1(-0.5 * joint)
    try:
        blocks = _block_bounds(pair)
    except (NotApplicable, HidivError):
        blocks = LogBounds(-inf, 0.0)
    if blocks.lower > below:
        below, gap_upper = blocks.lower, -expm1(blocks.lower)
    above = min(above, blocks.upper)
    return _widened(below, above, gap_upper)


def _widened(below: float, above: float, gap_upper: float) -> Bracket:
    """The bracket with room for rounding."""
    low, high = (side * (1.0 + sign * ROUNDING) for side, sign in ((below, 1.0), (above, -1.0)))
    gap_lower = -expm1(high) * (1.0 - ROUNDING) + 0.0
    return Bracket(low - ROUNDING, min(high + ROUNDING, 0.0), gap_lower, max(gap_upper, gap_lower) * (1.0 + ROUNDING))


class LogBounds(NamedTuple):
    """log of a lower and of an upper bound on the coefficient."""

    lower: float
    upper: float


def _block_bounds(pair: Pair) -> LogBounds:
    """Both bounds from the longest blocks with few words; NotApplicable where these are no chains of symbols."""
    tree = pair.tree
    if not isinstance(tree, Tree) or not tree.is_chain:
        raise NotApplicable("blocks are parts of chains")
    p, q = pair.once(finite_chains)
    states = max(len(p.initial), len(q.initial))
    if len(p.initial) * len(q.initial) > WIDEST:
        raise NotApplicable("too many pairs of states")
    length = _length(p.n_symbols, states, tree.n_nodes)
    n_nodes = int(tree.n_nodes)
    if n_nodes <= length:  # one block: the coefficient itself
        both = [model.initial @ _block(model, n_nodes, starts=True).sum(axis=2).T for model in (p, q)]
        exact = min(_log(np.sqrt(both[0] * both[1]).sum()), 0.0)
        return LogBounds(exact, exact)
    first = (n_nodes - 1) % length + 1
    laws = [_block(model, length) for model in (p, q)]
    start = [model.initial @ _block(model, first, starts=True) for model in (p, q)]  # (W, K)
    roots = [np.sqrt(law).reshape(len(law), -1) for law in laws]
    step = _by_pairs(roots[0].T @ roots[1], len(p.initial), len(q.initial))
    at_start = (np.sqrt(start[0]).T @ np.sqrt(start[1])).ravel()
    ends = [np.sqrt(law.sum(axis=2)) for law in laws]
    at_end = (ends[0].T @ ends[1]).ravel()
    turns = (n_nodes - first) // length - 1
    upper = min(_log_sum(at_start, step, turns, at_end), _apart(p, q, n_nodes, length))
    lower = 0.5 * _log_sum(at_start**2, step**2, turns, at_end**2)
    return LogBounds(min(lower, 0.0), min(upper, 0.0))


def _apart(p: FiniteChain, q: FiniteChain, n_nodes: int, length: int) -> float:
    """log of an upper bound from blocks with some observations between them left out.

    After g transitions the probability of a state is at most the largest of its column in T^g, whatever was seen
    before: given the blocks before, the overlap of a block is at most that of the words from those (too large) laws.
    """
    words = [_block(model, length, starts=True).sum(axis=2) for model in (p, q)]  # (W, K): P(word | first state)
    known = [table @ model.initial for table, model in zip(words, (p, q), strict=True)]
    begun = _log(np.sqrt(known[0] * known[1]).sum())
    best, powers = begun, [model.transition for model in (p, q)]
    for between in range(GAPS):
        most = [table @ power.max(axis=0) for table, power in zip(words, powers, strict=True)]
        each = _log(np.sqrt(most[0] * most[1]).sum())
        if times := (n_nodes - length) // (length + between):
            best = min(best, begun + times * min(each, 0.0))
        powers = [power @ model.transition for power, model in zip(powers, (p, q), strict=True)]
    return best


def _log(x: float) -> float:
    """log x, -inf at 0."""
    return float(np.log(x)) if x > 0 else -np.inf


def _length(symbols: int, states: int, n_nodes: int) -> int:
    """The longest block with few words."""
    if symbols == 1:
        return 1
    length = 1
    while length < n_nodes and (words := symbols ** (length + 1)) <= WORDS and words * states * states <= CELLS:
        length += 1
    return length


def _block(model: FiniteChain, length: int, starts: bool = False) -> Array:
    """(W, K, K): P(word, last state | state before it), or the first state where the word starts the chain."""
    steps = model.steps()  # (M, K, K): a transition, then a symbol
    words = model.first() if starts else steps
    for _ in range(1, length):
        words = np.einsum("wij,mjk->wmik", words, steps).reshape(-1, *steps.shape[1:])
    return np.asarray(words)


def _by_pairs(table: Array, k: int, width: int) -> Array:
    """(K K, K' K') of (s t) by (s' t') as (K K', K K') of (s s') by (t t')."""
    return table.reshape(k, k, width, width).transpose(0, 2, 1, 3).reshape(k * width, k * width)


def _log_sum(start: Array, step: Array, turns: int, end: Array) -> float:
    """log of start step^turns end, by squaring; -inf where nothing is left."""
    total, scale, log_step = start, 0.0, 0.0
    while turns:
        if turns & 1:
            total, scale = total @ step, scale + log_step
            top = float(total.max())
            if not top > 0:
                return -np.inf
            total, scale = total / top, scale + float(np.log(top))
        turns >>= 1
        if turns:
            step = step @ step
            top = float(step.max())
            if not top > 0:
                return -np.inf
            step, log_step = step / top, 2.0 * log_step + float(np.log(top))
    whole = float(total @ end)
    return scale + _log(whole)
