"""Text output: numbers aligned in tables, and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from math import floor, isfinite, log10
from typing import Any

import click

Row = tuple[str, float | None, str]  # label, number (None: a heading), remark


class Rounded(float):
    """A number that is shown with fewer decimals, those that its error leaves."""

    def __new__(cls, value: float, places: int) -> Rounded:
        """The number and its decimals."""
        number = super().__new__(cls, value)
        number.places = places
        return number

    places: int


def table(rows: Iterable[Row]) -> str:
    """Lines of label, number and remark, with the decimal points below each other."""
    lines = list(rows)
    known = iter(shown([number for _, number, _ in lines if number is not None]))
    numbers = ["" if number is None else next(known) for _, number, _ in lines]
    label, width = max(len(row[0]) for row in lines), max(len(number) for number in numbers)
    return "\n".join(
        f"{row[0]:<{label}}  {number:>{width}}  {row[2]}".rstrip() for row, number in zip(lines, numbers, strict=True)
    )


def json_text(described: Mapping[str, Any]) -> str:
    """A result as strict JSON; docs/json.md lists the keys of every command."""
    return json.dumps(described, indent=2, allow_nan=False) + "\n"


def print_json(described: Mapping[str, Any]) -> None:
    """Print JSON on standard output."""
    click.echo(json_text(described), nl=False)


def write_out(path: str, text: str) -> None:
    """Write text to a file, or to standard output for '-'."""
    from hidiv.files.disk import write_text

    if path == "-":
        click.echo(text, nl=False)
    else:
        write_text(path, text)


def largest(by_node: Any, unit: str, most: int = 20) -> str:
    """A table of the values of nodes: all in their order, or the `most` largest, sorted by size."""
    chosen = list(range(len(by_node)))
    if len(by_node) > most:
        chosen = sorted(chosen, key=lambda u: -by_node[u])[:most]
    return table((f"  node {u}", float(by_node[u]), unit) for u in chosen)


def shown(values: list[float]) -> list[str]:
    """Numbers with as many decimals as give the largest ten digits; much smaller ones have an exponent."""
    largest = max((abs(v) for v in values if isfinite(v)), default=0.0)
    decimals = min(max(9 - floor(log10(largest)), 0), 12) if largest > 0 else 0
    return [_one(value, decimals) for value in values]


def _one(value: float, decimals: int) -> str:
    """One number with these decimals, or with an exponent; a rounded one has blanks for those it lacks."""
    if not isfinite(value):
        return "infinite"
    if isinstance(value, Rounded) and value.places < decimals:
        places = max(value.places, 0)
        text = f"{round(value, value.places):.{places}f}"
        return text + " " * (decimals - places + (places == 0))
    if abs(value) >= 1e15 or 0 < abs(value) < 10.0 ** (3 - decimals):
        return f"{value:.9e}"
    return f"{value:.{decimals}f}"
