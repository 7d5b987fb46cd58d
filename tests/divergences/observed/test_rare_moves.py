"""Importance sampling: rare transitions made likely, with weights that keep every mean."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences.observed.sampled.rare_moves import with_rare_moves
from hidiv.divergences.observed.sampled.tree_estimate import draws_on_tree
from hidiv.divergences.pair import Pair
from tests.divergences.observed.models import P, Q

TREES = [hd.Tree.chain(8), hd.Tree([-1, 0, 0, 1, 1, 2, 2, 3])]


def far_state():
    """A transition of 1e-4 into a state of p whose symbol q hardly ever shows."""
    rows = np.array([[0.9 - 1e-4, 0.1, 1e-4], [0.2, 0.8 - 1e-4, 1e-4], [0.05, 0.05, 0.9]])
    rare = 1e-6
    p = hd.Model(
        [0.6, 0.4, 0.0], rows, hd.Categorical([[0.6, 0.4 - rare, rare], [0.3, 0.7 - rare, rare], [0.01, 0.01, 0.98]])
    )
    q = hd.Model(
        [0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.5, 0.5 - rare, rare], [0.3, 0.7 - rare, rare]])
    )
    return p, q


@pytest.mark.parametrize("tree", TREES, ids=["chain", "tree"])
def test_weighted_draws_have_the_enumerated_mean(tree):
    p, q = far_state()
    exact = hd.observed_kl(p, q, tree, method="exact").value
    draws = draws_on_tree(Pair.of(p, q, tree))
    likely = draws.likely()
    assert (likely.model.transition[:2, 2] > 100 * p.transition[:2, 2]).all()
    means, errors = [], []
    for seed in range(20):
        drawn = draws.draw(2001, np.random.default_rng(seed), False, likely)
        table = np.column_stack([drawn.base, drawn.plain, drawn.controls[:, -1], drawn.events])
        means.append(table.mean(axis=0))
        errors.append(table.std(axis=0) / np.sqrt(len(table)))
    wanted = np.concatenate([[exact, exact, 0.0], draws.expected()[0]])
    error = np.sqrt(np.mean(np.square(errors), axis=0) / len(errors))
    off = np.abs(np.mean(means, axis=0) - wanted)
    assert (off <= 4.5 * error + 1e-12).all()
    assert error[0] < 0.04 * exact
    assert (drawn.controls[:, -1] <= 1.0).all()  # weights less one: they are at most 1 / (1 - a)


def test_a_transition_that_dominates_the_variance():
    """Without it 20,000 draws end at a standard error of 0.012; these 4,000 at 0.0012."""
    p, q = far_state()
    exact = hd.observed_kl(p, q, 10, method="exact").value
    for seed in range(3):
        found = hd.observed_kl(p, q, 10, method="montecarlo", seed=seed, rtol=1e-3, max_samples=4000)
        assert found.std_error < 2e-3
        assert abs(found.value - exact) < 4 * found.std_error
        assert any("importance sampling" in note for note in found.notes)


def test_nothing_is_made_likely_where_nothing_is_rare():
    draws = draws_on_tree(Pair.of(P, Q, 100))
    assert with_rare_moves(P, *draws.expected()) is None
    assert not any("importance" in note for note in hd.observed_kl(P, Q, 100, method="montecarlo", seed=1).notes)


def test_laws_stay_laws_where_all_of_a_row_is_rare():
    p = hd.Model([0.0, 1.0], [[0.0, 1.0], [1e-5, 1.0 - 1e-5]], hd.Categorical([[0.0, 1.0], [0.5, 0.5]]))
    q = hd.Model([1.0], [[1.0]], hd.Categorical([[0.9, 0.1]]))
    likely = with_rare_moves(p, *draws_on_tree(Pair.of(p, q, 50)).expected()).model
    assert likely.transition[0].tolist() == [0.0, 1.0]
    assert likely.transition.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert likely.transition[1, 0] > 1e-3
