"""Weighted moments: sums of the rows one by one, in exact arithmetic; entries not seen left out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

CASES = [(1, 1, 1), (7, 2, 1), (40, 3, 2), (33, 10, 13), (65, 5, 4)]


def made(n, states, features, missing=False):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, features)) + 3.0
    weight = rng.dirichlet(np.ones(states), n) * (rng.random((n, 1)) < 0.8)
    if missing:
        x[rng.random(x.shape) < 0.3] = np.nan
    return x, weight, rng.normal(size=(states, features)) + 3.0


def exact(x, weight, mean):
    """Sums of w, w x, and w (x - m)(x - m)', with fractions."""
    states, features = mean.shape
    mass, total, square = ({} for _ in range(3))
    for w, row in zip(weight, x, strict=True):
        for k in range(states):
            own = Fraction(w[k])
            mass[k] = mass.get(k, 0) + own
            apart = [None if np.isnan(v) else Fraction(v) - Fraction(m) for v, m in zip(row, mean[k], strict=True)]
            for f in range(features):
                total[k, f] = total.get((k, f), 0) + (0 if apart[f] is None else own * Fraction(row[f]))
                for g in range(features):
                    both = 0 if apart[f] is None or apart[g] is None else own * apart[f] * apart[g]
                    square[k, f, g] = square.get((k, f, g), 0) + both
    cells = [(k, f) for k in range(states) for f in range(features)]
    sums = np.array([[float(mass[k]), *(float(total[k, f]) for f in range(features))] for k in range(states)])
    products = np.array([float(square[k, f, g]) for k, f in cells for g in range(features)])
    return sums, products.reshape(states, features, features)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_sums_are_those_of_fractions(kernels, case, missing):
    x, weight, mean = made(*case, missing)
    sums, products = exact(x, weight, mean)
    np.testing.assert_allclose(kernels.weighted_sums(x, weight), sums, rtol=1e-14, atol=0)
    found = kernels.weighted_products(x, weight, mean)
    np.testing.assert_allclose(found, products, rtol=0, atol=1e-14 * max(1.0, np.abs(products).max()))
    squares = kernels.weighted_squares(x, weight, mean)
    np.testing.assert_allclose(squares, np.diagonal(products, axis1=1, axis2=2), rtol=1e-14, atol=0)


def test_threads_do_not_show(kernels):
    x, weight, mean = made(9000, 4, 3)
    for name, given in (
        ("weighted_sums", (x, weight)),
        ("weighted_squares", (x, weight, mean)),
        ("weighted_products", (x, weight, mean)),
    ):
        once = getattr(kernels, name)(*given, 1)
        assert all(np.array_equal(once, getattr(kernels, name)(*given, threads)) for threads in (2, 3, 0))


def test_no_rows_sum_to_zero(kernels):
    none = np.zeros((0, 2)), np.zeros((0, 3))
    assert not kernels.weighted_sums(*none).any()
    assert kernels.weighted_products(*none, np.ones((3, 2))).shape == (3, 2, 2)


def test_arrays_that_do_not_fit_are_refused(kernels):
    if not kernels.is_compiled:
        pytest.skip("numpy refuses in its own words")
    x, weight, mean = made(5, 2, 3)
    for bad in ((x[:4], weight, mean), (x, weight, mean[:1]), (x[:, :2], weight, mean)):
        with pytest.raises((ValueError, TypeError)):
            kernels.weighted_squares(*bad)
