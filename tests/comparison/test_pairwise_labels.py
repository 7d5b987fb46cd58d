"""Matrices that look at no labels: aligned and observed divergences, and mixtures whose components are hidden too."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import HidivError
from tests.comparison.many import model, moved, one_by_one, worst


def shuffled(seed, count, family="gaussian", k=3):
    rng = np.random.default_rng(seed)
    base = model(rng, family, k)
    return [base.relabel(rng.permutation(k)) for _ in range(count)] + [model(rng, family, k) for _ in range(2)]


def test_aligned_is_what_align_finds():
    for ms, tree in (
        (shuffled(0, 2), 20),
        (shuffled(1, 1, "poisson", 2), hd.Tree.regular(2, 4)),
        ([model(np.random.default_rng(s), end=True) for s in range(3)], hd.UNTIL_END),
    ):
        found = hd.pairwise_kl(ms, tree, quantity="aligned")
        expected = one_by_one(lambda p, q, on=tree: 0.0 if p is q else hd.align(p, q, on).value, ms)
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-11, atol=1e-12)
        assert (found.quantity, found.status) == ("aligned", "exact")
        both = hd.pairwise_kl(ms, tree, quantity="aligned", symmetric=True)
        np.testing.assert_allclose(np.asarray(both), expected + expected.T, rtol=1e-11, atol=1e-12)


def test_aligned_with_many_states_searches_pair_by_pair():
    ms = shuffled(2, 1, "poisson", 6)[:2]
    found = hd.pairwise_kl(ms, 10, quantity="aligned")
    assert worst(found, one_by_one(lambda p, q: 0.0 if p is q else hd.align(p, q, 10).value, ms)) < 1e-11
    with pytest.raises(HidivError, match="level_weights: the aligned divergence takes them for at most 5 states"):
        hd.pairwise_kl(ms, 10, quantity="aligned", level_weights="equal")


def test_more_states_than_all_orders_can_be_tried_for_are_an_approximation():
    ms = shuffled(2, 1, "poisson", 9)[:2]
    found = hd.pairwise_kl(ms, 10, quantity="aligned")
    assert found.status == "approximation"
    assert found.notes[0].endswith("not every order was tried, so entries are upper bounds")
    assert hd.nearest(ms[0], ms[1:], 10, 1, quantity="aligned").status == "approximation"


def fits(seed, k, family):
    """Four processes with three fits of each: parameters a little off, states in any order."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(4):
        base = model(rng, family, k)
        made += [moved(rng, base, 0.2).relabel(rng.permutation(k)) for _ in range(3)]
    return made


@pytest.mark.parametrize("k", [2, 3, 4])
def test_fits_of_several_processes_are_noticed(k):
    # Pairs of different processes are far apart in any order: only near ones show that labels differ.
    for seed in range(3):
        assert any("separate fits" in note for note in hd.pairwise_kl(fits(seed, k, "categorical"), 100).notes)
        rng = np.random.default_rng(seed)
        base = model(rng, "categorical", k)
        common = [moved(rng, base, 0.3) for _ in range(12)]
        assert not any("separate fits" in note for note in hd.pairwise_kl(common, 100).notes)


def test_separate_fits_are_noticed():
    ms = shuffled(3, 6)
    said = [note for note in hd.pairwise_kl(ms, 20).notes if "separate fits" in note]
    assert len(said) == 1
    assert "the quantities aligned and observed do not depend on labels" in said[0]
    assert any("separate fits" in note for note in hd.nearest(ms, ms, 20, 1).notes)
    rng = np.random.default_rng(4)
    near = [moved(rng, model(np.random.default_rng(4)), 0.1) for _ in range(5)]
    assert not any("separate fits" in note for note in hd.pairwise_kl(near, 20).notes)


def test_nearest_of_other_quantities():
    ms = shuffled(5, 3)
    for quantity in ("aligned", "observed"):
        found = hd.nearest(ms[0], ms[1:], 20, 2, quantity=quantity)
        assert found.quantity == quantity
        assert set(found.indices.tolist()) == {0, 1}  # the same model under other labels
        assert (np.abs(found.values) < 1e-6).all()
    fitted = hd.fit(hd.sample(ms[0], 30, seed=0)[1], start=ms[0], n_init=1, max_iter=2, seed=0)
    by_model, by_fit = (hd.nearest(query, ms, 20, 2).indices.tolist() for query in (fitted.model, fitted))
    assert by_fit == by_model
    matrix = np.asarray(hd.pairwise_kl(ms[:2], 20, ms[2:], quantity="aligned"))
    indices, values = hd.nearest(ms[:2], ms[2:], 20, 2, quantity="aligned")
    assert (values == np.take_along_axis(matrix, indices, axis=1)).all()
    with pytest.raises(HidivError, match='index: belongs to quantity="joint"'):
        hd.nearest(ms, ms, 20, 1, quantity="aligned", index="faiss")


def mixture(rng, nested=False):
    law = hd.Mixture(rng.dirichlet(np.ones(2), 2), [hd.Gaussian(rng.normal(size=2) * 3, std=[1, 2]) for _ in range(2)])
    emission = hd.Product([law, hd.Poisson(rng.uniform(1, 3, 2))]) if nested else law
    return hd.Model([0.5, 0.5], rng.dirichlet(np.ones(2), 2), emission)


@pytest.mark.parametrize("nested", [False, True])
def test_the_joint_divergence_of_mixtures_is_one_number(nested):
    rng = np.random.default_rng(6)
    ms = [mixture(rng, nested) for _ in range(3)]
    expected = one_by_one(lambda p, q: hd.joint_kl(p, q, 10).value, ms)
    assert worst(hd.pairwise_kl(ms, 10), expected) < 1e-12
    assert worst(hd.nearest(ms[0], ms[1:], 10, 2).values, np.sort(expected[0, 1:])) < 1e-12
    aligned = one_by_one(lambda p, q: 0.0 if p is q else hd.align(p, q, 10).value, ms)
    assert worst(hd.pairwise_kl(ms, 10, quantity="aligned"), aligned) < 1e-12
