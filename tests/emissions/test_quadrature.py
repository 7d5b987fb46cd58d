"""Integrals and sums by halved panels, second-order remainders, and the terms of two scales."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import digamma, gammaln, polygamma

from hidiv.emissions.numerics.adaptive_integrals import (
    Laws,
    divergence,
    first_order,
    integral,
    renyi,
    second_order,
    total,
)
from hidiv.emissions.numerics.scales import ScaleRatio, compare_scales, scale_kl, scale_renyi
from hidiv.emissions.numerics.standard_normal import normal_log_mass
from tests.emissions.plain_laws import error, mp, mpf
from tests.emissions.plain_points import segment


def test_smooth_kinked_and_peaked_integrands():
    assert abs(integral(np.exp, [0.0, 1.0]) - np.expm1(1.0)) < 1e-15
    assert abs(integral(np.sqrt, [0.0, 1.0]) - 2 / 3) < 1e-13  # a singular slope at the end
    assert abs(integral(lambda x: np.abs(x - 0.3), [0.0, 0.3, 1.0]) - 0.29) < 1e-15
    assert abs(integral(lambda x: 1 / (1e-6 + x * x), [-1.0, 0.0, 1.0]) / (2e3 * math.atan(1e3)) - 1) < 1e-13


@pytest.mark.parametrize("rate", [0.3, 7.0, 1e3, 1e9, 1e14])
def test_sums_cost_the_same_however_wide(rate):
    def poisson(k):
        # Stirling by a series about the mean would be better still: at 1e14 the logs themselves lose digits.
        return np.exp(k * math.log(rate) - rate - gammaln(k + 1.0))

    tolerance = max(1e-13, rate * math.log(rate) * 1e-15) if rate > 1 else 1e-14
    assert abs(total(poisson, [int(rate)]) - 1) < tolerance
    assert total(lambda k: np.ones_like(k), [5], last=999) == 1000.0
    assert total(lambda k: k**3, [3, 70], last=100) == 5050.0**2


def test_remainders_of_first_and_second_order():
    start, step = np.array([0.5, 2.0, 30.0]), np.array([1e-9, -1e-4, 8.0])
    for got, order in ((first_order(digamma, start, step), 1), (second_order(partial(polygamma, 1), start, step), 2)):
        for x, d, value in zip(start, step, got, strict=True):
            end, x = mpf(x) + mpf(d), mpf(x)
            expected = mp.loggamma(end) - mp.loggamma(x) - (mpf(d) * mp.digamma(x) if order == 2 else 0)
            assert error(value, expected) < 1e-13


def test_divergences_of_near_laws_keep_their_digits():
    # Exponential laws of rates 1 and r = 1 + 1e-8, where KL = r - 1 - log r.
    step = 1e-8
    rate = 1.0 + step
    gap = rate - 1.0
    laws = Laws(lambda x: -x, lambda x: math.log(rate) - rate * x, lambda x: math.log1p(gap) - gap * x)
    over = partial(integral, edges=np.linspace(0.0, 60.0, 31))
    r = mpf(rate)
    assert error(divergence(laws, over), r - 1 - mp.log(r)) < 1e-12
    for alpha in (0.2, 0.5, 2.0):
        a = mpf(alpha)
        expected = ((1 - a) * mp.log(r) - mp.log(a + (1 - a) * r)) / (a - 1)
        assert error(renyi(laws, alpha, over), expected) < 1e-12


@pytest.mark.parametrize("ratio", [1e-300, 1e-9, 0.4, 1 - 1e-3, 1 + 1e-6, 1 - 1e-9, 1.7, 1e9, 1e300])
def test_two_scales(ratio):
    compared = compare_scales(np.array([ratio]), np.array([1.0]))
    r = mpf(ratio)
    assert error(scale_kl(compared)[0], r - 1 - mp.log(r)) < 1e-14
    for alpha in (0.05, 0.5, 0.9, 0.999):
        a = mpf(alpha)
        expected = mp.log(a + (1 - a) * r) / (1 - a) - mp.log(r)
        assert error(scale_renyi(compared, alpha)[0], expected) < 1e-13


def test_scales_beyond_doubles():
    far = ScaleRatio(np.array([np.inf, -1.0]), np.array([1400.0, -1400.0]))
    assert scale_kl(far).tolist() == [np.inf, 1399.0]
    assert np.isfinite(scale_renyi(far, 0.3)).all()
    assert scale_renyi(far, 2.0)[0] == np.inf
    assert np.isfinite(scale_renyi(far, 2.0)[1])


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (40.0, 41.0),
        (-41.0, -40.0),
        (0.5, 0.5 + 1e-13),
        (-1e-9, 2e-9),
        (-40.0, 9.0),
        (300.0, 300.0001),
        (5.0, np.inf),
        (-np.inf, 8.0),
    ],
)
def test_normal_intervals(low, high):
    if np.isfinite(low + high):
        cuts = sorted({low, high, *(c for c in range(-40, 41, 2) if low < c < high)})
        pieces = (segment(a, b) for a, b in pairwise(cuts))
        mass = mp.fsum(w * mp.exp(-x * x / 2) for piece in pieces for x, w in piece) / mp.sqrt(2 * mp.pi)
    else:
        mass = mp.erfc(mpf(low if high == np.inf else -high) / mp.sqrt(2)) / 2
    value = normal_log_mass(np.array([low]), np.array([high]), np.array([0.0]), np.array([1.0]))[0]
    assert error(value, mp.log(mass)) < 1e-13
