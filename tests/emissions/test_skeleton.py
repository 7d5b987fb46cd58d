"""The guide for adding a family: its two code blocks, run through the contract as they stand."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from hidiv.emissions import registry
from tests.emissions import entries, plain_points
from tests.emissions.contract import CHECKS

GUIDE = Path(__file__).parents[2] / "docs" / "developer" / "adding_a_family.md"


@pytest.fixture
def entry(monkeypatch):
    """The entry of the guide, its family registered for the time of one test."""
    family, described = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    module = ModuleType("hidiv.emissions.rayleigh")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(registry.FAMILIES, "rayleigh", "Rayleigh")
    monkeypatch.setattr(registry, "_PAIRS", dict(registry._PAIRS))
    exec(compile(family, str(GUIDE), "exec"), vars(module))
    names = {**vars(plain_points), **vars(entries)}
    exec(compile(described, str(GUIDE), "exec"), names)
    return names["ENTRY"]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_the_guides_family_keeps_the_contract(check, entry):
    check(entry)
