"""A family is treated as what it declares, whatever it is called."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.emissions import registry
from hidiv.emissions.evidence.interval_points import support
from hidiv.emissions.evidence.log_ratios import residual, weight_ratio
from hidiv.emissions.family import Family
from tests.emissions.contract import registered


@pytest.fixture
def renamed(monkeypatch):
    """Poisson laws under another name, without what Poisson knows better than the protocol."""

    class Renamed(hd.Poisson):
        name = "renamed"
        modes = Family.modes

    registered()
    monkeypatch.setattr(registry, "_PAIRS", dict(registry._PAIRS))
    registry.register(Renamed, Renamed, registry._PAIRS[hd.Poisson, hd.Poisson])
    return Renamed


def test_counts_stay_counts_under_another_name(renamed):
    rates = [1.3, 30.5], [2.6, 25.2]  # at a whole number two counts are equally probable, and either is a mode
    known = np.full((3, 1), np.nan), np.array([[3.0], [-np.inf], [40.0]]), np.array([[9.0], [5.0], [np.inf]])
    found = []
    for make in (hd.Poisson, renamed):
        p, q = (make(rate) for rate in rates)
        mixtures = [hd.Mixture([[0.4, 0.6]], [make([a]), make([b])]) for a, b in rates]
        models = [hd.Model([0.5, 0.5], [[0.8, 0.2], [0.3, 0.7]], family) for family in (p, q)]
        found.append(
            [
                p.modes(),
                weight_ratio(p, q, *known),
                residual(p, q, *known),
                mixtures[0].kl(mixtures[1]),
                hd.observed_kl(*models, 3, seed=0).value,
            ]
        )
    for plain, copied in zip(*found, strict=True):
        np.testing.assert_allclose(copied, plain, rtol=1e-13)


def test_support_of_counts():
    assert support(hd.Poisson([0.0])) == (0.0, 0.0)
    assert support(hd.Poisson([1e-300])) == (0.0, np.inf)
    assert support(hd.Geometric([1.0])) == (0.0, 0.0)
    assert support(hd.Binomial([5], [1.0])) == (5.0, 5.0)
    assert support(hd.Binomial([5], [0.0])) == (0.0, 0.0)
    assert support(hd.Bernoulli([0.3])) == (0.0, 1.0)


@pytest.mark.parametrize(
    "family", [hd.Poisson([[0.0, 7.3]]), hd.Binomial([9, 4], [0.35, 1.0]), hd.NegativeBinomial([2.5], [0.1])]
)
def test_searched_modes_are_the_known_ones(family):
    np.testing.assert_array_equal(Family.modes(family), family.modes())


def test_what_a_fit_by_name_lacks_is_said():
    for name, needed in (("binomial", "its trials"), ("product", "its families"), ("mixture", "its families")):
        with pytest.raises(hd.HidivError, match=f"{name} needs {needed}; give a template, for example hd"):
            hd.fit([0.0, 1.0, 1.0], None, 1, name)


def test_a_product_with_a_mixture_of_columns_is_fitted_to_its_own_likelihood():
    """Columns of a mixture depend on each other, in a product too: its log-density is no sum over columns."""
    mixture = hd.Mixture([[0.5, 0.5]], [hd.Gaussian([[c, c]], std=[[1.0, 1.0]]) for c in (-3.0, 3.0)])
    template = hd.Product([mixture, hd.Poisson([2.0])])
    x = hd.sample(hd.Model([1.0], [[1.0]], template), 200, seed=0)[1]
    found = hd.fit(x, None, 1, template, n_init=1, seed=0)
    np.testing.assert_allclose(found.log_likelihood, hd.log_likelihood(found.model, x), rtol=1e-9)
