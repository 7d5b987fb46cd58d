"""The parameters of a collection as named arrays, as an NPZ file holds them.

format, version; initial (M, K); transition (M, G, K, K) and transition_present (M, G); end (M, K);
emission.0.gaussian.mean (M, K, ...), emission.1.product.0.poisson.rate, ...: group, family, parameter;
name (M,) and name_present (M,); state_names (M, K) and state_names_present (M,); symbol_columns, the number of
columns, symbol_names.0 (M, S) and symbol_names.0_present (M,), ...: the names of the symbols of a column. All but the
first four may be absent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.comparison.collection.stacked_parameters import (
    AllSymbolNames,
    FamilyParameters,
    Names,
    Parameters,
    StateNames,
    leaves,
)
from hidiv.emissions.registry import FAMILIES, family_class
from hidiv.errors import InvalidFile, InvalidModel, refuse, shown

Arrays = Mapping[str, NDArray[Any]]

FORMAT = "hidiv.collection"
SYMBOLS = "symbol_names."
MOST_COLUMNS = 1 << 16
KNOWN = ("format", "version", "initial", "transition", "transition_present", "end", "name", "name_present",
         "state_names", "state_names_present", "column_names", "column_names_present", "symbol_columns")  # fmt: skip


def arrays_of(parameters: Parameters) -> dict[str, NDArray[Any]]:
    """The arrays of a collection, in the order of the file."""
    arrays: dict[str, NDArray[Any]] = {"format": np.array(FORMAT), "version": np.array(1, dtype=np.int64)}
    arrays |= {"initial": parameters.initial, "transition": parameters.transitions}
    if not parameters.has_transition.all():
        arrays["transition_present"] = parameters.has_transition.astype(np.uint8)
    if parameters.end is not None:
        arrays["end"] = parameters.end
    n_states = np.array(parameters.initial.shape[1], dtype=np.int64)
    for g, family in enumerate(parameters.families):
        arrays |= {
            f"emission.{g}.{path}.{key}": n_states if key == "n_states" else a for path, key, a in leaves(family)
        }
    arrays |= _texts("name", [None if name is None else [name] for name in parameters.names], 1)
    arrays |= _texts("state_names", parameters.state_names, int(n_states))
    size = max((len(names) for names in parameters.column_names if names is not None), default=0)
    if size:
        arrays |= _texts("column_names", parameters.column_names, size)
    width = max((len(columns) for columns in parameters.symbol_names if columns is not None), default=0)
    if width:
        arrays["symbol_columns"] = np.array(width, dtype=np.int64)
    for f in range(width):
        alphabets = [None if columns is None else columns[f] for columns in parameters.symbol_names]
        size = max((len(alphabet) for alphabet in alphabets if alphabet is not None), default=0)
        arrays |= _texts(f"{SYMBOLS}{f}", alphabets, size)
    return arrays


def parameters_of_arrays(arrays: Arrays) -> Parameters:
    """The parameters in the arrays of a file; their shapes are checked, their values not yet."""
    for key in arrays:
        if key not in KNOWN and not key.startswith(("emission.", SYMBOLS)):
            known = f"known are {', '.join(KNOWN)}, {SYMBOLS}* and emission.*"
            refuse(InvalidFile, shown(key), "is not a known member", remedy=known)
    if "format" not in arrays or str(arrays["format"]) != FORMAT:
        refuse(InvalidFile, "format", f"must be {FORMAT}", str(arrays["format"]) if "format" in arrays else "none")
    if "version" not in arrays or arrays["version"].tolist() != 1:
        refuse(
            InvalidFile,
            "version",
            "must be 1, the only one so far",
            str(arrays["version"]) if "version" in arrays else "none",
            "a newer hidiv may read it",
        )
    initial = _member(arrays, "initial", "f8", (None, None))
    m, k = initial.shape
    if min(m, k) < 1:
        refuse(InvalidFile, "initial", "needs at least one model and one state", f"shape {initial.shape}")
    transitions = _member(arrays, "transition", "f8", (m, None, k, k))
    n_groups = transitions.shape[1]
    families = _families(arrays, m, k)
    if n_groups < 1 or (1 not in (n_groups, len(families)) and n_groups != len(families)):
        wanted = f"needs one family or one for each of the {n_groups} transition groups"
        refuse(InvalidFile, "emission", wanted, len(families))
    end = _member(arrays, "end", "f8", (m, k)) if "end" in arrays else None
    if end is not None and n_groups > 1:
        refuse(InvalidFile, "end", "end probabilities belong to a chain with a single transition", f"{n_groups} groups")
    names: Names = tuple(None if name is None else name[0] for name in _read_texts(arrays, "name", (m,)))
    state_names: StateNames = _read_texts(arrays, "state_names", (m, k))
    present = _flags(arrays, "transition_present", (m, n_groups))
    symbol_names = _read_symbol_names(arrays, m)
    column_names: StateNames = _read_texts(arrays, "column_names", (m, None))
    return Parameters(initial, transitions, present, families, end, names, state_names, symbol_names, column_names)


def _read_symbol_names(arrays: Arrays, m: int) -> AllSymbolNames:
    """For every model the names of its symbols, column by column, or None where it names those of no column."""
    if "symbol_columns" not in arrays:
        for key in arrays:
            if key.startswith(SYMBOLS):
                refuse(InvalidFile, "symbol_columns", f"is missing: {shown(key)} needs it")
        return (None,) * m
    count = arrays["symbol_columns"]
    if count.shape != () or count.dtype.kind != "i" or not 1 <= int(count) <= MOST_COLUMNS:
        refuse(InvalidFile, "symbol_columns", f"must be a whole number from 1 to {MOST_COLUMNS}")
    known = {f"{SYMBOLS}{f}{end}" for f in range(int(count)) for end in ("", "_present")}
    for key in arrays:
        if key.startswith(SYMBOLS) and key not in known:
            refuse(InvalidFile, shown(key), f"must be named {SYMBOLS}<column>, columns from 0 to {int(count) - 1}")
    each = zip(*(_read_texts(arrays, f"{SYMBOLS}{f}", (m, None)) for f in range(int(count))), strict=True)
    return tuple(columns if any(names is not None for names in columns) else None for columns in each)


def _families(arrays: Arrays, m: int, k: int) -> tuple[FamilyParameters, ...]:
    """emission.<group>.<family>.<parameter>, groups counted from 0 without a gap."""
    groups: list[FamilyParameters] = []
    for key, array in arrays.items():
        if key.startswith("emission."):
            _, group, *path = key.split(".")
            _place(groups, group, path, key, array, m, k)
    if not groups:
        refuse(InvalidFile, "emission", "is missing")
    return tuple(groups)


def _place(
    families: list[FamilyParameters], number: str, path: Sequence[str], key: str, array: NDArray[Any], m: int, k: int
) -> None:
    """Add one parameter to the family its key names: the last of the list so far, or a new one after it."""
    name = path[0] if path else ""
    nested = family_class(name).nested if name in FAMILIES else None
    if number == f"{len(families)}" and name in FAMILIES:
        families.append({"family": name, **({nested: []} if nested is not None else {})})
    if name not in FAMILIES:
        refuse(InvalidFile, shown(key), "is not a known family", shown(name), "known are " + ", ".join(FAMILIES))
    if number != f"{len(families) - 1}" or families[-1]["family"] != name:
        refuse(InvalidFile, shown(key), "members of one family must follow each other, counted from 0")
    if nested is not None and len(path) > 3:
        _place(families[-1][nested], path[1], path[2:], key, array, m, k)
    elif len(path) != 2 or path[1] == nested:
        refuse(InvalidFile, shown(key), "must be named emission.<group>.<family>.<parameter>")
    elif path[1] == "n_states":
        if array.shape != () or array.dtype.kind != "i" or int(array) != k:
            refuse(InvalidFile, shown(key), f"must be {k}, the number of states")
        if "n_states" not in signature(family_class(name)).parameters:
            refuse(InvalidFile, shown(key), f"is not a parameter of {name}")
    else:
        families[-1][path[1]] = _member({key: array}, key, "f8", (m, k, ...))


def _member(arrays: Arrays, key: str, kind: str, shape: tuple[Any, ...]) -> NDArray[Any]:
    """A required array, checked for its kind and shape; None stands for any length, ... for any further axes."""
    if key not in arrays:
        refuse(InvalidFile, key, "is missing")
    array = arrays[key]
    fixed = shape[:-1] if shape[-1] is ... else shape
    fits = array.ndim == len(fixed) or (shape[-1] is ... and array.ndim > len(fixed))
    if not fits or any(n not in (None, size) for n, size in zip(fixed, array.shape, strict=False)):
        wanted = ", ".join("any" if n is None else "..." if n is ... else str(n) for n in shape)
        refuse(InvalidFile, shown(key), f"must have the shape ({wanted})", f"{array.shape}")
    if not f"{array.dtype.kind}{array.dtype.itemsize}".startswith(kind):
        what = {"f8": "64-bit floats", "u1": "bytes 0 and 1", "U": "text"}[kind]
        refuse(InvalidFile, shown(key), f"must hold {what}", array.dtype.str)
    return array


def _flags(arrays: Arrays, key: str, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    if key not in arrays:
        return np.ones(shape, dtype=np.bool_)
    flags = _member(arrays, key, "u1", shape)
    if (flags > 1).any():
        refuse(InvalidFile, key, "must hold 0 and 1", int(flags.max()))
    return flags.astype(np.bool_)


def _texts(key: str, rows: Sequence[Sequence[str] | None], width: int) -> dict[str, NDArray[Any]]:
    """Texts as one array, with a second one that marks the models that have any unless all do; empty where none has."""
    present = [row is not None for row in rows]
    if not any(present):
        return {}
    for i, row in enumerate(rows):
        if any(text.endswith("\0") for text in row or ()):
            refuse(InvalidModel, f"models[{i}]: {key}", "a name that ends with a zero character cannot be saved")
    array = np.array([list(row or [""] * width) for row in rows])
    arrays = {key: array[:, 0] if key == "name" else array}
    return arrays if all(present) else arrays | {f"{key}_present": np.array(present, dtype=np.uint8)}


def _read_texts(arrays: Arrays, key: str, shape: tuple[Any, ...]) -> tuple[tuple[str, ...] | None, ...]:
    if key not in arrays:
        if f"{key}_present" in arrays:
            refuse(InvalidFile, key, "is missing")
        return (None,) * int(shape[0])
    array = _member(arrays, key, "U", shape)
    if not array.size:
        refuse(InvalidFile, shown(key), "must hold text", f"shape {array.shape}")
    rows: list[list[str]] = array.reshape(shape[0], -1).tolist()
    present = _flags(arrays, f"{key}_present", shape[:1])
    return tuple(tuple(row) if flag else None for row, flag in zip(rows, present.tolist(), strict=True))
