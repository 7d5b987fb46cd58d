from __future__ import annotations

import numpy as np
import pytest

from hidiv.errors import InvalidEvidence
from hidiv.wavelets import coefficient_trees, discrete, dual_tree


def test_children_of_an_image_are_the_four_places_below() -> None:
    bands = discrete(np.random.default_rng(1).normal(size=(16, 32)), "db2", 3)
    tree, x = coefficient_trees(bands, 2)
    assert (tree.children, tree.depth, x.shape) == (4, 3, (2 * 4, 21))
    coarse, middle, fine = (band[2] for band in bands.details)
    for root in range(8):
        i, j = divmod(root, 4)
        expected = [coarse[i, j]]
        expected += [middle[2 * i + a, 2 * j + b] for a in (0, 1) for b in (0, 1)]
        places = [(2 * i + a, 2 * j + b) for a in (0, 1) for b in (0, 1)]
        expected += [fine[2 * r + a, 2 * c + b] for r, c in places for a in (0, 1) for b in (0, 1)]
        np.testing.assert_array_equal(x[root], expected)
    parent = tree.parent
    assert parent[5:9].tolist() == [1] * 4  # the first quarter's children come first


def test_children_of_a_signal_are_two() -> None:
    bands = dual_tree(np.random.default_rng(2).normal(size=32), 3)
    tree, x = coefficient_trees(bands)
    assert (tree.children, x.shape, x.dtype) == (2, (4, 7), np.complex128)
    coarse, middle, fine = (band[0] for band in bands.details)
    np.testing.assert_array_equal(x[1], [coarse[1], *middle[2:4], *fine[4:8]])


def test_orientations_that_are_not_there_are_refused() -> None:
    with pytest.raises(InvalidEvidence, match="orientation: must be from 0 to 2, got 3"):
        coefficient_trees(discrete(np.eye(8), levels=1), 3)
