"""Certified entropies of chains of N symbols by contexts, best where the filter soon forgets (definitions (5.4)).

A context of k symbols bounds the cost of every node with more than k before it, whatever came before: the laws of the
state before the context are summed over those nodes. Where it is all there is before a node the cost is exact.
"""

from __future__ import annotations

import numpy as np

from hidiv.divergences.observed.certified.contexts.context_rates import (
    DEEPEST,
    FEW,
    FIRST,
    LOWER,
    Pass,
    context_operations,
    walked,
)
from hidiv.divergences.observed.certified.effort import Effort
from hidiv.divergences.observed.certified.refining import Refiner
from hidiv.divergences.observed.interval import TINY, UNIT, FiniteChain, Interval, NotApplicable, outward
from hidiv.recursions.contexts import chain_contexts
from hidiv.recursions.levels import level_laws

LONGEST = 100_000  # nodes whose laws are summed one by one


def context_chain(p: FiniteChain, q: FiniteChain, length: int) -> Refiner:
    """Bounds of -E_p log q(x_1..N), any p and q with all that p emits possible under q."""
    return _refiner(p, q, length, False)


def context_chain_entropy(p: FiniteChain, length: int) -> Refiner:
    """Bounds of H(X_1..N)."""
    return _refiner(p, p, length, True)


def _refiner(p: FiniteChain, q: FiniteChain, length: int, entropy: bool) -> Refiner:
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
