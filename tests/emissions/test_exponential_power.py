"""Laplace, Gaussian and generalised Gaussian laws as one family of shapes; wide ranges; integrals that diverge."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hidiv.emissions.families.gaussian import Gaussian
from hidiv.emissions.families.generalized_gaussian import GeneralizedGaussian
from hidiv.emissions.families.laplace import Laplace
from tests.emissions.plain_laws import error, mp, mpf


def plain_kl(scale_p, shape_p, scale_q, shape_q):
    """The textbook formula in 50 digits."""
    a, b, c, d = (mpf(float(v)) for v in (scale_p, shape_p, scale_q, shape_q))
    moment = (a / c) ** d * mp.gamma((d + 1) / b) / mp.gamma(1 / b)
    return mp.log(b * c / (d * a)) + mp.loggamma(1 / d) - mp.loggamma(1 / b) + moment - 1 / b


def test_shape_two_is_gaussian_and_shape_one_is_laplace():
    scale, other = np.array([0.7, 2.0]), GeneralizedGaussian([1.1, 0.9], [1.6, 2.7])
    gaussian, laplace = Gaussian([0.0, 0.0], std=scale / np.sqrt(2)), Laplace([0.0, 0.0], scale)
    x = np.linspace(-3.0, 3.0, 7)
    for shape, law in ((2.0, gaussian), (1.0, laplace)):
        same = GeneralizedGaussian(scale, [shape, shape])
        assert (law.kl(same) < 1e-31).all()  # sqrt(2) is rounded
        np.testing.assert_allclose(same.log_prob(x), law.log_prob(x), rtol=1e-14, atol=1e-15)
        np.testing.assert_allclose(law.kl(other), same.kl(other), rtol=1e-13)
        np.testing.assert_allclose(other.kl(law), other.kl(same), rtol=1e-13)
        np.testing.assert_allclose(law.renyi(other, 0.4), same.renyi(other, 0.4), rtol=1e-13)
        lower, upper = np.array([[-1.0], [5.0], [-9.0]]), np.array([[0.5], [6.0], [-7.0]])
        np.testing.assert_allclose(same.log_mass(lower, upper), law.log_mass(lower, upper), rtol=1e-13)


def test_divergences_do_not_see_where_the_origin_is():
    p, q = Laplace([3.0], [1.0]), Gaussian([3.0], std=[2.0])
    at_zero = Laplace([0.0], [1.0]).kl(Gaussian([0.0], std=[2.0]))
    np.testing.assert_allclose(p.kl(q), at_zero, rtol=1e-14)
    # E x^2 = 2 for the Laplace law of scale 1, so the KL has a plain form.
    np.testing.assert_allclose(at_zero, np.log(2 * np.sqrt(2 * np.pi)) + 2 / 8 - np.log(2) - 1, rtol=1e-14)
    moved = Laplace([1.0], [1.0]).kl(Gaussian([0.0], std=[2.0]))
    np.testing.assert_allclose(moved - at_zero, 1 / 8, rtol=1e-12)  # the square of the shift over 2 var


def test_wide_shapes_and_scales():
    rng = np.random.default_rng(5)
    for step in (None, 1e-3, 1e-6, 1e-9):
        for _ in range(30):
            scale, shape = np.exp(rng.uniform(-2.0, 2.0)), np.exp(rng.uniform(np.log(0.1), np.log(100.0)))
            if step is None:
                other = np.exp(rng.uniform(-2.0, 2.0)), np.exp(rng.uniform(np.log(0.1), np.log(100.0)))
            else:
                other = scale * (1 + step * rng.normal()), shape * (1 + step * rng.normal())
            expected = plain_kl(scale, shape, *other)
            value = GeneralizedGaussian([scale], [shape]).kl(GeneralizedGaussian([other[0]], [other[1]]))[0]
            if expected < mpf(10) ** 308:
                # The largest values are e^t with t up to 700, known to 1e-16 of t only.
                assert error(value, expected) < (1e-12 if expected > 1e10 else 1e-13)
            else:
                assert value == np.inf


@pytest.mark.parametrize("shape", [0.1, 0.7, 3.0, 100.0])
def test_extreme_scales_stay_numbers(shape):
    p, q = GeneralizedGaussian([1e-150, 1e150], [shape] * 2), GeneralizedGaussian([1e150, 1e-150], [shape * 1.1] * 2)
    for value in (p.kl(q), p.renyi(q, 0.5), p.renyi(p.take([1, 0]), 0.3)):
        assert not np.isnan(value).any()
    assert np.isfinite(p.kl(q)[0])
    assert np.isfinite(p.renyi(q, 0.5)).all()
    x = p.sample([0, 1], np.random.default_rng(1))
    assert np.isfinite(np.diagonal(p.log_prob(x))).all()


def test_renyi_above_one_is_finite_only_for_lighter_tails():
    light, heavy = GeneralizedGaussian([1.0], [2.5]), GeneralizedGaussian([1.0], [0.8])
    assert heavy.renyi(light, 1.5).tolist() == [np.inf]
    assert light.kl(heavy)[0] < light.renyi(heavy, 1.5)[0] < light.renyi(heavy, 3.0)[0] < np.inf
    assert Laplace([0.0], [3.0]).renyi(Laplace([0.0], [1.0]), 2.0).tolist() == [np.inf]
    assert Laplace([0.0], [1.0]).renyi(Gaussian([0.0], std=[9.0]), 2.0).tolist() == [np.inf]
    for order in (1.5, 4.0):
        a = mpf(order)
        log_z = mp.log(2 * mp.quad(lambda x, a=a: mp.exp(-a * x ** mpf(2.5) + (a - 1) * x ** mpf(0.8)), [0, 1, 3, 9]))
        constant = a * mp.log(2 * mp.gamma(1 + 1 / mpf(2.5))) + (1 - a) * mp.log(2 * mp.gamma(1 + 1 / mpf(0.8)))
        assert error(light.renyi(heavy, order)[0], (log_z - constant) / (a - 1)) < 1e-13


def test_renyi_with_the_peak_far_out():
    # p wins over q only past |x| = e^19: log Z is nearly a million.
    p, q = GeneralizedGaussian([1.0], [0.8]), GeneralizedGaussian([0.125], [0.75])

    def log_integrand(t):
        return t - 2 * mp.exp(mpf(0.8) * t) + (8 * mp.exp(t)) ** mpf(0.75)

    top = mp.findroot(lambda t: mp.diff(log_integrand, t), 20 * mp.log(mpf(8) ** mpf(0.75) * 0.75 / 1.6))
    width = 1 / mp.sqrt(-mp.diff(log_integrand, top, 2))
    height = log_integrand(top)
    z = mp.quad(lambda t: mp.exp(log_integrand(t) - height), [top - 14 * width, top, top + 14 * width])
    constant = 2 * mp.log(2 * mp.gamma(1 + 1 / mpf(0.8))) - mp.log(2 * mp.gamma(1 + 1 / mpf(0.75)) / 8)
    assert error(p.renyi(q, 2.0)[0], height + mp.log(2 * z) - constant) < 1e-11


@pytest.mark.parametrize("apart", [1e-12, 1e-3, 1.0, 40.0, 1e6])
def test_laplace_laws_apart(apart):
    p, q = Laplace([0.25], [0.7]), Laplace([0.25 + apart], [1.3])
    d, b, c = mpf(float(q.loc[0])) - mpf(0.25), mpf(0.7), mpf(1.3)
    expected = mp.log(c / b) + d / c + b / c * mp.exp(-d / b) - 1
    assert error(p.kl(q)[0], expected) < 1e-14
    for alpha in (0.05, 0.35, 0.5, 0.95, 1.4):
        a = mpf(alpha)
        u, v = a / b, (1 - a) / c
        tails = (mp.exp(-v * d) + mp.exp(-u * d)) / (u + v)
        between = (mp.exp(-v * d) - mp.exp(-u * d)) / (u - v) if abs(u - v) > 1e-9 else d * mp.exp(-(u + v) * d / 2)
        log_z = mp.log((tails + between) * (2 * b) ** -a * (2 * c) ** (a - 1))
        assert error(p.renyi(q, alpha)[0], log_z / (a - 1)) < 1e-13


def test_samples_of_heavy_and_of_flat_laws():
    states = np.repeat([0, 1], 2000)
    x = GeneralizedGaussian([1.0, 3.0], [0.3, 60.0]).sample(states, np.random.default_rng(8))
    for state, law in enumerate((stats.gennorm(0.3), stats.gennorm(60.0, scale=3.0))):
        assert stats.kstest(x[states == state], law.cdf).pvalue > 1e-3
