"""Rows of counts looked up column by column: which numbers occur, and the sum of what a table says of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hidiv.recursions.kernels import kernel
from hidiv.types import Array, IntArray

# low (F,), start (F + 1,), place (P,): number low[f] + i of column f, i < start[f + 1] - start[f], has row
# place[start[f] + i] of a table, -1 for a number that is not in it. What is not seen has the last row.
CountPlaces = tuple[IntArray, IntArray, NDArray[np.int32]]
# x (n, F), the places of its numbers, a table (R, K) of log-weights, and for a pair one of log-ratios.
CountTables = tuple[Array, CountPlaces, Array, Array | None]
MOST = 2.0**53  # of a number


@kernel
def distinct_counts(x: Array, widest: int) -> tuple[CountPlaces, IntArray] | None:
    """The places of the whole numbers in each column of x (n, F), and (F + 1,) the first row of each column's numbers.

    Rows are in the order of columns, and of numbers in each. None where a number is negative, not whole or above 2^53,
    or where the columns together span more than `widest` numbers.
    """
    low, start, first, places = [], [0], [0], []
    for column in x.T:
        seen = column[~np.isnan(column)]
        if seen.size and not (seen.min() >= 0.0 and seen.max() <= MOST and (seen == np.floor(seen)).all()):
            return None
        least, most = (int(seen.min()), int(seen.max())) if seen.size else (0, -1)
        if most - least >= widest or start[-1] + most - least + 1 > widest:
            return None
        place = np.full(most - least + 1, -1, dtype=np.int32)
        numbers = np.unique(seen).astype(np.int64) - least
        place[numbers] = first[-1] + np.arange(len(numbers))
        places.append(place)
        low.append(least)
        start.append(start[-1] + len(place))
        first.append(first[-1] + len(numbers))
    where = np.array(low, dtype=np.int64), np.array(start, dtype=np.int64), np.concatenate(places)
    return where, np.array(first, dtype=np.int64)


@kernel
def count_table(x: Array, places: CountPlaces, values: Array, threads: int = 0) -> tuple[Array, bool]:
    """(n, K): the sum over the columns of x (n, F) of the rows of values (R, K) that their numbers have.

    And whether a number is not in the table; the last row stands in for it.
    """
    total, odd = np.zeros((len(x), values.shape[1])), False
    for f in range(x.shape[1]):
        row, missing = rows_of(x, places, f, len(values) - 1)
        odd = odd or bool((missing & ~np.isnan(x[:, f])).any())
        total += values[row]
    return total, odd


def rows_of(x: Array, places: CountPlaces, f: int, absent: int) -> tuple[IntArray, NDArray[np.bool_]]:
    """(n,): the rows of column f, `absent` where a number is not seen or not there; and where that is so."""
    low, start, place = places
    at, size = x[:, f] - low[f], start[f + 1] - start[f]
    with np.errstate(invalid="ignore"):
        inside = (at >= 0) & (at < size) & (at == np.floor(at))
    if not size:
        return np.full(len(x), absent), ~inside
    row = place[start[f] + np.where(inside, at, 0).astype(np.int64)]
    inside &= row >= 0
    return np.where(inside, row, absent), ~inside
