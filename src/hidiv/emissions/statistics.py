"""Mean sufficient statistics and natural parameters: with them all pairs of models are one matrix product."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hidiv.types import Array


class Statistics(NamedTuple):
    """KL(p || q) = sum over D of expected_p (natural_p - natural_q), for any two families with equal keys."""

    key: tuple[object, ...]
    expected: Array  # (K, D) mean sufficient statistics, a last column of ones
    natural: Array  # (K, D) natural parameters, a last column of minus the log-normaliser; may hold -inf
    size: Array | None = None  # (K, D) sizes of the terms that `expected` is summed from, where these cancel
    are_probabilities: bool = False  # `natural` holds the logarithms of `expected`


def sizes_of(statistics: Statistics) -> Array:
    """(K, D): what the roundings of the mean statistics are in proportion to."""
    expected = np.abs(statistics.expected)
    return expected if statistics.size is None else np.maximum(expected, statistics.size)
