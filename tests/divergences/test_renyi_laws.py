"""Laws of the Renyi divergence of the joint law."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hidiv as hd
from hidiv.errors import HidivError
from tests.loading import tree, within
from tests.oracle.renyi import renyi, renyi_by_recursion
from tests.strategies import LAW, listed_trees, near_pairs, pairs, regular_trees, small_trees

CLOSED = ["categorical", "bernoulli", "gaussian", "poisson", "exponential", "gamma", "silent"]
BELOW_ONE = st.sampled_from([0.03125, 0.25, 0.5, 0.75])
ORDERS = st.sampled_from([0.125, 0.5, 0.875, 1.25, 2.0])


def built(pair):
    return [hd.Model.from_dict(model) for model in pair]


def value(pair, shape, order):
    return float(hd.joint_renyi(*built(pair), tree(shape), order))


@LAW
@given(pairs(CLOSED), small_trees(), ORDERS)
def test_equals_enumeration(pair, shape, order):
    assert within(value(pair, shape, order), renyi(*pair, shape, order), 1e-12)


@LAW
@given(pairs(["categorical", "gaussian"], groups=3), listed_trees(6, groups=3), ORDERS)
def test_equals_enumeration_with_groups(pair, shape, order):
    assert within(value(pair, shape, order), renyi(*pair, shape, order), 1e-12)


@LAW
@given(pairs(["categorical"], zeros=True), pairs(["categorical"], zeros=True), small_trees(), ORDERS)
def test_equals_enumeration_with_zeros(first, second, shape, order):
    pair = first[0], second[0]
    if len(pair[0]["initial"]) == len(pair[1]["initial"]):
        assert within(value(pair, shape, order), renyi(*pair, shape, order), 1e-12)


@LAW
@given(near_pairs(), st.sampled_from([{"chain": 30}, {"parent": [-1, 0, 0, 1, 1, 2]}]), ORDERS)
def test_equals_the_recursion_for_near_identical_models(pair, shape, order):
    assert within(value(pair, shape, order), renyi_by_recursion(*pair, shape, order), 1e-11)


@LAW
@given(pairs(CLOSED), st.one_of(small_trees(), regular_trees()), ORDERS)
def test_positive_and_zero_on_itself(pair, shape, order):
    p, q = built(pair)
    assert value(pair, shape, order) >= 0
    assert float(hd.joint_renyi(p, p, tree(shape), order)) == 0
    assert float(hd.joint_renyi(q, q, tree(shape), order)) == 0


@LAW
@given(pairs(CLOSED), small_trees(), BELOW_ONE)
def test_mirror_image(pair, shape, order):
    """(1 - a) D_a(p || q) = a D_(1-a)(q || p)."""
    mirrored = value(pair[::-1], shape, 1 - order)
    assert within((1 - order) * value(pair, shape, order), order * mirrored, 1e-12)


@LAW
@given(pairs(CLOSED), small_trees())
def test_grows_with_the_order_and_passes_the_joint_divergence_at_one(pair, shape):
    orders = [0.125, 0.5, 1 - 2**-10, 1 + 2**-10, 1.25]
    values = [value(pair, shape, order) for order in orders]
    values.insert(3, hd.joint_kl(*built(pair), tree(shape)).value)
    assert all(a <= b * (1 + 1e-12) for a, b in pairwise(values))


@LAW
@given(pairs(["categorical", "poisson", "silent"], grain=4, sticky=False), small_trees())
def test_order_towards_one_tends_to_the_joint_divergence(pair, shape):
    limit = hd.joint_kl(*built(pair), tree(shape)).value
    gaps = []
    for bits in (12, 16, 20):
        step = 2.0**-bits
        middle = (value(pair, shape, 1 + step) + value(pair, shape, 1 - step)) / 2
        gaps.append(abs(middle - limit))
    # The mean of the two sides is off by the square of the step; rounding grows as 1/step.
    assert gaps[1] <= gaps[0] / 100 + 1e-9 * limit
    assert gaps[2] <= 1e-8 * limit


@LAW
@given(pairs(CLOSED), regular_trees(), ORDERS)
def test_regular_tree_is_the_listed_one(pair, shape, order):
    listed = {"parent": [int(u) for u in tree(shape).parent]}
    assert within(value(pair, listed, order), value(pair, shape, order), 1e-12)


@LAW
@given(pairs(CLOSED), st.sampled_from([1, 2, 3, 50, 1000]), ORDERS)
def test_chain_is_the_path(pair, n_nodes, order):
    path = {"parent": list(range(-1, n_nodes - 1))}
    assert within(value(pair, path, order), value(pair, {"chain": n_nodes}, order), 1e-12)
    as_regular = {"regular": {"children": 1, "depth": n_nodes}}
    assert within(value(pair, as_regular, order), value(pair, {"chain": n_nodes}, order), 1e-12)


@LAW
@given(pairs(CLOSED, grain=4, sticky=False), BELOW_ONE)
def test_a_long_chain_grows_by_its_rate(pair, order):
    """log Z is linear in the length in the end, at any length."""
    first, second, third = (value(pair, {"chain": n}, order) for n in (10**6, 2 * 10**6, 3 * 10**6))
    assert within(third - second, second - first, 1e-9)
    assert math.isfinite(value(pair, {"chain": 10**12}, order))


def test_disjoint_supports():
    p = hd.Model([1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], hd.Silent(2))
    q = hd.Model([0.0, 1.0], [[1.0, 0.0], [0.0, 1.0]], hd.Silent(2))
    mixed = hd.Model([0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]], hd.Silent(2))
    for order in (0.5, 2.0):
        assert float(hd.joint_renyi(p, q, 5, order)) == math.inf
    assert within(float(hd.joint_renyi(mixed, q, 5, 0.5)), math.log(2), 1e-14)
    assert float(hd.joint_renyi(mixed, q, 5, 2.0)) == math.inf
    assert within(float(hd.joint_renyi(p, mixed, 5, 2.0)), math.log(2), 1e-14)


@pytest.mark.parametrize("order", [0.0, 1.0, -0.5, math.nan, math.inf])
def test_orders_that_are_none(order):
    p = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], hd.Silent(2))
    with pytest.raises(HidivError, match="alpha") as caught:
        hd.joint_renyi(p, p, 3, order)
    assert "\n" not in str(caught.value)
