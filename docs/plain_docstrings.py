"""Docstrings are written to be read in a terminal: here they become reStructuredText."""

from __future__ import annotations

import re
from collections.abc import Iterator

CODE = re.compile(r"`+([^`]+)`+")
MARKS = re.compile(r"([*|_\\])")
CITED = re.compile(r"definitions(?:, sections? \d| \(\d+\.\d+\))")


def process(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Sphinx calls this with the lines of one docstring, to be changed in place."""
    lines[:] = list(paragraphs("\n".join(lines)))


def paragraphs(text: str) -> Iterator[str]:
    """Examples stay, indented formulas become literal blocks, words lose their special characters."""
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        if block.lstrip().startswith(">>>"):
            yield block
        elif block.startswith("    "):
            yield from ("::", "", block)
        else:
            words, *formula = re.split(r"\n(?= {2,})", block, maxsplit=1)
            yield escaped(words)
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
