"""Certified rates by convexity on a grid of filters, any numbers of states (definitions (5.6)).

What q costs from a state of p and a filter b on is convex in b, and a mean of logarithms of linear functions of b:
spread on the corners of a cell it is bounded above, by its tangents below, with nothing to check between the points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from hidiv.divergences.observed.alphabets import FiniteChain
from hidiv.divergences.observed.budget import Effort
from hidiv.divergences.observed.certified.belief_grid.beliefs import (
    FEWEST,
    FIRST,
    Beliefs,
    ChanceBound,
    SpreadBound,
    Sweep,
    TangentBound,
    chance_operations,
    spread_operations,
    tangent_operations,
)
from hidiv.divergences.observed.certified.refining import Refiner
from hidiv.divergences.observed.interval import Interval, NotApplicable, outward
from hidiv.divergences.observed.support.symbols import supports
from hidiv.types import Array, Flags

SWEEPS = 20_000
SOME, LEAST = 8, 24  # sweeps between two looks at the gain, and before a small gain may end them
CELLS = {1: 1, 2: 64, 3: 24, 4: 12, 5: 10, 6: 8}
FINER = 1.6  # cells of the next grid for one of the last
_SETTLED = 1 / 30  # share of the expected width that unfinished sweeps may cost


def grid_cross(p: FiniteChain, q: FiniteChain, whole: FiniteChain, members: NDArray[np.int64]) -> Refiner:
    """Bounds of lim -E_p log q(x_1..N) / N on a closed class p of a chain `whole`, its states there `members`."""
    start, states_there = _starts(whole, q, members)
    state = _Level(q.n_states)
    least = FEWEST * (spread_operations(p, q, True) + tangent_operations(p, q))

    def step(effort: Effort) -> Interval | None:
        grid = Beliefs.of(p, q, start, states_there, state.cells, effort, least, state.share)
        if grid is None:
            return None
        above = SpreadBound.begin(grid, nearest=False, logarithmic=True)
        progress = _settled(above, state.flat, effort, p)
        upper = progress.largest + progress.rounding if _finite_at(above, grid, states_there) else inf
        lower, rounding, sweeps = -inf, progress.rounding, above.done
        for nearest in state.variants:
            if lower > -inf and effort.over():
                break
            below = TangentBound.begin(grid, nearest)
            settled = _risen(below, upper, effort, p)
            rounding, sweeps = max(rounding, settled.rounding), sweeps + below.done
            state.results[nearest] = settled.least - settled.rounding
            lower = max(lower, state.results[nearest])
        return state.interval(lower, upper, grid, rounding, sweeps)

    return Refiner("grid of filters", step, 2.5, 0.4)


def grid_entropy(p: FiniteChain) -> Refiner:
    """Bounds of lim H(X_1..N) / N for an irreducible chain."""
    k = p.n_states
    start, states_there = np.eye(k), np.ones((k, k), dtype=np.bool_)
    state = _Level(k)
    positive = bool((p.steps() > 0).all())
    least = FEWEST * (chance_operations(p) + spread_operations(p, p, not positive))

    def step(effort: Effort) -> Interval | None:
        grid = Beliefs.of(p, p, start, states_there, state.cells, effort, least, state.share)
        if grid is None:
            return None
        below = ChanceBound.begin(grid)
        progress = _settled(below, state.flat, effort, p)
        lower, rounding, sweeps = progress.least - progress.rounding, progress.rounding, below.done
        upper = inf
        for nearest in state.variants if positive else (False,):
            if upper < inf and effort.over():
                break
            above = SpreadBound.begin(grid, nearest, logarithmic=not positive)
            progress = _settled(above, state.flat, effort, p)
            sweeps += above.done
            largest = progress.largest + progress.rounding
            state.results[nearest] = -largest
            if positive or _finite_at(above, grid, np.eye(k, dtype=np.bool_)):
                upper = min(upper, largest)
        return state.interval(lower, upper, grid, max(rounding, progress.rounding), sweeps)

    return Refiner("grid of filters", step, 2.5, 0.4)


class _Level:
    """How fine the grid is, how flat the sweeps must become, and which variants are still tried."""

    def __init__(self, n_states: int) -> None:
        self.cells = CELLS.get(n_states, 6)
        self.width, self.share = 0.2, FIRST
        self.variants: tuple[bool, ...] = (True, False)
        self.results: dict[bool, float] = {}

    @property
    def flat(self) -> float:
        """Difference of the changes at which sweeps may end."""
        return self.width * _SETTLED

    def interval(self, lower: float, upper: float, grid: Beliefs, rounding: float, sweeps: int) -> Interval:
        """The interval of this level; the next one has more cells."""
        how = {"method": "convexity on a grid of filters", "points": len(grid.points), "cells": self.cells,
               "sweeps": sweeps, "rounding": rounding, "excess": float(grid.excess.max())}  # fmt: skip
        if len(self.results) == 2:
            near, spread = self.results[True], self.results[False]
            self.variants = (near > spread,)
            self.results = {}
        self.cells, self.share = int(self.cells * FINER) + 1, 1.0
        if 0 < upper - lower < inf:
            self.width = min(self.width, 0.25 * (upper - lower))
        return outward(max(lower, 0.0), upper, how)


def _settled(recursion: SpreadBound | ChanceBound, flat: float, effort: Effort, p: FiniteChain) -> Sweep:
    """Sweeps until the change is the same everywhere up to `flat`, or its worse end no longer gains as much."""
    sign = -1.0 if isinstance(recursion, SpreadBound) else 1.0
    return _improved(recursion, sign, lambda _: flat, effort, p)


def _risen(below: TangentBound, upper: float, effort: Effort, p: FiniteChain) -> Sweep:
    """Sweeps until further ones would gain little compared with the distance to the upper bound."""
    return _improved(below, 1.0, lambda best: max(upper - best, 0.0) * _SETTLED, effort, p)


def _improved(
    recursion: SpreadBound | ChanceBound | TangentBound,
    sign: float,
    little: Callable[[float], float],
    effort: Effort,
    p: FiniteChain,
) -> Sweep:
    """Sweeps until the gain expected of further ones is below `little`; the best sweep.

    sign 1: the least change counts, the larger the better; -1: the largest one, the smaller the better.
    """
    halves = period(p.transition) > 1
    best, gained, chosen = -inf, inf, Sweep(-inf, inf, 0.0)
    while True:
        before = replace(recursion)
        count = 1 if halves else effort.fitting(SOME, recursion.operations)
        progress = recursion.sweep(count)
        effort.spend(count * recursion.operations)
        score = progress.least if sign > 0 else -progress.largest
        gain = score - best if best > -inf else inf
        if score > best:
            best, chosen = score, progress
        ratio = min(gain / gained, 0.98) if 0 < gain < inf and 0 < gained < inf else 0.9
        gained = gain
        enough = max(little(best), 2.0 * progress.rounding) if best > -inf else 0.0
        if progress.largest - progress.least <= enough or recursion.done >= SWEEPS or effort.over():
            return chosen
        if gain * ratio / (1.0 - ratio) <= enough and recursion.done > LEAST:
            return chosen
        if halves:  # averages remove the oscillation of a periodic chain; the certificate holds for any values
            recursion.values, recursion.level = (
                0.5 * (recursion.values + before.values),
                0.5 * (recursion.level + before.level),
            )
            if isinstance(recursion, TangentBound) and isinstance(before, TangentBound):
                recursion.slopes = 0.5 * (recursion.slopes + before.slopes)


def _finite_at(above: SpreadBound, grid: Beliefs, states_there: Flags) -> bool:
    """Whether the values at the start are finite; the bound is void otherwise."""
    values = above.values[grid.start_index]  # (n, K, K_p)
    finite = (np.isfinite(values) & (grid.start_weights > 0)[:, :, None]).any(axis=1)
    return bool((np.asarray(finite) | ~states_there).all())


def _starts(whole: FiniteChain, q: FiniteChain, members: NDArray[np.int64]) -> tuple[Array, Flags]:
    """A filter for every set of states q may be in, the same on all of them, and the states p can be in then.

    The rate depends on where the filter starts only by that set: another filter on it costs a constant more.
    """
    if (q.steps() > 0).all():
        return np.full((1, q.n_states), 1.0 / q.n_states), np.ones((1, len(members)), dtype=np.bool_)
    place = {int(s): i for i, s in enumerate(members)}
    sets: dict[tuple[int, ...], set[int]] = {}
    for state, possible in supports(whole, q):
        if state in place:
            sets.setdefault(tuple(np.flatnonzero(possible).tolist()), set()).add(place[state])
    start, states_there = np.zeros((len(sets), q.n_states)), np.zeros((len(sets), len(members)), dtype=np.bool_)
    for i, (there, states) in enumerate(sets.items()):
        if not there:
            raise NotApplicable("q cannot emit what p does")
        start[i, list(there)] = 1.0 / len(there)
        states_there[i, list(states)] = True
    return start, states_there


def period(transition: Array) -> int:
    """The period of an irreducible chain."""
    common, distance = 0, np.full(len(transition), -1)
    distance[0] = 0
    front = [0]
    while front:
        ahead = []
        for s in front:
            for to in np.flatnonzero(transition[s] > 0).tolist():
                if distance[to] < 0:
                    distance[to] = distance[s] + 1
                    ahead.append(to)
                common = int(np.gcd(common, distance[s] + 1 - distance[to]))
        front = ahead
    return max(common, 1)
