"""The pages and docstrings name everything there is, and the citations lead somewhere."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import nbformat
import pytest

import hidiv

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SOURCES = sorted(Path(hidiv.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("name", sorted(set(hidiv.__all__) - {"__version__"}))
def test_the_reference_has_every_public_name(name: str) -> None:
    assert re.search(rf"hidiv\.{name}\b", (DOCS / "reference.md").read_text()), f"docs/reference.md lacks hidiv.{name}"


@pytest.mark.parametrize("name", hidiv.plots.__all__)
def test_the_gallery_shows_every_plot(name: str) -> None:
    gallery = (DOCS / "gallery.md").read_text()
    assert f"hd.plots.{name}(" in gallery, f"docs/gallery.md does not call hd.plots.{name}"
    assert f"<!-- picture {name}:" in gallery, f"docs/gallery.md has no picture of hd.plots.{name}"


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


# They read, write or convert, search for candidates, or call one of the others many times.
NO_FORMULA = {"as_model", "smoothed", "load", "save", "to_hmmlearn", "faiss_index", "choose", "bootstrap_divergence"}
NO_FORMULA |= {"fit_many", "read_conllu", "pairwise"}


@pytest.mark.parametrize("name", [name for name in hidiv.__all__ if inspect.isfunction(getattr(hidiv, name))])
def test_what_computes_a_formula_cites_its_equation(name: str) -> None:
    text = " ".join((getattr(hidiv, name).__doc__ or "").split())
    assert (re.search(r"[Dd]efinitions \(\d+\.\d+\)", text) is None) == (name in NO_FORMULA)
    assert name in NO_FORMULA or ">>> " in text, f"{name} has no example"


# The names of hidiv itself are checked in test_docstrings.py.
PUBLIC = {f"hd.plots.{name}": getattr(hidiv.plots, name) for name in hidiv.plots.__all__}
PUBLIC |= {
    f"hd.wavelets.{name}": getattr(hidiv.wavelets, name)
    for name in hidiv.wavelets.__all__
    if inspect.isfunction(getattr(hidiv.wavelets, name))
}


@pytest.mark.parametrize("name", PUBLIC)
def test_a_docstring_explains_the_parameters_one_by_one(name: str) -> None:
    text = inspect.getdoc(PUBLIC[name]) or ""
    sections = dict(re.findall(r"^([A-Z][a-z]+)\n-{3,}\n(.*?)(?=^[A-Z][a-z]+\n-{3,}\n|\Z)", text, re.M | re.S))
    needed = {"Parameters", "Returns", "Examples"}
    if inspect.signature(PUBLIC[name]).return_annotation in (None, "None"):
        needed -= {"Returns"}
    if name.removeprefix("hd.") in NO_FORMULA:
        needed -= {"Examples"}
    assert needed <= sections.keys()
    explained = [
        each.strip().lstrip("*")
        for names in re.findall(r"^(\S.*?) : \S", sections["Parameters"], re.M)
        for each in names.split(",")
    ]
    assert explained == list(inspect.signature(PUBLIC[name]).parameters)


def test_a_section_is_cited_only_where_it_has_no_equation() -> None:
    sections = re.split(r"^## (\d+)\. .*$", (DOCS / "definitions.md").read_text(), flags=re.MULTILINE)
    numbered = {number for number, text in zip(sections[1::2], sections[2::2], strict=True) if r"\tag" in text}
    words = {"1"}  # what a tree, a group and evidence are is said in words
    cited = {
        (path.name, number)
        for path in SOURCES
        for number in re.findall(r"definitions,\s+section\s+(\d+)", path.read_text())
    }
    assert {(name, number) for name, number in cited if number in numbered - words} == set()


def test_every_page_is_in_the_contents() -> None:
    contents = (DOCS / "index.md").read_text().splitlines()
    pages = {str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md")} - {"index"}
    assert {page for page in pages if page not in contents and not page.startswith("_build")} == set()


def test_tutorials_are_notebooks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(DOCS), *sys.path])
    from run_examples import notebook  # type: ignore[import-not-found]

    for page in sorted((DOCS / "tutorials").glob("*.md")):
        made = nbformat.from_dict(notebook(page.read_text()))
        nbformat.validate(made)
        code = [cell.source for cell in made.cells if cell.cell_type == "code"]
        assert len(code) > 2
        assert not any(">>>" in cell.source for cell in made.cells), "examples are code cells"
        for source in code:
            compile(source, page.name, "exec")


def test_a_tagged_equation_has_one_line() -> None:
    # Sphinx puts what has line breaks into an environment that may not be tagged, and an error is all that is shown.
    for page in sorted(DOCS.glob("*.md")):
        for equation in re.findall(r"^\$\$$(.*?)^\$\$$", page.read_text(), flags=re.MULTILINE | re.DOTALL):
            assert r"\tag" not in equation or "\\\\" not in equation, f"{page.name}: {equation}"
