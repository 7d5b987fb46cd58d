"""One of a thing is not "1 things", wherever a count is printed."""

from __future__ import annotations

import re

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import counted
from hidiv.files.csv_values import values_from_text
from hidiv.files.named_matrices import matrix_from_text
from hidiv.fitting.bootstrap_result import summary

ONE = hd.Model([1.0], [[1.0]], hd.Poisson([2.0]))
TWO = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1.0, 4.0]))
WRONG = re.compile(r"\b1 (?!is\b|has\b|was\b)[a-z]+s\b")

SAID = {
    "a model": lambda: repr(ONE),
    "a collection": lambda: repr(hd.Collection([ONE])),
    "evidence": lambda: repr(hd.Evidence([3.0])),
    "a chain": lambda: repr(hd.joint_kl(ONE, ONE, 1)),
    "a regular tree": lambda: repr(hd.joint_kl(ONE, ONE, hd.Tree.regular(1, 1))),
    "a fit": lambda: repr(hd.fit(np.arange(4.0), None, 1, "poisson", n_init=1, max_iter=1, seed=0)),
    "states of another number": lambda: hd.joint_kl(ONE, TWO, 3),
    "groups": lambda: hd.joint_kl(hd.Model([1.0], [None, [[1.0]]], hd.Poisson([2.0])), ONE, hd.Tree.regular(2, 1)),
    "nodes": lambda: hd.log_likelihood(ONE, [1.0, 2.0], 1),
    "columns": lambda: hd.Evidence([[1.0]], lower=[[1.0, 2.0]]),
    "families": lambda: hd.Model([1.0], [[1.0]], hd.Poisson([2.0, 3.0])),
    "lengths": lambda: hd.posterior_kl_batch(ONE, ONE, [1.0], lengths=[2]),
    "symbols": lambda: hd.Model([1.0], [[1.0]], hd.Categorical([[1.0]]), symbol_names=["a", "b"]),
    "symbol columns": lambda: hd.Model([1.0], [[1.0]], hd.Categorical([[1.0]]), symbol_names=[["a"], None]),
    "state names": lambda: hd.Model([1.0], [[1.0]], hd.Poisson([2.0]), state_names=["a", "b"]),
    "values": lambda: hd.log_likelihood(ONE, [[1.0, 2.0]]),
    "trees": lambda: hd.fit([[1.0, 2.0]], [2, 2], 1, "poisson"),
    "group families": lambda: hd.fit([1.0, 2.0], None, 1, ["poisson", "poisson"]),
    "nearly empty states": lambda: hd.fit(
        [0.0, 9.0, 9.0], None, 2, "poisson", start=hd.Model([1, 0], [[0, 1], [0, 1]], hd.Poisson([1, 9])), max_iter=1
    ),
    "infinite replicates": lambda: summary(2.0, np.array([2.0, np.inf, 2.0]), None, None),
    "one replicate": lambda: summary(2.0, np.array([2.0, 3.0]), np.array([0.5]), 2.0),
    "one pair": lambda: matrix_from_text(",a\nb,1,2\n", "x.csv"),
    "one field": lambda: values_from_text("1\n2,3\n", "x.csv"),
}


@pytest.mark.parametrize("said", SAID.values(), ids=SAID)
def test_one_is_singular(said):
    try:
        text = str(said())
    except hd.HidivError as error:
        text = str(error)
    assert WRONG.search(text) is None, text


def test_counts():
    assert [counted(n, "state") for n in (0, 1, 2)] == ["0 states", "1 state", "2 states"]
    assert counted(2, "child", "children") == "2 children"
    assert [counted(text, "node") for text in ("0.5", "1", "1.2")] == ["0.5 nodes", "1 node", "1.2 nodes"]
