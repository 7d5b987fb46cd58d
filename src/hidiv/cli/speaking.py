"""Results on the terminal: lines of at most 80 columns, and verdicts in colour where colours are wanted."""

from __future__ import annotations

import os
import re
import sys
from textwrap import wrap

import click

COLUMNS = 80
LEAST = 24  # columns that the remark of a row has at least

# How far a number can be trusted, and the verdicts on the paper's numbers.
COLOURS = {
    "exact": "green", "certified": "green", "reproduced": "green", "converged": "green",
    "estimate": "yellow", "approximation": "yellow", "redrawn": "yellow",
    "infinite": "red", "differs": "red", "not converged": "red",
}  # fmt: skip
VERDICT = re.compile(rf"(?<![\w-])({'|'.join(sorted(COLOURS, key=len, reverse=True))})(?![\w-])")


def say(text: str) -> None:
    """Print a result."""
    text = fitted(text)
    click.echo(coloured(text) if in_colour() else text)


def fitted(text: str, columns: int = COLUMNS) -> str:
    """The text with long lines broken between words; what follows is indented like the column the line breaks in."""
    return "\n".join(line for whole in text.split("\n") for line in _broken(whole, columns))


def _broken(line: str, columns: int) -> list[str]:
    if len(line) <= columns:
        return [line]
    gaps = [gap.end() for gap in re.finditer(r"(?<=\S) {2,}(?=\S)", line)]
    column = max((gap for gap in gaps if gap <= columns - LEAST), default=None)
    lead = line[: len(line) - len(line.lstrip())] + ("  " if line.startswith(" ") or ": " in line[:30] else "")
    if column is None:
        return wrap(line, columns, subsequent_indent=lead, break_long_words=False, break_on_hyphens=False)
    parts = wrap(line[column:], columns - column, break_long_words=False, break_on_hyphens=False)
    return [line[:column] + parts[0], *(" " * column + part for part in parts[1:])]


def in_colour() -> bool:
    """Whether colours are wanted: on a terminal that can show them, unless NO_COLOR is set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def coloured(text: str) -> str:
    """The text with its verdicts in colour.

    >>> coloured("0.5 nats, exact")
    '0.5 nats, \\x1b[32mexact\\x1b[0m'
    """
    return VERDICT.sub(lambda found: click.style(found[1], fg=COLOURS[found[1]]), text)
