"""Long-run laws of chains with states that are hardly ever left: no chance is so small that it is lost."""

from __future__ import annotations

import numpy as np
import pytest

from hidiv.recursions.gth import cesaro_law, stationary

LEAST = 5e-324
THIRD = 1.0 / 3.0


def test_a_transient_state_that_is_hardly_ever_left():
    """From 1 to 0 sometime, from there to the end."""
    transition = np.array([[THIRD, THIRD, THIRD], [LEAST, 1.0, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_array_equal(cesaro_law(np.array([0.0, 1.0, 0.0]), transition), [0.0, 0.0, 1.0])


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_two_states_that_are_hardly_ever_left(order):
    """Each is left for 2, from where one goes to 0 three times as often as to 1."""
    transition = np.array([[1.0, 0.0, LEAST], [0.0, 1.0, LEAST], [0.75, 0.25, 0.0]])
    law = stationary(transition[np.ix_(order, order)])
    np.testing.assert_allclose(law, np.array([0.75, 0.25, 0.0])[order], rtol=1e-14, atol=1e-300)


def test_chances_whose_product_no_double_holds():
    """From 1 mostly to 2 and from there back, sometime to 0 all the same."""
    transition = np.array([[1.0, 0.0, 0.0], [4e-300, 0.64, 0.36], [0.0, 6.5e-100, 1.0]])
    np.testing.assert_array_equal(cesaro_law(np.array([0.0, 0.5, 0.5]), transition), [1.0, 0.0, 0.0])
