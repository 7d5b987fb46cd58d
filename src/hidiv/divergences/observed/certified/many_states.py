"""Bounds that hold for any number of states, for intervals that are still wide.

From above, on chains of symbols: the hidden states are revealed now and then, with all words between listed. After a
block of symbols w both models show a state of q: q its own, b', and p one that is drawn given its own, a', from
channel(b' | a', b, w), b the state shown before. (p also shows a', and q draws one as p would: that adds nothing.) What
is shown tells more than the symbols alone, so that its divergence bounds that of the symbols. Blocks add up, and one
from a and b costs the sum over w and b' of

    P(w, b') log P(w, b') / q(w, b' | b),    P(w, b') = sum_a' p(w, a' | a) channel(b' | a', b, w).

With channel(b' | a', b, w) = q(w, b' | b) E(a', b') / Z(w, b, a') for any E > 0 it never leaves what q can show: the
bound is finite wherever q can show p's words from every state. Its best choice is e^-V, V the cost to come. Blocks end
with the words of a complete set without prefixes, in which rare words are short: the longer, the less is revealed. A
block that overshoots the end of the chain only tells more.

From below, on chains of symbols: how far single symbols tell the models apart (Donsker and Varadhan). For any function
g of a symbol, D >= E_p[sum of g(x_t)] - log E_q[exp(sum of g(x_t))]. The first is p's expected counts of symbols; the
second the recursion of q with emissions weighted by e^g. g is raised where p shows a symbol more often than q does so
weighted, which climbs a concave function; whatever it is, the bound holds.
"""

from __future__ import annotations

from itertools import pairwise
from math import inf, log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hidiv.divergences.measures.bhattacharyya_bounds import log_upper
from hidiv.divergences.measures.product_kernel import radius_above
from hidiv.divergences.observed.alphabets import FiniteChain, by_formula, finite_chains, no_alphabet
from hidiv.divergences.observed.interval import Interval
from hidiv.divergences.observed.variational import emission_pairs
from hidiv.divergences.pair import closed
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.gth import absorbed, closed_classes, stationary
from hidiv.recursions.powers import stochastic, summed_powers
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget
    from hidiv.divergences.pair import Pair

CELLS = 1 << 25  # words times pairs of states times states
MOST, QUICK = 1 << 21, 1 << 18  # the same for blocks of one symbol
WORDS = 1 << 14
PORTION = 1 << 21  # the same, at once
LONGEST = 64  # symbols of a block
OCCUPIED = 256  # nodes over which p's states are counted
ROUNDS = 40  # of value iteration
SHARP = (1.0, 2.0, 4.0, 16.0)  # powers of e^-V that are tried for E: the first for one path, higher for mixed ones
STEPS = 512  # nodes after which the rest of a chain is bounded by the last increments
SMALLEST, FARTHEST = 1e-250, 500.0  # of E, and of V
LOST = 1e300  # beyond, V may be cut off: E is its smallest long before, and sixteen times as much is a double
FAINT = 1e-300  # probabilities of q below count as zero, which only raises the bound
SMALL = 1e-50  # words of q less likely than this are weighed in their own unit
ROOM = 1e-12  # relative rounding of sums of terms of one sign
FIT_NODES = 128  # that g is fitted on
FIT_ROUNDS = 60  # of the fit
FIT_GAIN = 1e-5  # relative gain of a round at which it ends
FIT_STEP = 3.0  # change of g in a round


def tightened(interval: Interval, pair: Pair, budget: Budget) -> Interval:
    """An interval that is wider than asked for, within the bounds that hold for many states."""
    assert pair.tree is None or isinstance(pair.tree, Tree)
    below, above = {"overlap of the two laws": 0.0}, inf
    formulas, symbols = by_formula(pair.p, pair.q) and closed(pair.p, pair.q), no_alphabet(pair) is None
    soon = budget.operations < inf
    chain = pair.tree is None or (pair.tree.is_chain and pair.p.n_groups == pair.q.n_groups == 1)
    if formulas and not (soon and (symbols or not chain)):
        below["overlap of the two laws"] = -2.0 * log_upper(pair)
    if chain:
        length = None if pair.tree is None else int(pair.tree.n_nodes)
        if symbols:
            chains = pair.once(finite_chains)
            below["counts of symbols"] = tilted(*chains, length)
            above = revealed(*chains, length, 1 if soon else CELLS)
        elif formulas:
            above = coupled(pair.p, pair.q, length)
    lower, upper, how = interval.lower, interval.upper, dict(interval.how)
    if above < upper:
        upper, how = above, how | {"upper": "states revealed now and then"}
    best = max(below, key=lambda name: below[name])
    if below[best] > lower:
        lower, how = below[best], how | {"lower": best}
    return Interval(min(lower, upper), upper, how)


