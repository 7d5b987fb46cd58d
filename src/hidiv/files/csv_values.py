"""Observations in CSV: one row a node, one column a feature, empty for what is missing."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from hidiv.errors import InvalidFile, refuse
from hidiv.files.disk import Path, checked_path, opened, read_limited

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CSV_LIMIT = 2**30  # bytes
MISSING = {"", "na", "nan", "null", "none"}
NOT_OBSERVED = {"node", "state"}  # columns of `hidiv sample` that are no observations


def read_values(path: Path) -> NDArray[np.float64]:
    """(n, F) values of a CSV file, NaN where a field is empty; a first row that is not numbers is the header."""
    place = checked_path(path)
    with opened(place) as file:
        data = read_limited(file, place, CSV_LIMIT)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        refuse(InvalidFile, place, f"must be UTF-8 text, byte {error.start + 1} is not")
    return values_from_text(text, place)


def values_from_text(text: str, place: str) -> NDArray[np.float64]:
    """The same from text that has been read already."""
    import numpy as np

    try:
        lines = [row or [""] for row in csv.reader(text.splitlines(), strict=True)]
    except csv.Error as error:
        refuse(InvalidFile, place, "is not CSV", str(error))
    header = next((row for row in lines[:1] if any(_is_name(field) for field in row)), None)
    first = 0 if header is None else 1
    keep = [i for i, name in enumerate(header or []) if name.strip().lower() not in NOT_OBSERVED]
    if len(lines) == first:
        refuse(InvalidFile, place, "holds no values")
    width = len(lines[first] if header is None else header)
    rows = []
    for number, row in enumerate(lines[first:], first + 1):
        if len(row) != width and row != [""]:
            refuse(InvalidFile, f"{place}, line {number}", f"must have {width} fields like the first line", len(row))
        fields = row if len(row) == width else [""] * width
        rows.append(
            [_number(f"{place}, line {number}", fields[i]) for i in (keep if header is not None else range(width))]
        )
    if not rows[0]:
        refuse(InvalidFile, place, "holds no column of observations", ", ".join(header or []))
    return np.array(rows, dtype=np.float64)


def values_to_text(columns: Iterable[tuple[str, Any]]) -> str:
    """CSV with a header; NaN is written as an empty field, whole numbers without a point."""
    names, values = zip(*columns, strict=True)
    lines = [",".join(names)]
    lines += [",".join(_field(v) for v in row) for row in zip(*(column.tolist() for column in values), strict=True)]
    return "\n".join(lines) + "\n"


def _is_name(field: str) -> bool:
    """Whether a field of the first row makes it a header."""
    try:
        float(field)
    except ValueError:
        return field.strip().lower() not in MISSING
    return False


def _number(place: str, field: str) -> float:
    if field.strip().lower() in MISSING:
        return float("nan")
    try:
        return float(field)
    except ValueError:
        refuse(InvalidFile, place, "values are numbers, or empty where missing", field)


def _field(value: float | int) -> str:
    if value != value:
        return ""
    return repr(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(value)
