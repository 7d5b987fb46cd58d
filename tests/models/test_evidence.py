"""Evidence: every form, and every way to get it wrong."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import InvalidEvidence

nan, inf = float("nan"), float("inf")


def test_values_missing_and_masked() -> None:
    assert hd.Evidence([0, 1, 2]).x.tolist() == [[0], [1], [2]]
    assert np.isnan(hd.Evidence([0, nan]).x[1, 0])
    assert np.isnan(hd.Evidence(np.ma.masked_array([0, 1], [False, True])).x[1, 0])
    hidden = hd.Evidence([[1.0, 2.0], [3.0, nan]], missing=[True, False]).x
    assert np.isnan(hidden).tolist() == [[True, True], [False, True]]


def test_frozen_and_copied() -> None:
    x = np.array([1.0, 2.0])
    evidence = hd.Evidence(x)
    x[0] = 9
    assert evidence.x[0, 0] == 1
    assert x.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        evidence.x[0] = 5


def test_list_form() -> None:
    evidence = hd.Evidence.from_list([
        {"x": 1.5}, None, {"between": [None, 2]}, {"in": [0, 2], "states": [1]}, {"states": []},
    ])  # fmt: skip
    assert evidence.n_nodes == 5
    assert evidence.x[0, 0] == 1.5
    assert np.isnan(evidence.x[1:]).all()
    assert (evidence.lower[2, 0], evidence.upper[2, 0]) == (-inf, 2)
    assert evidence.symbol_sets == {3: (0, 2)}
    assert evidence.state_sets == {3: (1,), 4: ()}
    rows = hd.Evidence.from_list([{"x": [1, None]}, {"between": [[0, 0], None]}])
    assert np.isnan(rows.x).tolist() == [[False, True], [True, True]]
    assert rows.upper[1].tolist() == [inf, inf]


@pytest.mark.parametrize(("arguments", "said"), [
    ({}, "evidence: needs at least one of x"),
    ({"x": []}, "x: must have shape (n,) or (n, F) with n at least 1, got (0, 1)"),
    ({"x": [[[1]]]}, "x: must have shape (n,) or (n, F)"),
    ({"x": [object()]}, "x: must be an array of numbers"),
    ({"x": ["a", 1]}, "x: must hold numbers only, or text only for symbols (see node 1), got 'a' and 1"),
    ({"x": [["a", 1], ["b", "c"]]}, "x, column 1: must hold numbers only, or text only for symbols (see node 0)"),
    ({"x": [1, 2], "allowed": [[True, False]]}, "allowed: must describe 2 nodes like x, got 1"),
    ({"x": [1, 2], "missing": [0.5, 1]}, "missing: must be a 1-dimensional array of booleans"),
    ({"x": [1, 2], "symbols": [[1, 0], [1, 1]]}, "node 0: has a value and a set of symbols"),
    ({"lower": [2.0], "upper": [1.0]}, "node 0: the lower bound is above the upper one, got [2, 1]"),
    ({"lower": [nan]}, "lower[0]: a bound cannot be NaN"),
    ({"x": [1.0], "upper": [2.0]}, "node 0: has a value and an interval"),
    ({"lower": [[0.0, 0.0]], "x": [nan]}, "lower: must have 1 column like x, got 2"),
])  # fmt: skip
def test_each_mistake_has_its_sentence(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidEvidence) as caught:
        hd.Evidence(**arguments)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(("nodes", "said"), [
    ([], "evidence: must be a non-empty list"),
    ({"x": 1}, "evidence: must be a non-empty list"),
    ([3], "node 0: must be null or a mapping"),
    ([None, {"y": 3}], "node 1: has an unknown key, got y"),
    ([{"x": 1, "in": [0]}], "node 0: may have only one of x, in, between"),
    ([{"x": "a"}], "node 0: values are numbers or null, got a"),
    ([{"x": True}], "node 0: values are numbers or null"),
    ([{"x": [1, 2]}, {"x": 1}], "evidence: values must have the same number of columns at every node, got [1, 2]"),
    ([{"between": [1]}], 'node 0: "between" needs a lower and an upper end'),
    ([{"between": [2, 1]}], "node 0: the lower bound is above the upper one"),
    ([{"in": [-1]}], 'node 0: "in" needs a list of whole numbers from 0'),
    ([{"states": [0.5]}], 'node 0: "states" needs a list of whole numbers from 0'),
])  # fmt: skip
def test_each_mistake_in_a_list_has_its_sentence(nodes: object, said: str) -> None:
    with pytest.raises(InvalidEvidence) as caught:
        hd.Evidence.from_list(nodes)
    assert str(caught.value).startswith(said)
