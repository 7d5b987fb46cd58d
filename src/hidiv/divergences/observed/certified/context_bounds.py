"""Certified entropies and rates by the last symbols, best where the filter soon forgets (definitions (5.4)).

A context of k symbols bounds the cost of every node with more than k before it, whatever came before: the laws of the
state before the context are summed over those nodes. Where it is all there is before a node the cost is exact. Of an
entropy alone blocks of one length do the same:
H(X_n | the L symbols before, the state before those) <= H(X_n | all before) <= H(X_n | the L symbols before).
"""

from __future__ import annotations

from collections.abc import Callable
from math import log2

import numpy as np

from hidiv.divergences.observed.alphabets import FiniteChain
from hidiv.divergences.observed.budget import Effort
from hidiv.divergences.observed.certified.refining import Refiner
from hidiv.divergences.observed.interval import TINY, UNIT, Interval, NotApplicable, outward
from hidiv.recursions.contexts import chain_contexts, cross_contexts, entropy_contexts
from hidiv.recursions.levels import level_laws
from hidiv.recursions.powers import stochastic, summed_powers
from hidiv.types import Array

Pass = Callable[
    [float, int], tuple[float, float, int, int, bool]
]  # threshold, limit -> bounds, leaves, depth, whether finished

DEEPEST = 1000  # symbols of a context
FIRST = 2.0**-6  # threshold of the first pass
LOWER = 4.0  # it is divided by this every time
MOST = 2 * 10**9  # contexts of a pass
FEWEST = 1000  # contexts that every pass is allowed
FEW = 1e8  # logarithms that the contexts of two symbols may take, where all of them start
LONGEST = 100_000  # nodes whose laws are summed one by one
WORDS = 1 << 18
_ONE_BY_ONE = 6  # first laws of the state before a block that are taken one by one


def context_cross(p: FiniteChain, q: FiniteChain) -> Refiner:
    """Bounds of lim -E_p log q(x_1..N) / N; p irreducible, its initial law stationary, q any."""
    middle = np.full(q.n_states, 1.0 / q.n_states)
    law = np.ascontiguousarray(p.initial)
    return _rate_refiner(
        lambda threshold, limit: cross_contexts(law, *p.laws(), middle, *q.laws(), threshold, DEEPEST, limit), p, q
    )


def context_entropy(p: FiniteChain) -> Refiner:
    """Bounds of lim H(X_1..N) / N; p irreducible, its initial law stationary."""
    law = np.ascontiguousarray(p.initial)
    return _rate_refiner(lambda threshold, limit: entropy_contexts(law, *p.laws(), threshold, DEEPEST, limit), p, p)


def context_operations(p: FiniteChain, q: FiniteChain) -> float:
    """Operations that one context takes: its two products of steps, and the cost of the symbol after it."""
    k, states, symbols = p.n_states, q.n_states, q.n_symbols
    return 500.0 + 4.0 * (k**3 + states**3 + 10.0 * states * symbols + k * states * symbols)


def walked(run: Pass, threshold: float, each: float, effort: Effort) -> tuple[float, float, int, int, bool]:
    """One pass over the contexts, `each` of so many operations, given up where it would take more than is left."""
    allowed, in_time = (max(operations / each, FEWEST) for operations in (effort.left, effort.affordable()))
    walk = run(threshold, int(min(allowed, in_time, MOST)))
    effort.spend(each * walk[2])
    if not walk[4] and in_time < min(allowed, MOST):
        effort.late = True
    return walk


def _rate_refiner(run: Pass, p: FiniteChain, q: FiniteChain) -> Refiner:
    """Passes with a threshold that is lowered every time; one that would take too long is given up."""
    threshold = FIRST

    def step(effort: Effort) -> Interval | None:
        nonlocal threshold
        if float(q.n_symbols) ** 3 * q.n_states > FEW:
            raise NotApplicable("there are too many contexts of two symbols")
        if (q.moves() & (q.steps() < TINY)).any():
            raise NotApplicable("q has probabilities too small for doubles")
        lower, upper, leaves, depth, finished = walked(run, threshold, context_operations(p, q), effort)
        if not finished or threshold < 1e-22:
            return None
        terms = 4.0 * depth * (p.n_states + q.n_states + q.n_symbols + 8.0) + 64.0
        rounding = UNIT * terms * (1.0 + (upper if np.isfinite(upper) else 1e3))
        how = {"method": "contexts", "contexts": leaves, "depth": depth, "threshold": threshold, "rounding": rounding}
        threshold /= LOWER
        return outward(max(lower - rounding, 0.0), upper + rounding, how)

    return Refiner("contexts", step, LOWER, 0.6)


def context_chain(p: FiniteChain, q: FiniteChain, length: int) -> Refiner:
    """Bounds of -E_p log q(x_1..N), any p and q with all that p emits possible under q."""
    return _chain_refiner(p, q, length, False)


def context_chain_entropy(p: FiniteChain, length: int) -> Refiner:
    """Bounds of H(X_1..N)."""
    return _chain_refiner(p, p, length, True)


