"""The remainder of Stirling's formula and its derivatives in 60 digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from hidiv.emissions.numerics import stirling

mp = mpmath.MPContext()
mp.dps = 60
SHAPES = np.array([1e-3, 1e-2, 0.1, 0.5, 1.0, 2.3, 5.0, 9.9, 15.99, 16.0, 17.0, 50.0, 1e3, 1e6, 1e8])


def value(a):
    return mp.loggamma(a) - a * mp.log(a) + a


def slope(a):
    return mp.digamma(a) - mp.log(a)


def curvature(a):
    return mp.psi(1, a) - 1 / a


def worst(values, expected):
    return max(float(abs(mp.mpf(float(v)) - e) / abs(e)) for v, e in zip(values, expected, strict=True))


def exact(values):
    return [mp.mpf(float(v)) for v in values]


def test_values():
    # The value crosses zero near 6.3: absolute there.
    errors = [
        abs(float(mp.mpf(float(v)) - value(a))) for v, a in zip(stirling.remainder(SHAPES), exact(SHAPES), strict=True)
    ]
    assert max(errors) < 1e-14
    assert worst(stirling.slope(SHAPES), [slope(a) for a in exact(SHAPES)]) < 2e-15
    assert worst(stirling.curvature(SHAPES), [curvature(a) for a in exact(SHAPES)]) < 2e-15
    assert stirling.remainder(np.array([0.0, 1e-310])).tolist() == [np.inf, -np.log(1e-310)]
    np.testing.assert_allclose(
        stirling.factorial_remainder(np.array([0.0, 1.0, 2.0])), [0, 1, 2 - np.log(2)], rtol=1e-15
    )


@pytest.mark.parametrize("b", [1.0, 3.5, 1e6])
def test_rises_and_drops(b):
    assert worst(stirling.slope_rise(SHAPES, b), [slope(a + b) - slope(a) for a in exact(SHAPES)]) < 1e-14
    assert worst(stirling.curvature_drop(SHAPES, b), [curvature(a) - curvature(a + b) for a in exact(SHAPES)]) < 2e-15
    small = b * 1e-9
    expected = [curvature(a) - curvature(a + mp.mpf(small)) for a in exact(SHAPES)]
    assert worst(stirling.curvature_drop(SHAPES, small), expected) < 2e-15


@pytest.mark.parametrize("step", [1e-9, 1e-3, 0.3, -0.9, 10.0, 1e6, -0.999999])
def test_differences(step):
    other = SHAPES * (1 + step)
    pairs = list(zip(exact(SHAPES), exact(other), strict=True))
    assert worst(stirling.change(SHAPES, other, other - SHAPES), [value(b) - value(a) for a, b in pairs]) < 1e-14
    expected = [value(b) - value(a) - (b - a) * slope(a) for a, b in pairs]
    assert worst(stirling.bregman(SHAPES, other, other - SHAPES), expected) < 1e-14
