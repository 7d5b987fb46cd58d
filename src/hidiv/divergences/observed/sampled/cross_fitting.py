"""Means with control variates: the coefficients of each draw are fitted on all the others."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidiv.divergences.observed.sampled.standard_errors import (
    FAIR,
    HUGE,
    SETTLED,
    Mean,
    kurtosis,
    left_open,
    plain_mean,
    unit_of,
    widened,
)
from hidiv.recursions.products import products
from hidiv.types import Array, Flags

SHARE = 3  # at most one control for so many draws
SPARE = 4  # draws for each control from which on the error falls as that of any mean
MANY_EACH = 8  # draws for each control from which on all controls are used, not the leading ones alone
FEWEST = 30  # draws from which on coefficients are fitted at all
COLLINEAR = 1e-7  # what is left of a control, relatively, when those before it are taken out
BLURRED = 1e-6  # the same where only products of controls are known
OWN = 0.5  # the same of directions that should be orthogonal
MANY = 3 * 10**7  # multiplications from which on a factorisation of all draws takes too long
CHANCE = 2.0  # standard errors by which a coefficient differs from zero by chance
FEW_SHARE = 2.0  # the same where the error grows by what few draws leave open
ROUNDED = 2.0**-53  # relative error of a mean that rounding explains
DECIDED = 1e-6  # share of a draw that the others do not explain: with less, it alone has seen some control move
COMMON = 0.2  # by how much, for a control a draw, the spread of what is left falls short of the error of its mean
EXACT = 1e-13  # relative spread that rounding explains
LOST = 16  # at most so many controls are left out one by one because their sample means are off
SHARED = 10.0  # draws for each unit of a control's kurtosis: with fewer, a few draws decide its coefficient


def controlled_mean(
    draws: Array, controls: Array, steps: int = 1, settle: bool = True, distinct: float = COLLINEAR
) -> Mean:
    """Mean of draws (n,) with controls (n, F) whose means are zero, the most useful first.

    At most one for three different draws. Left out are those that others before them nearly determine, those whose
    sample mean shows that these draws miss rare events, and those that a few draws decide; all of them where a few
    draws decide what is left. The error allows for what the missing events add: as much as the draws show, and no more
    than one of them may change a draw; controls are of the size of counts, or of counts divided by `steps`. Without
    `settle` the controls stay where a few draws decide what is left, and the error grows by what these leave open.
    distinct: what must be left of a control, relatively, when those before it are taken out.
    """
    return ControlledDraws(draws, controls, steps, distinct=distinct).mean(settle)


class ControlledDraws:
    """Draws with the directions that their controls span, for means with and without `settle` (`controlled_mean`).

    leading: with fewer than MANY_EACH draws for each control only so many, the first ones, are used; 0 for all.
    """

    def __init__(
        self, draws: Array, controls: Array, steps: int = 1, leading: int = 0, distinct: float = COLLINEAR
    ) -> None:
        self.unit, self.steps = unit_of(draws), steps
        self.draws = draws if self.unit == 1.0 else draws / self.unit
        n = len(draws)
        self.different, self.spanned = 0, None
        self.cut = 0 < leading < controls.shape[1] and n < MANY_EACH * controls.shape[1]
        self.wants_all = self.cut and n >= SPARE * controls.shape[1]  # where these are not enough, all of them may be
        controls = controls[:, :leading] if self.cut else controls
        self.bare = n >= FEWEST and not controls.shape[1]
        if self.bare or n < FEWEST or not self.draws.std() > 0:
            return
        with np.errstate(invalid="ignore", over="ignore"):
            marks = np.einsum("ij,j->i", controls, np.cos(np.arange(controls.shape[1])))  # equal for equal draws alone
        self.different = len(np.unique(marks))
        self.most = self.different // SHARE
        controls = controls[:, np.isfinite(controls).all(axis=0)]
        largest = np.abs(controls).max(axis=0, initial=0.0)
        if (largest > HUGE).any():
            controls = controls / np.where(largest > HUGE, largest, 1.0)
        # Left in, a control that is off would pass its offset on to those made orthogonal to it.
        apart = _off(controls.mean(axis=0), controls.std(axis=0), n)
        self.spanned, left_out, self.with_all = orthonormal(
            controls[:, ~apart][:, : 4 * self.most], self.most, distinct
        )
        basis, offset, size = self.spanned
        self.independent = basis.shape[1] + left_out.basis.shape[1]
        self.off = _off(offset, 1.0 / sqrt(n), n)
        missing = [Spanned(basis[:, self.off], offset[self.off], size[self.off]), left_out]
        if apart.any():
            missing.append(orthonormal(controls[:, apart][:, : 4 * self.most], self.most, fair=False)[0])
        self.missing = [part for part in missing if len(part.offset)]

    def mean(self, settle: bool) -> Mean:
        """As `controlled_mean` gives it."""
        found = self._mean(settle)
        return found if self.unit == 1.0 else found.scaled(self.unit)

    def _mean(self, settle: bool) -> Mean:
        """Of draws in their unit."""
        draws = self.draws
        if self.spanned is None:
            return plain_mean(draws, full=len(draws) >= FEWEST, settle=settle or not self.bare)
        regression = self._regression(self.spanned, settle)
        count = regression.basis.shape[1]
        sparing = count * SPARE <= self.different and self.independent < self.most
        full = sparing and not self.cut
        # Half of them where they are many for these draws; trying more numbers would choose one by chance.
        for tried in dict.fromkeys((count, count if sparing else count // 2)):
            fitted = regression.fitted(tried) if tried else None
            if fitted is not None and not (fitted.settled or settle):
                fitted = fitted._replace(std_error=fitted.std_error * left_open(fitted.draws), settled=True)
            if fitted is not None and fitted.settled:
                # Draws share what their coefficients were fitted on, which the spread does not show.
                fitted = fitted._replace(std_error=fitted.std_error * (1.0 + COMMON * tried / len(draws)))
                reach = self.steps * (float(np.ptp(draws)) + abs(fitted.value))
                lacking = sum(_lacking(fitted, *part, reach) for part in self.missing)
                fitted = widened(fitted, 1.0, lacking + self._disputed(fitted, settle), least=False)
                bare = plain_mean(draws, full=False, settle=settle)
                return fitted._replace(full=full) if fitted.std_error < bare.std_error else bare
        return plain_mean(draws, full=not count, settle=settle)

    def _regression(self, spanned: Spanned, settle: bool) -> LeftOut:
        """On the directions that are not off and that no few draws decide."""
        basis, offset, _ = spanned
        few = np.square(np.square(basis)).sum(axis=0)  # one where a single draw decides
        kept = ~_off(offset, 1.0 / sqrt(len(basis)), len(basis)) & ((SHARED if settle else FEW_SHARE) * few <= 1.0)
        return LeftOut(self.draws, basis[:, kept], offset[kept])

    def _disputed(self, fitted: Mean, settle: bool) -> float:
        """By how much the mean would differ if controls whose means are off had still been taken out of later ones.

        What the spread that these leave explains is not counted.
        """
        if self.with_all is None:
            return 0.0
        regression = self._regression(self.with_all, settle)
        count = min(fitted.controls, regression.basis.shape[1])
        other = regression.fitted(count) if count else None
        if other is None:
            return 0.0
        explained = sqrt(max(float(other.draws.var()) - float(fitted.draws.var()), 0.0) / len(self.draws))
        return max(abs(other.value - fitted.value) - explained, 0.0)


def _off(mean: Array, spread: Array | float, n: int) -> Flags:
    """Which sample means are off by more standard errors than chance explains."""
    return np.asarray(np.abs(mean) * sqrt(n) > FAIR * spread)


def _lacking(mean: Mean, basis: Array, offset: Array, size: Array, reach: float) -> float:
    """What the events add that directions (n, m) of these sample means and lengths count and the draws do not show."""
    slopes = np.abs((mean.draws - mean.value) @ basis) - CHANCE * float(mean.draws.std())
    return float(np.clip(slopes, 0.0, reach * size) @ np.abs(offset))


class LeftOut:
    """Draws regressed on orthonormal columns with an intercept, each by the coefficients that all the others give.

    Without a draw these differ from those of all by the draw's own residual alone, so that nothing is solved.
    """

    def __init__(self, draws: Array, basis: Array, offset: Array) -> None:
        self.draws, self.basis, self.offset = draws, basis, offset
        self.centre = float(draws.mean())
        self.slopes = (draws - self.centre) @ basis

    def fitted(self, count: int) -> Mean | None:
        """The mean with the first `count` columns; None where one draw alone has seen one of them move."""
        n, basis, slopes, offset = len(self.draws), self.basis[:, :count], self.slopes[:count], self.offset[:count]
        shift, share = basis @ offset, 1.0 - 1.0 / n  # of each draw in what the columns are off by
        freedom = share - np.einsum("ij,ij->i", basis, basis)
        if freedom.min() < DECIDED:
            return None
        apart = self.draws - self.centre - basis @ slopes
        left = self.centre - float(offset @ slopes) + apart * (share + shift) / freedom
        value, spread = float(left.mean()), float(left.std(ddof=1))
        # A spread that is only rounding has no meaningful kurtosis.
        fair = n >= SETTLED * kurtosis(left) or spread <= EXACT * abs(value)
        return Mean(value, max(spread / sqrt(n), ROUNDED * abs(value)), count, left, fair, counted=1.0 - n * shift)


def _products(rows: Array) -> Array:
    """(k, k): inner products of rows (k, n); the kernel starts no threads."""
    out, rows = np.empty((len(rows), len(rows))), np.ascontiguousarray(rows)
    products(rows, rows, np.full(len(rows), -np.inf), False, out)
    return out


class Spanned(NamedTuple):
    """basis (n, m) of orthonormal columns; offset (m,) their sample means; size (m,) their lengths before that."""

    basis: Array
    offset: Array
    size: Array


def orthonormal(
    controls: Array, most: int, distinct: float = COLLINEAR, fair: bool = True
) -> tuple[Spanned, Spanned, Spanned | None]:
    """Columns that span the first m independent centred controls; those of controls left out of them; and the columns
    with these, if there are any.

    fair: a control whose sample mean is off once those before it are taken out is left out, or it would pass what it is
    off by on to those after it.
    """
    n = len(controls)
    nothing = Spanned(np.zeros((n, 0)), np.zeros(0), np.zeros(0))
    mean = controls.mean(axis=0)
    centred = controls - mean
    size = np.sqrt(np.einsum("ij,ij->j", centred, centred))
    good = np.isfinite(size) & (size > 1e-12 * (np.abs(mean) * sqrt(n) + np.finfo(float).tiny))
    if not good.any() or most < 1:
        return nothing, nothing, None
    if not good.all():
        centred, mean, size = centred[:, good], mean[good], size[good]
    if centred.shape[1] >= n:
        centred, mean, size = centred[:, : n - 1], mean[: n - 1], size[: n - 1]
    centred /= size
    most = min(most, centred.shape[1])  # a third of very many draws would be a table that no memory holds
    if centred.size * centred.shape[1] < MANY:
        columns, means = np.ascontiguousarray(centred.T), mean / size
        with_all, _ = _one_by_one(columns, means, size, most, distinct, fair=False)
        if not fair or not _off(with_all.offset, 1.0 / sqrt(n), n).any():
            return with_all, nothing, None
        return *_one_by_one(columns, means, size, most, distinct, fair=True), with_all
    keep, triangle = _from_products(centred.T @ centred, most, max(distinct, BLURRED))
    lost: list[Spanned] = []
    inverse, offset, off = _offsets(triangle, mean[keep] / size[keep], n)
    with_all = _directions(centred, size, keep, inverse, offset, slice(None))
    while fair and len(off) and len(lost) < LOST:
        first = int(off[0])
        lost.append(_directions(centred, size, keep, inverse, offset, slice(first, first + 1)))
        keep, triangle = np.delete(keep, first), np.asarray(np.linalg.qr(np.delete(triangle, first, axis=1), mode="r"))
        inverse, offset, off = _offsets(triangle, mean[keep] / size[keep], n)
    if not lost:
        return with_all, nothing, None
    whole = _directions(centred, size, keep, inverse, offset, slice(None))
    return whole, Spanned(*(np.concatenate(parts, axis=-1) for parts in zip(*lost, strict=True))), with_all


def _offsets(triangle: Array, mean: Array, n: int) -> tuple[Array, Array, NDArray[np.intp]]:
    """The inverse of a triangle, sample means of the directions that it makes of controls, and which are off."""
    inverse = _inverse(triangle)
    offset = np.asarray(mean @ inverse)
    return inverse, offset, np.flatnonzero(_off(offset, 1.0 / sqrt(n), n))


def _directions(
    centred: Array, size: Array, keep: NDArray[np.intp], inverse: Array, offset: Array, which: slice
) -> Spanned:
    """Some of the columns that the inverse triangle makes of the controls kept."""
    lengths = (size[keep] / np.abs(np.diagonal(inverse)))[which]
    basis, offset = centred[:, keep] @ inverse[:, which], offset[which]
    # Products of nearly dependent columns leave directions that are not quite orthogonal: once more, and what is then
    # not mostly its own is rounding.
    own, triangle = _from_products(_products(basis.T), basis.shape[1], OWN)
    again = _inverse(triangle)
    return Spanned(basis[:, own] @ again, offset[own] @ again, lengths[own])


def _inverse(triangle: Array) -> Array:
    """Of an upper triangle (m, m), column by column."""
    inverse = np.zeros_like(triangle)
    for j, corner in enumerate(np.diagonal(triangle).tolist()):
        inverse[:j, j] = inverse[:j, :j] @ triangle[:j, j] / -corner
        inverse[j, j] = 1.0 / corner
    return inverse


def _one_by_one(
    columns: Array, mean: Array, size: Array, most: int, distinct: float, fair: bool
) -> tuple[Spanned, Spanned]:
    """`orthonormal` of columns (F, n) of length one, each made orthogonal to those before it, twice (Gram and Schmidt).

    A factorisation would start threads for every column, which takes a hundred times as long where other programs run.
    """
    n = columns.shape[1]
    basis, offset, length = np.empty((most, n)), np.empty(most), np.empty(most)
    lost: list[tuple[Array, float, float]] = []
    count = 0
    for column, off, own in zip(columns, mean.tolist(), size.tolist(), strict=True):
        before = basis[:count]
        for _ in range(2):
            slopes = before @ column
            column = column - slopes @ before
            off -= float(slopes @ offset[:count])
        left = sqrt(float(column @ column))
        if left <= distinct:
            continue
        if fair and len(lost) < LOST and _off(np.asarray(off / left), 1.0 / sqrt(n), n):
            lost.append((column / left, off / left, own * left))
            continue
        basis[count], offset[count], length[count] = column / left, off / left, own * left
        count += 1
        if count == most:
            break
    left_out = Spanned(
        np.array([each[0] for each in lost]).reshape(-1, n).T,
        np.array([each[1] for each in lost]),
        np.array([each[2] for each in lost]),
    )
    return Spanned(basis[:count].T, offset[:count], length[:count]), left_out


def _from_products(gram: Array, most: int, distinct: float = BLURRED) -> tuple[NDArray[np.intp], Array]:
    """Which columns are independent, and their triangle (m, m), from products (F, F) of columns of length one.

    Ten times as fast as a factorisation of the columns, and blind to what is left of a column below 1e-7.
    """
    triangle = np.zeros((most, len(gram)))
    keep: list[int] = []
    for j in range(len(gram)):
        row = gram[j, j:] - triangle[: len(keep), j] @ triangle[: len(keep), j:]
        if row[0] > distinct**2:
            triangle[len(keep), j:] = row / sqrt(row[0])
            keep.append(j)
            if len(keep) == most:
                break
    chosen = np.array(keep, dtype=np.intp)
    return chosen, triangle[: len(keep), chosen]
