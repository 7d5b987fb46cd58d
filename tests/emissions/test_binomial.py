from __future__ import annotations

import numpy as np
import pytest

from hidiv.emissions.families.bernoulli import Bernoulli
from hidiv.emissions.families.binomial import Binomial
from hidiv.emissions.registry import pair
from tests.emissions.plain_laws import divergences, error, log_density, mp, mpf

inf = np.inf
ALPHAS = (0.3, 0.5, 2.0, 3.0)


def law(trials, prob):
    return Binomial([trials], [prob])


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ((5, 0.3), (7, 0.2)),
        ((5, 0.3), (6, 0.25)),
        ((100, 0.5), (101, 50 / 101)),  # at one mean
        ((10, 1e-6), (11, 1e-6 * 10 / 11)),
        ((300, 0.99), (301, 0.98)),
        ((3, 0.5), (400, 0.004)),
        ((40, 0.9999), (90, 0.1)),
    ],
)
def test_different_trials(p, q):
    kl, *orders = divergences(("binomial", p), ("binomial", q), p[0], ALPHAS)
    first, second = law(*p), law(*q)
    assert error(first.kl(second)[0], kl) < 1e-13
    for alpha, expected in zip(ALPHAS, orders, strict=True):
        assert error(first.renyi(second, alpha)[0], expected) < 1e-12
    x = np.arange(min(p[0], 30) + 1.0)
    log_p, log_q = log_density("binomial", p), log_density("binomial", q)
    ratio = [float(log_q(mpf(float(v))) - log_p(mpf(float(v)))) for v in x]
    np.testing.assert_allclose(first.log_ratio(second, x)[:, 0], ratio, rtol=1e-11, atol=1e-16)


def test_many_trials_at_one_mean():
    # Only the variance differs: a relative change of 1e-6 of it, squared and over four.
    value = law(1e6, 0.5).kl(law(1e6 + 1, 5e5 / (1e6 + 1)))[0]
    assert abs(value / 2.5e-13 - 1) < 1e-5


def test_more_trials_than_q_has():
    p, q = Binomial([3, 3, 3, 0], [0.5, 0.0, 1.0, 0.7]), Binomial([2, 2, 2, 2], [0.5, 0.5, 0.5, 0.5])
    np.testing.assert_allclose(p.kl(q), [inf, 2 * np.log(2), inf, 2 * np.log(2)], rtol=1e-15)
    assert p.gaps(q) == ["counts above 2", None, "counts above 2", None]
    assert p.renyi(q, 2.0)[0] == inf
    # By hand: the sum over 0..2 of sqrt(p q).
    z = sum(np.sqrt(a / 8 * b / 4) for a, b in ((1, 1), (3, 2), (3, 1)))
    np.testing.assert_allclose(p.renyi(q, 0.5)[0], -2 * np.log(z), rtol=1e-14)
    np.testing.assert_array_equal(p.log_ratio(q, [3])[0], [-inf, 0.0, -inf, 0.0])
    np.testing.assert_allclose(p.log_ratio(q, [2])[0, 0], np.log(0.25 / 0.375), rtol=1e-14)


def test_trials_are_part_of_the_exponential_family():
    assert law(2, 0.5).statistics().key == law(2, 0.6).statistics().key != law(3, 0.5).statistics().key


def test_sure_outcomes():
    p, q = Binomial([4, 4, 4], [0.0, 1.0, 0.5]), Binomial([4, 5, 4], [0.25, 0.5, 1.0])
    np.testing.assert_allclose(p.kl(q), [4 * np.log(4 / 3), np.log(32 / 5), inf], rtol=1e-14)
    np.testing.assert_allclose(p.renyi(q, 0.5)[:2], p.kl(q)[:2], rtol=1e-14)
    np.testing.assert_allclose(p.renyi(q, 2.0), p.kl(q), rtol=1e-14)
    assert p.gaps(q) == [None, None, "counts below 4"]
    assert law(4, 0.5).gaps(law(4, 0.0)) == ["counts above 0"]
    assert Binomial([[4, 2]], [[0.5, 0.5]]).gaps(Binomial([[4, 1]], [[0.5, 0.5]])) == ["counts above 1 in column 1"]
    assert law(4, 0.0).renyi(law(4, 1.0), 0.5).tolist() == [inf]
    np.testing.assert_array_equal(p.log_prob([0, 4]), [[0.0, -inf, np.log(1 / 16)], [-inf, 0.0, np.log(1 / 16)]])
    ratio = law(4, 0.5).log_ratio(law(4, 1.0), [0, 4])[:, 0]
    np.testing.assert_allclose(ratio, [-inf, np.log(16)], rtol=1e-15)


def test_one_trial_is_a_bit():
    p, q = Bernoulli([0.2, 0.7]), Bernoulli([0.5, 0.7 + 1e-9])
    general_p, general_q = Binomial([1, 1], p.probs), Binomial([1, 1], q.probs)
    for first, second in ((p, general_q), (general_p, q), (general_p, general_q)):
        np.testing.assert_allclose(first.kl(second), p.kl(q), rtol=1e-14)
        np.testing.assert_allclose(first.renyi(second, 0.5), p.renyi(q, 0.5), rtol=1e-14)
        np.testing.assert_allclose(first.log_ratio(second, [0, 1]), p.log_ratio(q, [0, 1]), rtol=1e-13)
    assert law(2, 0.5).gaps(Bernoulli([0.5])) == ["counts above 1"]


@pytest.mark.parametrize(
    ("trials", "prob", "low", "high"),
    [(2000, 0.4, 1300, 2000), (2000, 0.4, 0, 200), (2000, 0.4, 700, 900), (300, 1e-5, 70, 300)],
)
def test_far_tails(trials, prob, low, high):
    log_p = log_density("binomial", (trials, prob))
    expected = mp.log(mp.fsum(mp.exp(log_p(mpf(k))) for k in range(low, high + 1)))
    value = law(trials, prob).log_mass(np.array([[low - 0.5]]), np.array([[high]], dtype=float))[0, 0, 0]
    assert abs(value - expected) < 1e-13 * max(1, abs(expected))


def test_all_trials_where_the_next_count_is_the_same_double():
    many = Binomial([2.0**53, 2.0**53], [1.0, 0.5])
    for lowest in (-np.inf, 0.0, 1.0):
        mass = many.log_mass(np.full((1, 1), lowest), np.full((1, 1), np.inf))
        np.testing.assert_allclose(mass, 0.0, atol=1e-300)
    assert many.log_mass(np.full((1, 1), 2.0**53), np.full((1, 1), np.inf))[0, 0, 0] == 0.0


def test_log_ratio_of_a_probability_without_an_inverse():
    one, two = Binomial([2], [0.0625]), Binomial([1], [5e-324])
    x = np.array([[0.0], [1.0]])
    for a, b in ((one, two), (two, one)):
        np.testing.assert_allclose(pair(a, b).log_ratio(a, b, x), b.log_prob(x) - a.log_prob(x), rtol=1e-13)
