"""Pairs with zeros, where a word that no draw shows may matter: standard errors that allow for it."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences.observed.sampled.standard_errors import Mean, unseen, widened
from tests.divergences.observed.models import P, Q, models_with_zeros


@pytest.mark.parametrize("draws", [128, 512])
def test_standard_errors_of_pairs_with_zeros_are_honest(draws):
    """Against all words; before rare events were allowed for, one of these was off by 14 standard errors."""
    off, inside = [], []
    for seed in (*range(30), 129):
        p, q = models_with_zeros(seed, 3)
        value = hd.observed_kl(p, q, 8, method="exact").value
        if value == inf:
            continue
        for run in range(2):
            found = hd.observed_kl(
                p, q, 8, method="montecarlo", seed=1000 * run + seed, max_samples=draws, rtol=0, atol=0
            )
            off.append(abs(found.value - value) / max(found.std_error, 1e-12 * value + 1e-14))
            inside.append(found.lower - 1e-12 <= value <= found.upper + 1e-12)
    assert len(off) > 30
    assert max(off) < 4.5
    assert np.mean(inside) > 0.9


def test_a_transition_that_is_hardly_ever_drawn():
    """State 1 of p comes once in a thousand chains and then shows what q hardly ever does."""
    p = hd.Model([1.0, 0.0], [[1 - 1e-4, 1e-4], [0.0, 1.0]], hd.Categorical([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]))
    q = hd.Model([1.0], [[1.0]], hd.Categorical([[0.5, 0.5 - 1e-9, 1e-9]]))
    exact = hd.observed_kl(p, q, 10, method="exact").value
    for seed in range(10):
        found = hd.observed_kl(p, q, 10, method="montecarlo", seed=seed, max_samples=256)
        assert abs(found.value - exact) < 4 * found.std_error
    assert any("importance sampling" in note for note in found.notes)


def test_a_symbol_that_is_never_drawn():
    law = hd.Categorical([[0.5, 0.5 - 1e-5, 1e-5], [0.6, 0.4 - 1e-5, 1e-5]])
    p = hd.Model([1.0, 0.0], [[0.9, 0.1], [0.5, 0.5]], law)
    q = hd.Model([1.0], [[1.0]], hd.Categorical([[0.5, 0.5 - 1e-9, 1e-9]]))
    exact = hd.observed_kl(p, q, 10, method="exact").value
    for seed in range(10):
        found = hd.observed_kl(p, q, 10, method="montecarlo", seed=seed, max_samples=256)
        assert abs(found.value - exact) < 4 * found.std_error
    assert "was never drawn" in found.notes[-1]


def test_nothing_is_added_where_all_has_been_seen():
    found = hd.observed_kl(P, Q, 100, method="montecarlo", seed=1)
    assert found.std_error < 1e-4 * found.value
    assert not any("never drawn" in note for note in found.notes)


def test_unseen_and_widened():
    controls = np.array([[0.5, -1e-3, 0.0], [-0.5, -1e-3, 0.0], [0.1, -1e-3, 0.0]])
    assert unseen(controls) == 1e-3
    assert unseen(controls[:, :1]) == 0.0
    assert unseen(np.zeros((3, 0))) == 0.0
    mean = Mean(2.0, 3e-3, 1, np.zeros(3))
    assert widened(mean, 1e-3, 4.0).std_error == pytest.approx(5e-3)
    assert widened(mean, 1e-3, 1.0).std_error == pytest.approx(np.hypot(3e-3, 2e-3))
    assert widened(mean, 1e-9, 1.0) is mean


def test_a_rare_symbol_that_q_shows_only_by_moving_away_and_back():
    """Other states of q show it, but none of them is near: draws without it show less than the truth, by more than
    their spread says."""
    rng = np.random.default_rng(3)
    tree = hd.Tree.regular(3, 3)

    def model(rare):
        moves = 0.9 * np.eye(3) + 0.1 * rng.dirichlet(np.ones(3), 3)
        return hd.Model(np.full(3, 1 / 3), moves, hd.Categorical(rare + (1 - 3 * rare) * np.eye(3)))

    held = []
    for _ in range(6):
        p, q = model(2e-4), model(1e-5)
        exact = hd.observed_kl(p, q, tree, method="exact").value
        found = [hd.observed_kl(p, q, tree, method="montecarlo", rtol=1e-2, seed=seed) for seed in range(20)]
        held += [one.lower <= exact <= one.upper for one in found]
    assert np.mean(held) > 0.75
