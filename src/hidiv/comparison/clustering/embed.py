"""A map: points whose distances follow the divergences, by classical scaling."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidiv.arguments import whole
from hidiv.comparison.clustering.cluster import jeffreys
from hidiv.types import Array


def embed(matrix: Any, dimensions: int = 2) -> Array:
    """A map of models: points whose squared distances are as near their divergences as the axes allow.

    Parameters
    ----------
    matrix : PairwiseMatrix or (M, M) array
        Divergences of all pairs; one that is not symmetric is added to its transpose. Of a matrix of similarities, such
        as product kernels, `PairwiseMatrix.dissimilarities` are taken.
    dimensions : int, default 2
        Number of axes d.

    Returns
    -------
    (M, d) array
        Coordinates; the largest coordinate of each axis in size is positive.

    Raises
    ------
    HidivError
        No square matrix of numbers from 0, or too many dimensions.

    Notes
    -----
    Classical scaling. Jeffreys' divergence (definitions (3.7)) behaves like a squared distance between close models.

    Examples
    --------
    >>> import numpy as np
    >>> line = np.array([0.0, 1.0, 3.0])
    >>> points = embed((line[:, None] - line) ** 2, 1)[:, 0]
    >>> np.round(np.abs(points[1:] - points[:-1]), 12)
    array([1., 2.])
    """
    table = jeffreys(matrix)
    m = len(table)
    dimensions = whole("dimensions", dimensions, 1, m, of="models")
    centred = table - table.mean(axis=0) - table.mean(axis=1)[:, None] + table.mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)
    order = np.argsort(values)[::-1][:dimensions]
    kept, axes = np.maximum(values[order], 0.0), vectors[:, order]
    axes = axes * np.where(axes[np.abs(axes).argmax(axis=0), np.arange(len(order))] < 0, -1.0, 1.0)
    return np.asarray(axes * np.sqrt(kept))
