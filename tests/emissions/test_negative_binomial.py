from __future__ import annotations

import numpy as np
import pytest

from hidiv.emissions.families.negative_binomial import NegativeBinomial
from hidiv.errors import OutOfRange
from tests.emissions.plain_laws import divergences, error, log_density, mp, mpf

inf = np.inf
ALPHAS = (0.3, 0.5, 2.0)


def law(size, prob):
    return NegativeBinomial([size], [prob])


@pytest.mark.parametrize(
    ("p", "q", "last"),
    [
        ((2.0, 0.3), (2.5, 0.3), 450),
        ((1.7, 0.3), (1.7 * (1 + 1e-9), 0.3), 450),
        ((1.7, 0.3), (1.7 * (1 + 1e-9), 0.3 * (1 - 1e-9)), 450),
        ((1e-3, 0.5), (0.1, 0.4), 250),
        ((1e-3, 0.5), (1e-3 * (1 + 1e-6), 0.5), 250),
        ((30.0, 0.6), (3.0, 0.15), 400),  # far apart
        ((5.0, 0.999), (4.0, 0.99), 40),
    ],
)
def test_different_sizes(p, q, last):
    kl, *orders = divergences(("negative_binomial", p), ("negative_binomial", q), last, ALPHAS)
    first, second = law(*p), law(*q)
    assert error(first.kl(second)[0], kl) < 1e-13
    for alpha, expected in zip(ALPHAS, orders, strict=True):
        assert error(first.renyi(second, alpha)[0], expected) < 1e-12
    x = np.arange(30.0)
    log_p, log_q = log_density("negative_binomial", p), log_density("negative_binomial", q)
    ratio = [float(log_q(mpf(float(v))) - log_p(mpf(float(v)))) for v in x]
    np.testing.assert_allclose(first.log_ratio(second, x)[:, 0], ratio, rtol=1e-11, atol=1e-14 * np.sqrt(float(kl)))


def test_large_sizes_at_one_mean():
    # Only the variance differs: by the two-term expansion of the KL in 1/size.
    size, step = 1e6, 1e-6
    prob = 0.9
    mean = size * (1 - prob) / prob
    other = size * (1 + step)
    value = law(size, prob).kl(law(other, other / (other + mean)))[0]
    assert abs(value / (0.25 * step**2 * (1 - prob) ** 2) - 1) < 1e-4
    swapped = law(other, other / (other + mean)).kl(law(size, prob))[0]
    assert abs(value / swapped - 1) < 1e-5


def test_large_means_are_those_of_gamma_laws():
    # Counts of mean 1e14 are as good as continuous.
    from hidiv.emissions.families.gamma import Gamma

    value = law(50.0, 5e-13).kl(law(60.0, 6.6e-13))[0]
    np.testing.assert_allclose(value, Gamma([50.0], [5e-13]).kl(Gamma([60.0], [6.6e-13]))[0], rtol=1e-11)
    with pytest.raises(OutOfRange, match=r"summed over counts up to 2\^52; give both the same size"):
        law(50.0, 1e-17).kl(law(60.0, 1e-17))


def test_sizes_are_part_of_the_exponential_family():
    assert law(2.0, 0.5).statistics().key == law(2.0, 0.6).statistics().key != law(2.5, 0.5).statistics().key


def test_sure_success():
    p, q = NegativeBinomial([2.0, 2.0], [1.0, 0.5]), NegativeBinomial([3.0, 3.0], [0.5, 1.0])
    np.testing.assert_allclose(p.kl(q), [3 * np.log(2), inf], rtol=1e-15)
    np.testing.assert_allclose(p.renyi(q, 2.0), [3 * np.log(2), inf], rtol=1e-15)
    np.testing.assert_allclose(p.renyi(q, 0.5), [3 * np.log(2), 2 * np.log(2)], rtol=1e-15)
    assert p.gaps(q) == [None, "counts above 0"]
    np.testing.assert_allclose(p.log_ratio(q, [0, 1]), [[-3 * np.log(2), 2 * np.log(2)], [inf, -inf]], rtol=1e-15)


@pytest.mark.parametrize("size", [0.7, 1.5, 2.1, 3.0])
@pytest.mark.parametrize("prob", [0.76, 0.75, 0.75 - 2.0**-53, 0.75 - 1e-6, 0.7])
def test_renyi_at_the_edge_of_convergence(size, prob):
    # Order 2 of size 1 is a hypergeometric sum in (1/2)^2 / (1 - prob); at 1 its terms go like x^(1 - size).
    ratio = mpf(1) / 4 / (1 - mpf(prob))
    value = law(1.0, 0.5).renyi(law(size, prob), 2.0)[0]
    if ratio > 1 or (ratio == 1 and size <= 2):
        assert value == inf
    else:
        expected = mp.log(mp.hyp2f1(1, 1, mpf(size), ratio) / 4 / mpf(prob) ** mpf(size))
        # The logs of two failures cancel to 1e-16 of what they are: at most that over what is left of them.
        assert error(value, expected) < max(1e-12, 1e-17 / float(1 - ratio) if ratio < 1 else 0)


@pytest.mark.parametrize(
    ("size", "prob", "low", "high"),
    [(2.5, 0.4, 800, 3000), (2.5, 0.4, 100, 300), (500.0, 0.5, 0, 200), (1e-3, 0.1, 50, 900)],
)
def test_far_tails(size, prob, low, high):
    log_p = log_density("negative_binomial", (size, prob))
    expected = mp.log(mp.fsum(mp.exp(log_p(mpf(k))) for k in range(low, high + 1)))
    value = law(size, prob).log_mass(np.array([[low]], dtype=float), np.array([[high + 0.5]]))[0, 0, 0]
    assert abs(value - expected) < 1e-13 * abs(expected)


def test_draws_of_odds_that_no_double_holds():
    """The gamma number of so small a size is 0, and so is the count: not 0 times infinity."""
    family = law(1e-30, 5e-324)
    assert not family.sample(np.zeros(100, dtype=int), np.random.default_rng(0)).any()
