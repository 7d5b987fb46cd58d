"""The pages name everything there is, and the citations lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hidiv

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SOURCES = sorted(Path(hidiv.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("name", sorted(set(hidiv.__all__) - {"__version__"}))
def test_the_reference_has_every_public_name(name: str) -> None:
    assert re.search(rf"hidiv\.{name}\b", (DOCS / "reference.md").read_text()), f"docs/reference.md lacks hidiv.{name}"


def test_every_cited_equation_exists() -> None:
    tags = set(re.findall(r"\\tag\{([\d.]+)\}", (DOCS / "definitions.md").read_text()))
    cited = {
        (path.name, number)
        for path in SOURCES
        for citation in re.findall(r"definitions ((?:\(\d+\.\d+\)(?:, | and )?)+)", path.read_text())
        for number in re.findall(r"\d+\.\d+", citation)
    }
    assert cited, "docstrings cite equations"
    assert {entry for entry in cited if entry[1] not in tags} == set()


def test_every_page_is_in_the_contents() -> None:
    contents = (DOCS / "index.md").read_text().splitlines()
    pages = {str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md")} - {"index"}
    assert {page for page in pages if page not in contents and not page.startswith("_build")} == set()
