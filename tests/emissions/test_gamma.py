from __future__ import annotations

import numpy as np
import pytest

from hidiv.emissions.families.gamma import Gamma
from hidiv.emissions.registry import pair
from tests.emissions.plain_laws import error, log_density, mp, mpf

inf = np.inf


def normaliser(shape, rate):
    return mp.loggamma(shape) - shape * mp.log(rate)


def divergences(p, q, alpha):
    """The textbook forms, which cancel, in 100 digits."""
    with mp.workdps(100):
        (a, b), (c, d) = ([mpf(float(v)) for v in law] for law in (p, q))
        kl = normaliser(c, d) - normaliser(a, b) + (a - c) * (mp.digamma(a) - mp.log(b)) + (d - b) * a / b
        between = (alpha * a + (1 - alpha) * c, alpha * b + (1 - alpha) * d)
        gap = alpha * normaliser(a, b) + (1 - alpha) * normaliser(c, d) - normaliser(*between)
        return kl, gap / (1 - alpha)


@pytest.mark.parametrize("shape", [1e-3, 0.4, 7.0, 200.0, 1e4, 1e6])
@pytest.mark.parametrize(
    ("by_shape", "by_rate"),
    [
        (1e-3, 1e-3),
        (1e-9, 1e-9),
        (1e-6, -1e-6),
        (1e-9, 0.0),
        (0.0, 1e-9),
        (1e-9, 2e-9),
        (1.0, 1.0),
        (300.0, 0.0),
        (-0.99, 5.0),
    ],
)
def test_shapes_of_any_size(shape, by_shape, by_rate):
    p, q = (shape, 3e-5), (shape * (1 + by_shape), 3e-5 * (1 + by_rate))
    kl, renyi = divergences(p, q, mpf(1) / 2)
    first, second = (Gamma([a], [b]) for a, b in (p, q))
    assert error(first.kl(second)[0], kl) < 1e-13
    assert error(first.renyi(second, 0.5)[0], renyi) < 1e-13


def test_far_apart():
    p, q = (5e5, 7.5e7), (9.1, 468.0)
    assert error(Gamma([p[0]], [p[1]]).kl(Gamma([q[0]], [q[1]]))[0], divergences(p, q, mpf(1) / 2)[0]) < 1e-13


@pytest.mark.parametrize("shape", [0.3, 2.5, 1e4, 1e6])
def test_log_ratio_of_large_shapes(shape):
    p, q = (shape, 2.0), (shape * (1 + 1e-9), 2.0 * (1 + 1e-9))
    mean, spread = shape / 2, np.sqrt(shape) / 2
    x = np.array([mean, mean + 3 * spread, max(mean - 3 * spread, mean / 100)])
    log_p, log_q = log_density("gamma", p), log_density("gamma", q)
    expected = np.array([float(log_q(mpf(float(v))) - log_p(mpf(float(v)))) for v in x])
    value = Gamma([p[0]], [p[1]]).log_ratio(Gamma([q[0]], [q[1]]), x)[:, 0]
    # The quotient x rate/shape is rounded once, which a shape of 1e6 shows as 1e-13 of the step.
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-22)


def test_renyi_diverges_where_shape_or_rate_would_be_negative():
    p, q = Gamma([1.0, 1.0, 2.0], [1.0, 1.0, 1.0]), Gamma([3.0, 1.0, 2.0], [1.0, 2.5, 1.0])
    assert p.renyi(q, 2.0).tolist() == [inf, inf, 0.0]


@pytest.mark.parametrize(("shape", "x"), [(2.5, 800.0), (0.3, 900.0), (1e4, 1.5e4), (1e6, 1.008e6), (30.0, 1e3)])
def test_upper_tails(shape, x):
    value = Gamma([shape], [2.0]).log_mass(np.array([[x / 2]]), np.array([[inf]]))[0, 0, 0]
    assert error(value, mp.log(mp.gammainc(mpf(shape), mpf(x), mp.inf, regularized=True))) < 1e-13


@pytest.mark.parametrize(("shape", "x"), [(2.5, 1e-200), (1e4, 6e3), (1e6, 9.92e5), (400.0, 3.0), (0.01, 1e-300)])
def test_lower_tails(shape, x):
    value = Gamma([shape], [2.0]).log_mass(np.array([[-inf]]), np.array([[x / 2]]))[0, 0, 0]
    assert error(value, mp.log(mp.gammainc(mpf(shape), 0, mpf(x), regularized=True))) < 1e-13


def test_zero_and_tiny_draws():
    np.testing.assert_array_equal(Gamma([1.0, 2.0], [3.0, 3.0]).log_prob([0.0]), [[np.log(3.0), -inf]])
    drawn = Gamma([1e-3], [1.0]).sample([0] * 1000, np.random.default_rng(0))
    assert np.isfinite(Gamma([1e-3], [1.0]).log_prob(drawn)).all()


@pytest.mark.parametrize("p", [(1e-16, 1.0), (1e-9, 20.0), (3e-5, 0.1), (9007199254740992.0, 1.0), (2.0, 1.0)])
@pytest.mark.parametrize("q", [(3.0, 1.0), (1e-12, 0.5), (0.1, 1 / 3)])
def test_log_ratios_far_from_the_mean(p, q):
    """Terms about the mean of p, which is as good as 0, cancel; numbers far below a large mean have none."""
    x = np.array([[5e-324], [1e-200], [1e-3], [1.0], [700.0]])
    one, two = (Gamma([shape], [rate]) for shape, rate in (p, q))
    log_p, log_q = (log_density("gamma", each) for each in (p, q))
    exact = [log_q(mpf(float(at))) - log_p(mpf(float(at))) for at in x[:, 0]]
    found = pair(one, two).log_ratio(one, two, x)[:, 0]
    np.testing.assert_allclose(found, [float(each) for each in exact], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("p", [(1.0, 1.0), (2.0, 1.0), (3.0, 2.0 ** (1 / 3)), (1.0, 2.0), (0.5, 1.0)])
@pytest.mark.parametrize("step", [(1e-9, 2e-9), (1e-9, -1e-9), (0.0, 1e-9), (1e-9, 0.0)])
def test_log_ratios_of_near_laws_beside_a_missing_column(p, step):
    """A factor of the density whose logarithm is 0 says nothing of its rounding."""
    x = np.array([1e-8, 1e-3, 0.1, 0.9, 1.1, 5.0, 30.0])
    (shape, rate), q = p, (p[0] + step[0], p[1] + step[1])
    one, two = (Gamma([[a, 1.0]], [[b, 1.0]]) for a, b in (p, q))
    log_p, log_q = (log_density("gamma", each) for each in ((shape, rate), q))
    exact = [log_q(mpf(float(at))) - log_p(mpf(float(at))) for at in x]
    found = pair(one, two).log_ratio(one, two, np.stack([x, np.full_like(x, np.nan)], axis=1))[:, 0]
    np.testing.assert_allclose(found, [float(each) for each in exact], rtol=0, atol=1e-12 * 1e-9)
