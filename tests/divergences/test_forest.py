"""Lists of trees and lengths: independent trees, whose divergences add up."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import HidivError, IncompatibleModels, InvalidTree

P = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]), name="one")
Q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))
NARROW = hd.Model(Q.initial, Q.transition, hd.Categorical([[0.3, 0.7, 0.0], [0.6, 0.2, 0.2]]))
GAUSS = [
    hd.Model(m.initial, m.transition, hd.Gaussian(mean, std=[1.0, 1.5]))
    for m, mean in ((P, [0.0, 1.0]), (Q, [0.5, 2.0]))
]
LISTED = hd.Tree([-1, 0, 0, 1])
TREES = [5, LISTED, hd.Tree.regular(2, 3), 5]


def test_the_joint_divergence_adds_up():
    found = hd.joint_kl(P, Q, TREES)
    each = [hd.joint_kl(P, Q, tree) for tree in TREES]
    assert found.value == pytest.approx(sum(one.value for one in each), rel=1e-14)
    assert (found.status, found.lower, found.per) == ("exact", found.value, None)
    assert found.by_node == pytest.approx(np.concatenate([one.by_node for one in each]), rel=1e-14)
    assert found.parts.initial + found.parts.transition + found.parts.emission == pytest.approx(found.value, rel=1e-14)
    assert found.parts.rows == pytest.approx(sum(one.parts.rows for one in each), rel=1e-13)
    assert "on 4 independent trees with 21 nodes together" in repr(found)
    assert found.notes[0].startswith(f"independent trees add up: {found.value:.10g} in all")
    for option, size in (("per_tree", 4), ("per_node", 21)):
        divided = hd.joint_kl(P, Q, TREES, **{option: True})
        assert divided.value == pytest.approx(found.value / size, rel=1e-14)
        assert divided.by_node.sum() == pytest.approx(divided.value, rel=1e-13)
        assert divided.per == option.removeprefix("per_")
        assert divided.notes == found.notes
        assert hd.Divergence.from_dict(divided.to_dict()).per == divided.per


@pytest.mark.parametrize("tree", [1, 7, LISTED, hd.Tree.regular(3, 3)])
def test_a_list_of_one_tree_is_that_tree(tree):
    for measured in (hd.joint_kl, hd.observed_kl):
        one, alone = measured(P, Q, [tree]), measured(P, Q, tree)
        assert (one.value, one.lower, one.upper, one.status) == (alone.value, alone.lower, alone.upper, alone.status)
    assert hd.joint_kl(P, Q, (tree,)).by_node.tolist() == hd.joint_kl(P, Q, tree).by_node.tolist()


def test_lengths_in_an_array_and_trees_that_are_alike():
    lengths = np.array([10, 20, 10, 10])
    assert hd.joint_kl(P, Q, lengths).value == pytest.approx(
        3 * hd.joint_kl(P, Q, 10).value + hd.joint_kl(P, Q, 20).value, rel=1e-14
    )
    many = hd.joint_kl(P, Q, [10**6] * 5000, per_node=True)
    assert many.value == pytest.approx(hd.joint_kl(P, Q, 10**6, per_node=True).value, rel=1e-12)


def test_the_observed_divergence_stands_as_its_least_certain_tree():
    exact, certified = hd.observed_kl(P, Q, [3, 4]), hd.observed_kl(P, Q, [3, 40])
    assert (exact.status, certified.status) == ("exact", "certified")
    assert exact.value == pytest.approx(hd.observed_kl(P, Q, 3).value + hd.observed_kl(P, Q, 4).value, rel=1e-14)
    alone = hd.observed_kl(P, Q, 40)
    assert certified.lower == pytest.approx(hd.observed_kl(P, Q, 3).value + alone.lower, rel=1e-14)
    assert certified.lower <= certified.value <= certified.upper
    assert "of 2 different trees 1 exact, 1 certified" in certified.notes


def test_errors_of_estimates_add_up_as_independent_ones_do():
    limits = {"method": "montecarlo", "max_samples": 512, "rtol": 0.0, "atol": 0.0}
    found = hd.observed_kl(*GAUSS, [3, LISTED, 3], seed=1, **limits)
    rng = np.random.default_rng(1)
    three, listed = (hd.observed_kl(*GAUSS, tree, seed=rng, **limits) for tree in (3, LISTED))
    assert found.status == "estimate"
    assert found.value == pytest.approx(2 * three.value + listed.value, rel=1e-13)
    # The same draws serve both chains, so that their errors are one error twice.
    assert found.std_error == pytest.approx(np.hypot(2 * three.std_error, listed.std_error), rel=1e-13)
    assert found.n_samples == three.n_samples + listed.n_samples
    half = np.hypot(2 * (three.upper - three.value), listed.upper - listed.value)
    assert found.upper - found.value == pytest.approx(half, rel=1e-12)
    assert hd.observed_kl(*GAUSS, [3, LISTED, 3], seed=1, per_tree=True, **limits).value == pytest.approx(
        found.value / 3, rel=1e-13
    )


def test_infinite_trees_name_their_reasons():
    for found in (
        hd.joint_kl(P, NARROW, [3, 5]),
        hd.observed_kl(P, hd.Model([1.0, 0.0], np.eye(2), NARROW.emission), [2]),
    ):
        assert found.value == inf
        assert found.infinite


def test_grouped_models_on_trees_of_their_own():
    grouped = hd.Model(P.initial, [None, P.transition, Q.transition], P.emission)
    trees = [hd.Tree.regular(2, 3), hd.Tree([-1, 0, 1], group=[0, 1, 2])]
    found = hd.joint_kl(grouped, Q, trees)
    assert found.value == pytest.approx(sum(hd.joint_kl(grouped, Q, tree).value for tree in trees), rel=1e-14)
    with pytest.raises(IncompatibleModels, match=r"^tree\[1\]: p.transition: has 3 groups but the tree has none"):
        hd.joint_kl(grouped, Q, [trees[0], 4])


def test_orders_that_differ_from_tree_to_tree_are_no_alignment():
    # The first states say one order, the transitions the other.
    sticky = [[0.9, 0.1], [0.2, 0.8]]
    p = hd.Model([0.99, 0.01], sticky, hd.Bernoulli([0.4, 0.5]))
    q = hd.Model([0.01, 0.99], sticky, hd.Bernoulli([0.4, 0.5]))
    assert [hd.align(p, q, n).permutation for n in (1, 1000)] == [(1, 0), (0, 1)]
    found = hd.compare(p, q, [1, 1000], max_seconds=0.1)
    assert found.alignment is None
    assert found.undefined["joint_aligned"] == "no single order of states was found to be the best on every tree"


def test_plain_monte_carlo_adds_up():
    found = hd.montecarlo(P, Q, [3, 3, LISTED], samples=2000, seed=0)
    assert abs(found.value - hd.joint_kl(P, Q, [3, 3, LISTED]).value) < 5 * found.std_error
    assert found.n_samples == 4000


def test_refusals():
    for measured in (hd.joint_kl, hd.observed_kl):
        with pytest.raises(InvalidTree, match="tree: a list of trees needs at least one"):
            measured(P, Q, [])
        with pytest.raises(InvalidTree, match=r"^tree\[1\]: must be a Tree, or an integer"):
            measured(P, Q, [3, "x"])
        with pytest.raises(HidivError, match="per_tree: is for a list of trees"):
            measured(P, Q, 3, per_tree=True)
    with pytest.raises(InvalidTree, match="got .*3, 4.*; joint_kl, observed_kl, .* take lists of trees"):
        hd.do_bound(P, Q, [3, 4])
    with pytest.raises(HidivError, match="per_tree: is one way to divide and per_node another"):
        hd.joint_kl(P, Q, [3, 4], per_tree=True, per_node=True)


def test_compare_adds_up_too():
    found = hd.compare(P, Q, [3, LISTED])
    assert found.subject == "D(one || q) on 2 independent trees with 7 nodes together"
    assert found.joint.value == hd.joint_kl(P, Q, [3, LISTED]).value
    assert found.joint_per_node.value == pytest.approx(found.joint.value / 7, rel=1e-14)
    assert found.observed.value == hd.observed_kl(P, Q, [3, LISTED]).value
    assert found.do_bound.value == pytest.approx(found.joint.value, rel=1e-13)
    assert found.expected_posterior.value == pytest.approx(found.joint.value - found.observed.value, rel=1e-12)
    assert found.undefined == {}
    each = [hd.align(P, Q, tree) for tree in (3, LISTED)]
    assert found.alignment.permutation == each[0].permutation == each[1].permutation
    assert found.alignment.value == pytest.approx(sum(one.value for one in each), rel=1e-14)
    assert found.joint_aligned.value == pytest.approx(found.alignment.value, rel=1e-14)
    assert found.joint.value - found.joint_aligned.value == pytest.approx(found.alignment.gain, abs=1e-14)
    assert found.to("bits").to_dict()["joint"]["unit"] == "bits"
    with pytest.raises(InvalidTree, match="evidence belongs to one tree"):
        hd.compare(P, Q, [3, 4], evidence=[0, 1, 2])
