"""Products: families side by side."""

from __future__ import annotations

import numpy as np
import pytest

from hidiv.emissions.composite.product import Product
from hidiv.emissions.families.categorical import Categorical
from hidiv.emissions.families.gaussian import Gaussian
from hidiv.emissions.families.laplace import Laplace
from hidiv.emissions.families.poisson import Poisson
from hidiv.errors import IncompatibleModels, InvalidEvidence, InvalidModel

SYMBOLS, OTHER_SYMBOLS = Categorical([[0.2, 0.8], [0.5, 0.5]]), Categorical([[1.0, 0.0], [0.4, 0.6]])
PLANE = Gaussian([[0.0, 1.0], [2.0, 0.0]], cov=[[[1.0, 0.5], [0.5, 2.0]], [[1.0, 0.0], [0.0, 1.0]]])
OTHER_PLANE = Gaussian([[0.0, 1.0], [2.0, 0.0]], std=[[1.0, 1.0], [2.0, 2.0]])
P, Q = Product([SYMBOLS, PLANE]), Product([OTHER_SYMBOLS, OTHER_PLANE])
X = np.array([[1.0, 0.3, np.nan], [np.nan, 1.0, 2.0], [0.0, np.nan, np.nan]])


def test_everything_adds_up():
    assert (P.n_states, P.n_features, P.is_scalar) == (2, 3, False)
    np.testing.assert_array_equal(P.kl(Q), SYMBOLS.kl(OTHER_SYMBOLS) + PLANE.kl(OTHER_PLANE))
    np.testing.assert_array_equal(P.renyi(Q, 0.4), SYMBOLS.renyi(OTHER_SYMBOLS, 0.4) + PLANE.renyi(OTHER_PLANE, 0.4))
    np.testing.assert_array_equal(P.log_prob(X), SYMBOLS.log_prob(X[:, 0]) + PLANE.log_prob(X[:, 1:]))
    ratio = SYMBOLS.log_ratio(OTHER_SYMBOLS, X[:, 0]) + PLANE.log_ratio(OTHER_PLANE, X[:, 1:])
    np.testing.assert_array_equal(P.log_ratio(Q, X), ratio)


def test_intervals_reach_the_families():
    lower, upper = np.full((3, 3), -np.inf), np.full((3, 3), np.inf)
    upper[0, 2], lower[1, 0] = 0.5, 0.5
    expected = SYMBOLS.log_weight(X[:, :1], lower[:, :1], upper[:, :1]) + PLANE.log_weight(
        X[:, 1:], lower[:, 1:], upper[:, 1:]
    )
    np.testing.assert_array_equal(P.log_weight(X, lower, upper), expected)
    assert P.log_mass(lower, upper).shape == P.log_density(np.nan_to_num(X)).shape == (3, 2, 3)


def test_gaps_name_the_family():
    assert P.gaps(Q) == ["symbol 1 of family 0", None]
    assert P.kl(Q)[0] == np.inf


def test_products_of_products():
    nested = Product([P, Poisson([1.0, 2.0])])
    assert nested.n_features == 4
    x = nested.sample([0, 1, 1], np.random.default_rng(1))
    assert np.isfinite(nested.log_prob(x)).all()
    taken = nested.take([1])
    np.testing.assert_allclose(taken.log_prob(x), nested.log_prob(x)[:, 1:], rtol=1e-14)


def test_statistics_of_one_family_without_leave_none():
    assert Product([SYMBOLS, Laplace([0.0, 0.0], [1.0, 1.0])]).statistics() is None


def test_refusals():
    for families in ([], 3, "gaussian", [SYMBOLS, 3], [SYMBOLS, Poisson([1.0])]):
        with pytest.raises(InvalidModel, match="^families"):
            Product(families)
    with pytest.raises(InvalidEvidence, match=r"^columns from 0 on, x\[0\]: categorical"):
        P.log_prob([[0.5, 0.0, 0.0]])
    with pytest.raises(InvalidEvidence, match=r"^columns from 1 on, x\[0\]\[1\]: gaussian"):
        P.log_prob([[0.0, 0.0, np.inf]])
    with pytest.raises(IncompatibleModels, match="^emission: the families of p have "):
        P.kl(Product([PLANE, SYMBOLS]))
    with pytest.raises(IncompatibleModels, match="^emission: Categorical and Poisson laws"):
        Product([SYMBOLS]).kl(Product([Poisson([1.0, 1.0])]))
