"""Controls fitted to a pilot are right on average; vectors in the compiled loop; draws shared by all q."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences.observed.sampled.chain_draws import ChainPair, symbol_of
from hidiv.divergences.observed.sampled.tree_estimate import TreePair


def sparse_model(seed, states=6, columns=3):
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(states, 0.3), states) * (rng.random((states, states)) > 0.3) + 0.8 * np.eye(states)
    initial = rng.dirichlet(np.ones(states))
    return hd.Model(
        initial, rows / rows.sum(axis=1, keepdims=True), hd.Bernoulli(rng.uniform(0.02, 0.9, (states, columns)))
    )


def test_a_fitted_value_leaves_the_mean_and_little_of_the_variance():
    p, q = sparse_model(1), sparse_model(2, states=5)
    exact = hd.observed_kl(p, q, 5, method="exact").value
    chain = ChainPair.of(p, q, hd.Tree.chain(5))
    fitted = chain.fitted(np.random.default_rng(0))
    drawn = fitted.draw(4096, np.random.default_rng(1))
    error = drawn.base.std() / 64
    assert abs(drawn.base.mean() - exact) < 5 * error
    lean = chain.draw(4096, np.random.default_rng(1), True)
    np.testing.assert_allclose(drawn.base + drawn.controls[:, 0], lean.base, rtol=1e-9, atol=1e-12)
    assert lean.base.var() > 20 * drawn.base.var()


def test_combinations_of_symbols_are_numbered_as_their_alphabet_is():
    family = sparse_model(1).emissions[0]
    assert symbol_of(family, family.alphabet()[None])[0].tolist() == list(range(8))


def test_vectors_have_the_log_ratios_of_the_tree():
    rng = np.random.default_rng(3)
    p, q = (
        hd.Model(
            rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), k),
            hd.Gaussian(rng.normal(size=(k, 3)), std=rng.uniform(0.5, 2.0, (k, 3))),
        )
        for k in (3, 4)
    )  # fmt: skip
    tree = hd.Tree.chain(20)
    quick = ChainPair.by_ratio(p, q, tree).draw(40, np.random.default_rng(1))
    slow = TreePair(p, q, tree).draw(40, np.random.default_rng(1))
    np.testing.assert_allclose(quick.plain, slow.plain, rtol=1e-10)
    many = ChainPair.by_ratio(p, q, tree).draw(3000, np.random.default_rng(2))
    off = many.controls.mean(axis=0) / np.maximum(many.controls.std(axis=0) / np.sqrt(3000), 1e-300)
    assert np.abs(off).max() < 5


@pytest.mark.parametrize("symmetric", [False, True])
def test_draws_shared_by_all_q(symmetric):
    models = [sparse_model(seed, states) for seed, states in ((1, 6), (2, 5), (3, 4))]
    found = hd.pairwise_kl(models, 4, quantity="observed", rtol=0.05, seed=1, symmetric=symmetric)
    exact = np.array([[hd.observed_kl(p, q, 4, method="exact").value for q in models] for p in models])
    exact = exact + exact.T if symmetric else exact
    apart = np.abs(np.asarray(found) - exact)
    assert (apart <= 5 * np.asarray(found.std_error) + 1e-12).all()
    assert (np.asarray(found.std_error) <= 0.06 * exact + 1e-12).all()


def quiet(rng, states):
    """A chain that seldom leaves its first state, which shows next to nothing."""
    rows = 0.8 * np.eye(states) + 0.2 * rng.dirichlet(np.full(states, 0.2), states)
    rows[:, 0] += 0.3
    rows[0] = np.r_[0.999, np.full(states - 1, 0.001 / (states - 1))]
    shown = rng.uniform(0.02, 0.98, (states, 4))
    shown[0] = 0.003
    first = np.r_[0.98 + 0.02 / states, np.full(states - 1, 0.02 / states)]
    return hd.Model(first, rows / rows.sum(axis=1, keepdims=True), hd.Bernoulli(shown))


@pytest.mark.parametrize("seed", [2, 5])
def test_a_fit_knows_what_few_sequences_show(seed):
    """Fitted to draws of p alone the function left up to three times as much, by what it made of excursions."""
    rng = np.random.default_rng(seed)
    pair = ChainPair.of(quiet(rng, 8), quiet(rng, 8), hd.Tree.chain(50))
    fits = [pair.fitted(np.random.default_rng(run)) for run in range(3)]
    assert max(fit.draw(4000, np.random.default_rng(9)).base.std() for fit in fits) < 0.016
