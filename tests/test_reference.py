"""The reference values of joint divergences, rates, Renyi divergences and chains of random length."""

from __future__ import annotations

import pytest

import hidiv as hd

from .loading import cases, further, models, tree, within


def checked(result, case):
    """The value is the reference; an exact result is its own bounds, an infinite one says why."""
    assert within(result.value, case["value"], case["rtol"]), (result.value, case["value"])
    assert result.quantity == "joint"
    assert result.status == "exact"
    assert result.lower == result.value == result.upper
    assert bool(result.infinite) == (case["value"] == "inf")


@pytest.mark.parametrize("case", cases("joint") + further("joint"))
def test_joint(case):
    checked(hd.joint_kl(*models(case), tree(case["tree"])), case)


@pytest.mark.parametrize("case", cases("joint") + further("joint"))
def test_do_bound(case):
    value = float(hd.do_bound(*models(case), tree(case["tree"])))
    assert within(value, case["value"], case["rtol"])


@pytest.mark.parametrize("case", cases("rate") + further("rate"))
def test_rate(case):
    checked(hd.joint_kl_rate(*models(case)), case)


@pytest.mark.parametrize("case", cases("renyi"))
def test_renyi(case):
    value = float(hd.joint_renyi(*models(case), tree(case["tree"]), case["alpha"]))
    assert within(value, case["value"], case["rtol"])


@pytest.mark.parametrize("case", cases("until_end"))
def test_until_end(case):
    checked(hd.joint_kl(*models(case), hd.UNTIL_END), case)
