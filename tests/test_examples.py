"""Every example in a docstring and in the documentation runs and prints what it says."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module
from importlib.util import find_spec
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
# Modules whose library is not among the extra `test`, and where their examples run instead.
ELSEWHERE = {
    "hidiv.sktime": "sktime pins other libraries, so make test-adapters-sktime has an environment of its own",
}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def installed(name: str) -> bool:
    """Whether the library of a module of ELSEWHERE, which has the same name, is there."""
    return find_spec(name.rpartition(".")[2]) is not None


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    if name in ELSEWHERE and not installed(name):
        pytest.skip(ELSEWHERE[name])
    failed, _ = doctest.testmod(import_module(name), optionflags=FLAGS)
    assert failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages(page: Path) -> None:
    failed, _ = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8")
    assert failed == 0


def test_some_examples_were_found() -> None:
    finder = doctest.DocTestFinder()
    here = [name for name in MODULES if name not in ELSEWHERE]
    found = [test for name in here for test in finder.find(import_module(name)) if test.examples]
    assert len(found) > 10


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_module_without_its_library_says_what_to_install(name: str) -> None:
    assert name in MODULES
    if not installed(name):
        with pytest.raises(ModuleNotFoundError, match=f"{name} needs {name.rpartition('.')[2]}: pip install"):
            import_module(name)