class BlockWords(NamedTuple):
    """Words of one length that end a block: p(w, a' | a) (W, K + 1, K), q(w, b' | b) (W, K' + 1, K').

    The last rows are from the initial laws.
    """

    length: int
    p: Array
    q: Array


class RevealedBlock(NamedTuple):
    """What a block costs from every pair of states (R, R'), and by its length where it leads, (R, R', K, K')."""

    cost: Array
    moves: dict[int, Array]

    def then(self, history: list[Array]) -> Array:
        """(R, R'): the cost from here on, given the costs with fewer symbols left, the fewest first."""
        following = [np.tensordot(move, history[-size], 2) for size, move in self.moves.items()]
        return np.asarray(self.cost + sum(following))


def revealed(p: FiniteChain, q: FiniteChain, length: int | None, cells: int = CELLS) -> float:
    """The bound on a chain of `length` symbols, or a step along an endless one; +inf where there is none."""
    if p.n_symbols * p.n_states * q.n_states * max(p.n_states, q.n_states) > (MOST if cells > 1 else QUICK):
        return inf
    law, apart = _occupied(p), np.zeros((p.n_states, q.n_states))
    with np.errstate(over="ignore", invalid="ignore"):  # an overflow: no bound
        value, weight = _best(_words(p, q, law, 1, 1), apart, length, SHARP if cells > 1 else SHARP[1:2])
        if cells <= 1:
            return value
        return min(value, _along(_words(p, q, law, cells, min(LONGEST, length or LONGEST)), weight, apart, length))


def coupled(p: Model, q: Model, length: int | None) -> float:
    """The same for any observations: states revealed at every node, the divergences of their emissions added.

    The emissions of what is mixed cost at most the mean of their divergences.
    """
    if p.n_states * q.n_states * max(p.n_states, q.n_states) > MOST:
        return inf
    tables = [np.concatenate([np.asarray(m.transitions[0]), m.initial[None]])[None] for m in (p, q)]
    with np.errstate(over="ignore", invalid="ignore"):  # an overflow: no bound
        return _best([BlockWords(1, *tables)], emission_pairs(p, q)[0], length)[0]


def _along(words: list[BlockWords], weight: Array, apart: Array, length: int | None) -> float:
    """The bound from blocks with an E, and what every pair of states shown costs besides, `apart` (K, K')."""
    block, start = (_block(words, weight, apart, rows) for rows in (slice(0, -1), slice(-1, None)))
    if not (np.isfinite(block.cost).all() and np.isfinite(start.cost).all()):
        return inf
    longest = max(block.moves)
    steps = STEPS + longest
    history = [np.zeros_like(block.cost)] * (longest + 1)
    for _ in range(steps if length is None else min(length - 1, steps)):
        history = [*history[1:], block.then(history)]
    # The largest increment of the last steps: later ones are means of these.
    increment = max(float((new - old).max()) for old, new in pairwise(history))
    value = increment if length is None else float(start.then(history)[0, 0]) + max(length - 1 - steps, 0) * increment
    return value * (1.0 + ROOM) + ROOM if value < inf else inf  # nor where infinities were subtracted


def _occupied(p: FiniteChain) -> Array:
    """Where p is on its first nodes, on average."""
    law, total = p.initial, np.zeros(p.n_states)
    for _ in range(OCCUPIED):
        total, law = total + law, law @ p.transition
    return np.asarray(total / total.sum())


