"""The guide for adding a method for the observed divergence: its code, run as it stands."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences.pair import Pair
from tests.developer.guides import python_blocks, run, run_module

GUIDE = "adding_a_method.md"


@pytest.fixture
def method(monkeypatch):
    return run_module(python_blocks(GUIDE)[0], GUIDE, "hidiv.divergences.observed.one_state", monkeypatch)


@pytest.mark.parametrize(
    "name",
    [
        "test_one_state_against_all_words",
        "test_the_rate_and_infinity",
        "test_more_states_are_left_to_other_methods",
    ],
)
def test_the_guides_tests_pass(name, method):
    run(python_blocks(GUIDE)[2], GUIDE, hd=hd, np=np, pytest=pytest, Pair=Pair, applies=method.applies, run=method.run)[
        name
    ]()


def test_the_guides_row_is_chosen(method, monkeypatch):
    from hidiv.divergences.observed import choose

    row = run(python_blocks(GUIDE)[1], GUIDE, one_state=method, **vars(choose))
    monkeypatch.setattr(choose, "ROUTES", row["ROUTES"])
    p, q = (hd.Model([1.0], [[1.0]], hd.Poisson([rate])) for rate in (1.0, 2.0))
    found = hd.observed_kl(p, q, 1000, method="exact")
    assert found.status == "exact"
    assert found.value == pytest.approx(hd.joint_kl(p, q, 1000).value, rel=1e-12)
    assert "one hidden state" in found.notes[0]
