"""The guide for adding a measure: its code, run as it stands."""

from __future__ import annotations

import doctest
import itertools

import numpy as np
import pytest

import hidiv as hd
from tests.developer.guides import python_blocks, run, run_module

GUIDE = "adding_a_measure.md"


@pytest.fixture
def module(monkeypatch):
    return run_module(python_blocks(GUIDE)[0], GUIDE, "hidiv.divergences.state_kl", monkeypatch)


@pytest.mark.parametrize("name", ["test_against_plain_loops", "test_laws"])
def test_the_guides_tests_pass(name, module):
    run(python_blocks(GUIDE)[1], GUIDE, hd=hd, np=np, pytest=pytest, itertools=itertools, state_kl=module.state_kl)[
        name
    ]()


def test_the_guides_example_runs(module):
    results = doctest.testmod(module)
    assert results.attempted > 0
    assert results.failed == 0


def test_it_is_the_joint_divergence_of_silent_models(module):
    tree = hd.Tree.regular(2, 3)
    rng = np.random.default_rng(1)
    groups = [None, *rng.dirichlet([1, 1], (2, 2))], [None, *rng.dirichlet([1, 1], (2, 2))]
    p, q = (hd.Model([0.5, 0.5], rows, hd.Silent(2)) for rows in groups)
    assert module.state_kl(p, q, tree).value == pytest.approx(hd.joint_kl(p, q, tree).value, rel=1e-12)
