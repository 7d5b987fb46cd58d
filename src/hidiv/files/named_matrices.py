"""Matrices of divergences with the names of their rows and columns, as CSV and as NPZ."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidiv.errors import HidivError, InvalidFile, counted, refuse, shown
from hidiv.files.disk import Path, checked_path, opened, read_limited, replace_file, write_text
from hidiv.files.formats import placed
from hidiv.files.loading import decoded
from hidiv.files.npz import read_arrays, write_arrays
from hidiv.types import Array

FORMAT = "hidiv.matrix"
AGAIN = "run hidiv pairwise again, with --store to go on where it stopped"


class Matrix(NamedTuple):
    """values (M, M'), the names of rows and columns, and the unit."""

    values: Array
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    unit: str = "nats"


def write_matrix(
    path: Path,
    values: Array,
    rows: Sequence[str],
    columns: Sequence[str],
    described: Mapping[str, object] | None = None,
) -> None:
    """Write NPZ where the path ends so, else CSV with a line and a column of names; numbers are read back exactly.

    NaN is a pair that was not computed: an empty cell of the CSV, and 0 in the member `finished` of the NPZ.
    `described` holds what the numbers are, from which `hd.load` builds a PairwiseMatrix; of it a CSV keeps a unit other
    than nats, in its first cell.
    """
    target = checked_path(path)
    missing = np.isnan(values)
    if target.lower().endswith(".npz"):
        arrays = {"format": np.array(FORMAT), "matrix": values, "rows": np.array(rows), "columns": np.array(columns)}
        for key, value in (described or {}).items():
            arrays[key] = np.array((value or ("",)) if isinstance(value, tuple) else value)
            if arrays[key].dtype == np.bool_:
                arrays[key] = arrays[key].astype(np.int64)
        if missing.any():
            arrays["finished"] = (~missing).astype(np.int64)

        def write(out: IO[bytes]) -> None:
            write_arrays(out, arrays)

        replace_file(target, write)
        return
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    unit = str((described or {}).get("unit", "nats"))
    writer.writerow(["" if unit == "nats" else unit, *columns])
    for name, row, gaps in zip(rows, values.tolist(), missing.tolist(), strict=True):
        writer.writerow([name, *("" if gap else repr(x) for x, gap in zip(row, gaps, strict=True))])
    write_text(target, text.getvalue())


def read_matrix(path: Path) -> Matrix:
    """The matrix in a file that `write_matrix` wrote; refused where pairs are missing."""
    target = checked_path(path)
    place = shown(target)
    with opened(target) as file:
        if file.peek(2)[:2] == b"PK":
            try:
                return _from_arrays(read_arrays(file))
            except HidivError as error:
                raise placed(error, place) from None
        data = read_limited(file, target)
    return matrix_from_text(decoded(data, place), place)


def _from_arrays(arrays: dict[str, NDArray[np.generic]]) -> Matrix:
    """The matrix in the arrays of an NPZ file."""
    if "format" not in arrays or str(arrays["format"]) != FORMAT:
        refuse(InvalidFile, "format", f"must be {FORMAT}", str(arrays["format"]) if "format" in arrays else "none")
    for key in ("matrix", "rows", "columns"):
        if key not in arrays:
            refuse(InvalidFile, key, "is missing")
    values, rows, columns = arrays["matrix"], arrays["rows"], arrays["columns"]
    if values.dtype != np.float64 or values.shape != (rows.size, columns.size):
        refuse(InvalidFile, "matrix", "must have a row and a column for every name", f"shape {values.shape}")
    missing = int(np.isnan(values).sum())
    if missing:
        pairs = f"{missing} of {counted(values.size, 'pair')} {'is' if missing == 1 else 'are'} missing"
        rule = f"{pairs}: the run that wrote it was interrupted"
        refuse(InvalidFile, "matrix", rule, remedy=AGAIN)
    unit = str(arrays["unit"]) if "unit" in arrays else "nats"
    return Matrix(values.astype(np.float64), tuple(rows.astype(str)), tuple(columns.astype(str)), unit)


def matrix_from_text(text: str, place: str) -> Matrix:
    """The matrix in a CSV text."""
    try:
        lines = [line for line in csv.reader(io.StringIO(text, newline="")) if line]
    except csv.Error as error:
        refuse(InvalidFile, place, f"is no CSV file, {error}")
    if len(lines) < 2 or len(lines[0]) < 2:
        refuse(InvalidFile, place, "must begin with a line of names, and have a line for each row")
    columns = tuple(lines[0][1:])
    rows, values = [], []
    for number, line in enumerate(lines[1:], start=2):
        if len(line) != len(columns) + 1:
            rule = f"must have a name and {counted(len(columns), 'number')}"
            refuse(InvalidFile, f"{place}: line {number}", rule, counted(len(line), "entry", "entries"))
        if "" in line[1:]:
            rule = "has empty cells: the run that wrote it was interrupted, pairs are missing"
            refuse(InvalidFile, f"{place}: line {number}", rule, remedy=AGAIN)
        try:
            values.append([float(x) for x in line[1:]])
        except ValueError as error:
            refuse(InvalidFile, f"{place}: line {number}", str(error))
        rows.append(line[0])
    return Matrix(np.array(values), tuple(rows), columns, "bits" if lines[0][0] == "bits" else "nats")
