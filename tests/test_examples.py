"""Every example in a docstring and in the documentation runs and prints what it says."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

import hidiv

ROOT = Path(__file__).parent.parent
# The code of docs/developer is run by tests/developer and by the tests of families and adapters.
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").glob("**/*.md") if page.parent.name != "developer"),
]
MODULES = [info.name for info in pkgutil.walk_packages(hidiv.__path__, "hidiv.") if not info.name.endswith("_kernels")]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    failed, _ = doctest.testmod(import_module(name), optionflags=FLAGS)
    assert failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages(page: Path) -> None:
    failed, _ = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8")
    assert failed == 0


def test_some_examples_were_found() -> None:
    finder = doctest.DocTestFinder()
    found = [test for name in MODULES for test in finder.find(import_module(name)) if test.examples]
    assert len(found) > 10
