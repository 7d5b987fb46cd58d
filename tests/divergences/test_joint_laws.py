"""Laws of the joint divergence: what must hold for every pair of models on every tree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hidiv as hd
from tests.loading import tree, within
from tests.oracle.inward import inward, joint_by_recursion
from tests.oracle.joint import joint
from tests.strategies import LAW, listed_trees, near_pairs, pairs, regular_trees, small_trees

LARGE = [{"chain": 1000}, {"regular": {"children": 3, "depth": 30}}]
TREES = st.one_of(small_trees(), regular_trees(), st.sampled_from(LARGE))


def built(pair):
    return [hd.Model.from_dict(model) for model in pair]


@LAW
@given(pairs(), small_trees())
def test_equals_enumeration(pair, shape):
    assert within(hd.joint_kl(*built(pair), tree(shape)).value, joint(*pair, shape), 1e-12)


@LAW
@given(pairs(["categorical"], zeros=True), small_trees())
def test_equals_enumeration_with_zeros_in_p(pair, shape):
    assert within(hd.joint_kl(*built(pair), tree(shape)).value, joint(*pair, shape), 1e-12)


@LAW
@given(near_pairs(), small_trees())
def test_equals_enumeration_for_near_identical_models(pair, shape):
    # 1e-6 to 1e-9 apart: the textbook sum of p log p/q would have no digit left.
    assert within(hd.joint_kl(*built(pair), tree(shape)).value, joint(*pair, shape), 1e-12)


@LAW
@given(pairs(["categorical", "gaussian", "poisson"], groups=3), listed_trees(12, groups=3))
def test_equals_recursion_with_groups(pair, shape):
    assert within(hd.joint_kl(*built(pair), tree(shape)).value, joint_by_recursion(*pair, shape), 1e-12)


@LAW
@given(pairs(), TREES)
def test_positive_and_zero_on_itself(pair, shape):
    p, q = built(pair)
    shape = tree(shape)
    assert hd.joint_kl(p, q, shape).value >= 0
    for model in (p, q):
        assert hd.joint_kl(model, model, shape).value == 0
        assert hd.joint_kl(model, hd.Model.from_dict(model.to_dict()), shape).value == 0


@LAW
@given(pairs(), TREES, st.randoms(use_true_random=False))
def test_relabelling_both_alike_changes_nothing(pair, shape, random):
    p, q = built(pair)
    order = list(range(p.n_states))
    random.shuffle(order)
    value = hd.joint_kl(p, q, tree(shape)).value
    assert within(hd.joint_kl(p.relabel(order), q.relabel(order), tree(shape)).value, value, 1e-12)


@LAW
@given(pairs(groups=2), listed_trees(8, groups=2))
def test_relabelling_grouped_models_changes_nothing(pair, shape):
    p, q = built(pair)
    order = [*range(1, p.n_states), 0]
    value = hd.joint_kl(p, q, tree(shape)).value
    assert within(hd.joint_kl(p.relabel(order), q.relabel(order), tree(shape)).value, value, 1e-12)


@LAW
@given(pairs(), TREES)
def test_do_bound_is_the_joint_divergence(pair, shape):
    p, q = built(pair)
    value = hd.joint_kl(p, q, tree(shape)).value
    assert within(float(hd.do_bound(p, q, tree(shape))), value, 1e-13)


@LAW
@given(pairs(groups=3), listed_trees(12, groups=3))
def test_do_bound_with_groups(pair, shape):
    p, q = built(pair)
    value = hd.joint_kl(p, q, tree(shape)).value
    assert within(float(hd.do_bound(p, q, tree(shape))), value, 1e-13)


def check_parts(result):
    parts = result.parts
    assert within(parts.initial + np.sum(parts.transition) + np.sum(parts.emission), result.value, 1e-12)
    assert parts.initial >= 0
    assert np.all(np.asarray(parts.rows) >= 0)
    assert np.all(np.asarray(parts.states) >= 0)


@LAW
@given(pairs(), TREES)
def test_parts_sum_to_the_value(pair, shape):
    result = hd.joint_kl(*built(pair), tree(shape))
    check_parts(result)
    assert np.shape(result.parts.rows) == np.shape(result.parts.states) == (len(pair[0]["initial"]),)


@LAW
@given(pairs(["categorical", "gaussian"], groups=3), listed_trees(12, groups=3))
def test_parts_with_groups(pair, shape):
    result = hd.joint_kl(*built(pair), tree(shape))
    check_parts(result)
    assert np.shape(result.parts.rows) == np.shape(result.parts.states) == (3, len(pair[0]["initial"]))


@LAW
@given(pairs(), st.one_of(listed_trees(12), st.sampled_from([{"chain": 1}, {"chain": 7}, {"chain": 1000}])))
def test_profile_sums_to_the_value(pair, shape):
    result = hd.joint_kl(*built(pair), tree(shape))
    assert result.by_node.shape == (tree(shape).n_nodes,)
    assert np.all(result.by_node >= 0)
    assert within(np.sum(result.by_node), result.value, 1e-12)


@LAW
@given(pairs(groups=2), listed_trees(12, groups=2))
def test_profile_with_groups(pair, shape):
    result = hd.joint_kl(*built(pair), tree(shape))
    assert within(np.sum(result.by_node), result.value, 1e-12)


@LAW
@given(pairs(), TREES)
def test_per_node_divides_by_the_number_of_nodes(pair, shape):
    p, q = built(pair)
    shape = tree(shape)
    result = hd.joint_kl(p, q, shape, per_node=True)
    assert within(result.value, hd.joint_kl(p, q, shape).value / shape.n_nodes, 1e-13)
    check_parts(result)
    if result.by_node is not None:
        assert within(np.sum(result.by_node), result.value, 1e-12)


@LAW
@given(pairs(groups=2), listed_trees(9, groups=2))
def test_inward_equals_the_recursion(pair, shape):
    rows = hd.inward(*built(pair), tree(shape))
    expected = np.array([[float(x) for x in row] for row in inward(*pair, shape)])
    assert rows.shape == expected.shape
    assert np.allclose(rows, expected, rtol=1e-12, atol=0)


@LAW
@given(pairs(), small_trees())
def test_inward_and_the_root_term_give_the_value(pair, shape):
    p, q = built(pair)
    shape = tree(shape)
    root = hd.inward(p, q, shape)[0]
    start = np.sum(p.initial * np.log(p.initial / q.initial))
    # The textbook root term is right to 1e-16 of one, not of itself.
    assert hd.joint_kl(p, q, shape).value == pytest.approx(start + p.initial @ root, rel=1e-12, abs=1e-14)


@LAW
@given(pairs(), regular_trees())
def test_inward_of_a_regular_tree_has_one_row_a_level(pair, shape):
    p, q = built(pair)
    regular = tree(shape)
    listed = hd.Tree(regular.parent)
    rows, every = hd.inward(p, q, regular), hd.inward(p, q, listed)
    assert rows.shape == (regular.depth, p.n_states)
    assert np.allclose(rows[np.asarray(regular.level)], every, rtol=1e-12, atol=0)


@LAW
@given(pairs(), small_trees())
def test_bits_and_nats(pair, shape):
    result = hd.joint_kl(*built(pair), tree(shape))
    bits = result.to("bits")
    assert bits.unit == "bits"
    assert result.unit == "nats"
    assert within(bits.value * np.log(2), result.value, 1e-14)
    check_parts(bits)