def _chain_refiner(p: FiniteChain, q: FiniteChain, length: int, entropy: bool) -> Refiner:
    """Passes with a threshold that is lowered every time; one that would take too long is given up."""
    threshold = FIRST
    run: Pass | None = None

    def step(effort: Effort) -> Interval | None:
        nonlocal threshold, run
        if not 3 <= length <= LONGEST:
            raise NotApplicable("the chain is too short or too long for contexts")
        if float(q.n_symbols) ** 3 * q.n_states > FEW:
            raise NotApplicable("there are too many contexts of two symbols")
        if (q.moves() & (q.steps() < TINY)).any() or (q.initial[q.initial > 0] < TINY).any():
            raise NotApplicable("q has probabilities too small for doubles")
        run = run or _pass(p, q, length, entropy)
        each = context_operations(p, q)
        lower, upper, leaves, depth, finished = walked(run, length * threshold, each, effort)
        if not finished or threshold < 1e-22:
            return None
        first = _first_two(p, q)
        terms = 4.0 * depth * (p.n_states + q.n_states + q.n_symbols + 8.0) + 2.0 * length + 128.0
        rounding = UNIT * terms * (length + first + (upper if np.isfinite(upper) else 1e3 * length))
        how = {"method": "contexts", "contexts": leaves, "depth": depth, "threshold": threshold, "rounding": rounding}
        threshold /= LOWER
        return outward(max(first + lower - rounding, 0.0), first + upper + rounding, how)

    return Refiner("contexts", step, LOWER, 0.6)


def _pass(p: FiniteChain, q: FiniteChain, length: int, entropy: bool) -> Pass:
    """One walk over the tree of contexts, for a threshold and at most so many contexts."""
    depth = min(length - 1, DEEPEST)
    sums = np.concatenate(
        [np.zeros((1, p.n_states)), np.cumsum(level_laws(p.initial, p.transition, length - 1), axis=0)]
    )
    laws = np.ascontiguousarray(sums[length - 1 - np.arange(depth + 1)])
    start = np.ascontiguousarray(p.initial), laws, *p.laws()
    middle = np.full(q.n_states, 1.0 / q.n_states)
    other = np.ascontiguousarray(q.initial), middle, *q.laws()
    return lambda threshold, limit: chain_contexts(*start, *other, entropy, threshold, depth, limit)


def _first_two(p: FiniteChain, q: FiniteChain) -> float:
    """-E_p log q(x_1, x_2), word by word."""
    chance, other = (
        (law.initial[:, None] * law.probabilities).T @ law.transition @ law.probabilities for law in (p, q)
    )
    there = chance > 0
    return float(-(chance[there] * np.log(other[there])).sum())


def block_entropy(p: FiniteChain, length: int) -> Refiner:
    """Bounds of H(X_1..N), with longer blocks at every step."""
    block = 1

    def step(effort: Effort) -> Interval | None:
        nonlocal block
        if p.n_symbols ** (block + 1) > WORDS or block > length:
            return None
        lower, upper = _block_bounds(p, length, min(block, length - 1))
        words = p.n_symbols ** (block + 1)
        effort.spend(20.0 * words * p.n_states * (p.n_states + _ONE_BY_ONE + 2.0))
        rounding = UNIT * length * (4.0 * p.n_states * (block + 2.0) + log2(words) + 64.0) * (1.0 + upper / length)
        how = {"method": "blocks", "symbols": block, "words": words, "rounding": rounding}
        block += 1
        return outward(max(lower - rounding, 0.0), upper + rounding, how)

    return Refiner("blocks", step, float(p.n_symbols), 0.5)


def _block_bounds(p: FiniteChain, length: int, block: int) -> tuple[float, float]:
    """The first block + 1 symbols exactly, every later one by the block before it."""
    first = _word_entropy(p, p.initial, block + 1)
    later = length - block - 1
    if later == 0:
        return first, first
    given = np.array([_increment(p, row, block) for row in p.transition])
    transition = stochastic(p.transition)
    # (I + T + ...) given from every state, then from the law of the first one
    lower = float(p.initial @ summed_powers(transition, given, later))
    law, upper = p.initial @ transition, 0.0
    alone = min(later, _ONE_BY_ONE)
    for _ in range(alone):
        upper += _increment(p, law, block)
        law = law @ transition
    if later > alone:  # concave in the law before the block: that of the mean law is not less
        mean = np.array([law @ summed_powers(transition, unit, later - alone) for unit in np.eye(p.n_states)])
        upper += (later - alone) * _increment(p, mean / mean.sum(), block)
    return first + lower, first + upper


def _increment(p: FiniteChain, start: Array, block: int) -> float:
    """H(X_{L+1} | X_1..L), the first state drawn from start."""
    return _word_entropy(p, start, block + 1) - _word_entropy(p, start, block)


def _word_entropy(p: FiniteChain, start: Array, length: int) -> float:
    """H(X_1..L) by its words, the first state drawn from start."""
    front = start[None, :]
    for i in range(length):
        front = front if i == 0 else front @ p.transition
        front = (front[:, None, :] * p.probabilities.T[None]).reshape(-1, p.n_states)
    chances = front.sum(axis=1)
    chances = chances[chances > 0]
    return float(-(chances * np.log(chances)).sum())
