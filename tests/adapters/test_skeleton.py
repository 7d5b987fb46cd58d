"""The guide for adding an adapter: its code blocks, run as they stand against a library made up here."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import hidiv as hd
from hidiv.adapters import as_model
from hidiv.errors import InvalidModel
from tests.peers.drawn import laws

GUIDE = Path(__file__).parents[2] / "docs" / "developer" / "adding_an_adapter.md"


class CoinChain:
    """The library: an obvious forward recursion."""

    def log_likelihood(self, x):
        weight = self.first_ * np.where(x[0] == 1, self.heads_, 1 - self.heads_)
        for value in x[1:]:
            weight = (self.moves_ @ weight) * np.where(value == 1, self.heads_, 1 - self.heads_)
        return np.log(weight.sum())


CoinChain.__module__ = "coins.chains"


def drawn(rng):
    theirs = CoinChain()
    theirs.first_, theirs.moves_, theirs.heads_ = laws(rng, 3), laws(rng, 3, 3).T, rng.random(3)
    return theirs


@pytest.fixture
def tests(monkeypatch):
    """The tests of the guide, its adapter registered for the time of one test."""
    adapter, written = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    module = ModuleType("hidiv.adapters.coins")
    exec(compile(adapter, str(GUIDE), "exec"), vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(as_model.LIBRARIES, "coins", module.__name__)
    names = {"drawn": drawn, "hd": hd, "np": np, "pytest": pytest, "InvalidModel": InvalidModel}
    exec(compile(written, str(GUIDE), "exec"), names)
    return names


@pytest.mark.parametrize("name", ["test_likelihood", "test_covariates_are_refused"])
def test_the_guides_tests_pass_with_the_guides_adapter(name, tests):
    tests[name]()


def test_an_unfitted_and_an_unknown_one_are_refused(tests):
    with pytest.raises(InvalidModel, match="coins CoinChain: first_: is not set"):
        hd.as_model(CoinChain())
    with pytest.raises(InvalidModel, match="coins Other: class: cannot be read, got Other; known are CoinChain"):
        hd.as_model(type("Other", (), {"__module__": "coins"})())
