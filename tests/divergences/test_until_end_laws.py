"""Laws of the joint divergence of chains of random length."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

import hidiv as hd
from hidiv.errors import HidivError, IncompatibleModels
from tests.loading import within
from tests.oracle.until_end import until_end
from tests.strategies import LAW, pairs


def built(pair):
    return [hd.Model.from_dict(model) for model in pair]


@LAW
@given(pairs(end=True))
def test_equals_the_sum_over_steps(pair):
    assert within(hd.joint_kl(*built(pair), hd.UNTIL_END).value, until_end(*pair), 1e-12)


@LAW
@given(pairs(end=True))
def test_parts_zero_on_itself_and_labels(pair):
    p, q = built(pair)
    result = hd.joint_kl(p, q, hd.UNTIL_END)
    parts = result.parts
    assert within(parts.initial + np.sum(parts.transition) + np.sum(parts.emission), result.value, 1e-12)
    assert result.value >= 0
    assert hd.joint_kl(p, p, hd.UNTIL_END).value == 0
    order = [*range(1, p.n_states), 0]
    assert within(hd.joint_kl(p.relabel(order), q.relabel(order), hd.UNTIL_END).value, result.value, 1e-12)


def test_the_geometric_length_of_one_state():
    """One silent state that stops with probability a: KL of two geometric laws."""
    p, q = (hd.Model([1.0], [[1 - stop]], hd.Silent(1), end=[stop]) for stop in (0.25, 0.5))
    expected = math.log(0.25 / 0.5) + 3 * math.log(0.75 / 0.5)
    assert within(hd.joint_kl(p, q, hd.UNTIL_END).value, expected, 1e-14)


def test_long_chains_keep_their_digits():
    """Mean length 2^40: I - Q is singular to twelve digits, the elimination has no subtraction."""
    stop = 2.0**-40
    p = {"initial": [1.0, 0.0], "transition": [[0.5, 0.5], [0.5, 0.5 - stop]], "end": [0.0, stop]}
    q = {"initial": [0.5, 0.5], "transition": [[0.25, 0.5], [0.5, 0.25]], "end": [0.25, 0.25]}
    # Half the steps are in state 1, so 2/stop steps in all, 1/stop in each state.
    d = [0.5 * math.log(2), (0.5 - stop) * math.log((0.5 - stop) / 0.25) + stop * math.log(stop / 0.25)]
    expected = math.log(2) + (d[0] + d[1]) / stop
    pair = [hd.Model.from_dict({**m, "emission": {"family": "silent", "n_states": 2}}) for m in (p, q)]
    assert within(hd.joint_kl(*pair, hd.UNTIL_END).value, expected, 1e-12)


def test_infinite_where_only_p_may_stop():
    p = hd.Model([1.0, 0.0], [[0.5, 0.25], [0.25, 0.5]], hd.Silent(2), end=[0.25, 0.25])
    q = hd.Model([1.0, 0.0], [[0.5, 0.25], [0.5, 0.5]], hd.Silent(2), end=[0.25, 0.0])
    result = hd.joint_kl(p, q, hd.UNTIL_END)
    assert result.value == math.inf
    assert "state 1" in result.infinite[0]
    assert "end" in result.infinite[0]


def test_a_chain_that_need_not_end_is_refused():
    p = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.0, 1.0]], hd.Silent(2), end=[0.0, 0.0])
    for q in (p, hd.Model([0.5, 0.5], [[0.25, 0.5], [0.25, 0.5]], hd.Silent(2), end=[0.25, 0.25])):
        with pytest.raises(HidivError, match="end") as caught:
            hd.joint_kl(p, q, hd.UNTIL_END)
        assert "\n" not in str(caught.value)


def test_a_trap_p_cannot_reach_is_no_obstacle():
    p = hd.Model([1.0, 0.0], [[0.5, 0.0], [0.0, 1.0]], hd.Silent(2), end=[0.5, 0.0])
    q = hd.Model([1.0, 0.0], [[0.75, 0.0], [0.0, 1.0]], hd.Silent(2), end=[0.25, 0.0])
    expected = 2 * (0.5 * math.log(0.5 / 0.75) + 0.5 * math.log(0.5 / 0.25))
    assert within(hd.joint_kl(p, q, hd.UNTIL_END).value, expected, 1e-14)


def test_both_need_an_end():
    with_end = hd.Model([1.0], [[0.5]], hd.Silent(1), end=[0.5])
    without = hd.Model([1.0], [[1.0]], hd.Silent(1))
    for p, q in ((with_end, without), (without, with_end), (without, without)):
        with pytest.raises(IncompatibleModels, match="end") as caught:
            hd.joint_kl(p, q, hd.UNTIL_END)
        assert "\n" not in str(caught.value)
