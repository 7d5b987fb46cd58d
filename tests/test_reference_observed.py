"""The reference values of observed divergences."""

from __future__ import annotations

import pytest

import hidiv as hd

from .loading import cases, further, models, tree, within

ENUMERATED = cases("observed") + [case for case in further("observed") if "rtol" in case.values[0]]
CERTIFIED = [case for case in further("observed") if "width" in case.values[0] or "lower" in case.values[0]]


@pytest.mark.parametrize("case", ENUMERATED)
def test_enumerated(case):
    result = hd.observed_kl(*models(case), tree(case["tree"]), method="exact")
    assert result.status == "exact"
    assert within(result.value, case["value"], case["rtol"])


@pytest.mark.parametrize("case", CERTIFIED)
def test_certified_intervals_meet(case):
    """Two intervals that both hold have a point in common."""
    result = hd.observed_kl(*models(case), tree(case["tree"]), method="certified")
    half = case.get("width", 0) / 2
    assert result.lower <= float(case.get("upper", case.get("value"))) + half
    assert result.upper >= float(case.get("lower", case.get("value"))) - half


@pytest.mark.parametrize("case", further("observed_rate"))
def test_rate(case):
    """A certified interval holds the value; others are within five of their errors."""
    result = hd.observed_kl_rate(*models(case), seed=1, max_samples=20)
    expected = float(case["value"])
    slack = case["rtol"] * expected
    if result.status == "certified":
        assert result.lower - slack <= expected <= result.upper + slack
    else:
        error = result.std_error if result.error is None else result.error
        assert abs(result.value - expected) <= 5 * error + slack
