"""`average_retrieval`: how well a matrix of divergences finds items of the same class."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hidiv.errors import HidivError, refuse


def average_retrieval(matrix: ArrayLike, labels: ArrayLike) -> float:
    """Compute the average retrieval rate of a matrix of divergences.

    For an item whose class has n other members, it is the share of these among the n items nearest to it; the result is
    the average over all items whose class has more than one member.

    Parameters
    ----------
    matrix : array_like of shape (M, M)
        Divergences or distances, small where items are near. The diagonal is ignored, and ties go to the earlier item.
    labels : array_like of shape (M,)
        The class of each item.

    Returns
    -------
    float
        The rate, between 0 and 1.

    Raises
    ------
    HidivError
        If the matrix has another shape or holds NaN, or no class has two members.

    Examples
    --------
    >>> average_retrieval([[0, 1, 2, 3], [1, 0, 2, 3], [3, 2, 0, 1], [3, 1, 2, 0]], ["a", "a", "b", "b"])
    0.75
    """
    distance, kind = np.array(matrix, dtype=np.float64), np.atleast_1d(np.asarray(labels))
    if kind.ndim != 1:
        refuse(HidivError, "labels", "must be one for each row of the matrix", kind.shape)
    if distance.ndim != 2 or distance.shape != (len(kind), len(kind)):
        refuse(HidivError, "matrix", f"must be square with one row a label ({len(kind)})", distance.shape)
    if np.isnan(distance).any():
        refuse(HidivError, "matrix", "must hold no NaN")
    np.fill_diagonal(distance, np.nan)  # sorts last, behind infinite ones
    same = kind[np.argsort(distance, axis=1, kind="stable")] == kind[:, None]
    sizes = (kind[:, None] == kind[None]).sum(axis=1) - 1
    if not sizes.any():
        refuse(HidivError, "labels", "must hold a class with at least two items", kind[:3].tolist())
    shares = [float(row[:size].mean()) for row, size in zip(same, sizes, strict=True) if size > 0]
    return float(np.mean(shares))
