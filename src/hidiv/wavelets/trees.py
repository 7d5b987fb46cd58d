"""Bands as trees: a coefficient's children are those of the next finer scale at the same place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.errors import InvalidEvidence, refuse
from hidiv.models.tree import Tree
from hidiv.wavelets.bands import Bands


def coefficient_trees(bands: Bands, orientation: int = 0) -> tuple[Tree, NDArray[Any]]:
    """The tree of every coefficient of the coarsest scale, and their values (trees, nodes), breadth first.

    Quad-trees of an image, binary trees of a signal; groups of the tree are its levels: the scales.

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
    """(trees, nodes) of arrays whose sides double from one to the next.

    >>> by_tree([np.array([1, 2]), np.array([3, 4, 5, 6])]).tolist()
    [[1, 3, 4], [2, 5, 6]]
    """
    sides = levels[0].shape
    return np.concatenate([_by_root(band, sides, level) for level, band in enumerate(levels)], axis=1)


def _by_root(band: NDArray[Any], sides: tuple[int, ...], level: int) -> NDArray[Any]:
    """(roots, nodes of the level under each), children of one node beside each other."""
    axes = len(sides)
    # Every axis as root place and one bit a level; then all axes' first bits, all axes' second bits, and so on.
    split = band.reshape([part for side in sides for part in (side, *(2,) * level)])
    order = [axis * (level + 1) + bit for bit in range(level + 1) for axis in range(axes)]
    return split.transpose(order).reshape(int(np.prod(sides)), 2 ** (axes * level))