def _words(p: FiniteChain, q: FiniteChain, law: Array, cells: int, longest: int) -> list[BlockWords]:
    """A complete set of words, the likely ones longer, as many as the cells allow."""
    room = max(min(cells // (p.n_states * q.n_states * max(p.n_states, q.n_states)), WORDS), p.n_symbols)
    threshold = 1.0
    while threshold > 1e-12 and _leaves(p, law, 0.5 * threshold, longest, room) <= room:
        threshold *= 0.5
    steps = p.steps(), q.steps()
    starts = [np.concatenate([c.transition, c.initial[None]]) for c in (p, q)]
    tables = [start * c.probabilities.T[:, None, :] for start, c in zip(starts, (p, q), strict=True)]  # (M, K + 1, K)
    weights = law @ steps[0]  # (M, K)
    blocks = []
    for size in range(1, longest + 1):
        goes_on = (weights.sum(axis=1) >= threshold) & (size < longest)
        if not goes_on.all():
            blocks.append(BlockWords(size, *(table[~goes_on] for table in tables)))
        if not goes_on.any():
            break
        weights = np.concatenate((weights[goes_on][:, None, None] @ steps[0])[:, :, 0])
        tables = [np.concatenate(table[goes_on][:, None] @ step) for table, step in zip(tables, steps, strict=True)]
    return blocks


def _leaves(p: FiniteChain, law: Array, threshold: float, longest: int, room: int) -> int:
    """How many words end a block where prefixes above the threshold go on; more than the room once that is clear."""
    steps, weights, count = p.steps(), law[None], 0
    for _ in range(longest):
        weights = np.concatenate(weights[None] @ steps)
        goes_on = weights.sum(axis=1) >= threshold
        count += int((~goes_on).sum())
        weights = weights[goes_on]
        if not len(weights) or count + len(weights) > room:
            break
    return count + len(weights)


def _block(words: list[BlockWords], weight: Array, apart: Array, rows: slice) -> RevealedBlock:
    """Costs and moves from the states `rows` of both models; +inf where q lacks a word, rounding added."""
    cost, moves = None, {}
    for length, by_p, by_q in words:
        by_p, by_q = by_p[:, rows], by_q[:, rows]
        size = max(1, PORTION // (by_p.shape[1] * by_q.shape[1] * max(weight.shape)))
        moves[length] = np.zeros((by_p.shape[1], by_q.shape[1], *weight.shape))
        if cost is None:
            cost = np.zeros(moves[length].shape[:2])
        for first in range(0, len(by_p), size):
            some_p, some_q = by_p[first : first + size], by_q[first : first + size]
            some_q = np.where(some_q < FAINT, 0.0, some_q)
            unit = some_q.max(axis=2, keepdims=True)  # (W, R', 1)
            unit = np.where((unit > 0) & (unit < SMALL), unit, 1.0)  # in which no share overflows
            some_q = some_q / unit
            scale = some_q @ weight.T  # (W, R', K): Z
            lacking = (scale == 0)[:, None] & (some_p > 0)[:, :, None]  # (W, R, R', K)
            share = some_p[:, :, None, :] / np.where(scale > 0, scale, 1.0)[:, None]
            ratio = share @ weight  # (W, R, R', K'): P / q
            logs = np.log(np.where(ratio > 0, ratio, 1.0)) - np.log(unit)[:, None]
            terms = some_q[:, None] * ratio * logs
            cost += terms.sum(axis=(0, 3)) + ROOM * np.abs(terms).sum(axis=(0, 3))
            cost[lacking.any(axis=(0, 3))] = inf
            by_b = [np.tensordot(share[:, :, b], some_q[:, b], axes=(0, 0)) for b in range(some_q.shape[1])]
            moves[length] += np.stack(by_b, axis=1)
        moves[length] *= weight
        further = np.where(moves[length] > 0, apart, 0.0) * moves[length]
        cost += further.sum(axis=(2, 3)) * (1.0 + ROOM)
    assert cost is not None
    return RevealedBlock(np.where(np.isnan(cost), inf, cost), moves)  # shares that no double holds


def _best(
    words: list[BlockWords], apart: Array, length: int | None, powers: tuple[float, ...] = SHARP
) -> tuple[float, Array]:
    """The least bound with blocks of one symbol, and its E."""
    candidates = [
        (_along(words, weight, apart, length), weight) for weight in (_weight(words, apart, c) for c in powers)
    ]
    return min(candidates, key=lambda each: each[0])


def _weight(words: list[BlockWords], apart: Array, sharp: float) -> Array:
    """E = e^(-sharp V), V the cost to come by value iteration on blocks of one symbol; any E serves."""
    value = np.zeros_like(apart)
    for _ in range(ROUNDS):
        block = _block(words, _sharpened(apart + value, sharp), apart, slice(0, -1))
        ahead = np.where(block.cost < inf, block.then([value]), inf)
        if not np.isfinite(ahead).any():
            break
        value = np.minimum(ahead - ahead.min(), FARTHEST)
    return _sharpened(apart + value, sharp)


def _sharpened(value: Array, sharp: float) -> Array:
    """e^(-sharp value) up to a factor, never so small that it is lost, but 0 for states that may not be paired."""
    above = np.minimum(value - min(float(value.min()), 1e300), LOST)
    return np.where(value < inf, np.maximum(np.exp(-sharp * above), SMALLEST), 0.0)


def tilted(p: FiniteChain, q: FiniteChain, length: int | None) -> float:
    """The bound on a chain of `length` symbols, or a step along an endless one; at least 0."""
    tilt = _fitted(p, q, FIT_NODES if length is None else min(length, FIT_NODES))
    weight = (q.probabilities * np.exp(tilt)).sum(axis=1)  # (K,)
    shown = p.probabilities @ tilt
    if length is None:
        law = _long_run(p)
        gain, size = float(law @ shown), float(law @ np.abs(shown))
        lost = log(radius_above(lambda v: q.transition @ (weight * v), np.ones(q.n_states, dtype=np.bool_)))
    else:
        move = stochastic(p.transition)
        gain, size = (float(p.initial @ summed_powers(move, each, length)) for each in (shown, np.abs(shown)))
        lost = _log_mean(q.initial * weight, q.transition * weight, length - 1)
    return max(gain - lost - 16.0 * ROOM * (size + abs(lost)), 0.0)


def _long_run(p: FiniteChain) -> Array:
    """p's states in the long run."""
    members = closed_classes(p.transition)
    transient = np.ones(p.n_states, dtype=np.bool_)
    transient[np.concatenate(members)] = False
    entered, law = absorbed(p.initial, p.transition, transient), np.zeros(p.n_states)
    for m in members:
        law[m] = entered[m].sum() * stationary(p.transition[np.ix_(m, m)])
    return law


def _log_mean(start: Array, step: Array, turns: int) -> float:
    """log of start step^turns 1, by squaring."""
    total, scale, log_step = start, 0.0, 0.0
    while True:
        if turns & 1:
            total, scale = total @ step, scale + log_step
        top = float(total.max())
        total, scale = total / top, scale + log(top)
        turns >>= 1
        if not turns:
            return scale + log(float(total.sum()))
        step = step @ step
        top = float(step.max())
        step, log_step = step / top, 2.0 * log_step + log(top)


def _fitted(p: FiniteChain, q: FiniteChain, length: int) -> Array:
    """(M,): g for a chain of so many symbols."""
    counts, law = np.zeros(p.n_states), p.initial
    for _ in range(length):
        counts, law = counts + law, law @ p.transition
    wanted = counts @ p.probabilities
    tilt, best, pace = np.zeros(p.n_symbols), 0.0, 1.0
    _, now = _weighted(q, tilt, length)
    for _ in range(FIT_ROUNDS):
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.clip(np.nan_to_num(np.log(wanted) - np.log(now), nan=0.0), -FIT_STEP, FIT_STEP)
        value = -inf
        while value <= best and pace > 1e-3:
            trial = tilt + pace * step
            lost, then = _weighted(q, trial, length)
            value = float(wanted @ trial) - lost
            pace *= 0.5
        if value <= best * (1.0 + FIT_GAIN):
            break
        tilt, best, now, pace = trial, value, then, min(1.0, 3.0 * pace)
    return tilt


def _weighted(q: FiniteChain, tilt: Array, length: int) -> tuple[float, Array]:
    """log E_q e^(sum of g), and how often symbols show in the law so weighted (M,)."""
    emitted = q.probabilities * np.exp(tilt)
    weight = emitted.sum(axis=1)
    forward, lost, now = np.empty((length, q.n_states)), 0.0, q.initial * weight
    for t in range(length):
        total = float(now.sum())
        lost += log(total)
        forward[t] = now / total
        now = (forward[t] @ q.transition) * weight
    counts, backward = np.zeros(q.n_states), np.ones(q.n_states)
    for t in range(length - 1, -1, -1):
        here = forward[t] * backward
        counts += here / here.sum()
        backward = q.transition @ (weight * backward)
        backward /= backward.max()
    return lost, np.asarray((counts / np.where(weight > 0, weight, 1.0)) @ emitted)
