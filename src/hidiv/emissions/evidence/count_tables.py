"""Many small counts or symbols: what a family says of each number, looked up in a table a column."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hidiv.types import Array

MANY = 1024  # rows from which on it pays
SHARE = 8  # rows a number of the table, at least


def by_count(x: Array, of_column: Callable[[int, Array], Array]) -> Array | None:
    """(n, K): the sum over columns of of_column(f, numbers (M, 1)), (M, K), looked up; 0 for what is not seen.

    x (n, F). None where numbers are not whole, too large or too few, or where some value is infinite.
    """
    if len(x) < MANY or not x.shape[1]:
        return None
    missing = np.isnan(x)
    some = bool(missing.any())
    seen = np.where(missing, 0.0, x) if some else x
    if not (seen.min() >= 0.0 and seen.max() * SHARE < len(x)):
        return None
    index = seen.astype(np.int64)
    if (index != seen).any():
        return None
    total: Array | None = None
    for column in range(x.shape[1]):
        top = int(index[:, column].max())
        table = np.asarray(of_column(column, np.arange(top + 1.0)[:, None]))
        if not np.isfinite(table).all():
            return None
        if some:
            table = np.vstack([table, np.zeros(table.shape[1])])
        at = np.where(missing[:, column], top + 1, index[:, column]) if some else index[:, column]
        total = table[at] if total is None else total + table[at]
    return total
