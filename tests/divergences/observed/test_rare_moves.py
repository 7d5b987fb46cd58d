"""Importance sampling: rare transitions and symbols made likely, with weights that keep every mean."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences.observed.certified.joint_bound import capped_by_joint, joint_above
from hidiv.divergences.observed.sampled.tree_estimate import TreePair, draws_on_tree
from hidiv.divergences.pair import Pair
from hidiv.divergences.result import Divergence
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
    assert draws.likely() is None
    assert not any("importance" in note for note in hd.observed_kl(P, Q, 100, method="montecarlo", seed=1).notes)


def test_laws_stay_laws_where_all_of_a_row_is_rare():
    p = hd.Model([0.0, 1.0], [[0.0, 1.0], [1e-5, 1.0 - 1e-5]], hd.Categorical([[0.0, 1.0], [0.5, 0.5]]))
    q = hd.Model([1.0], [[1.0]], hd.Categorical([[0.9, 0.1]]))
    likely = draws_on_tree(Pair.of(p, q, 50)).likely().model
    assert likely.transition[0].tolist() == [0.0, 1.0]
    assert likely.transition.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert likely.transition[1, 0] > 1e-3


def in_groups():
    """The same in two groups of nodes; a transition of the second is rarer."""
    p, q = far_state()
    rows = np.array([[0.7, 0.3 - 1e-5, 1e-5], [0.4, 0.6 - 1e-5, 1e-5], [0.3, 0.3, 0.4]])
    return (
        hd.Model(p.initial, np.stack([p.transition, rows]), [p.emission] * 2),
        hd.Model(q.initial, np.stack([q.transition] * 2), [q.emission] * 2),
    )


def rare_symbol(near):
    """A symbol that p shows once in 10,000 nodes and q in 1e9; all else as far apart as 1 - near."""
    shown, other = np.array([[0.7, 0.3], [0.2, 0.8]]), np.array([[0.4, 0.6], [0.5, 0.5]])
    rows = np.array([[0.9, 0.1], [0.2, 0.8]])
    p, q = (
        hd.Model([0.5, 0.5], rows, hd.Categorical(np.column_stack([(1.0 - rare) * table, np.full(2, rare)])))
        for rare, table in ((1e-4, shown), (1e-9, near * shown + (1.0 - near) * other))
    )
    return p, q


def weighted_means(p, q, tree, runs=20, size=2001):
    """Mean and error of what weighted draws average, what it should be, and the model that half of them are of."""
    draws = draws_on_tree(Pair.of(p, q, tree))
    likely = draws.likely()._replace(about=0.3)
    parts = [draws.draw(size, np.random.default_rng(seed), False, likely) for seed in range(runs)]
    table = np.concatenate([np.column_stack([d.base, d.plain, d.controls[:, -1], d.events]) for d in parts])
    exact = hd.observed_kl(p, q, tree, method="exact").value
    wanted = np.concatenate([[exact, exact, 0.0], draws.expected()[0]])
    return table.mean(axis=0), table.std(axis=0) / np.sqrt(len(table)), wanted, likely.model


@pytest.mark.parametrize(
    "tree", [hd.Tree.chain(8, group=np.arange(8) % 2), hd.Tree([-1, 0, 0, 1, 1, 2, 2, 3], group=np.arange(8) % 2)],
    ids=["chain", "tree"],
)  # fmt: skip
def test_transitions_of_several_groups(tree):
    p, q = in_groups()
    mean, error, wanted, likely = weighted_means(p, q, tree)
    assert (np.abs(mean - wanted) <= 4.5 * error + 1e-12).all()
    assert error[0] < 0.04 * wanted[0]
    assert (likely.transitions[:, :2, 2] > 50 * p.transitions[:, :2, 2]).all()


def test_symbols_of_a_tree():
    p, q = rare_symbol(0.5)
    mean, error, wanted, likely = weighted_means(p, q, TREES[1])
    assert (np.abs(mean - wanted) <= 4.5 * error + 1e-12).all()
    assert (likely.emission.probs[:, 2] > 100 * p.emission.probs[:, 2]).all()


@pytest.mark.parametrize("near", [0.9, 1.0])
def test_a_symbol_that_is_most_of_the_divergence(near):
    """Of 25 intervals of a tree of 63 nodes 11 held where p and q are equal but for the symbol: no draw showed it."""
    p, q = rare_symbol(near)
    tree = hd.Tree.regular(2, 6)
    truth = hd.observed_kl(p, q, tree, method="certified", rtol=1e-4).value
    found = [hd.observed_kl(p, q, tree, method="montecarlo", rtol=1e-2, seed=s, max_samples=4096) for s in range(8)]
    assert all(abs(each.value - truth) <= 4 * each.std_error + 1e-9 * truth for each in found)
    assert np.mean([each.std_error < 0.05 * truth for each in found]) > 0.5


def test_an_estimate_above_the_joint_divergence_by_chance_is_cut_to_it():
    """The two are equal here, so that one estimate in forty lies more than two errors above."""
    p, q = rare_symbol(1.0)
    pair = Pair.of(p, q, TREES[1])
    above = pair.once(joint_above)
    found = Divergence(1.03 * above, "observed", "estimate", 1.01 * above, 1.05 * above, 0.0102 * above, 1000)
    cut = capped_by_joint(found, pair)
    assert (cut.value, cut.upper, cut.status) == (above, above, "estimate")
    assert cut.lower == pytest.approx(0.98 * above)
    far = Divergence(1.2 * above, "observed", "estimate", 1.18 * above, 1.22 * above, 0.0102 * above, 1000)
    assert (capped_by_joint(far, pair).status, capped_by_joint(far, pair).lower) == ("certified", 0.0)


def test_a_column_of_many():
    """14 binary marks have no list of their combinations; one of them is rare and all of the divergence."""
    rng = np.random.default_rng(3)
    marks = rng.uniform(0.1, 0.9, (2, 14))
    rows = [[0.9, 0.1], [0.2, 0.8]]
    p, q = (
        hd.Model([0.5, 0.5], rows, hd.Bernoulli(np.column_stack([np.full(2, rare), marks[:, 1:]])))
        for rare in (1e-4, 1e-9)
    )
    likely = draws_on_tree(Pair.of(p, q, 50)).likely().model
    assert (likely.emission.probs[:, 0] > 50 * p.emission.probs[:, 0]).all()
    assert np.array_equal(likely.emission.probs[:, 1:], p.emission.probs[:, 1:])
    truth = 50 * float(hd.Bernoulli([1e-4]).kl(hd.Bernoulli([1e-9]))[0])
    for seed in range(4):
        found = hd.observed_kl(p, q, 50, method="montecarlo", rtol=1e-2, seed=seed, max_samples=4096)
        assert abs(found.value - truth) <= 4 * found.std_error


def test_two_rare_symbols_of_close_models_leave_a_number():
    """q/p - 1 is -1 but for rounding where a draw shows the symbol four times."""
    p, q = rare_symbol(1.0)
    pair = draws_on_tree(Pair.of(p, q, TREES[1]))
    nodes = TreePair(p, q, TREES[1])
    assert nodes.close
    x = np.full((1, 8, 1), 2.0)
    drawn = nodes.along(np.zeros((1, 8), dtype=np.int64), x, True)
    each = np.log(1e-4 / 1e-9)
    assert drawn.plain[0] == pytest.approx(8 * each, rel=1e-9)
    assert drawn.base[0] == pytest.approx(8 * each - 1.0, rel=1e-9)
    assert pair.likely() is not None
