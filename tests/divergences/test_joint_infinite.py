"""Infinite joint divergences name the place; places p cannot reach do not count."""

from __future__ import annotations

import math

import pytest
from hypothesis import given

import hidiv as hd
from tests.loading import tree, within
from tests.oracle.joint import joint
from tests.oracle.rate import rate
from tests.strategies import LAW, pairs, small_trees

HALF = [0.5, 0.5]
P = hd.Model(HALF, [[0.5, 0.5], [0.25, 0.75]], hd.Categorical([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]]))


def q_with(initial=HALF, transition=((0.5, 0.5), (0.5, 0.5)), probs=((0.25, 0.25, 0.5), (0.5, 0.25, 0.25))):
    return hd.Model(initial, [list(row) for row in transition], hd.Categorical([list(row) for row in probs]))


@pytest.mark.parametrize(
    ("q", "words"),
    [
        (q_with(initial=[1.0, 0.0]), ["initial", "state 1"]),
        (q_with(transition=[[0.5, 0.5], [0.0, 1.0]]), ["transition", "from state 1", "to state 0"]),
        (q_with(probs=[[0.25, 0.25, 0.5], [0.5, 0.5, 0.0]]), ["emission", "state 1", "symbol 2"]),
    ],
)
def test_the_place_is_named(q, words):
    for shape in (4, hd.Tree([-1, 0, 0, 1]), hd.Tree.regular(2, 3)):
        result = hd.joint_kl(P, q, shape)
        assert result.value == math.inf
        assert all(word in result.infinite[0] for word in words), result.infinite
        assert "\n" not in result.infinite[0]
    result = hd.joint_kl_rate(P, q)
    assert result.value == math.inf
    assert all(word in result.infinite[0] for word in words), result.infinite


def test_the_first_place_comes_first():
    q = q_with(initial=[1.0, 0.0], transition=[[0.5, 0.5], [0.0, 1.0]])
    reasons = hd.joint_kl(P, q, 5).infinite
    assert "initial" in reasons[0]
    assert any("transition" in reason for reason in reasons[1:])


def test_the_group_is_named():
    p = hd.Model(HALF, [P.to_dict()["transition"]] * 2, [hd.Categorical([[0.5, 0.5], HALF])] * 2)
    q = hd.Model(HALF, [[HALF, HALF], [HALF, [0.0, 1.0]]], [hd.Categorical([HALF, HALF])] * 2)
    result = hd.joint_kl(p, q, hd.Tree([-1, 0, 1, 1], [0, 0, 1, 0]))
    assert result.value == math.inf
    assert "group 1" in result.infinite[0]
    assert "state 1" in result.infinite[0]
    # Nobody uses that group here.
    assert hd.joint_kl(p, q, hd.Tree([-1, 0, 1, 1], [0, 0, 0, 0])).value < math.inf
    # Nor here: the root uses the initial law.
    assert hd.joint_kl(p, q, hd.Tree([-1, 0, 1, 1], [1, 0, 0, 0])).value < math.inf


def test_a_transition_out_of_a_leaf_does_not_count():
    """p comes to state 1 at the second node only; from there a chain of two goes nowhere."""
    p = hd.Model([1.0, 0.0], [[0.5, 0.5], [0.5, 0.5]], hd.Silent(2))
    q = hd.Model([1.0, 0.0], [[0.25, 0.75], [0.0, 1.0]], hd.Silent(2))
    finite = 0.5 * math.log(0.5 / 0.25) + 0.5 * math.log(0.5 / 0.75)
    assert hd.joint_kl(p, q, 1).value == 0
    assert within(hd.joint_kl(p, q, 2).value, finite, 1e-14)
    assert hd.joint_kl(p, q, hd.Tree([-1, 0, 0])).value < math.inf
    assert hd.joint_kl(p, q, 3).value == math.inf


def test_an_unreachable_state_does_not_count():
    p = hd.Model([1.0, 0.0], [[1.0, 0.0], [0.5, 0.5]], hd.Categorical([[0.5, 0.5], [0.5, 0.5]]))
    q = hd.Model([1.0, 0.0], [[0.5, 0.5], [0.0, 1.0]], hd.Categorical([[0.5, 0.5], [1.0, 0.0]]))
    result = hd.joint_kl(p, q, 10)
    assert within(result.value, 9 * math.log(2), 1e-14)
    assert result.infinite == []
    assert within(hd.joint_kl_rate(p, q).value, math.log(2), 1e-14)
    assert float(result.parts.rows[1]) == 0
    assert float(result.parts.states[1]) == 0


def test_infinite_parts_and_profile_are_never_nan():
    q = q_with(transition=[[0.5, 0.5], [0.0, 1.0]], probs=[[0.25, 0.25, 0.5], [0.5, 0.5, 0.0]])
    result = hd.joint_kl(P, q, 6)
    assert result.value == math.inf
    assert not any(math.isnan(x) for x in result.by_node)
    assert not any(math.isnan(x) for x in [*result.parts.rows, *result.parts.states, result.parts.initial])
    assert not any(math.isnan(x) for row in hd.inward(P, q, 6) for x in row)
    assert float(hd.do_bound(P, q, 6)) == math.inf


@LAW
@given(pairs(["categorical"], zeros=True), small_trees())
def test_zeros_anywhere_agree_with_enumeration(pair, shape):
    """q with zeros and p without, both ways round."""
    narrow, wide = pair
    expected = joint(wide, narrow, shape)
    result = hd.joint_kl(hd.Model.from_dict(wide), hd.Model.from_dict(narrow), tree(shape))
    assert within(result.value, expected, 1e-12)
    assert bool(result.infinite) == (expected == math.inf)


@LAW
@given(pairs(["categorical"], zeros=True), pairs(["categorical"], zeros=True), small_trees())
def test_zeros_in_both_agree_with_enumeration(first, second, shape):
    p, q = first[0], second[0]
    if len(p["initial"]) != len(q["initial"]):
        return
    expected = joint(p, q, shape)
    result = hd.joint_kl(hd.Model.from_dict(p), hd.Model.from_dict(q), tree(shape))
    assert within(result.value, expected, 1e-12)
    assert bool(result.infinite) == (expected == math.inf)
    assert within(float(hd.do_bound(hd.Model.from_dict(p), hd.Model.from_dict(q), tree(shape))), expected, 1e-12)
    limit = rate(p, q)
    assert within(hd.joint_kl_rate(hd.Model.from_dict(p), hd.Model.from_dict(q)).value, limit, 1e-12)
