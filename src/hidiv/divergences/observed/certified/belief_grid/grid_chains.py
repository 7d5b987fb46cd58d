"""Certified entropies of chains of N symbols by convexity on a grid of filters (definitions (5.5)).

The recursions of the rates, run for N - 1 sweeps from zero: V_m = cost + L V_{m-1}. Once every further symbol adds the
same the rest is known from the last change, because L keeps order and shifts constants.
"""

from __future__ import annotations

from math import inf, log

import numpy as np

from hidiv.divergences.observed.alphabets import FiniteChain
from hidiv.divergences.observed.budget import Effort
from hidiv.divergences.observed.certified.belief_grid.beliefs import (
    FEWEST,
    FIRST,
    Beliefs,
    ChanceBound,
    SpreadBound,
    TangentBound,
    chance_operations,
    spread_operations,
    swept,
    tangent_operations,
)
from hidiv.divergences.observed.certified.belief_grid.grid_rates import CELLS, FINER
from hidiv.divergences.observed.certified.refining import Refiner
from hidiv.divergences.observed.interval import UNIT, Interval, outward
from hidiv.types import Array

FLAT = 1e-3  # of the width a step, as it was on the last grid, may be lost by not sweeping to the end


def grid_chain(p: FiniteChain, q: FiniteChain, length: int) -> Refiner:
    """Bounds of -E_p log q(x_1..N)."""
    start = _First.of(p, q)
    cells, width, share = CELLS.get(q.n_states, 6), 1.0, FIRST
    least = min(FEWEST, length - 1) * (spread_operations(p, q, True) + tangent_operations(p, q))

    def step(effort: Effort) -> Interval | None:
        nonlocal cells, width, share
        grid = Beliefs.of(p, q, start.filters, start.weights > 0, cells, effort, least, share)
        if grid is None:
            return None
        flat = FLAT * width / length
        above = SpreadBound.begin(grid, nearest=False, logarithmic=True)
        upper = start.cost + _spread_to(above, length - 1, effort, flat, start)
        lower = -inf
        for nearest in (True, False):
            if lower == -inf or not effort.over():
                below = TangentBound.begin(grid, nearest)
                lower = max(lower, start.cost + _tangent_to(below, length - 1, effort, flat, start))
        return _result(lower, upper)

    def _result(lower: float, upper: float) -> Interval:
        nonlocal cells, width, share
        off = start.rounding(upper)
        how = {"method": "convexity on a grid of filters", "cells": cells, "steps": length - 1, "rounding": off}
        cells, width, share = int(cells * FINER) + 1, min(width, upper - lower), 1.0
        return outward(max(lower - off, 0.0), upper + off, how)

    return Refiner("grid of filters", step, 2.5, 0.4)


def grid_chain_entropy(p: FiniteChain, length: int) -> Refiner:
    """Bounds of H(X_1..N): linear between the corners of a cell below, spread on them above."""
    start = _First.of(p, p)
    k = p.n_states
    filters = np.concatenate([start.filters, np.eye(k)])
    states_there = np.ones((len(filters), k), dtype=np.bool_)
    cells, width, share = CELLS.get(k, 6), 1.0, FIRST
    positive = bool((p.steps() > 0).all() and (p.initial[:, None] * p.probabilities > 0).all())
    least = min(FEWEST, length - 1) * (chance_operations(p) + spread_operations(p, p, not positive))

    def step(effort: Effort) -> Interval | None:
        nonlocal cells, width, share
        grid = Beliefs.of(p, p, filters, states_there, cells, effort, least, share)
        if grid is None:
            return None
        flat = FLAT * width / length
        below = ChanceBound.begin(grid)
        progress = swept(below, length - 1, effort, flat)
        left = length - 1 - below.done
        rest = left * (progress.least - progress.rounding) if left else 0.0
        masses = start.weights.sum(axis=1)
        at = grid.start_index[: len(masses)], grid.start_weights[: len(masses)]
        values = (below.values[at[0]] * at[1]).sum(axis=1)
        taken = float((masses * grid.start_excess[: len(masses)]).sum() * np.ptp(below.values))
        lower = start.cost + below.level + float(masses @ values) + rest - below.off - taken
        upper = inf
        for nearest, logarithmic in ((True, False), (False, False)) if positive else ((False, True),):
            if upper == inf or not effort.over():
                above = SpreadBound.begin(grid, nearest, logarithmic)
                upper = min(upper, start.cost + _spread_to(above, length - 1, effort, flat, start, nearest))
        off = start.rounding(upper)
        how = {"method": "convexity on a grid of filters", "cells": cells, "points": len(grid.points),
               "steps": length - 1, "rounding": off + below.off}  # fmt: skip
        cells, width, share = int(cells * FINER) + 1, min(width, max(upper - lower, 0.0)), 1.0
        return outward(max(lower - off, 0.0), upper + off, how)

    return Refiner("grid of filters", step, 2.5, 0.4)


