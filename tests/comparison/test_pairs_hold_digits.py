"""All pairs at once equal one pair at a time, whatever the parameters: what the product cannot hold goes directly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hidiv as hd
from tests.comparison.many import one_by_one, worst
from tests.seeds import LONG

K = 2


def near(rng, value):
    """Close to the value."""
    return value * (1.0 - 10.0 ** rng.uniform(-9, -1) * rng.random(np.shape(value)))


def positive(rng, extreme):
    return 10.0 ** rng.uniform(-12, 12, K) if extreme else np.exp(rng.uniform(-2, 2, K))


def unit(rng, extreme):
    if not extreme:
        return rng.uniform(0.01, 0.99, K)
    small = 0.5 * 10.0 ** rng.uniform(-15, 0, K)
    return np.where(rng.random(K) < 0.5, small, 1.0 - small)


def real(rng, extreme):
    return rng.normal(size=K) * (10.0 ** rng.uniform(-6, 8) if extreme else 1.0)


LAWS = {
    "bernoulli": lambda rng, e: hd.Bernoulli(unit(rng, e)),
    "bernoulli_columns": lambda rng, e: hd.Bernoulli(np.column_stack([unit(rng, e), unit(rng, False)])),
    "beta": lambda rng, e: hd.Beta(positive(rng, e), positive(rng, e)),
    "von_mises": lambda rng, e: hd.VonMises(rng.uniform(-3, 3, K), positive(rng, e)),
    "gaussian": lambda rng, e: hd.Gaussian(real(rng, e), std=positive(rng, e)),
    "gamma": lambda rng, e: hd.Gamma(positive(rng, e), positive(rng, e)),
    "poisson": lambda rng, e: hd.Poisson(positive(rng, e)),
    "exponential": lambda rng, e: hd.Exponential(positive(rng, e)),
    "geometric": lambda rng, e: hd.Geometric(unit(rng, e)),
    "binomial": lambda rng, e: hd.Binomial([7] * K, unit(rng, e)),
    "negative_binomial": lambda rng, e: hd.NegativeBinomial([3.0] * K, unit(rng, e)),
    "log_normal": lambda rng, e: hd.LogNormal(real(rng, False), positive(rng, False)),
    "laplace": lambda rng, e: hd.Laplace(real(rng, e), positive(rng, e)),
    "categorical": lambda rng, e: hd.Categorical(rng.dirichlet(np.full(4, 0.05 if e else 1.0), K)),
    "product": lambda rng, e: hd.Product([hd.Poisson(positive(rng, e)), hd.Beta(positive(rng, e), positive(rng, e))]),
}
FIXED = ("trials", "size")


def close_to(rng, law):
    """The same law with its parameters moved by 1e-9 to 1e-1, where that is simple."""
    if isinstance(law, hd.Categorical | hd.Product):
        return law
    return type(law)(**{key: value if key in FIXED else near(rng, value) for key, value in law.parameters().items()})


def check(family, extreme, seed):
    rng = np.random.default_rng(seed)
    first = LAWS[family](rng, extreme)
    laws = [first, close_to(rng, first), LAWS[family](rng, extreme), LAWS[family](rng, extreme)]
    ms = [hd.Model(rng.dirichlet(np.ones(K)), rng.dirichlet(np.ones(K), K), law) for law in laws]
    expected = one_by_one(lambda p, q: 0.0 if p is q else hd.joint_kl(p, q, 10).value, ms)
    assert worst(hd.pairwise_kl(ms, 10), expected) < 1e-11


@pytest.mark.parametrize("family", LAWS)
@settings(deadline=None, max_examples=20 if LONG else 5)
@given(seed=st.integers(0, 2**32 - 1), extreme=st.booleans())
def test_pairs_equal_the_pair(family, extreme, seed):
    check(family, extreme, seed)


def test_laws_whose_own_terms_cancel():
    far = [
        hd.Gaussian([-247113.9, -57030.7], std=[1.99e-11, 7.29e-4]),
        hd.Gaussian([19723.0, 14042.8], std=[1130738.1, 40.5]),
    ]
    sharp = [hd.VonMises([-1.96, 1.31], [7.4e-7, 2.7e11]), hd.VonMises([-1.6, -1.35], [19.26, 2029.4])]
    beta = [hd.Beta([11405.5, 6.04e-11], [7.738, 4.2e-4]), hd.Beta([2712.8, 2.57e-7], [46047.3, 2.83e10])]
    for laws in (far, sharp, beta):
        ms = [hd.Model([0.5, 0.5], [[0.5, 0.5]] * 2, law) for law in laws]
        assert worst(hd.pairwise_kl(ms, 10), one_by_one(lambda p, q: hd.joint_kl(p, q, 10).value, ms)) < 1e-11
