"""How well a matrix of divergences finds things of the same kind."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hidiv.errors import HidivError, refuse


def average_retrieval(matrix: ArrayLike, labels: ArrayLike) -> float:
    """Share of an item's own class among as many nearest others as the class has besides it, averaged over items.

    `matrix` (M, M): small means near, the diagonal is left out; ties go to the earlier item. Items alone in their
    class are not asked.

    >>> average_retrieval([[0, 1, 2, 3], [1, 0, 2, 3], [3, 2, 0, 1], [3, 1, 2, 0]], ["a", "a", "b", "b"])
    0.75
    """
    distance, kind = np.array(matrix, dtype=np.float64), np.asarray(labels)
    if distance.ndim != 2 or distance.shape != (len(kind), len(kind)):
        refuse(HidivError, "matrix", f"must be square with one row a label ({len(kind)})", distance.shape)
    if np.isnan(distance).any():
        refuse(HidivError, "matrix", "must hold no NaN")
    np.fill_diagonal(distance, np.nan)  # sorts last, behind infinite ones
    same = kind[np.argsort(distance, axis=1, kind="stable")] == kind[:, None]
    sizes = (kind[:, None] == kind[None]).sum(axis=1) - 1
    if not sizes.any():
        refuse(HidivError, "labels", "must hold a class with at least two items", list(kind[:3]))
    shares = [float(row[:size].mean()) for row, size in zip(same, sizes, strict=True) if size > 0]
    return float(np.mean(shares))
