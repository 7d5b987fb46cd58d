"""Means with control variates: the coefficients of each part of the draws are fitted on the other parts."""

from __future__ import annotations

from math import sqrt

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

FOLDS = 5
SHARE = 3  # at most one control for so many draws
SPARE = 4  # draws for each control from which on the error falls as that of any mean
FEWEST = 30  # draws from which on coefficients are fitted at all
COLLINEAR = 1e-7  # what is left of a control, relatively, when those before it are taken out
BLURRED = 1e-6  # the same where only products of controls are known
MANY = 3 * 10**7  # multiplications from which on a factorisation of all draws takes too long
CHANCE = 2.0  # standard errors by which a coefficient differs from zero by chance
FEW_SHARE = 2.0  # the same where the error grows by what few draws leave open
ROUNDED = 2.0**-53  # relative error of a mean that rounding explains
FEW_UNKNOWNS = 64  # whose factorisation starts no threads
STEPS, SOLVED = 100, 1e-14  # of conjugate gradients, and what they leave, relatively
EXACT = 1e-13  # relative spread that rounding explains
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
    unit = unit_of(draws)
    if unit > 1.0:
        return controlled_mean(draws / unit, controls, steps, settle, distinct).scaled(unit)
    if len(draws) < FEWEST or not draws.std() > 0:
        return plain_mean(draws, full=len(draws) >= FEWEST)
    with np.errstate(invalid="ignore", over="ignore"):
        marks = np.einsum("ij,j->i", controls, np.cos(np.arange(controls.shape[1])))  # equal for equal draws alone
    different = len(np.unique(marks))
    most = different // SHARE
    controls = controls[:, np.isfinite(controls).all(axis=0)]
    largest = np.abs(controls).max(axis=0, initial=0.0)
    if (largest > HUGE).any():
        controls = controls / np.where(largest > HUGE, largest, 1.0)
    # Left in, a control that is off would pass its offset on to those made orthogonal to it.
    apart = _off(controls.mean(axis=0), controls.std(axis=0), len(draws))
    basis, offset, size = orthonormal(controls[:, ~apart][:, : 4 * most], most, distinct)
    off = _off(offset, 1.0 / np.sqrt(len(draws)), len(draws))
    kept = ~off & ((SHARED if settle else FEW_SHARE) * np.square(np.square(basis)).sum(axis=0) <= 1.0)
    missing = [(basis[:, off], offset[off], size[off]), orthonormal(controls[:, apart][:, : 4 * most], most)]
    folds = Folds(draws, basis[:, kept], offset[kept])
    count = int(kept.sum())
    full = count * SPARE <= different and basis.shape[1] < most
    # Half of them where they are many for these draws; trying more numbers would choose one by chance.
    for tried in dict.fromkeys((count, count if full else count // 2)):
        fitted = folds.fitted(tried) if tried else None
        if fitted is not None and not (fitted.settled or settle):
            fitted = fitted._replace(std_error=fitted.std_error * left_open(fitted.draws), settled=True)
        if fitted is not None and fitted.settled:
            # Folds share what their coefficients were fitted on, which the spread does not show.
            fitted = fitted._replace(std_error=fitted.std_error * (1.0 + 0.5 * tried / len(draws)))
            reach = steps * (float(np.ptp(draws)) + abs(fitted.value))
            lacking = sum(_lacking(fitted, *part, reach) for part in missing)
            fitted = widened(fitted, 1.0, lacking, least=False)
            bare = plain_mean(draws, full=False, settle=settle)
            return fitted._replace(full=full) if fitted.std_error < bare.std_error else bare
    return plain_mean(draws, full=not count, settle=settle)


def _off(mean: Array, spread: Array | float, n: int) -> Flags:
    """Which sample means are off by more standard errors than chance explains."""
    return np.asarray(np.abs(mean) * sqrt(n) > FAIR * spread)


def _lacking(mean: Mean, basis: Array, offset: Array, size: Array, reach: float) -> float:
    """What the events add that directions (n, m) of these sample means and lengths count and the draws do not show."""
    slopes = np.abs((mean.draws - mean.value) @ basis) - CHANCE * float(mean.draws.std())
    return float(np.clip(slopes, 0.0, reach * size) @ np.abs(offset))


class Folds:
    """Normal equations of the draws outside each fold, with an intercept; in this basis they are nearly the identity.

    Those of the first columns alone are a corner of them.
    """

    def __init__(self, draws: Array, basis: Array, offset: Array) -> None:
        n = len(draws)
        self.draws, self.basis, self.offset = draws, basis, offset
        off = draws - draws.mean()
        ends = -(-np.arange(FOLDS + 1) * n // FOLDS)
        self.folds = [slice(ends[f], ends[f + 1]) for f in range(FOLDS)]
        rest = n - np.diff(ends)
        sums = np.stack([basis[mine].sum(axis=0) for mine in self.folds])
        grams = np.stack([_products(basis[mine].T) for mine in self.folds])
        grams = grams.sum(axis=0) - grams
        self.grams = grams - sums[:, :, None] * sums[:, None, :] / rest[:, None, None]
        right = basis.T @ off - np.stack([off[mine] @ basis[mine] for mine in self.folds])
        self.right = right - sums * (np.array([off[mine].sum() for mine in self.folds]) / rest)[:, None]

    def fitted(self, count: int) -> Mean | None:
        """The mean with the first `count` columns; None where only one fold has seen one of them move."""
        slopes = _solved(self.grams[:, :count, :count], self.right[:, :count])
        if slopes is None:
            return None
        parts = zip(self.folds, slopes, strict=True)
        left = np.concatenate(
            [self.draws[f] - (self.basis[f, :count] @ slope + self.offset[:count] @ slope) for f, slope in parts]
        )
        n, value, spread = len(left), float(left.mean()), float(left.std(ddof=1))
        # A spread that is only rounding has no meaningful kurtosis.
        fair = n >= SETTLED * kurtosis(left) or spread <= EXACT * abs(value)
        counted = 1.0 - n * (self.basis[:, :count] @ self.offset[:count])
        return Mean(value, max(spread / sqrt(n), ROUNDED * abs(value)), count, left, fair, counted=counted)


def _products(rows: Array) -> Array:
    """(k, k): inner products of rows (k, n); the kernel starts no threads."""
    out, rows = np.empty((len(rows), len(rows))), np.ascontiguousarray(rows)
    products(rows, rows, np.full(len(rows), -np.inf), False, out)
    return out


def _solved(matrices: Array, right: Array) -> Array | None:
    """(m, k): solutions of positive definite systems (m, k, k) that are near the identity; None where one is singular.

    Many unknowns by conjugate gradients, since a factorisation would start threads.
    """
    if right.shape[1] > FEW_UNKNOWNS:
        found = _by_gradients(matrices, right)
        if found is not None:
            return found
    try:
        return np.asarray(np.linalg.solve(matrices, right[:, :, None])[:, :, 0])
    except np.linalg.LinAlgError:
        return None


def _by_gradients(matrices: Array, right: Array) -> Array | None:
    """The same by conjugate gradients; None where a few dozen steps do not suffice."""
    found, rest = np.zeros_like(right), right
    step, square = rest, np.einsum("mk,mk->m", rest, rest)
    goal = SOLVED**2 * square
    for _ in range(STEPS):
        if (square <= goal).all():
            return found
        moved = np.matmul(matrices, step[:, :, None])[:, :, 0]
        curve = np.einsum("mk,mk->m", step, moved)
        length = np.where(curve > 0, square / np.where(curve > 0, curve, 1.0), 0.0)[:, None]
        found, rest = found + length * step, rest - length * moved
        last, square = square, np.einsum("mk,mk->m", rest, rest)
        step = rest + (square / np.where(last > 0, last, 1.0))[:, None] * step
    return None


def orthonormal(controls: Array, most: int, distinct: float = COLLINEAR) -> tuple[Array, Array, Array]:
    """(n, m) orthonormal columns that span the first m independent centred controls; (m,) their sample means, and their
    lengths before they were made to be one."""
    n = len(controls)
    mean = controls.mean(axis=0)
    centred = controls - mean
    size = np.sqrt(np.einsum("ij,ij->j", centred, centred))
    good = np.isfinite(size) & (size > 1e-12 * (np.abs(mean) * sqrt(n) + np.finfo(float).tiny))
    if not good.any() or most < 1:
        return np.zeros((n, 0)), np.zeros(0), np.zeros(0)
    if not good.all():
        centred, mean, size = centred[:, good], mean[good], size[good]
    if centred.shape[1] >= n:
        centred, mean, size = centred[:, : n - 1], mean[: n - 1], size[: n - 1]
    centred /= size
    if centred.size * centred.shape[1] < MANY:
        return _one_by_one(np.ascontiguousarray(centred.T), mean / size, size, most, distinct)
    keep, triangle = _from_products(centred.T @ centred, most, max(distinct, BLURRED))
    inverse = _inverse(triangle)
    return centred[:, keep] @ inverse, (mean[keep] / size[keep]) @ inverse, size[keep] / np.abs(np.diagonal(inverse))


def _inverse(triangle: Array) -> Array:
    """Of an upper triangle (m, m), column by column."""
    inverse = np.zeros_like(triangle)
    for j, corner in enumerate(np.diagonal(triangle).tolist()):
        inverse[:j, j] = inverse[:j, :j] @ triangle[:j, j] / -corner
        inverse[j, j] = 1.0 / corner
    return inverse


def _one_by_one(columns: Array, mean: Array, size: Array, most: int, distinct: float) -> tuple[Array, Array, Array]:
    """The same of columns (F, n) of length one, each made orthogonal to those before it, twice (Gram and Schmidt).

    A factorisation would start threads for every column, which takes a hundred times as long where other programs run.
    """
    basis, offset, length = np.empty((most, columns.shape[1])), np.empty(most), np.empty(most)
    count = 0
    for column, off, own in zip(columns, mean.tolist(), size.tolist(), strict=True):
        before = basis[:count]
        for _ in range(2):
            slopes = before @ column
            column = column - slopes @ before
            off -= float(slopes @ offset[:count])
        left = sqrt(float(column @ column))
        if left > distinct:
            basis[count], offset[count], length[count] = column / left, off / left, own * left
            count += 1
            if count == most:
                break
    return basis[:count].T, offset[:count], length[:count]


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
