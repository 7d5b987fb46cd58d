"""Observations in CSV: a row for each node, a column for each feature, numbers or symbols, empty where missing."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hidiv.errors import InvalidFile, counted, refuse
from hidiv.files.disk import Path, checked_path, opened, read_limited

if TYPE_CHECKING:
    from hidiv.models.evidence import Evidence
    from hidiv.models.symbol_names import SymbolNames
    from hidiv.types import Array

MISSING = {"", "na", "nan", "null", "none"}
UNNAMED = {"", "Unnamed: 0"}  # headings of the index that pandas writes
NOT_OBSERVED = {"node", "state"}  # columns of `hidiv sample` that are no observations


@dataclass(frozen=True, eq=False)
class Values:
    """The observations of a file, and which of its columns were used."""

    evidence: Evidence
    used: tuple[str, ...]  # headings, or "column 1" and so on
    left_out: tuple[str, ...]  # headings with the reason

    def __len__(self) -> int:
        return self.evidence.n_nodes


def read_values(path: Path) -> Values:
    """The observations of a CSV file, NaN where a field is empty; a column without any number holds symbols.

    A first row of texts is the header. Columns named node or state, and a first column without a name that
    numbers the rows in rising order or names them (the index that pandas writes), are left out.
    """
    place = checked_path(path)
    with opened(place) as file:
        data = read_limited(file, place)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        refuse(InvalidFile, place, f"must be UTF-8 text, byte {error.start + 1} is not")
    return values_from_text(text, place)


def values_from_text(text: str, place: str) -> Values:
    """The observations of a CSV text."""
    import numpy as np

    from hidiv.models.evidence import Evidence

    try:
        lines = [row or [""] for row in csv.reader(text.splitlines(), strict=True)]
    except csv.Error as error:
        refuse(InvalidFile, place, "is not CSV", str(error))
    header = next((row for row in lines[:1] if _is_header(row, lines[1:])), None)
    first = 0 if header is None else 1
    if len(lines) == first:
        refuse(InvalidFile, place, "holds no values")
    width = len(lines[first] if header is None else header)
    for number, row in enumerate(lines[first:], first + 1):
        if len(row) != width and row != [""]:
            rule = f"must have {counted(width, 'field')} like the first line"
            refuse(InvalidFile, f"{place}, line {number}", rule, len(row))
    rows = [row if len(row) == width else [""] * width for row in lines[first:]]
    titles = [f"column {i + 1}" for i in range(width)] if header is None else [name.strip() for name in header]
    columns, used, left_out = [], [], []
    for i, title in enumerate(titles):
        fields = [row[i].strip() for row in rows]
        reason = None if header is None else _no_observation(i, title, fields, width)
        if reason is not None:
            left_out.append(f"{title or 'the first one, without a name'} ({reason})")
            continue
        columns.append(_column(f"{place}, {title if header is None else f'column {title!r}'}", fields, first + 1))
        used.append(title or f"column {i + 1}")
    if not columns:
        refuse(InvalidFile, place, "holds no column of observations", ", ".join(header or []))
    names = tuple(alphabet for _, alphabet in columns)
    evidence = Evidence.named(
        np.column_stack([numbers for numbers, _ in columns]),
        names if any(alphabet is not None for alphabet in names) else None,
        None if header is None else tuple(used),
    )
    return Values(evidence, tuple(used), tuple(left_out))


def _is_header(row: list[str], below: list[list[str]]) -> bool:
    """Whether the first row is a header: it has texts, and none of them is a symbol further down its column."""
    texts = [i for i, field in enumerate(row) if _is_name(field)]
    return bool(texts) and not any(len(other) > i and other[i] == row[i] for other in below for i in texts)


def _no_observation(i: int, title: str, fields: list[str], width: int) -> str | None:
    """The reason why a column with a heading holds no observations; None where it does."""
    if title.lower() in NOT_OBSERVED:
        return "no observation"
    if i == 0 and width > 1 and title in UNNAMED:
        # Rising numbers, with gaps where rows of a longer table were chosen.
        counts = all(field.isdecimal() for field in fields) and all(int(a) < int(b) for a, b in pairwise(fields))
        if counts or any(_is_name(field) for field in fields):
            return "an index of the rows"
    return None


def _column(place: str, fields: list[str], line: int) -> tuple[Array, tuple[str, ...] | None]:
    """One column as numbers (n,), and its alphabet where none of its fields is a number."""
    import numpy as np

    from hidiv.models.symbol_names import encoded

    entries = [None if field.lower() in MISSING else field for field in fields]
    texts = [u for u, entry in enumerate(entries) if entry is not None and _is_name(entry)]
    if not texts:
        return np.array([np.nan if entry is None else float(entry) for entry in entries]), None
    if len(texts) < sum(entry is not None for entry in entries):
        at = texts[0]
        rule = "values are numbers, or empty where missing; a column of symbols has no numbers in it"
        refuse(InvalidFile, f"{place}, line {line + at}", rule, entries[at])
    return encoded(entries)


def columns_of(x: Array, symbol_names: SymbolNames | None) -> list[tuple[str, list[Any]]]:
    """Headings and entries for the columns of observations (n,) or (n, F), symbols by their names.

    Numbers stay where the names would not come back as they are when the file is read: where one of them looks like a
    number or like a missing value, or has a line break or spaces around it.
    """
    table = x[:, None] if x.ndim == 1 else x
    columns: list[tuple[str, list[Any]]] = []
    for f in range(table.shape[1]):
        names = symbol_names[f] if symbol_names is not None else None
        heading, entries = "x" if x.ndim == 1 else f"x{f}", table[:, f].tolist()
        if names is not None and all(_comes_back(name) for name in names):
            while heading in names:  # a heading that also stands below it would not be read as one
                heading += "_"
            entries = [entry if entry != entry else names[int(entry)] for entry in entries]
        columns.append((heading, entries))
    return columns


def values_to_text(columns: Iterable[tuple[str, Sequence[Any]]]) -> str:
    """CSV with a header; NaN is written as an empty field, whole numbers without a point, text quoted where needed."""
    headings, entries = zip(*columns, strict=True)
    lines = [",".join(_quoted(heading) for heading in headings)]
    lines += [",".join(_field(entry) for entry in row) for row in zip(*entries, strict=True)]
    return "\n".join(lines) + "\n"


def _comes_back(name: str) -> bool:
    """Whether a symbol's name is read from a file as it was written."""
    return _is_name(name) and name == name.strip() and len(name.splitlines()) == 1


def _is_name(field: str) -> bool:
    """Whether a field is text: neither a number nor missing."""
    try:
        float(field)
    except ValueError:
        return field.strip().lower() not in MISSING
    return False


def _field(value: float | int | str) -> str:
    """An entry as a CSV field."""
    if isinstance(value, str):
        return _quoted(value)
    if value != value:
        return ""
    return repr(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(value)


def _quoted(text: str) -> str:
    """A text as a CSV field, in quotes where it needs them."""
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"') else text
