from __future__ import annotations

import numpy as np
import pytest

from hidiv.errors import HidivError
from hidiv.wavelets import average_retrieval


def test_counts_its_own_class_among_the_nearest() -> None:
    place = np.array([0.0, 1.0, 2.0, 10.0, 11.0, 1.5])
    matrix = np.abs(place[:, None] - place)
    kinds = ["a", "a", "a", "b", "b", "b"]
    # 0: 1, 1.5 -> 1/2; 1: 1.5, 0 (a tie with 2, the earlier) -> 1/2; 2: 1.5, 1 -> 1/2; 10: 11, 2; 11: 10, 2; 1.5: 1, 2
    assert average_retrieval(matrix, kinds) == pytest.approx((0.5 + 0.5 + 0.5 + 0.5 + 0.5 + 0.0) / 6, rel=1e-15)


def test_classes_may_differ_in_size_and_infinity_is_far() -> None:
    matrix = np.array([[0, 1, 9, 9.0], [1, 0, 9, 9], [9, 9, 0, np.inf], [9, 9, np.inf, 0]])
    assert average_retrieval(matrix, [0, 0, 1, 2]) == 1.0
    assert average_retrieval(matrix, [0, 0, 1, 1]) == 0.5


def test_refused() -> None:
    with pytest.raises(HidivError, match="matrix: must be square with one row a label"):
        average_retrieval(np.zeros((2, 3)), [0, 1])
    with pytest.raises(HidivError, match=r"at least two items, got \['a', 'b'\]"):
        average_retrieval(np.zeros((2, 2)), ["a", "b"])
    with pytest.raises(HidivError, match="labels: must be one for each row of the matrix"):
        average_retrieval(np.zeros((2, 2)), [[0, 1]])
    with pytest.raises(HidivError, match="no NaN"):
        average_retrieval(np.full((2, 2), np.nan), [0, 0])
