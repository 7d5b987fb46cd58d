"""The guide for adding a kernel: its numpy twin, run as it stands."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from hidiv.recursions import kernels as choice
from tests.developer.guides import python_blocks, run, run_module

GUIDE = "adding_a_kernel.md"


@pytest.fixture
def kernels(monkeypatch):
    monkeypatch.setattr(choice, "_module", None)  # the guide's kernel is not compiled
    monkeypatch.setattr(choice, "twins", dict(choice.twins))
    run_module(python_blocks(GUIDE)[0], GUIDE, "hidiv.recursions.level_sums", monkeypatch)
    return SimpleNamespace(level_sums=choice.twins["level_sums"])


@pytest.mark.parametrize("name", ["test_sums_of_levels", "test_an_empty_level_is_zero"])
def test_the_guides_tests_pass(name, kernels):
    run(python_blocks(GUIDE)[1], GUIDE, np=np)[name](kernels)
