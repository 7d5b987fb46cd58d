"""Von Mises laws: from the uniform to very concentrated ones, arcs, turns."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from hidiv.emissions.families.von_mises import VonMises
from hidiv.errors import InvalidEvidence
from tests.emissions.plain_laws import error, mp, mpf
from tests.emissions.plain_points import segment


def log_bessel(kappa):
    return mp.log(mp.besseli(0, kappa))


def plain(p, q, alpha=None):
    """KL, or the Renyi divergence, by Bessel functions in 50 digits."""
    (m, k), (n, j) = ((mpf(float(f.mean[0])), mpf(float(f.concentration[0]))) for f in (p, q))
    if alpha is None:
        mean = mp.besseli(1, k) / mp.besseli(0, k)
        return mean * (k - j * mp.cos(m - n)) - log_bessel(k) + log_bessel(j)
    a = mpf(alpha)
    length = abs(a * k * mp.expj(m) + (1 - a) * j * mp.expj(n))
    return (log_bessel(length) - a * log_bessel(k) - (1 - a) * log_bessel(j)) / (a - 1)


@pytest.mark.parametrize("kappa", [1e-6, 1e-3, 0.7, 25.0, 31.0, 1e3, 1e6])
def test_every_concentration(kappa):
    p = VonMises([0.4], [kappa])
    others = [VonMises([0.4 + s], [kappa * (1 + s)]) for s in (1e-3, -1e-6, 1e-9)]
    for q in [*others, VonMises([1.4], [3.0]), VonMises([-2.0], [2e5]), VonMises([0.4], [1e-4])]:
        assert error(p.kl(q)[0], plain(p, q)) < 1e-13
        for alpha in (0.3, 0.5, 0.99, 2.0):
            assert error(p.renyi(q, alpha)[0], plain(p, q, alpha)) < 1e-13


def test_concentration_zero_is_the_uniform_law():
    uniform, other = VonMises([0.3, 0.3], [0.0, 0.0]), VonMises([1.0, -1.0], [0.0, 2.0])
    assert uniform.kl(other)[0] == 0.0
    assert error(uniform.kl(other)[1], log_bessel(mpf(2))) < 1e-14
    assert np.isfinite([*other.kl(uniform), *other.renyi(uniform, 2.0), *uniform.renyi(other, 2.0)]).all()
    np.testing.assert_allclose(uniform.log_prob([0.0, 9.0]), -np.log(2 * np.pi), rtol=1e-15)
    assert abs(uniform.log_mass(np.array([[1.0]]), np.array([[2.0]]))[0, 0, 0] + np.log(2 * np.pi)) < 1e-15
    assert np.isfinite(uniform.sample([0, 1], np.random.default_rng(1))).all()


def test_turns_do_not_count():
    p, q = VonMises([0.5], [3.0]), VonMises([0.5 + 4 * np.pi], [3.0])
    assert p.kl(q)[0] < 1e-29
    x = np.array([-1.0, 2.0, 6.0])
    np.testing.assert_allclose(p.log_prob(x), p.log_prob(x - 6 * np.pi), rtol=1e-13)
    low, high = np.array([[2.0]]), np.array([[5.0]])
    turned = p.log_mass(low + 20 * np.pi, high + 20 * np.pi)
    np.testing.assert_allclose(turned, p.log_mass(low, high), rtol=1e-13)


@pytest.mark.parametrize(
    ("kappa", "low", "high"),
    [(1.0, -3.0, 3.2), (2.0, 3.0, 6.0), (1e6, 0.5, 0.73), (1e6, -2e-3, 1e-3), (100.0, 1.0, 6.0), (50.0, -1e-14, 1e-14)],
)
def test_arcs(kappa, low, high):
    k, whole = mpf(kappa), 2 * mp.pi * mp.besseli(0, mpf(kappa)) * mp.exp(-mpf(kappa))
    # The short side of the circle by quadrature on steps of the law's own width, the long one as the rest.
    inside = high - low < np.pi
    ends = (mpf(low), mpf(high)) if inside else (mpf(high), mpf(low) + 2 * mp.pi)
    width, cuts = 3 / mp.sqrt(k + 1), [ends[0]]
    while cuts[-1] < ends[1] and len(cuts) < 400:
        cuts.append(min(cuts[-1] + width, ends[1]))
    mass = sum(w * mp.exp(-2 * k * mp.sin(x / 2) ** 2) for a, b in pairwise(cuts) for x, w in segment(a, b))
    expected = mp.log(mass / whole) if inside else mp.log1p(-mass / whole)
    assert error(VonMises([0.0], [kappa]).log_mass(np.array([[low]]), np.array([[high]]))[0, 0, 0], expected) < 1e-12


def test_arcs_have_two_ends_at_most_a_turn_apart():
    p, x = VonMises([0.0], [1.0]), np.array([[np.nan]])
    ends = [np.array([[v]]) for v in (-1.0, 6.0, -np.inf, np.inf)]
    assert p.log_weight(x, ends[2], ends[3])[0, 0] == 0.0
    assert p.log_mass(np.array([[1.0]]), np.array([[1.0 + 2 * np.pi]]))[0, 0, 0] == 0.0
    for low, high in ((ends[0], ends[1]), (ends[0], ends[3]), (ends[2], ends[1])):
        with pytest.raises(
            InvalidEvidence, match=r"^lower\[0\]: an arc of angles has two finite ends, at most 2 pi apart"
        ):
            p.log_weight(x, low, high)


def test_samples():
    states = np.repeat([0, 1], 2000)
    p = VonMises([0.5, 3.0], [0.3, 50.0])
    x = p.sample(states, np.random.default_rng(4))
    for state, (mean, kappa) in enumerate(((0.5, 0.3), (3.0, 50.0))):
        turned = np.remainder(x[states == state] - mean + np.pi, 2 * np.pi) - np.pi
        assert stats.kstest(turned, stats.vonmises(kappa).cdf).pvalue > 1e-3
