"""Certified rates by contexts, best where the filter soon forgets (definitions (5.4))."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hidiv.divergences.observed.certified.effort import Effort
from hidiv.divergences.observed.certified.refining import Refiner
from hidiv.divergences.observed.interval import TINY, UNIT, FiniteChain, Interval, NotApplicable, outward
from hidiv.recursions.contexts import cross_contexts, entropy_contexts

Pass = Callable[
    [float, int], tuple[float, float, int, int, bool]
]  # threshold, limit -> bounds, leaves, depth, whether finished

DEEPEST = 1000  # symbols of a context
FIRST = 2.0**-6  # threshold of the first pass
LOWER = 4.0  # it is divided by this every time
MOST = 2 * 10**9  # contexts of a pass
FEWEST = 1000  # contexts that every pass is allowed
FEW = 1e8  # logarithms that the contexts of two symbols may take, where all of them start


def context_cross(p: FiniteChain, q: FiniteChain) -> Refiner:
    """Bounds of lim -E_p log q(x_1..N) / N; p irreducible, its initial law stationary, q any."""
    middle = np.full(q.n_states, 1.0 / q.n_states)
    law = np.ascontiguousarray(p.initial)
    return _refiner(
        lambda threshold, limit: cross_contexts(law, *p.laws(), middle, *q.laws(), threshold, DEEPEST, limit), p, q
    )


def context_entropy(p: FiniteChain) -> Refiner:
    """Bounds of lim H(X_1..N) / N; p irreducible, its initial law stationary."""
    law = np.ascontiguousarray(p.initial)
    return _refiner(lambda threshold, limit: entropy_contexts(law, *p.laws(), threshold, DEEPEST, limit), p, p)


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


def _refiner(run: Pass, p: FiniteChain, q: FiniteChain) -> Refiner:
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
