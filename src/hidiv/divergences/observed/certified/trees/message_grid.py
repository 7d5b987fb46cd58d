"""Laws of a message on a uniform grid of log-odds: points spread with their mean kept, copies added exactly."""

from __future__ import annotations

from math import log2, sqrt
from typing import NamedTuple

import numpy as np

from hidiv.divergences.observed.interval import UNIT, NotApplicable
from hidiv.types import Array

FARTHEST = 300.0  # largest log-odds, whose exponential leaves room for probabilities
_PAIRS = 1 << 20  # convolutions with fewer products than this are summed one by one


class Grid(NamedTuple):
    """K laws of a message (z, 1): weights (K, n) on log z = first, first + step, ..., and certain (K, 2).

    `certain` is the mass of messages (0, 1) and (1, 0), which exclude one of the two states.
    """

    first: float
    step: float
    weights: Array
    certain: Array

    def points(self) -> Array:
        """(n,): log z."""
        return np.asarray(self.first + self.step * np.arange(self.weights.shape[1]))

    def messages(self) -> tuple[Array, Array]:
        """(2, n + 2): all values a message can have, and their laws (K, n + 2)."""
        finite = np.exp(self.points())
        values = np.stack([np.append(finite, [0.0, 1.0]), np.append(np.ones_like(finite), [1.0, 0.0])])
        return values, np.concatenate([self.weights, self.certain], axis=1)

    def normal(self) -> Grid:
        """The same with laws that sum to one."""
        total = self.weights.sum(axis=1, keepdims=True) + self.certain.sum(axis=1, keepdims=True)
        return self._replace(weights=self.weights / total, certain=self.certain / total)


class Moved(NamedTuple):
    """A grid with what it took: `cost` (K,) in terms of E[-log], and an allowance for `rounding` (K,)."""

    grid: Grid
    cost: Array
    rounding: Array


def spread(t: Array, weights: Array, certain: Array, cells: int, step: float = 0.0) -> Moved:
    """Points t (n,) with weights (K, n) moved to their neighbours on a grid, the mean of e^t kept.

    The grid has as many cells, or as many as its `step` makes where one is given.

    The cost is what was added to E[-t], which bounds what is added to E[-log(c e^t + d)] for all c, d >= 0. Rounding
    moves the mean of e^t by a relative error, and no such expectation by more.
    """
    there = weights.any(axis=0)
    nothing = np.zeros(len(weights))
    if not there.any():
        return Moved(Grid(0.0, 0.0, np.zeros((len(weights), 1)), certain).normal(), nothing, nothing)
    low, high = float(t[there].min()), float(t[there].max())
    largest = _checked(max(abs(low), abs(high)))
    if high - low < 1e-12:
        grid = Grid((low + high) / 2, 0.0, weights.sum(axis=1, keepdims=True), certain)
        return Moved(grid.normal(), nothing, nothing + (high - low) + 8.0 * UNIT * (1.0 + largest))
    if step > 0.0:
        cells = max(1, int(np.ceil((high - low) / step)))
    else:
        step = (high - low) / cells
    cell = np.clip(((t - low) / step).astype(np.int64), 0, cells - 1)
    inside = np.clip(t - (low + step * cell), 0.0, step)
    share = np.expm1(inside) / np.expm1(step)
    lower = [np.bincount(cell, w * (1.0 - share), cells + 1) for w in weights]
    upper = [np.bincount(cell + 1, w * share, cells + 1) for w in weights]
    crowd = int(np.bincount(cell[there]).max())
    added = np.maximum(weights @ (inside - share * step), 0.0) * (1.0 + 1e-12) + 8.0 * UNIT
    rounding = nothing + UNIT * (64.0 * (1.0 + largest) + 2.0 * crowd * (high - low))
    laws = np.add(lower, upper, dtype=np.float64)
    return Moved(Grid(low, step, laws, certain).normal(), added, rounding)


