from __future__ import annotations

import numpy as np
import pytest

from hidiv.emissions.families.poisson import Poisson
from tests.emissions.plain_laws import error, log_density, mp, mpf

inf = np.inf


def test_rate_zero():
    p, q = Poisson([0.0, 0.0, 2.0]), Poisson([0.0, 2.0, 0.0])
    assert p.kl(q).tolist() == [0.0, 2.0, inf]
    assert p.renyi(q, 2.0).tolist() == [0.0, 2.0, inf]
    assert p.renyi(q, 0.5).tolist() == [0.0, 2.0, 2.0]
    assert p.gaps(q) == [None, None, "counts above 0"]
    assert Poisson([[1.0, 2.0]]).gaps(Poisson([[1.0, 0.0]])) == ["counts above 0 in column 1"]
    np.testing.assert_allclose(p.log_prob([0, 1]), [[0.0, 0.0, -2.0], [-inf, -inf, np.log(2) - 2]], rtol=1e-15)
    assert p.log_ratio(q, [0, 1]).tolist() == [[0.0, -2.0, 2.0], [0.0, inf, -inf]]
    assert p.sample([0, 0], np.random.default_rng(0)).tolist() == [0.0, 0.0]
    assert np.exp(p.log_mass(np.array([[1.0]]), np.array([[inf]]))[0, :2, 0]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("rate", "low", "high"),
    [
        (3.0, 200, inf),
        (1000.0, 1300, inf),
        (1000.0, 2500, inf),
        (1000.0, -inf, 600),
        (1000.0, -inf, 2),
        (1000.0, 1500, 1600),
        (1e-6, 3, inf),
        (1000.0, 900, 1100),
        (1000.0, 1000, 1000),
        (50.0, 0, 500),
    ],
)
def test_far_tails(rate, low, high):
    log_p = log_density("poisson", [rate])
    first, last = int(max(low, 0)), int(min(high, max(low, rate) + 1500))
    expected = mp.log(mp.fsum(mp.exp(log_p(mpf(k))) for k in range(first, last + 1)))
    value = Poisson([rate]).log_mass(np.array([[low]], dtype=float), np.array([[high]], dtype=float))[0, 0, 0]
    assert abs(value - expected) < 1e-13 * max(1, abs(expected))


def test_large_rates():
    rate = 1e8
    x = np.array([1e8, 1e8 + 5e4, 9.99e7])
    log_p, log_q = log_density("poisson", [rate]), log_density("poisson", [rate + 1])
    p = Poisson([rate])
    # -500 of a sum of terms of 2e9: one digit in 1e12 is what the deviance keeps.
    np.testing.assert_allclose(p.log_prob(x)[:, 0], [float(log_p(mpf(v))) for v in x], rtol=1e-12)
    expected = [float(log_q(mpf(v)) - log_p(mpf(v))) for v in x]
    np.testing.assert_allclose(p.log_ratio(Poisson([rate + 1]), x)[:, 0], expected, rtol=1e-12, atol=1e-22)
    mass = p.log_mass(np.array([[1e8 - 2e4], [1e8 + 1e5]]), np.array([[1e8 + 2e4], [inf]]))[:, 0, 0]
    first = mp.exp(log_p(mpf(10) ** 8 + 10**5))
    term, tail = mpf(1), mpf(1)
    for k in range(10**8 + 10**5 + 1, 10**8 + 15 * 10**4):
        term *= mpf(10**8) / k
        tail += term
    assert error(mass[1], mp.log(first * tail)) < 1e-13
    assert abs(np.exp(mass[0]) - 0.954499) < 1e-5


def test_draws_of_enormous_rates():
    drawn = Poisson([1e20]).sample([0] * 100, np.random.default_rng(0))
    assert (np.abs(drawn / 1e20 - 1) < 1e-9).all()