class _First:
    """After the first symbol: filters (n, K) of q, p's weights at them (n, K_p), and what the symbol cost."""

    def __init__(self, filters: Array, weights: Array, cost: float) -> None:
        self.filters, self.weights, self.cost = filters, weights, cost

    @classmethod
    def of(cls, p: FiniteChain, q: FiniteChain) -> _First:
        """All symbols that p can emit first."""
        weights = (p.initial[:, None] * p.probabilities).T
        there = weights.any(axis=1)
        filters, powers = _scaled_products(q.initial[:, None], q.probabilities[:, there])
        weights, totals = weights[there], filters.sum(axis=1)
        cost = float(-(weights.sum(axis=1) * (np.log(totals) + powers * log(2.0))).sum())
        return cls(filters / totals[:, None], weights, cost)

    def rounding(self, size: float) -> float:
        """Of the first symbol and the mean over it."""
        return 64.0 * UNIT * (self.weights.size + 1) * (1.0 + (abs(size) if np.isfinite(size) else 0.0))


def _scaled_products(left: Array, right: Array) -> tuple[Array, Array]:
    """(M, K) and (M,): products for each symbol, and the powers of two taken out of them, so that none is lost."""
    (a, low), (b, high) = np.frexp(left), np.frexp(right)
    powers = np.where(a * b > 0, low + high, np.iinfo(np.int32).min // 2).T
    top = powers.max(axis=1, keepdims=True)
    return np.ldexp((a * b).T, powers - top), top[:, 0].astype(np.float64)


def _spread_to(
    above: SpreadBound, steps: int, effort: Effort, flat: float, start: _First, nearest: bool = False
) -> float:
    """The mean over the first symbols of an upper bound after all steps."""
    progress = swept(above, steps, effort, flat)
    if steps == 0:
        return 0.0
    grid, count = above.grid, len(start.weights)
    index, weights = grid.start_index[:count], grid.start_weights[:count]
    values = above.values[index]  # (n, K, K_p)
    with np.errstate(divide="ignore", invalid="ignore"):
        if nearest:
            chosen = np.take_along_axis(values, weights.argmax(axis=1)[:, None, None], axis=1)[:, 0]
        elif above.logarithmic:
            least = np.where(weights[:, :, None] > 0, values, inf).min(axis=1)
            least = np.where(np.isfinite(least), least, 0.0)
            terms = np.where(weights[:, :, None] > 0, weights[:, :, None] * np.exp(least[:, None] - values), 0.0)
            chosen = least - np.log(terms.sum(axis=1))
        else:
            chosen = np.where(weights[:, :, None] > 0, weights[:, :, None] * values, 0.0).sum(axis=1)
        mean = np.where(start.weights > 0, start.weights * (chosen + grid.start_excess[:count, None]), 0.0).sum()
    left = steps - above.done
    rest = left * (progress.largest + progress.rounding) if left else 0.0
    return float(above.level + mean + rest + above.off)


def _tangent_to(below: TangentBound, steps: int, effort: Effort, flat: float, start: _First) -> float:
    """The mean over the first symbols of a lower bound after all steps, by the best tangent of the cell."""
    if steps == 0:
        return 0.0
    progress, best = below.sweep(1), -inf
    effort.spend(below.operations)
    while below.done < steps and not effort.over():
        count = min(16, steps - below.done)
        progress = below.sweep(count)
        effort.spend(count * below.operations)
        if progress.least - best <= flat and below.done > 64:
            break
        best = progress.least
    grid, count = below.grid, len(start.weights)
    index, weights = grid.start_index[:count], grid.start_weights[:count]
    with np.errstate(divide="ignore"):
        along = np.log(np.einsum("nk,nisk->nis", start.filters, below.slopes[index]))
    values = np.where(weights[:, :, None] > 0, below.values[index] - along, -inf).max(axis=1)
    mean = np.where(start.weights > 0, start.weights * values, 0.0).sum()
    left = steps - below.done
    rest = left * (progress.least - progress.rounding) if left else 0.0
    return float(below.level + mean + rest - below.off)
