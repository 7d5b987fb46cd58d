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
    run(python_blocks(GUIDE)[1], GUIDE, hd=hd, np=np, pytest=pytest, Pair=Pair, applies=method.applies, run=method.run)[
        name
    ]()
