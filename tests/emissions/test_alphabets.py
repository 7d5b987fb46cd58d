"""Columns of symbols together are a finite alphabet: their divergences are those of one column that lists it."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd

INITIAL, OTHER = [0.6, 0.4], [[0.8, 0.2], [0.3, 0.7]]


def bits(probs):
    return hd.Bernoulli(probs)


def listed(family):
    return hd.Categorical(family.symbol_table())


P, Q = bits([[0.2, 0.7], [0.9, 0.4]]), bits([[0.3, 0.6], [0.8, 0.5]])
PAIRS = {
    "two bits": (P, Q),
    "product": tuple(
        hd.Product([hd.Categorical(table), hd.Bernoulli(one)])
        for table, one in (([[0.2, 0.5, 0.3], [0.6, 0.2, 0.2]], [0.3, 0.9]), ([[0.3, 0.4, 0.3]] * 2, [0.4, 0.7]))
    ),
    "mixture": (hd.Mixture([[0.3, 0.7], [0.5, 0.5]], [P, Q]), hd.Mixture([[0.6, 0.4], [0.5, 0.5]], [P, Q])),
}


def chains(families):
    p, q = families
    return hd.Model(INITIAL, [[0.9, 0.1], [0.2, 0.8]], p), hd.Model([0.5, 0.5], OTHER, q)


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_observed_divergences_are_those_of_the_listed_alphabet(pair):
    models, symbols = chains(pair), chains([listed(family) for family in pair])
    for tree in (4, hd.Tree.regular(2, 2)):
        exact = [hd.observed_kl(*both, tree, method="exact") for both in (models, symbols)]
        assert [found.status for found in exact] == ["exact", "exact"]
        np.testing.assert_allclose(exact[0].value, exact[1].value, rtol=1e-12)
    rates = [hd.observed_kl_rate(*both, method="certified", max_seconds=2.0) for both in (models, symbols)]
    assert [found.status for found in rates] == ["certified", "certified"]
    for end in ("lower", "value", "upper"):
        np.testing.assert_allclose(getattr(rates[0], end), getattr(rates[1], end), rtol=1e-12)


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("tree", [5, hd.Tree([-1, 0, 0, 1])], ids=["chain", "tree"])
def test_estimates_agree_with_what_is_exact(pair, tree):
    p, q = chains(pair)
    exact = hd.observed_kl(p, q, tree, method="exact").value
    found = hd.observed_kl(p, q, tree, method="montecarlo", seed=1, max_samples=4096)
    assert abs(found.value - exact) <= 5 * found.std_error + 1e-12


def test_the_alphabet_lists_all_rows_once():
    family = hd.Product([hd.Bernoulli([0.2]), hd.Categorical([[0.2, 0.3, 0.5]])])
    rows = family.alphabet()
    assert rows.tolist() == [[a, b] for a in (0.0, 1.0) for b in (0.0, 1.0, 2.0)]
    np.testing.assert_allclose(family.symbol_table(), np.exp(family.log_prob(rows)).T, rtol=1e-14)
    assert hd.Bernoulli(np.full((1, 12), 0.5)).alphabet().shape == (4096, 12)
    assert hd.Bernoulli(np.full((1, 13), 0.5)).alphabet() is None
    for family in (hd.Poisson([1.0]), hd.Binomial([3], [0.5]), hd.Silent(1), hd.Mixture([[1.0]], [hd.Poisson([1.0])])):
        assert family.alphabet() is None
    assert hd.Mixture([[0.5, 0.5]], [hd.Bernoulli([0.5]), hd.Poisson([1.0])]).alphabet() is None


def test_alphabets_that_only_count_alike_are_refused():
    one, two = [[0.5, 0.5]] * 2, [[0.2, 0.3, 0.5]] * 2
    families = [hd.Product([hd.Categorical(a), hd.Categorical(b)]) for a, b in ((one, two), (two, one))]
    with pytest.raises(hd.HidivError, match="symbols of 2 and symbols of 3 and q shows 2 columns of symbols of 3"):
        hd.observed_kl(*chains(families), 3)


def test_what_q_cannot_show_is_infinite():
    p, q = chains((bits([[0.5, 0.5]] * 2), bits([[0.5, 1.0]] * 2)))
    found = hd.observed_kl(p, q, 3)
    assert found.value == np.inf
    assert found.infinite
