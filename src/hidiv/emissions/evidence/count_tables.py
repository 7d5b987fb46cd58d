"""Many small counts or symbols: what a family says of each number, looked up in a table a column."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hidiv.types import Array, IntArray

MANY = 1024  # rows from which on it pays
SHARE = 2  # rows a number of the table, at least
WIDE = 64  # the largest number for each row, at most


def distinct(numbers: IntArray, top: int) -> tuple[IntArray, IntArray]:
    """The numbers 0..top that occur, and the place of each of (n,) among them, without sorting."""
    present = np.zeros(top + 1, dtype=np.bool_)
    present[numbers] = True
    place = np.cumsum(present, dtype=np.int64) - 1
    return np.flatnonzero(present), place[numbers]


def by_count(x: Array, of_column: Callable[[int, Array], Array]) -> Array | None:
    """(n, K): the sum over columns of of_column(f, numbers (M, 1)), (M, K), looked up; 0 for what is not seen.

    x (n, F). None where numbers are not whole, too large or too few, or where some value is infinite.
    """
    if len(x) < MANY or not x.shape[1]:
        return None
    missing = np.isnan(x)
    some = bool(missing.any())
    seen = np.where(missing, 0.0, x) if some else x
    if not (seen.min() >= 0.0 and seen.max() < WIDE * len(x)):
        return None
    index = seen.astype(np.int64)
    if (index != seen).any():
        return None
    total: Array | None = None
    for column in range(x.shape[1]):
        numbers, at = distinct(index[:, column], int(index[:, column].max()))
        if len(numbers) * SHARE > len(x):
            return None
        table = np.asarray(of_column(column, numbers[:, None].astype(np.float64)))
        if not np.isfinite(table).all():
            return None
        if some:
            table = np.vstack([table, np.zeros(table.shape[1])])
            at = np.where(missing[:, column], len(numbers), at)
        terms = table.take(at, axis=0)
        total = terms if total is None else np.add(total, terms, out=total)
    return total
