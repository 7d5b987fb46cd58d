"""Bounds on the Bhattacharyya coefficient of chains of symbols from blocks of several observations.

Phi(s, s' -> t, t') = sum over the words w of a block of sqrt(p(w, t | s) q(w, t' | s')). Along the chain of block ends
its products add up to an upper bound, sqrt(a + b) <= sqrt(a) + sqrt(b), and those of its squares to the square of a
lower bound (Minkowski). Blocks of one observation are the recursions over pairs of states; the longer, the narrower.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hidiv.divergences.observed.alphabets import FiniteChain, finite_chains
from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.pair import Pair
from hidiv.models.tree import Tree
from hidiv.types import Array

WORDS = 1 << 12  # of a block
CELLS = 1 << 20  # words times pairs of states of one model
GAPS = 40  # observations left out between blocks at most
WIDEST = 256  # pairs of states of both models


class LogBounds(NamedTuple):
    """log of a lower and of an upper bound on the coefficient."""

    lower: float
    upper: float


def block_bounds(pair: Pair) -> LogBounds:
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
