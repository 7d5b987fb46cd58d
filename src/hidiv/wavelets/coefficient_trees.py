"""`coefficient_trees`: coefficients as trees; the children of one are those of the next finer scale at its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.errors import InvalidEvidence, refuse
from hidiv.models.tree import Tree
from hidiv.wavelets.bands import Bands


def coefficient_trees(bands: Bands, orientation: int = 0) -> tuple[Tree, NDArray[Any]]:
    """Arrange the coefficients of one orientation as trees.

    Every coefficient of the coarsest scale is the root of a tree: a quad-tree for an image, a binary tree for a signal.
    All trees have the same shape, and the levels are the scales.

    Parameters
    ----------
    bands : Bands
        Wavelet coefficients.
    orientation : int, default 0
        Which orientation of the bands.

    Returns
    -------
    tree : Tree
        The shape of each tree.
    values : ndarray of shape (trees, nodes)
        The coefficients of each tree, breadth first.

    Examples
    --------
    >>> import numpy as np
    >>> from hidiv.wavelets import discrete
    >>> tree, x = coefficient_trees(discrete(np.eye(32), "haar", levels=3))
    >>> tree.n_nodes, x.shape
    (21, (16, 21))
    """
    if not 0 <= orientation < len(bands.orientations):
        refuse(InvalidEvidence, "orientation", f"must be from 0 to {len(bands.orientations) - 1}", orientation)
    places = bands.means[0].ndim
    return Tree.regular(2**places, bands.levels), by_tree([band[orientation] for band in bands.details])


def by_tree(levels: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """(trees, nodes): the entries of arrays, one a level, whose sides double from each to the next.

    >>> by_tree([np.array([1, 2]), np.array([3, 4, 5, 6])]).tolist()
    [[1, 3, 4], [2, 5, 6]]
    """
    sides = levels[0].shape
    return np.concatenate([_by_root(band, sides, level) for level, band in enumerate(levels)], axis=1)


def _by_root(band: NDArray[Any], sides: tuple[int, ...], level: int) -> NDArray[Any]:
    """(roots, nodes of this level under each root), with the children of one node next to each other."""
    axes = len(sides)
    # Split every axis into the place of the root and one bit for each level, then bring equal bits together.
    split = band.reshape([part for side in sides for part in (side, *(2,) * level)])
    order = [axis * (level + 1) + bit for bit in range(level + 1) for axis in range(axes)]
    return split.transpose(order).reshape(int(np.prod(sides)), 2 ** (axes * level))
