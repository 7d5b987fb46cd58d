"""Derivatives of log-weights in a family's parameters, summed over weighted observations: what a score is made of.

Every family gives the derivatives of its log-density in closed form (`Family.log_slopes`). Those of the probability of
an interval are closed where the parameter moves or stretches the law (`Family.mass_slopes`); the others (shapes, and
the probabilities of counts between bounds) are taken by extrapolated differences of the log-probability.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hidiv.emissions.parameters import wide
from hidiv.emissions.sample_space import Kind
from hidiv.emissions.weighted import Weighted
from hidiv.types import Array, IntArray

Gradients = dict[str, Any]  # by parameter (m, *shape); of families made of others a list of these

FIRST_STEP = 0.1  # of the size of a parameter, the longest step of a difference
SHRINK = 1.4  # between one step and the next
STEPS = 10
FLAT = 0.05  # logarithm by which a density may change over an interval that is integrated by a rule of few points
NODES, SHARES = (0.5 * (np.polynomial.legendre.leggauss(8)[0] + 1.0), 0.5 * np.polynomial.legendre.leggauss(8)[1])


@dataclass(frozen=True)
class Items:
    """Which of m chains or trees each of n rows belongs to, in rising order."""

    of: IntArray  # (n,)
    count: int

    def sum(self, table: Array) -> Array:
        """(n, ...) -> (m, ...): sums over the rows of every item, 0 for an item without rows."""
        total = np.zeros((self.count, *table.shape[1:]))
        if len(table):
            first = np.flatnonzero(np.r_[True, self.of[1:] != self.of[:-1]])
            total[self.of[first]] = np.add.reduceat(table, first, axis=0)
        return total


def by_column(family: Any, known: Weighted, items: Items) -> Gradients:
    """The gradients of a family whose columns and states have parameters of their own."""
    free = free_parameters(family)
    if not free:
        return {}
    weight, seen = known.weight[:, :, None], known.seen[:, None, :]
    with np.errstate(all="ignore"):
        slopes = family.log_slopes(known.x)
        for name in free:
            if name not in slopes:
                slopes[name] = differences(family, name, lambda law: law.log_density(known.x))
    terms = {name: np.where((weight > 0) & seen, weight * slopes[name], 0.0) for name in free}
    if known.bounded is not None and known.lower is not None and known.upper is not None:
        rows = np.flatnonzero(known.bounded.any(axis=1))
        inside = known.bounded[rows][:, None, :] & (weight[rows] > 0)
        masses = _mass_slopes(family, known.lower[rows], known.upper[rows], free)
        for name in free:
            terms[name][rows] = np.where(inside, weight[rows] * masses[name], terms[name][rows])
    scalar = family.is_scalar
    return {name: items.sum(each[:, :, 0] if scalar else each) for name, each in terms.items()}


def free_parameters(family: Any) -> list[str]:
    """The names of the parameters that have derivatives."""
    ranges = family.ranges()
    return [name for name in family.parameters() if ranges.get(name, "positive") != "fixed"]


def _mass_slopes(family: Any, lower: Array, upper: Array, free: list[str]) -> dict[str, Array]:
    """(n, K, F) by parameter: derivatives of the log-probability of intervals."""
    with np.errstate(all="ignore"):
        slopes: dict[str, Array] = family.mass_slopes(lower, upper)
        for name in free:
            if name not in slopes:
                slopes[name] = differences(family, name, lambda law: law.log_mass(lower, upper))
        if family.space.kind in (Kind.SYMBOLS, Kind.COUNTS) or not np.isfinite(upper - lower).any():
            return slopes
        # Over a short interval the closed forms are differences of nearly equal numbers, and a mean is not.
        mass = family.log_mass(lower, upper)
        width = np.where(np.isfinite(upper - lower), upper - lower, np.nan)
        ends = [family.log_density(end) + np.log(width)[:, None, :] - mass for end in (lower, upper)]
        flat = (np.abs(ends[0]) < FLAT) & (np.abs(ends[1]) < FLAT)
        if not flat.any():
            return slopes
        means = {name: np.zeros_like(mass) for name in free}
        total = np.zeros_like(mass)
        for node, share in zip(NODES, SHARES, strict=True):
            at = lower + node * width
            part = share * np.exp(family.log_density(at) + np.log(width)[:, None, :] - mass)
            total += part
            for name, slope in family.log_slopes(at).items():
                if name in means:
                    means[name] += part * slope
    return {name: np.where(flat, means[name] / total, slopes[name]) for name in free}


def differences(family: Any, name: str, value: Callable[[Any], Array]) -> Array:
    """(n, K, F): the derivative of value(law) (n, K, F) in one parameter of every state and column."""
    parameters = family.parameters()
    centre = np.asarray(parameters[name], dtype=np.float64)
    kind = family.ranges().get(name)
    size = np.minimum(centre, 1.0 - centre) if kind == "unit" else np.abs(centre)
    if kind in ("real", "number"):
        size = np.maximum(size, 1.0)

    def moved(h: Array) -> Array:
        return np.asarray(value(type(family)(**{**parameters, name: centre + h.reshape(centre.shape)})))

    return extrapolated(moved, wide(FIRST_STEP * size))


def extrapolated(value: Callable[[Array], Array], step: Array) -> Array:
    """The derivative at 0 of value(h), whose last axes are those of h and of `step`; 0 where the step is 0.

    Central differences of shrinking steps, extrapolated (Ridders); of all estimates that which differs least from those
    it is made of.
    """
    rows: list[Array] = []
    best = error = np.zeros(())
    for i in range(STEPS):
        h = step / SHRINK**i
        row = [(value(h) - value(-h)) / np.where(h > 0, 2.0 * h, np.inf)]
        for j, before in enumerate(rows):
            factor = SHRINK ** (2 * (j + 1))
            row.append((factor * row[j] - before) / (factor - 1.0))
        if not i:
            best, error = row[0], np.full(row[0].shape, np.inf)
        for j in range(1, len(row)):
            doubt = np.maximum(np.abs(row[j] - row[j - 1]), np.abs(row[j] - rows[j - 1]))
            best, error = np.where(doubt < error, row[j], best), np.fmin(doubt, error)
        rows = row
    return best


def location_slopes(family: Any, lower: Array, upper: Array, location: Array, scale: Array) -> tuple[Array, Array]:
    """(n, K, F) each: derivatives of log P(lower <= X <= upper) in the location and in the scale of a law."""
    mass = family.log_mass(lower, upper)
    low, high = (np.where(np.isfinite(end), end, 0.0) for end in (lower, upper))
    at_low, at_high = (
        np.where(np.isfinite(end)[:, None, :], np.exp(family.log_density(at) - mass), 0.0)
        for end, at in ((lower, low), (upper, high))
    )
    z_low, z_high = ((at[:, None, :] - location) / scale for at in (low, high))
    ends = ((at_low, z_low), (at_high, z_high))
    stretched = [np.where(z == 0, 0.0, at * z) for at, z in ends]  # a density may be infinite at 0
    return at_low - at_high, stretched[0] - stretched[1]