def sum_of_copies(grid: Grid, copies: int) -> Moved:
    """The product of the messages of independent children alike.

    The cost is E[-log] of what it is scaled by: children of message z with a sibling of message (1, 0) count as
    (1, 1/z). Rounding is that of a cost of slope at most one in log z.
    """
    finite, (without, only) = grid.weights.sum(axis=1), grid.certain.T
    if copies > 1 and (without * only).any():
        raise NotApplicable("q cannot emit what p does")
    certain = np.stack([(finite + c) ** copies - finite**copies for c in (without, only)], axis=1)
    alone = copies * ((finite + only) ** (copies - 1) - finite ** (copies - 1))
    cost = -alone * (grid.weights @ grid.points())
    length = copies * (grid.weights.shape[1] - 1) + 1
    largest = _checked(abs(grid.first) * copies + grid.step * length)
    laws = np.zeros((len(grid.weights), length))
    rounding = np.zeros(len(grid.weights))
    for k, law in enumerate(grid.weights):
        laws[k], distance = _power(law, copies, length)
        rounding[k] = distance * grid.step * length + 64.0 * UNIT * copies * largest
    return Moved(Grid(copies * grid.first, grid.step, laws, certain).normal(), cost, rounding)


def sum_of_two(one: Grid, other: Grid) -> Moved:
    """The product of the messages of two independent children, on grids of one step; cost and rounding as above."""
    finite, other_finite = one.weights.sum(axis=1), other.weights.sum(axis=1)
    if (one.certain[:, 0] * other.certain[:, 1] + one.certain[:, 1] * other.certain[:, 0]).any():
        raise NotApplicable("q cannot emit what p does")
    certain = one.certain * (other_finite[:, None] + other.certain) + finite[:, None] * other.certain
    cost = -one.certain[:, 1] * (other.weights @ other.points()) - other.certain[:, 1] * (one.weights @ one.points())
    step = max(one.step, other.step)
    length = one.weights.shape[1] + other.weights.shape[1] - 1
    largest = _checked(abs(one.first) + abs(other.first) + step * length)
    laws, rounding = np.zeros((len(one.weights), length)), np.zeros(len(one.weights))
    size = 1 << (length - 1).bit_length()
    for k, (a, b) in enumerate(zip(one.weights, other.weights, strict=True)):
        if len(a) * len(b) <= _PAIRS:
            laws[k], distance = np.convolve(a, b), UNIT * (4.0 + min(len(a), len(b)))
        else:
            laws[k] = np.maximum(np.fft.irfft(np.fft.rfft(a, size) * np.fft.rfft(b, size), size)[:length], 0.0)
            distance = 32.0 * log2(size) * UNIT * sqrt(size) * float(np.linalg.norm(a) + np.linalg.norm(b))
        rounding[k] = distance * step * length + 64.0 * UNIT * largest
    return Moved(Grid(one.first + other.first, step, laws, certain).normal(), cost, rounding)


def _power(law: Array, copies: int, length: int) -> tuple[Array, float]:
    """The law added to itself, and a bound of its total error; pair by pair, or by Fourier where that is shorter."""
    result, error = np.asarray(law), 0.0
    for _ in range(copies - 1):
        there, other = np.flatnonzero(result), np.flatnonzero(law)
        if len(there) * len(other) > _PAIRS:
            break
        sums = (there[:, None] + other[None, :]).ravel()
        error += UNIT * (4.0 + min(len(there), len(other)))
        products = np.outer(result[there], law[other]).ravel()
        result = np.bincount(sums, products, len(result) + len(law) - 1).astype(np.float64)
    else:
        return result, error
    size = 1 << (length - 1).bit_length()
    result = np.maximum(np.fft.irfft(np.fft.rfft(law, size) ** copies, size)[:length], 0.0)
    # Transforms are right to 5 log2(n) units in the mean square; total error by Cauchy and Schwarz, twice for clipping.
    return result, 32.0 * copies * log2(size) * UNIT * sqrt(size) * float(np.linalg.norm(law))


def _checked(largest: float) -> float:
    """Log-odds that can be exponentiated."""
    if largest > FARTHEST:
        raise NotApplicable(f"log-odds of a message reach {largest:.0f}")
    return largest
