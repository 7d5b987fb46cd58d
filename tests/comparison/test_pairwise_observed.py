"""Matrices of observed and posterior divergences against one divergence at a time."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import HidivError, ImpossibleEvidence, IncompatibleModels
from tests.comparison.many import model, moved, one_by_one, worst

QUAD = hd.Tree([-1, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2], [0, 1, 2, 3, 4, 4, 4, 4, 5, 5, 5, 5])  # scales and orientations


def observed(tree):
    return lambda p, q: 0.0 if p is q else hd.observed_kl(p, q, tree, method="variational").value


@pytest.mark.parametrize(
    "family", ["categorical", "gaussian", "gaussian_full", "generalized_gaussian", "poisson", "silent"]
)
@pytest.mark.parametrize(("tree", "groups"), [(hd.Tree.chain(20), 1), (hd.Tree.regular(4, 3), 3), (QUAD, 6)])
def test_observed_with_any_numbers_of_states(family, tree, groups):
    rng = np.random.default_rng(1)
    ms = [model(rng, family, k, groups) for k in (2, 3, 2, 1)]
    found = hd.pairwise_kl(ms, tree, quantity="observed", method="variational")
    # States alone show nothing: both are rounding there.
    expected = one_by_one(observed(tree), ms)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-10, atol=1e-12)
    assert (np.diag(np.asarray(found)) == 0).all()
    assert found.status == "approximation"
    assert found.notes == ("variational recursion: deterministic, no bound",)
    both = hd.pairwise_kl(ms, tree, quantity="observed", method="variational", symmetric=True)
    np.testing.assert_allclose(np.asarray(both), expected + expected.T, rtol=1e-10, atol=1e-12)


def test_observed_against_others_in_small_blocks():
    rng = np.random.default_rng(2)
    ms, others = ([model(rng, "gaussian", 2, 3) for _ in range(m)] for m in (3, 5))
    found = hd.pairwise_kl(ms, hd.Tree.regular(4, 3), others, quantity="observed", method="variational", memory=64 * 4)
    assert worst(found, one_by_one(observed(hd.Tree.regular(4, 3)), ms, others)) < 1e-10


def test_observed_where_p_emits_what_q_cannot():
    rows = [[0.5, 0.5]] * 2
    ms = [hd.Model([0.5, 0.5], rows, hd.Categorical(law)) for law in ([[1.0, 0.0]] * 2, [[0.5, 0.5], [1.0, 0.0]])]
    found = hd.pairwise_kl(ms, 5, quantity="observed", method="variational")
    assert np.isinf(found[1, 0])
    assert np.isfinite(found[0, 1])


def test_observed_levels_may_count_otherwise():
    rng = np.random.default_rng(3)
    for tree, groups in ((hd.Tree.regular(4, 3), 3), (QUAD, 6)):
        ms = [model(rng, "gaussian", 2, groups) for _ in range(3)]
        plain = hd.pairwise_kl(ms, tree, quantity="observed", method="variational")
        counts = np.bincount(tree.level)
        assert (
            worst(
                hd.pairwise_kl(ms, tree, quantity="observed", method="variational", level_weights=counts),
                np.asarray(plain),
            )
            < 1e-12
        )
    # One node a level: the same as the chain through the levels.
    ms = [model(rng, "gaussian", 2, 3) for _ in range(3)]
    chain = hd.Tree.chain(3, [0, 1, 2])
    equal = hd.pairwise_kl(ms, hd.Tree.regular(4, 3), quantity="observed", method="variational", level_weights="equal")
    assert worst(equal, one_by_one(observed(chain), ms)) < 1e-10


def test_observed_by_monte_carlo():
    rng = np.random.default_rng(4)
    ms = [model(rng, "categorical", k) for k in (2, 2, 3)]
    found = hd.pairwise_kl(ms, 4, quantity="observed", samples=400, seed=5)
    assert found.status == "estimate"
    assert found.notes == ("plain Monte Carlo of the log-ratio, 400 draws from each p",)
    expected = one_by_one(lambda p, q: hd.observed_kl(p, q, 4, method="exact").value, ms)
    off = ~np.eye(3, dtype=bool)
    assert (np.abs(found - expected)[off] < 5 * found.std_error[off]).all()
    assert (found.std_error[off] > 0).all()
    assert (np.asarray(hd.pairwise_kl(ms, 4, quantity="observed", samples=400, seed=5)) == np.asarray(found)).all()
    both = hd.pairwise_kl(ms, 4, quantity="observed", samples=400, seed=5, symmetric=True)
    assert (np.asarray(both) == np.asarray(found) + np.asarray(found).T).all()
    crossed = hd.pairwise_kl(ms[:1], 4, ms[1:], quantity="observed", samples=400, seed=5)
    assert (np.asarray(crossed) == np.asarray(found)[:1, 1:]).all()


@pytest.mark.parametrize("family", ["categorical", "gaussian", "gamma", "gaussian_full"])
def test_posterior(family):
    rng = np.random.default_rng(6)
    ms = [model(rng, family) for _ in range(5)]
    x = hd.sample(ms[0], 40, seed=1)[1]
    found = hd.pairwise_kl(ms, None, quantity="posterior", evidence=x)
    expected = one_by_one(lambda p, q: hd.posterior_kl(p, q, x).value, ms)
    assert worst(found, expected) < 1e-11
    assert found.status == "exact"
    both = hd.pairwise_kl(ms, None, quantity="posterior", evidence=x, symmetric=True, memory=64 * 4)
    assert worst(both, expected + expected.T) < 1e-11
    assert worst(hd.pairwise_kl(ms[:2], None, ms[2:], quantity="posterior", evidence=x), expected[:2, 2:]) < 1e-11


@pytest.mark.parametrize("distance", [1e-2, 1e-5, 1e-9])
def test_posterior_of_close_models(distance):
    rng = np.random.default_rng(7)
    base = model(rng, "categorical")
    ms = [base, *(moved(rng, base, distance) for _ in range(3))]
    x = rng.integers(0, 4, 30)
    found = hd.pairwise_kl(ms, None, quantity="posterior", evidence=x)
    assert worst(found, one_by_one(lambda p, q: hd.posterior_kl(p, q, x).value, ms)) < 1e-11


def test_posterior_on_a_tree_with_groups_and_partial_evidence():
    rng = np.random.default_rng(8)
    tree = hd.Tree([-1, 0, 0, 1, 1], [0, 1, 2, 1, 2])
    ms = [model(rng, "gaussian", 2, 3), model(rng, "gaussian", 2), model(rng, "gaussian", 2, 3)]
    known = hd.Evidence.from_list([None, {"x": 0.5}, {"between": [0, None]}, {"states": [1]}, {"x": -1.0}])
    found = hd.pairwise_kl(ms, tree, quantity="posterior", evidence=known)
    assert worst(found, one_by_one(lambda p, q: hd.posterior_kl(p, q, known, tree).value, ms)) < 1e-11


def test_posterior_with_zeros_and_ends():
    rows = [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]
    full, holes = hd.Categorical(np.full((3, 2), 0.5)), hd.Categorical([[1.0, 0.0], [0.5, 0.5], [0.5, 0.5]])
    ms = [
        hd.Model([1 / 3] * 3, np.full((3, 3), 1 / 3), full),
        hd.Model([1, 0, 0], rows, full),
        hd.Model([1, 0, 0], rows, holes),
        hd.Model([0.5, 0.5, 0], rows, holes),
    ]
    x = [0, 1, 1, 0]
    expected = one_by_one(lambda p, q: hd.posterior_kl(p, q, x).value, ms)
    assert np.isinf(expected).any()
    assert worst(hd.pairwise_kl(ms, None, quantity="posterior", evidence=x), expected) < 1e-11
    rng = np.random.default_rng(9)
    ends = [model(rng, "categorical", end=True) for _ in range(3)]
    expected = one_by_one(lambda p, q: hd.posterior_kl(p, q, x).value, ends)
    assert worst(hd.pairwise_kl(ends, None, quantity="posterior", evidence=x), expected) < 1e-11


def test_what_is_refused():
    rng = np.random.default_rng(10)
    p, q = model(rng, "categorical", 2), model(rng, "categorical", 3)
    never = hd.Model([0.5, 0.5], [[0.5, 0.5]] * 2, hd.Categorical([[1.0, 0, 0, 0]] * 2), name="never")
    for arguments, options, error, sentence in (
        (([p, q], None), {"quantity": "posterior", "evidence": [0, 1]}, IncompatibleModels, "models[1]: has 3 states"),
        (([p], 5), {"quantity": "posterior"}, HidivError, 'evidence: is needed with quantity="posterior"'),
        (([p, never], None), {"quantity": "posterior", "evidence": [0, 1]}, ImpossibleEvidence,
         "node 1: models[1] 'never' gives the evidence of this subtree probability 0"),
        (([p], hd.UNTIL_END), {"quantity": "observed"}, IncompatibleModels, "models[0]: has no end probabilities"),
        (([p], 2), {"quantity": "observed", "level_weights": [1, 0]}, HidivError, "level_weights: must be above 0"),
        (([p], 2), {"quantity": "observed", "samples": 9, "level_weights": [1, 1]}, HidivError, "samples: Monte Carlo"),
    ):  # fmt: skip
        with pytest.raises(error) as caught:
            hd.pairwise_kl(*arguments, **options)
        assert str(caught.value).startswith(sentence)


def test_the_draws_of_a_pair_do_not_depend_on_the_other_models():
    """Each q takes as many of p's draws as it needs; the visits of p are counted once for all."""
    rng = np.random.default_rng(8)
    one, *others = (model(rng, "categorical", 3, 1) for _ in range(5))
    options = {"quantity": "observed", "rtol": 0.002, "seed": 5}
    together = hd.pairwise_kl([one], 60, others, **options)
    for j, other in enumerate(others):
        alone = hd.pairwise_kl([one], 60, [other], **options)
        assert alone[0, 0] == pytest.approx(together[0, j], rel=1e-9)
        assert alone.std_error[0, 0] == pytest.approx(together.std_error[0, j], rel=1e-6)
        assert together.std_error[0, j] <= 0.002 * together[0, j]


def test_pairs_drawn_on_their_own_are_listed_where_words_are_few():
    """Rare words of short chains take thousands of draws, and a millisecond to list."""
    rng = np.random.default_rng(4)
    models = [
        hd.Model(
            rng.dirichlet(np.full(6, 0.1)), 0.98 * np.eye(6) + 0.02 * rng.dirichlet(np.ones(6), 6),
            hd.Bernoulli(rng.beta(0.2, 0.4, (6, 4)).clip(1e-3, 1 - 1e-3)),
        )
        for _ in range(4)
    ]  # fmt: skip
    found = hd.pairwise_kl(models, 3, quantity="observed", rtol=1e-4, seed=1)
    exact = [[hd.observed_kl(p, q, 3, method="exact").value for q in models] for p in models]
    np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-14)
    assert not np.asarray(found.std_error).any()
