"""Quadrature for two-state chains: known values, agreement with certified ones, and when it steps aside."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences.observed.budget import Budget
from hidiv.divergences.observed.choose import by_name
from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.observed.quadrature import two_state_trees
from hidiv.divergences.observed.quadrature.observation_points import points
from hidiv.divergences.observed.quadrature.panels import FINE, QUICK
from hidiv.divergences.pair import Pair
from hidiv.report.paper import printed
from tests.divergences.observed.models import P, Q, gaussian_pair, models


def by_quadrature(p, q, tree=None, rtol=1e-3):
    return by_name(Pair.of(p, q, tree), "quadrature", Budget(rtol))


def test_the_gaussian_pair():
    """Thirteen digits are known; nine are promised."""
    found = by_quadrature(*gaussian_pair())
    assert found.status == "approximation"
    assert found.value == pytest.approx(0.0842694620932, abs=1e-12)
    assert found.upper - found.lower < 1e-11
    assert (found.n_samples, found.std_error) == (None, None)
    assert "not a bound" in found.notes[0]


@pytest.mark.parametrize("kind", ["dirichlet", "sticky", "sharp", "weak"])
def test_agrees_with_certified_values_of_symbols(kind):
    for seed in (1, 2):
        p, q = models(kind, seed)
        rate = by_quadrature(p, q)
        assert rate.value == pytest.approx(hd.observed_kl_rate(p, q, method="certified").value, abs=2e-11)
        for length in (1, 2, 5, 60):
            found = by_quadrature(p, q, length)
            assert found.value == pytest.approx(hd.observed_kl(p, q, length, method="certified").value, abs=1e-10)


def test_the_trees_of_the_paper():
    """Table I has 0.690 for states and observations together; 1e8 draws with a control gave 0.57663(5)."""
    found = hd.observed_kl(*printed.trees(), printed.binary_tree())
    assert found.value == pytest.approx(0.5766004458, abs=1e-9)
    assert found.error < 1e-8


@pytest.mark.parametrize("kind", ["dirichlet", "weak"])
def test_trees_agree_with_certified_values_of_symbols_and_with_chains(kind):
    p, q = models(kind, 1)
    for tree in (hd.Tree.regular(3, 3), hd.Tree([-1, 0, 0, 1, 1, 1, 2], group=[0, 0, 1, 0, 1, 0, 1])):
        bounds = hd.observed_kl(p, q, tree, method="certified")
        assert by_quadrature(p, q, tree).value == pytest.approx(bounds.value, abs=bounds.upper - bounds.lower + 1e-10)
    chain = hd.Tree([-1, 0, 1, 2, 3, 4])
    listed = two_state_trees.run(Pair.of(*gaussian_pair(), chain), Budget(1e-3))
    assert listed.value == pytest.approx(hd.observed_kl(*gaussian_pair(), 6).value, abs=1e-11)


def test_long_chains_add_the_same_at_every_step():
    p, q = gaussian_pair()
    rate = hd.observed_kl_rate(p, q).value
    values = [hd.observed_kl(p, q, n).value for n in (2000, 4000, 10**6)]
    assert (values[1] - values[0]) / 2000 == pytest.approx(rate, rel=1e-10)
    assert (values[2] - values[1]) / (10**6 - 4000) == pytest.approx(rate, rel=1e-10)


PAIRS = [
    (hd.Poisson([1.0, 4.0]), hd.Poisson([2.0, 3.0])),
    (hd.Gamma([0.5, 4.0], [1.0, 1.0]), hd.Gamma([2.0, 3.0], [1.0, 2.0])),
    (hd.Laplace([0.0, 1.0], [1.0, 1.0]), hd.Gaussian([0.0, 1.0], std=[1.0, 3.0])),
    (hd.LogNormal([0.0, 1.0], [1.0, 0.5]), hd.LogNormal([0.2, 1.0], [1.0, 0.7])),
    (hd.VonMises([0.0, 1.0], [1.0, 5.0]), hd.VonMises([0.3, 1.0], [2.0, 5.0])),
]


@pytest.mark.parametrize(("one", "two"), PAIRS, ids=lambda family: family.name)
def test_any_scalar_family_agrees_with_monte_carlo(one, two):
    p, q = hd.Model(P.initial, P.transition, one), hd.Model(Q.initial, Q.transition, two)
    exact = by_quadrature(p, q, 15)
    assert exact.upper - exact.lower < 1e-9
    drawn = hd.observed_kl(p, q, 15, method="montecarlo", seed=1, max_samples=600)
    assert abs(drawn.value - exact.value) < 4 * drawn.std_error


@pytest.mark.parametrize(("one", "two"), PAIRS[1:], ids=lambda family: family.name)
def test_points_integrate_divergences(one, two):
    """sum weight p log p/q is the divergence of the families, as they know it themselves."""
    for fineness, tolerance in ((FINE, 1e-12), (QUICK, 1e-8)):
        found = points(one, two, fineness)
        terms = found.p * (np.log(np.maximum(found.p, 1e-300)) - found.log_q)
        assert terms @ found.weight == pytest.approx(one.kl(two), rel=tolerance, abs=1e-12)


def test_one_state_is_two_equal_ones():
    p, q = (hd.Model([1.0], [[1.0]], hd.Gaussian([m], std=[1.0])) for m in (0.0, 1.0))
    assert hd.observed_kl_rate(p, q).value == pytest.approx(0.5, rel=1e-13)
    assert hd.observed_kl(p, q, 7).value == pytest.approx(3.5, rel=1e-13)


def test_steps_aside():
    p, q = gaussian_pair()
    three = hd.Model("stationary", np.full((3, 3), 1 / 3), hd.Gaussian([0.0, 1.0, 2.0], std=[1.0, 1.0, 1.0]))
    with pytest.raises(NotApplicable, match="two states"):
        by_quadrature(p, three)
    stuck = hd.Model([0.5, 0.5], [[1.0, 0.0], [0.5, 0.5]], q.emission)
    with pytest.raises(NotApplicable, match="probability zero"):
        by_quadrature(p, stuck)
    with pytest.raises(NotApplicable, match="probability zero"):
        by_quadrature(p, stuck, hd.Tree([-1, 0, 0]))
    still = [
        hd.Model([0.5, 0.5], [[1 - 1e-9, 1e-9], [1e-8, 1 - 1e-8]], hd.Gaussian([0.0, m], std=[1.0, 1.0]))
        for m in (2.0, 3.0)
    ]
    with pytest.raises(NotApplicable, match="still changes it"):  # by 5e-5, and is off by 4e-3
        by_quadrature(*still, hd.Tree.regular(3, 4))
    with pytest.raises(NotApplicable, match="at most 5000 nodes"):
        by_quadrature(p, q, hd.Tree.regular(2, 13))
    with pytest.raises(NotApplicable, match="still changes it"):  # nothing here is as good as that
        by_quadrature(p, q, rtol=1e-16)
    close = hd.Model(p.initial, p.transition, hd.Gaussian([1e-6, 2.0], std=[1.0, 1.0]))
    found = hd.observed_kl(
        p, close, 20, seed=1, atol=0.0
    )  # the difference of two entropies has no digits left: drawn instead
    assert found.n_samples > 0
    assert found.std_error <= 1e-2 * found.value


def test_densities_beyond_the_doubles_are_refused():
    narrow, wide = (hd.Gamma([shape, 2.0], [0.3, 7.0]) for shape in (1e-8, 0.1))
    with pytest.raises(NotApplicable, match="too large for a double"):
        points(narrow, wide, FINE)
    p, q = (hd.Model([0.1, 0.9], [[0.3, 0.7], [0.6, 0.4]], family) for family in (narrow, wide))
    assert hd.observed_kl(p, q, 3, seed=0, max_samples=32).value > 0


@pytest.mark.parametrize(
    ("rough", "plain"),
    [
        (hd.VonMises([0.1, 1e8], [0.5, 2.0]), hd.VonMises([0.1, 1.0], [0.5, 2.0])),
        (hd.Gamma([0.2, 1e17], [0.5, 1000.0]), hd.Gamma([0.2, 3.0], [0.5, 7.0])),
    ],
    ids=["von Mises", "gamma"],
)
def test_densities_rough_with_rounding_are_not_halved_for_ever(rough, plain):
    # Halves never agree to the last digit there: panels doubled until they filled the memory.
    tracemalloc.start()
    try:
        with pytest.raises(NotApplicable, match="too many points"):
            points(rough, plain, FINE)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100e6
