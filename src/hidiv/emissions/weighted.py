"""Observations that belong to each state with a weight: what a family's parameters are estimated from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hidiv.recursions.moments import weighted_products, weighted_squares, weighted_sums
from hidiv.types import Array, Flags

NARROWEST = 1e-4  # of the spread of all values together: what a state's own spread may shrink to


@dataclass(frozen=True, eq=False)
class Weighted:
    """n observations of F columns and weight (n, K): how much of each belongs to each state.

    Entries of x are NaN where not seen; `lower`, `upper` (n, F) then bound them, infinite = open; `inside` (n, M) are
    sets of symbols; `scale` (F,) is the spread of all values together, which bounds below what a state may shrink to;
    `threads` are those of the sums, 0 for all cores, and do not show in them.
    """

    x: Array  # (n, F)
    weight: Array  # (n, K)
    lower: Array | None = None
    upper: Array | None = None
    inside: Flags | None = None
    scale: Array | None = None
    threads: int = 0

    @cached_property
    def seen(self) -> Flags:
        """(n, F): which entries have a value."""
        return ~np.isnan(self.x)

    @cached_property
    def all_seen(self) -> bool:
        return bool(self.seen.all())

    @cached_property
    def bounded(self) -> Flags | None:
        """(n, F): entries known by an interval; None when there are none."""
        if self.lower is None or self.upper is None:
            return None
        table = ~self.seen & ((self.lower > -np.inf) | (self.upper < np.inf))
        return table if table.any() else None

    @cached_property
    def mass(self) -> Array:
        """(K, F): weight of the values seen, by state and column."""
        if self.all_seen:
            return np.repeat(self._sums[:, :1], self.x.shape[1], axis=1)
        return np.asarray(self.weight.T @ self.seen.astype(np.float64))

    @cached_property
    def _sums(self) -> Array:
        """(K, 1 + F): weights, and weighted sums of the values."""
        return self._summed(self.x)

    def _summed(self, values: Array) -> Array:
        return weighted_sums(np.ascontiguousarray(values), np.ascontiguousarray(self.weight), self.threads)

    @cached_property
    def values(self) -> Array:
        """(n, F): the values, 0 where not seen."""
        return self.x if self.all_seen else np.where(self.seen, self.x, 0.0)

    @cached_property
    def smallest(self) -> Array:
        """(F,): the least standard deviation a state may have."""
        scale = spread(self.x) if self.scale is None else self.scale
        return NARROWEST * scale

    def mean(self, values: Array | None = None) -> Array:
        """(K, F): weighted means of the values, or of a function of them (n, F), over what is seen; NaN without any."""
        if values is None:
            sums = self._sums
        else:
            sums = self._summed(values if self.all_seen else np.where(self.seen, values, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(sums[:, 1:] / self.mass)

    def variance(self, mean: Array) -> Array:
        """(K, F): weighted means of (x - mean)^2 over what is seen, mean (K, F); NaN without any."""
        sums = weighted_squares(*self._about(mean))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(sums / self.mass)

    def covariance(self, mean: Array) -> Array:
        """(K, F, F): weighted means of (x - mean)(x - mean)', where all is seen; NaN without any weight."""
        sums = weighted_products(*self._about(mean))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(sums / self.mass[:, :, None])

    def _about(self, mean: Array) -> tuple[Array, Array, Array, int]:
        x, weight, middle = (np.ascontiguousarray(part) for part in (self.x, self.weight, mean))
        return x, weight, middle, self.threads

    def mean_of(self, function: Array) -> Array:
        """(K, F): weighted means of (n, K, F), over what is seen."""
        if not self.all_seen:
            function = np.where(self.seen[:, None, :], function, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.einsum("nk,nkf->kf", self.weight, function) / self.mass)

    def of_columns(self, columns: slice) -> Weighted:
        """Some of the columns."""
        x, lower, upper = (None if part is None else part[:, columns] for part in (self.x, self.lower, self.upper))
        assert x is not None
        scale = None if self.scale is None else self.scale[columns]
        return Weighted(x, self.weight, lower, upper, None, scale, self.threads)

    def weighing(self, weight: Array, threads: int | None = None) -> Weighted:
        """The same observations with other weights."""
        same = replace(self, weight=weight, threads=self.threads if threads is None else threads)
        for key in ("seen", "all_seen", "bounded", "values", "smallest"):
            same.__dict__[key] = getattr(self, key)  # none of them depends on the weights
        return same


def spread(x: Array) -> Array:
    """(F,): standard deviation of the values seen; their size, or 1, where they do not vary."""
    if x.size:
        size = np.maximum(x.max(axis=0), -x.min(axis=0))
        if ((size == 0.0) | ((size > 1e-100) & (size < 1e100))).all():  # as a rule: all seen, squares are numbers
            known = Weighted(x, np.ones((len(x), 1)))
            return _or_size(np.sqrt(known.variance(known.mean())[0]), size)
    count = (~np.isnan(x)).sum(axis=0)
    values = np.where(np.isfinite(x), x, 0.0)
    middle = values.sum(axis=0) / np.maximum(count, 1)
    apart = np.where(np.isfinite(x), x, middle) - middle  # what is infinite is refused by the family, in its words
    far = np.abs(apart).max(axis=0, initial=0.0)
    unit = np.where(far > 0, far, 1.0)  # squares of very large and very small numbers are none
    deviation = unit * np.sqrt(np.square(apart / unit).sum(axis=0) / np.maximum(count, 1))
    return _or_size(deviation, np.abs(values).max(axis=0, initial=0.0))


def _or_size(deviation: Array, size: Array) -> Array:
    return np.where(deviation > 1e-12 * size, deviation, np.where(size > 0, size, 1.0))


def log_size(x: Array) -> Array:
    """log |x|, bounded below by a thousandth of the median: states of laws about 0 differ in it."""
    size = np.abs(x)
    above = size[size > 0]
    least = 1e-3 * float(np.median(above)) if above.size else 1.0
    return np.asarray(np.log(np.maximum(size, least)))


def kept(estimate: Array, old: Array, mass: Array) -> Array:
    """The estimate, or the old parameter where no weight fell or it is not finite; in the shape of the old one."""
    new = estimate if old.ndim == 2 else estimate[:, 0]
    weight = mass if old.ndim == 2 else mass[:, 0]
    return np.where((weight > 0) & np.isfinite(new), new, old)
