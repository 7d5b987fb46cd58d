"""The parameters the paper prints, as models, and the numbers it reports for them.

The paper counts states and symbols from 1, hidiv from 0; theta_1 is p, theta_0 is q.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hidiv.emissions.families.categorical import Categorical
from hidiv.emissions.families.gaussian import Gaussian
from hidiv.models.model import Model
from hidiv.models.tree import Tree


class Row(NamedTuple):
    """A row of Table I."""

    trials: int
    estimate: float
    lower: float
    upper: float


TABLE_1 = (
    Row(10**2, 0.752, 0.580, 0.925),
    Row(10**3, 0.673, 0.616, 0.730),
    Row(10**4, 0.691, 0.673, 0.709),
    Row(10**5, 0.690, 0.684, 0.696),
    Row(10**6, 0.688, 0.687, 0.690),
)
TREES_EXACT = 0.690
STATIONARY = (2 / 3, 1 / 3)
SUPPLEMENT_N = 10
SUPPLEMENT_STATES = (0, 0, 0, 0, 0, 1, 1, 1, 1, 1)
SUPPLEMENT_X = (0, 0, 0, 1, 1, 1, 2, 2, 2, 2)
SUPPLEMENT = {"theta_1": 0.91, "theta_0": 0.10, "divergence": 0.071}
FIGURE_2_TRIALS = 1000
FIGURE_3_LENGTHS = range(5, 101)
FIGURE_1_WORDS = ("", "0", "1", "00", "01", "10", "11")


def chains() -> tuple[Model, Model]:
    """Section III and supplement: two states, three symbols."""
    p = Model(
        [0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]), name="theta_1"
    )  # fmt: skip
    q = Model(
        [0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]), name="theta_0"
    )  # fmt: skip
    return p, q


def trees() -> tuple[Model, Model]:
    """Section IV and supplement: two states, zero-mean Gaussians, parameters by level."""
    p = Model(
        [0.69, 0.31],
        [None, [[0.99, 0.01], [0.22, 0.78]], [[0.99, 0.01], [0.32, 0.68]]],
        [Gaussian([0.0, 0.0], std=std) for std in ([11.8, 67.1], [4.1, 29.3], [2.8, 10.3])],
        name="theta_1",
    )
    q = Model(
        [0.63, 0.37],
        [None, [[0.98, 0.02], [0.20, 0.80]], [[0.99, 0.01], [0.22, 0.78]]],
        [Gaussian([0.0, 0.0], std=std) for std in ([24.6, 74.8], [6.9, 31.9], [3.1, 14.8])],
        name="theta_0",
    )
    return p, q


def binary_tree() -> Tree:
    """Figure 1: three levels, two children."""
    return Tree.regular(2, 3)


def evidence(length: int = 100) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Section IV: symbols 1, 2 and 3, ten times each, over and over; the first `length` values."""
    return np.tile(np.repeat(np.arange(3), 10), 4)[:length]
