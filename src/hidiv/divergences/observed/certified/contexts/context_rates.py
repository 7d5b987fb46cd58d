"""Certified rates by contexts, best where the filter soon forgets (definitions (5.4))."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

import numpy as np

from hidiv.divergences.observed.certified.refining import Refiner
from hidiv.divergences.observed.interval import TINY, UNIT, FiniteChain, Interval, NotApplicable, outward
from hidiv.recursions.contexts import cross_contexts, entropy_contexts

DEEPEST = 1000  # symbols of a context
FIRST = 2.0**-6  # threshold of the first pass
LOWER = 4.0  # it is divided by this every time
MOST = 2 * 10**9  # contexts
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


def _refiner(
    run: Callable[[float, int], tuple[float, float, int, int, bool]], p: FiniteChain, q: FiniteChain
) -> Refiner:
    """Passes with a threshold that is lowered every time; one that would last too long is given up."""
    threshold, speed = FIRST, 0.0

    def step(end: float) -> Interval | None:
        nonlocal threshold, speed
        if float(q.n_symbols) ** 3 * q.n_states > FEW:
            raise NotApplicable("there are too many contexts of two symbols")
        if (q.moves() & (q.steps() < TINY)).any():
            raise NotApplicable("q has probabilities too small for doubles")
        began = monotonic()
        limit = MOST if speed == 0.0 else int(min(max(speed * (end - began), 1000.0), MOST))
        lower, upper, leaves, depth, finished = run(threshold, limit)
        if not finished or threshold < 1e-22:
            return None
        speed = leaves / max(monotonic() - began, 1e-3)
        terms = 4.0 * depth * (p.n_states + q.n_states + q.n_symbols + 8.0) + 64.0
        rounding = UNIT * terms * (1.0 + (upper if np.isfinite(upper) else 1e3))
        how = {"method": "contexts", "contexts": leaves, "depth": depth, "threshold": threshold, "rounding": rounding}
        threshold /= LOWER
        return outward(max(lower - rounding, 0.0), upper + rounding, how)

    return Refiner("contexts", step, LOWER, 0.6)
