"""Docstrings are written to be read in a terminal: here they become reStructuredText."""

from __future__ import annotations

import re
from collections.abc import Iterator

from run_examples import settled

CODE = re.compile(r"`+([^`]+)`+")
MARKS = re.compile(r"([*|_\\])")
CITED = re.compile(r"definitions(?:, sections? \d| \(\d+\.\d+\))")
SECTION = re.compile(r"^([A-Z][A-Za-z ]+)\n(-{3,})$", re.MULTILINE)
LISTS = ("Parameters", "Other Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns")


def process(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Sphinx calls this with the lines of one docstring, to be changed in place."""
    lines[:] = list(sections(settled("\n".join(lines), name)))


def sections(text: str) -> Iterator[str]:
    """The summary, then every section under its heading; napoleon reads the headings and the lists of names."""
    summary, *rest = SECTION.split(text.strip("\n"))
    yield from paragraphs(summary)
    for title, line, body in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        yield from (title, line)
        yield from names(body) if title in LISTS else paragraphs(body)


def names(body: str) -> Iterator[str]:
    """Names with their types at the margin, what they mean indented below them."""
    for line in body.strip("\n").splitlines():
        name, colon, kind = line.partition(" : ")
        name = name.replace(", ", ",") if not line.startswith(" ") else name  # "p, q" would be described twice
        yield f"{name} : {escaped(kind)}" if colon and not line.startswith(" ") else escaped(line)
    yield ""


def paragraphs(text: str) -> Iterator[str]:
    """Examples stay, indented formulas become literal blocks, words lose their special characters."""
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        if block.lstrip().startswith((">>>", ".. ")):
            yield from block.splitlines()
        elif block.startswith("    "):
            yield from ("::", "", *block.splitlines())
        else:
            words, *formula = re.split(r"\n(?= {2,})", block, maxsplit=1)
            yield from escaped(words).splitlines()
            if formula:
                yield from ("", "::", "", *("    " + line for line in formula[0].splitlines()))
        yield ""


def escaped(words: str) -> str:
    """`name` is code, a citation a link; what else looks like markup is not."""
    parts = CODE.split(words)
    text = "".join(f"``{part}``" if i % 2 else MARKS.sub(r"\\\1", part) for i, part in enumerate(parts))
    return CITED.sub(lambda found: f":doc:`{found[0]} </definitions>`", text)


def setup(app) -> dict[str, bool]:  # type: ignore[no-untyped-def]
    """Registered as a Sphinx extension."""
    app.connect("autodoc-process-docstring", process)
    return {"parallel_read_safe": True}
