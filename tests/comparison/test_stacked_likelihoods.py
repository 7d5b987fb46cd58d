"""Draws scored under many models in one pass: what each model says alone, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.comparison.pairwise import observed_draws as module
from hidiv.comparison.pairwise.observed_draws import stacked_likelihoods
from hidiv.inference.likelihood import log_likelihoods
from tests.comparison.many import FAMILIES, model

TREES = (hd.Tree.chain(7), hd.Tree([-1, 0, 0, 1, 1, 2]))


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "silent"])
def test_every_family(family, monkeypatch):
    rng = np.random.default_rng(0)
    ms = [model(rng, family, 3) for _ in range(5)]
    for tree in TREES:
        _, x = hd.sample(ms[0], tree, size=9, seed=1)
        expected = np.array([log_likelihoods(m, x, tree) for m in ms])
        whole = stacked_likelihoods(hd.Collection(ms), x, tree)
        np.testing.assert_allclose(whole, expected, rtol=1e-13)
        with monkeypatch.context() as patch:
            patch.setattr(module, "CELLS", 1)  # one model at a time
            assert (stacked_likelihoods(hd.Collection(ms), x, tree) == whole).all()


def test_groups_and_silence():
    rng = np.random.default_rng(1)
    tree = hd.Tree([-1, 0, 0, 1, 1], group=[0, 1, 1, 2, 2])
    ms = [model(rng, "gaussian", 2, groups=3) for _ in range(4)]
    _, x = hd.sample(ms[0], tree, size=6, seed=2)
    expected = [log_likelihoods(m, x, tree) for m in ms]
    np.testing.assert_allclose(stacked_likelihoods(hd.Collection(ms), x, tree), expected, rtol=1e-13)
    silent = [model(rng, "silent", 2) for _ in range(2)]
    np.testing.assert_allclose(
        stacked_likelihoods(hd.Collection(silent), np.full((3, 4), np.nan), hd.Tree.chain(4)), 0.0, atol=1e-15
    )


def test_impossible_and_underflowing_draws():
    def stay(first, mean):
        return hd.Model(first, np.eye(2), hd.Gaussian([0.0, mean], std=[1.0, 1.0]))

    def word(probs):
        return hd.Model([0.5, 0.5], [[0.5, 0.5]] * 2, hd.Categorical(probs))

    tree = hd.Tree.chain(3)
    far = hd.Collection([stay([1.0, 0.0], 1e3), stay([0.5, 0.5], 1e3)])
    x = np.array([[1e3, 1e3, 1e3], [0.0, 0.0, 0.0]])
    expected = [[hd.log_likelihood(m, row, 3) for row in x] for m in far]
    np.testing.assert_allclose(stacked_likelihoods(far, x, tree), expected, rtol=1e-12)
    two = hd.Collection([word([[1.0, 0.0], [1.0, 0.0]]), word([[0.5, 0.5], [0.5, 0.5]])])
    table = stacked_likelihoods(two, np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), tree)
    np.testing.assert_allclose(table, [[-np.inf, 0.0], [3 * np.log(0.5)] * 2])


def test_the_matrix_is_what_draws_one_by_one_give():
    rng = np.random.default_rng(5)
    ms = [model(rng, family, k) for family, k in (("poisson", 2), ("geometric", 2), ("poisson", 3), ("poisson", 2))]
    found = hd.pairwise_kl(ms, 5, quantity="observed", samples=20, seed=4)
    for i, p in enumerate(ms):
        draws = np.random.default_rng([4, i])
        from hidiv.inference.sampling import draw_observations, draw_states

        x = draw_observations(p, hd.Tree.chain(5), draw_states(p, hd.Tree.chain(5), 20, draws), draws)
        for j, q in enumerate(ms):
            ratio = log_likelihoods(p, x, hd.Tree.chain(5)) - log_likelihoods(q, x, hd.Tree.chain(5))
            assert found[i, j] == pytest.approx(ratio.mean(), rel=1e-12, abs=0.0)
            assert found.std_error[i, j] == pytest.approx(ratio.std(ddof=1) / np.sqrt(20), rel=1e-12)
