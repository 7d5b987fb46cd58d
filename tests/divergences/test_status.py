"""What a value says of its accuracy: an approximation has an error, which is in its words, its JSON and its sums."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

import hidiv as hd
from hidiv.divergences.forest import over_forest
from hidiv.divergences.posterior.expected import expected_posterior
from hidiv.errors import InvalidFile

CLOSE = hd.Divergence(2.0, "observed", "approximation", error=3.6e-14)
ROUGH = hd.Divergence(2.0, "observed", "approximation")
DRAWN = hd.Divergence(2.0, "observed", "estimate", 1.8, 2.2, 0.1, 50)
SURE = hd.Divergence(2.0, "observed", "certified", 1.9, 2.1)


def test_words():
    assert repr(CLOSE) == "observed divergence D(p || q) = 2 nats, approximation (error about 3.6e-14)"
    assert repr(ROUGH) == "observed divergence D(p || q) = 2 nats, approximation"
    assert (CLOSE.std_error, CLOSE.n_samples, ROUGH.error, DRAWN.error) == (None,) * 4


def test_units():
    assert CLOSE.to("bits").error == pytest.approx(3.6e-14 / 0.6931471805599453, rel=1e-15)
    assert DRAWN.to("bits").error is None


@pytest.mark.parametrize("result", [CLOSE, ROUGH, DRAWN, SURE])
def test_saved_copied_and_pickled(result):
    described = json.loads(json.dumps(result.to_dict()))
    for again in (hd.Divergence.from_dict(described), pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert again == result
        assert again.to_dict() == result.to_dict()
        assert again.error == result.error


def test_files_without_an_error_are_read():
    described = CLOSE.to_dict()
    del described["error"]
    assert hd.Divergence.from_dict(described).error is None
    with pytest.raises(InvalidFile, match="^error"):
        hd.Divergence.from_dict(described | {"error": "small"})


def over(*results):
    """The sum over as many different trees."""
    by_tree = {hd.Tree.chain(n + 1): one for n, one in enumerate(results)}
    return over_forest(list(by_tree), by_tree.__getitem__)


def test_sums_over_a_forest():
    total = over(CLOSE, CLOSE)
    assert (total.status, total.error, total.std_error) == ("approximation", 7.2e-14, None)
    assert (total.lower, total.upper) == pytest.approx((4.0, 4.0), abs=1e-13)
    assert (over(CLOSE, SURE).status, over(CLOSE, SURE).error) == ("approximation", 3.6e-14)
    mixed = over(CLOSE, DRAWN)
    assert (mixed.status, mixed.std_error, mixed.error) == ("estimate", 0.1, None)
    assert (mixed.lower, mixed.upper) == pytest.approx((3.8, 4.2), rel=1e-12)
    unknown = over(CLOSE, ROUGH, DRAWN)
    assert (unknown.status, unknown.error, unknown.lower) == ("approximation", None, None)


def test_the_remainder_has_the_error_of_the_observed_one():
    left = expected_posterior(hd.Divergence(5.0, "joint"), CLOSE)
    assert (left.value, left.status, left.error) == (3.0, "approximation", 3.6e-14)
    endless = expected_posterior(hd.Divergence(float("inf"), "joint", infinite=["somewhere"]), CLOSE)
    assert (endless.error, endless.lower) == (None, None)


def test_a_comparison_says_it():
    found = hd.Comparison("D(p || q)", None, None, observed=CLOSE)
    assert "  observed: 2 nats, approximation (error about 3.6e-14)" in repr(found)
    assert hd.Comparison.from_dict(json.loads(json.dumps(found.to_dict()))) == found
