"""No file but a family's own asks what a family is called."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import hidiv
from hidiv.emissions.registry import FAMILIES

SOURCE = Path(hidiv.__file__).parent
FILES = [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "emissions" / "registry.py"]
OPTIONS = ("wavelets/wavelet_model.py",)  # where these words are values of an option
OPTIONS += ("comparison/pairwise/pairwise.py", "divergences/measures/product_kernel.py")  # an exponent called beta


def names_asked_for(text: str, own: str = "") -> list[str]:
    """Names of families in comparisons, tables and calls; those that only stand in a signature or a text are fine."""
    tree = ast.parse(text)
    allowed = {id(default) for node in ast.walk(tree) if isinstance(node, ast.arguments)
               for default in (*node.defaults, *node.kw_defaults)}  # fmt: skip
    allowed |= {id(word.value) for node in ast.walk(tree) if isinstance(node, ast.Call)
                for word in node.keywords if word.arg == "default"}  # fmt: skip
    found = []
    for node in ast.walk(tree):
        named = isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in FAMILIES
        if named and id(node) not in allowed and node.value != own:
            found.append(f"line {node.lineno}: {node.value}")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_no_name_of_a_family(path):
    if path.relative_to(SOURCE).as_posix() in OPTIONS:
        return
    assert names_asked_for(path.read_text(encoding="utf-8"), own=path.stem) == []


@pytest.mark.parametrize(
    "text", ['p.name == "poisson"', 'p.name in ("gamma", "beta")', '{"silent": 1}', 'COUNTS = frozenset({"binomial"})']
)
def test_the_search_finds_them(text):
    assert names_asked_for(text)
