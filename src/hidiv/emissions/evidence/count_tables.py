"""Many small counts or symbols: what a family says of each number that occurs, in a table to look them up in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hidiv.recursions.count_rows import CountPlaces, count_table, distinct_counts
from hidiv.types import Array, IntArray

MANY = 1024  # rows from which on it pays
SHARE = 2  # rows a number of a column, at least
WIDE = 64  # the largest number for each row, at most
WIDEST = 1 << 22  # numbers between the least and the largest of all columns, at most: four bytes each


@dataclass(frozen=True, eq=False)
class Counts:
    """The numbers that occur in each column of (n, F) counts, and the row of a table that each of them has."""

    places: CountPlaces
    first: IntArray  # (F + 1,): of the rows of each column's numbers

    def table(self, of_column: Callable[[int, Array], Array]) -> Array | None:
        """(R, K): of_column(f, numbers (M, 1)), (M, K), of one column after the other, and a last row of zeros.

        None where some value is infinite.
        """
        parts = [np.asarray(of_column(f, self.numbers(f)[:, None])) for f in range(len(self.first) - 1)]
        table = np.concatenate([*parts, np.zeros((1, parts[0].shape[1]))])
        return table if np.isfinite(table).all() else None

    def numbers(self, f: int) -> Array:
        """(M,): the numbers of column f, in order."""
        low, start, place = self.places
        return np.asarray((low[f] + np.flatnonzero(place[start[f] : start[f + 1]] >= 0)).astype(np.float64))


def occurring(x: Array) -> Counts | None:
    """The numbers of x (n, F); None where they are not whole, or too large or too many to be looked up."""
    if len(x) < MANY or not x.shape[1]:
        return None
    distinct = distinct_counts(np.ascontiguousarray(x), min(WIDE * len(x), WIDEST))
    if distinct is None or int(np.diff(distinct[1]).max()) * SHARE > len(x):
        return None
    return Counts(*distinct)


def by_count(x: Array, of_column: Callable[[int, Array], Array]) -> Array | None:
    """(n, K): the sum over columns of of_column(f, numbers (M, 1)), (M, K), looked up; 0 for what is not seen.

    x (n, F). None where numbers are not whole, too large or too many, or where some value is infinite.
    """
    counts = occurring(x)
    table = None if counts is None else counts.table(of_column)
    return None if counts is None or table is None else count_table(np.ascontiguousarray(x), counts.places, table)[0]
