from __future__ import annotations

import numpy as np
import pytest

from hidiv.emissions.families.beta import Beta
from tests.emissions.plain_laws import error, log_density, mp, mpf

inf = np.inf


def normaliser(a, b):
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def divergences(p, q, alpha):
    """The textbook forms, which cancel, in 100 digits."""
    with mp.workdps(100):
        (a, b), (c, d) = ([mpf(float(v)) for v in law] for law in (p, q))
        total = mp.digamma(a + b)
        kl = normaliser(c, d) - normaliser(a, b) + (a - c) * (mp.digamma(a) - total) + (b - d) * (mp.digamma(b) - total)
        between = (alpha * a + (1 - alpha) * c, alpha * b + (1 - alpha) * d)
        gap = alpha * normaliser(a, b) + (1 - alpha) * normaliser(c, d) - normaliser(*between)
        return kl, gap / (1 - alpha)


@pytest.mark.parametrize(("a", "b"), [(1e-3, 2e-3), (0.5, 3.0), (1e-3, 50.0), (1e6, 1e-3), (2e4, 3e4), (1e6, 2e5)])
@pytest.mark.parametrize(
    ("by_a", "by_b"), [(1e-3, 2e-3), (1e-9, 1e-9), (1e-6, -1e-6), (1e-9, 0.0), (0.0, 1e-9), (300.0, 0.0), (-0.99, 5.0)]
)
def test_shapes_of_any_size(a, b, by_a, by_b):
    p, q = (a, b), (a * (1 + by_a), b * (1 + by_b))
    kl, renyi = divergences(p, q, mpf(1) / 2)
    first, second = (Beta([c], [d]) for c, d in (p, q))
    assert error(first.kl(second)[0], kl) < 1e-13
    assert error(first.renyi(second, 0.5)[0], renyi) < 1e-13


def test_far_apart():
    p, q = (18795.5, 926893.8), (0.0188, 0.008)
    assert error(Beta([p[0]], [p[1]]).kl(Beta([q[0]], [q[1]]))[0], divergences(p, q, mpf(1) / 2)[0]) < 1e-13


@pytest.mark.parametrize(("a", "b"), [(0.5, 3.0), (2e4, 3e4), (1e6, 2e5)])
def test_log_ratio_of_large_shapes(a, b):
    p, q = (a, b), (a * (1 + 1e-9), b * (1 + 1e-9))
    mean = a / (a + b)
    spread = np.sqrt(mean * (1 - mean) / (a + b))
    x = np.array([mean, mean + 2 * spread, max(mean - 2 * spread, mean / 100)])
    log_p, log_q = log_density("beta", p), log_density("beta", q)
    expected = [float(log_q(mpf(float(v))) - log_p(mpf(float(v)))) for v in x]
    value = Beta([a], [b]).log_ratio(Beta([q[0]], [q[1]]), x)[:, 0]
    # The product x (a + b) is rounded once, which large shapes show as 1e-13 of the step.
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-21)


def test_renyi_diverges_where_a_shape_would_be_negative():
    assert Beta([1.0, 1.0], [1.0, 1.0]).renyi(Beta([3.0, 1.0], [1.0, 2.0]), 2.0).tolist() == [inf, inf]


@pytest.mark.parametrize(
    ("a", "b", "x"), [(2.5, 1.5, 1e-100), (200.0, 300.0, 0.01), (2e4, 3e4, 0.36), (300.0, 0.5, 0.2)]
)
def test_far_tails(a, b, x):
    value = Beta([a], [b]).log_mass(np.array([[-inf]]), np.array([[x]]))[0, 0, 0]
    log_p, start = log_density("beta", (a, b)), mpf(x)
    # x e^-u falls off at this rate at least: beyond 100 of its units nothing shows.
    rate = mpf(a) - max(mpf(b) - 1, 0) * start / (1 - start)
    cuts = [k * 10 / rate for k in range(11)]
    tail = mp.quad(lambda u: mp.exp(log_p(start * mp.exp(-u)) - log_p(start) - u), cuts)
    assert error(value, mp.log(tail * start) + log_p(start)) < 1e-13


def test_ends_and_draws_next_to_them():
    np.testing.assert_array_equal(
        Beta([1.0, 2.0], [3.0, 1.0]).log_prob([0.0, 1.0]), [[np.log(3.0), -inf], [-inf, np.log(2.0)]]
    )
    law = Beta([1e-3], [1e-3])
    assert np.isfinite(law.log_prob(law.sample([0] * 1000, np.random.default_rng(0)))).all()
