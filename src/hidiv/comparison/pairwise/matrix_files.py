"""A matrix of divergences in a file: JSON keys and NPZ members, checked when they are read."""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hidiv.errors import InvalidFile, refuse

if TYPE_CHECKING:
    from hidiv.comparison.pairwise.matrix import PairwiseMatrix

Quantity = Literal["joint", "aligned", "posterior", "observed"]
Status = Literal["exact", "approximation", "estimate"]

Arrays = Mapping[str, NDArray[Any]]
Fields = tuple[Any, ...]  # the arguments of a PairwiseMatrix, in their order

FORMAT = "hidiv.matrix"


def arrays_of(matrix: PairwiseMatrix) -> dict[str, NDArray[Any]]:
    """The members of an NPZ file; `hidiv cluster` reads them too."""
    rows, columns = matrix.labels()
    arrays: dict[str, NDArray[Any]] = {
        "format": np.array(FORMAT),
        "matrix": np.asarray(matrix),
        "rows": np.array(rows),
        "columns": np.array(columns),
        "named_rows": _named(matrix.names, len(rows)),
        "named_columns": _named(matrix.other_names, len(columns)),
        "quantity": np.array(matrix.quantity),
        "status": np.array(matrix.status),
        "symmetric": np.array(int(matrix.symmetric)),
        "notes": np.array(matrix.notes or ("",)),
        "unit": np.array("nats"),
    }
    if matrix.std_error is not None:
        arrays["std_error"] = np.asarray(matrix.std_error)
    if matrix.finished is not None:
        arrays["finished"] = matrix.finished.astype(np.int64)
    return arrays


def fields_of_arrays(arrays: Arrays) -> Fields:
    """What an NPZ file holds of a matrix."""
    for key in ("matrix", "rows", "columns"):
        if key not in arrays:
            refuse(InvalidFile, key, "is missing")
    if "quantity" not in arrays or "status" not in arrays:
        rule = "is missing: the file does not say what its numbers are"
        refuse(InvalidFile, "quantity", rule, remedy="write it again, with hd.save or hidiv pairwise --out d.npz")
    finished = np.asarray(arrays["finished"]) > 0 if "finished" in arrays else None
    return _checked(
        arrays["matrix"],
        str(arrays["quantity"]),
        str(arrays["status"]),
        bool(np.asarray(arrays.get("symmetric", 0)).item()),
        tuple(str(note) for note in np.atleast_1d(arrays["notes"]) if note) if "notes" in arrays else (),
        arrays.get("std_error"),
        _names(arrays, "rows"),
        _names(arrays, "columns"),
        finished,
        str(arrays["unit"]) if "unit" in arrays else "nats",
    )


def fields_of_described(described: Mapping[str, Any]) -> Fields:
    """The matrix of a JSON file."""
    for key in ("quantity", "status", "symmetric", "matrix", "names"):
        if described.get(key) is None:
            refuse(InvalidFile, key, "is missing")
    values = _read("matrix", described["matrix"])
    names = tuple(described["names"])
    others = tuple(described.get("other_names", names))
    error = described.get("std_error")
    missing = np.isnan(values)
    return _checked(
        values,
        described["quantity"],
        described["status"],
        described["symmetric"] is True,
        tuple(str(note) for note in described.get("notes", ())),
        None if error is None else _read("std_error", error),
        names,
        others,
        ~missing if missing.any() else None,
        described.get("unit", "nats"),
    )


def _checked(
    values: Any, quantity: Any, status: Any, symmetric: bool, notes: tuple[str, ...], std_error: Any,
    names: tuple[str | None, ...], others: tuple[str | None, ...], finished: Any, unit: Any,
) -> Fields:  # fmt: skip
    """The arguments, refused where a matrix cannot have them; in nats."""
    for key, value, known in (("quantity", quantity, Quantity), ("status", status, Status)):
        if value not in get_args(known):
            refuse(InvalidFile, key, f"must be one of {', '.join(get_args(known))}", value)
    if unit not in ("nats", "bits"):
        refuse(InvalidFile, "unit", "must be nats or bits", unit)
    if values.ndim != 2 or values.dtype != np.float64 or not values.size:
        refuse(InvalidFile, "matrix", "must be rows of numbers", f"shape {values.shape}")
    if (len(names) or values.shape[0], len(others) or values.shape[1]) != values.shape:
        refuse(InvalidFile, "matrix", "must have a row and a column for every name", f"shape {values.shape}")
    for key, table in (("std_error", std_error), ("finished", finished)):
        if table is not None and table.shape != values.shape:
            refuse(InvalidFile, key, f"must have the shape of the matrix, {values.shape}", f"{table.shape}")
    present = np.ones(values.shape, dtype=np.bool_) if finished is None else finished
    if np.isnan(values[present]).any():
        refuse(InvalidFile, "matrix", "a divergence is a number", "NaN")
    if unit == "bits":
        values, std_error = values * log(2.0), None if std_error is None else std_error * log(2.0)
    return values, quantity, status, symmetric, notes, std_error, names, others, finished


def _read(key: str, rows: Any) -> NDArray[np.float64]:
    try:
        return np.array([[np.nan if x is None else float(x) for x in row] for row in rows], dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        refuse(InvalidFile, key, 'must be rows of numbers, "inf" or null, all of one length')


def _named(names: tuple[str | None, ...], size: int) -> NDArray[np.int64]:
    return np.array([name is not None for name in names or (None,) * size], dtype=np.int64)


def _names(arrays: Arrays, key: str) -> tuple[str | None, ...]:
    names = [str(name) for name in np.atleast_1d(arrays[key])]
    flags = np.atleast_1d(arrays.get(f"named_{key}", np.ones(len(names))))
    if flags.shape != (len(names),):
        refuse(InvalidFile, f"named_{key}", f"must have {len(names)} entries", f"{flags.shape}")
    return tuple(name if flag else None for name, flag in zip(names, flags.tolist(), strict=True))
