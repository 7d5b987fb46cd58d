"""Parameters at the limits of the doubles: refused with the range allowed, or right values without NaN or warning."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import InvalidModel, OutOfRange
from hidiv.recursions.gth import stationary
from tests.emissions.plain_laws import error, mp, mpf

WHOLE = np.full((1, 1), np.inf)


@pytest.mark.parametrize(
    ("make", "place"),
    [
        (lambda: hd.Gaussian([0.0], std=[1e-308]), "std[0]: must be between 1e-300 and 1e+300"),
        (lambda: hd.Gamma([1e-61], [1.0]), "shape[0]: must be between 1e-60 and 1e+60"),
        (lambda: hd.Gamma([1.0], [1e201]), "rate[0]: must be between 1e-200 and 1e+200"),
        (lambda: hd.Beta([1.0], [1e61]), "b[0]: must be between 1e-60 and 1e+60"),
        (lambda: hd.NegativeBinomial([1e100], [0.5]), "size[0]: must be between 1e-60 and 1e+60"),
        (lambda: hd.GeneralizedGaussian([1.0], [1e30]), "shape[0]: must be between 0.001 and 1e+06"),
        (lambda: hd.Binomial([1e19], [0.5]), "trials[0]: must be at most 2^53"),
        (lambda: hd.Multinomial([1e19], [[0.5, 0.5]]), "trials[0]: must be at most 2^53"),
        (lambda: hd.Poisson([1.7e308]), "rate[0]: must be at most 1e300"),
        (lambda: hd.VonMises([0.0], [1e155]), "concentration[0]: must be at most 1e100"),
        (lambda: hd.VonMises([1e100], [1.0]), "mean[0]: must be an angle"),
        (lambda: hd.LogNormal([0.0], [1e3]), "std[0]: mean plus or minus 6 std must stay within -700 and 700"),
        (lambda: hd.Gaussian([[0.0, 0.0]], cov=[[[1.0, 1 - 1e-16], [1 - 1e-16, 1.0]]]), "cov[0]: must be positive def"),
    ],
)
def test_ranges(make, place):
    with pytest.raises(InvalidModel) as refusal:
        make()
    assert str(refusal.value).startswith(place)


@pytest.mark.parametrize("trials", [1.0, 3.0, 11.0, 40.0, 63.0, 64.0, 1e3])
def test_the_whole_mass_is_one(trials):
    for prob in np.linspace(0.01, 0.99, 9):
        assert hd.Binomial([trials], [prob]).log_mass(-WHOLE, WHOLE).item() == 0.0


def test_masses_are_at_most_one():
    """Sums of a few counts rounded up above one."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        family = hd.Poisson(rng.exponential(3.0, 1))
        assert family.log_mass(np.zeros((40, 1)), np.arange(40.0)[:, None]).max() <= 0.0
    tiny = hd.Poisson([1e-30]).log_mass(np.zeros((1, 1)), np.ones((1, 1)))
    assert tiny.item() <= 0.0


def test_draws_that_no_double_holds_are_refused():
    rng = np.random.default_rng(0)
    for family in (hd.NegativeBinomial([1e60], [1e-300]), hd.GeneralizedGaussian([1.0], [1e-3])):
        with pytest.raises(OutOfRange, match=f"the draw of {family.name} laws"):
            family.sample([0, 0, 0], rng)
    drawn = hd.NegativeBinomial([1e30, 1e-30], [1e-100, 1 - 1e-16]).sample([0, 1] * 20, rng)
    assert np.isfinite(drawn).all()


def test_far_apart_generalised_gaussians():
    """Shapes at both ends of their range, all orders: no warning, no NaN."""
    shapes = [1e-3, 1.0, 1e6]
    p = hd.GeneralizedGaussian([1e-300, 1.0, 1e300], shapes)
    for q in (hd.GeneralizedGaussian([1e300, 1.0, 1e-300], shapes[::-1]), hd.GeneralizedGaussian([1.0] * 3, shapes)):
        for compute in (lambda q=q: p.kl(q), lambda q=q: p.renyi(q, 0.5), lambda q=q: p.renyi(q, 2.0)):
            try:
                value = compute()
            except OutOfRange:
                continue
            assert (value >= 0).all()


@pytest.mark.parametrize(("a", "c"), [(1e-60, 1.0), (1.0, 1e-60), (1e60, 1e59), (1e-30, 1e30), (5e59, 1e60)])
@pytest.mark.parametrize(("b", "d"), [(1e-200, 1.0), (1e200, 1e200), (1e-200, 1e-199)])
def test_gamma_divergences_across_the_range(a, b, c, d):
    """The closed form in 400 digits."""
    expected = gamma_kl(*(mpf(v) for v in (a, b, c, d)))
    value = hd.Gamma([a], [b]).kl(hd.Gamma([c], [d])).item()
    assert value == np.inf if expected > mpf(1.8e308) else error(value, expected) < 1e-12


def gamma_kl(a, b, c, d):
    with mp.workdps(400):
        shift = (a - c) * mp.digamma(a) - mp.loggamma(a) + mp.loggamma(c)
        return shift + c * (mp.log(b) - mp.log(d)) + a * (d - b) / b


def test_a_state_that_is_hardly_left():
    law = stationary(np.array([[0.5, 0.5], [5e-324, 1.0]]))
    assert np.isfinite(law).all()
    assert law[1] == 1.0
    np.testing.assert_allclose(stationary(np.array([[0.5, 0.5], [0.25, 0.75]])), [1 / 3, 2 / 3], rtol=1e-15)


def test_squares_of_draws_do_not_overflow():
    p = hd.Model([1.0], [[1.0]], hd.Gaussian([0.0], std=[1.0]))
    q = hd.Model([1.0], [[1.0]], hd.Gaussian([1e100], std=[1.0]))
    found = hd.montecarlo(p, q, 3, samples=50, seed=0)
    assert np.isfinite(found.std_error)
    np.testing.assert_allclose(found.value, 1.5e200, rtol=1e-10)


def test_marginals_of_nearly_singular_covariances():
    """What is accepted can be conditioned and marginalised: no LinAlgError later."""
    off = 1 - 1e-13
    cov = [[[1.0, off, 0.5], [off, 1.0, 0.5], [0.5, 0.5, 2.0]]]
    p = hd.Model([1.0], [[1.0]], hd.Gaussian([[0.0, 0.0, 0.0]], cov=cov))
    q = hd.Model([1.0], [[1.0]], hd.Gaussian([[0.0, 0.0, 0.0]], cov=[np.eye(3)]))
    x = np.array([[0.1, np.nan, 0.2], [np.nan, np.nan, 0.3]])
    for a, b in ((p, q), (q, p)):
        for target in ("states", "unobserved"):
            assert not np.isnan(float(hd.posterior_kl(a, b, x, target=target)))
        assert not np.isnan(float(hd.montecarlo(a, b, 2, samples=20, seed=0)))
