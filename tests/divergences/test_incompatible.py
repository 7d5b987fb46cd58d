"""Models, or a model and a tree, that cannot be compared: one sentence that says what differs and what to use."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import IncompatibleModels

HALF = [0.5, 0.5]
COMPARE = {
    "joint_kl": lambda p, q, tree: hd.joint_kl(p, q, tree),
    "do_bound": lambda p, q, tree: hd.do_bound(p, q, tree),
    "inward": lambda p, q, tree: hd.inward(p, q, tree),
    "joint_renyi": lambda p, q, tree: hd.joint_renyi(p, q, tree, 0.5),
}
CALLS = pytest.mark.parametrize("call", COMPARE.values(), ids=COMPARE)


def two_states(emission=None, groups=None):
    transition = [HALF, HALF]
    return hd.Model(HALF, transition if groups is None else [transition] * groups, emission or hd.Silent(2))


def three_states():
    third = [0.25, 0.25, 0.5]
    return hd.Model(third, [third] * 3, hd.Silent(3))


def refused(call, *arguments):
    """The message, one line long."""
    with pytest.raises(IncompatibleModels) as caught:
        call(*arguments)
    message = str(caught.value)
    assert "\n" not in message
    return message


@CALLS
def test_different_numbers_of_states_point_to_the_observed_divergence(call):
    message = refused(call, two_states(), three_states(), 5)
    assert "2" in message
    assert "3" in message
    assert "observed" in message


def test_different_numbers_of_states_have_no_rate():
    message = refused(hd.joint_kl_rate, two_states(), three_states())
    assert "observed" in message


@CALLS
def test_families_without_a_pair_are_both_named(call):
    p, q = two_states(hd.Poisson([1.0, 2.0])), two_states(hd.Gaussian([0.0, 1.0], std=[1.0, 1.0]))
    message = refused(call, p, q, 5).lower()
    assert "poisson" in message
    assert "gaussian" in message


@CALLS
def test_different_numbers_of_symbols_or_columns(call):
    p = two_states(hd.Categorical([[0.5, 0.5], [0.5, 0.5]]))
    q = two_states(hd.Categorical([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]]))
    message = refused(call, p, q, 5)
    assert "2" in message
    assert "3" in message
    p = two_states(hd.Poisson(np.ones((2, 2))))
    q = two_states(hd.Poisson(np.ones((2, 3))))
    message = refused(call, p, q, 5)
    assert "2" in message
    assert "3" in message


@CALLS
def test_a_grouped_model_needs_a_tree_with_groups(call):
    for p, q in ((two_states(groups=2), two_states()), (two_states(), two_states(groups=2))):
        assert "group" in refused(call, p, q, hd.Tree([-1, 0, 0]))
        assert "group" in refused(call, p, q, 3)


@CALLS
def test_a_group_the_model_does_not_have(call):
    message = refused(call, two_states(groups=2), two_states(), hd.Tree([-1, 0, 0], [0, 1, 2]))
    assert "2" in message
    assert "group" in message


@CALLS
def test_a_regular_tree_needs_one_group_a_level(call):
    message = refused(call, two_states(groups=2), two_states(groups=2), hd.Tree.regular(2, 3))
    assert "level" in message
    assert "3" in message


@CALLS
def test_a_missing_transition_may_serve_the_root_only(call):
    p = hd.Model(HALF, [None, [HALF, HALF]], hd.Silent(2))
    call(p, p, hd.Tree([-1, 0, 0], [0, 1, 1]))
    call(p, p, hd.Tree.regular(2, 2))
    call(p, p, hd.Tree([-1], [0]))
    message = refused(call, p, p, hd.Tree([-1, 0, 0], [0, 0, 1]))
    assert "0" in message
    assert "transition" in message
