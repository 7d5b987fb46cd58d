from __future__ import annotations

import numpy as np
import pytest

from hidiv.wavelets.dual_tree import hilbert_pair

SIZES = [(1, 1), (2, 2), (3, 3), (4, 2), (4, 4)]


@pytest.mark.parametrize("size", SIZES)
def test_both_filters_are_orthonormal_to_their_even_shifts(size: tuple[int, int]) -> None:
    for taps in hilbert_pair(*size):
        assert len(taps) == 2 * sum(size)
        for shift in range(0, len(taps), 2):
            product = float(taps[shift:] @ taps[: len(taps) - shift])
            assert product == pytest.approx(float(shift == 0), abs=1e-10)  # spectral factors lose some digits


@pytest.mark.parametrize("size", SIZES)
def test_wavelets_have_vanishing_moments(size: tuple[int, int]) -> None:
    for taps in hilbert_pair(*size):
        alternating = taps * (-1.0) ** np.arange(len(taps))
        for power in range(size[0]):
            assert float(alternating @ np.arange(len(taps)) ** power) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(("size", "error"), [((1, 1), 0.15), ((2, 2), 0.025), ((3, 3), 0.0045), ((4, 4), 0.00075)])
def test_second_filter_lags_by_half_a_sample(size: tuple[int, int], error: float) -> None:
    frequency = np.linspace(0.0, np.pi / 2, 50)
    h, g = (np.exp(-1j * np.outer(frequency, np.arange(len(taps)))) @ taps for taps in hilbert_pair(*size))
    # No finite filter can do it exactly; both sizes of the error tell a wrong delay from a right one.
    assert 0.5 * error < np.abs(g / h - np.exp(-0.5j * frequency)).max() < error


def test_filters_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        hilbert_pair()[0][0] = 1.0
