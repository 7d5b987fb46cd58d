"""Checks of the parts of a model as a caller gives them; messages name the place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hidiv.emissions.family import Family
from hidiv.emissions.parameters import distributions, reading, require
from hidiv.errors import HidivError, InvalidModel, counted, refuse, shown
from hidiv.recursions.gth import cesaro_law, closed_classes
from hidiv.types import Array, Flags


def read_transition(transition: Any, end: ArrayLike | None) -> tuple[Array, Flags, Array | None]:
    """Transitions (G, K, K), which groups have one (G,), and the end law (K,) or None; a row and its end sum to one."""
    if isinstance(transition, Sequence) and any(t is None for t in transition):
        groups = list(transition)
    else:
        array = reading("transition", transition, (2, 3))
        groups = list(array) if array.ndim == 3 else [array]
    present = np.array([t is not None for t in groups], dtype=np.bool_)
    if not present.any():
        refuse(InvalidModel, "transition", "at least one group needs a matrix", "null for every group")
    if end is not None and len(groups) > 1:
        refuse(
            InvalidModel, "end", "end probabilities belong to a chain with a single transition", f"{len(groups)} groups"
        )
    places = ["transition"] if len(groups) == 1 else [f"transition[{g}]" for g in range(len(groups))]
    matrices = [None if t is None else _read_matrix(place, t, end) for place, t in zip(places, groups, strict=True)]
    first = next(m for m in matrices if m is not None)
    for place, matrix in zip(places, matrices, strict=True):
        if matrix is not None and matrix.shape != first.shape:
            refuse(
                InvalidModel,
                place,
                f"must be {first.shape[0]} x {first.shape[0]} like the group before it",
                matrix.shape,
            )
    stack = np.stack([np.zeros_like(first) if m is None else m for m in matrices])
    if end is None:
        return frozen(stack), frozen(present), None
    return frozen(stack[:, :, :-1]), frozen(present), frozen(stack[0, :, -1])


def _read_matrix(place: str, matrix: ArrayLike, end: ArrayLike | None) -> Array:
    """(K, K) rows that sum to one, or (K, K + 1) rows with their end probability as the last column."""
    array = reading(place, matrix, (2,))
    if array.shape[0] != array.shape[1]:
        refuse(InvalidModel, place, "must be square, K x K", array.shape)
    if end is not None:
        last = reading("end", end, (1,))
        if last.shape[0] != array.shape[0]:
            refuse(
                InvalidModel,
                "end",
                f"needs one probability for each of the {counted(array.shape[0], 'state')}",
                last.shape[0],
            )
        require("end", last, last >= 0, "probabilities cannot be negative")
        require(place, array, array >= 0, "probabilities cannot be negative")
        return distributions(place, np.column_stack([array, last]), (2,), "a row and its end probability must sum to 1")
    return distributions(place, array, (2,))


def read_initial(initial: ArrayLike | str, transitions: Array, end: Array | None) -> Array:
    """The root law (K,); "stationary" is the stationary law of the transition, refused where there are several."""
    n_states = transitions.shape[-1]
    if isinstance(initial, str):
        if initial != "stationary":
            refuse(InvalidModel, "initial", 'must be a list of probabilities or "stationary"', initial)
        if len(transitions) > 1 or end is not None:
            refuse(
                InvalidModel,
                "initial",
                "only a model with one transition and no end has a stationary law",
                remedy="give the probabilities",
            )
        classes = closed_classes(transitions[0])
        if len(classes) > 1:
            refuse(
                InvalidModel,
                "initial",
                f"the chain has {len(classes)} closed classes and so no single stationary law",
                remedy="give the probabilities",
            )
        stationary: Array = frozen(cesaro_law(np.full(n_states, 1.0 / n_states), transitions[0]))
        return stationary
    law = distributions("initial", initial, (1,))
    if law.shape[0] != n_states:
        refuse(
            InvalidModel,
            "initial",
            f"needs one probability for each of the {counted(n_states, 'state')} of the transition",
            law.shape[0],
        )
    return law


def read_emission(emission: Any, n_states: int) -> tuple[Family, ...]:
    """The families, one or one for each group, all with K states and the same number of columns."""
    families = tuple(emission) if isinstance(emission, list | tuple) else (emission,)
    if not families:
        refuse(InvalidModel, "emission", "needs a family, or one a group", "an empty list")
    columns = None
    for g, family in enumerate(families):
        place = "emission" if len(families) == 1 else f"emission[{g}]"
        if not (hasattr(family, "log_density") and hasattr(family, "n_states")):
            refuse(
                InvalidModel,
                place,
                "must be an emission family such as hd.Categorical or hd.Gaussian",
                type(family).__name__,
                "hd.Model.from_dict reads families written as dicts",
            )
        if family.n_states != n_states:
            refuse(InvalidModel, place, f"needs {counted(n_states, 'state')} like the transition", family.n_states)
        # Silent groups have no columns; all others must have the same number.
        columns = columns or family.n_features
        if family.n_features not in (0, columns):
            refuse(
                InvalidModel,
                place,
                f"needs observations of {counted(columns, 'column')} like the groups before it",
                family.n_features,
            )
    return families


def read_names(place: str, given: Any, count: int) -> tuple[str, ...]:
    """The names as a tuple of `count` different texts."""
    if (
        isinstance(given, str)
        or not isinstance(given, Sequence)
        or len(given) != count
        or not all(isinstance(n, str) for n in given)
    ):
        refuse(
            InvalidModel,
            place,
            "must be text" if place == "name" else f"needs a list of {counted(count, 'text')}, one a state",
            given[0] if place == "name" else given,
        )
    if len(set(given)) != count:
        refuse(InvalidModel, place, "must all differ", list(given))
    return tuple(given)


def read_columns(given: Any, emissions: Sequence[Family]) -> tuple[str, ...]:
    """The names of the columns, all different, as many as every family that shows something has."""
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(name, str) for name in given):
        refuse(InvalidModel, "column_names", "needs a list of texts, one a column", given)
    for family in emissions:
        if family.n_features not in (0, len(given)):
            rule = f"needs {counted(family.n_features, 'text')}, one a column"
            refuse(InvalidModel, "column_names", rule, len(given))
    if len(set(given)) != len(given):
        refuse(InvalidModel, "column_names", "must all differ", list(given))
    return tuple(given)


def read_selection(columns: Any, n_columns: int, names: tuple[str, ...] | None) -> list[int]:
    """The numbers of the columns that a caller chose by number or by name."""
    chosen = list(columns) if isinstance(columns, Iterable) and not isinstance(columns, str) else [columns]
    kept: list[int] = []
    for column in chosen:
        if isinstance(column, str):
            if names is None:
                refuse(InvalidModel, "columns", "have no names in this model", column, "choose them by number")
            if column not in names:
                refuse(InvalidModel, "columns", "has no such name", column, "its columns are " + ", ".join(names))
            kept.append(names.index(column))
        elif isinstance(column, int | np.integer) and not isinstance(column, bool) and 0 <= column < n_columns:
            kept.append(int(column))
        else:
            refuse(InvalidModel, "columns", f"must be names or numbers from 0 to {n_columns - 1}", column)
    if not kept or len(set(kept)) < len(kept):
        refuse(InvalidModel, "columns", "needs at least one column, each once", chosen)
    return kept


def check_keys(error: type[HidivError], described: Any, needed: Sequence[str], optional: Sequence[str]) -> None:
    """Refuse a description that is no mapping, lacks a needed key or has an unknown one."""
    if not isinstance(described, Mapping):
        refuse(error, "description", "must be a mapping with " + ", ".join(needed), described)
    for key in needed:
        if key not in described:
            refuse(error, key, "is missing")
    for key in described:
        if key not in needed and key not in optional:
            refuse(error, shown(str(key)), "is not a known key", remedy="known are " + ", ".join([*needed, *optional]))


def check_format(error: type[HidivError], described: Mapping[str, Any], wanted: str) -> None:
    """Refuse another format or version than `wanted` and 1; both may be absent."""
    if described.get("format", wanted) != wanted:
        refuse(error, "format", f'must be "{wanted}"', described["format"])
    version = described.get("version", 1)
    if type(version) is not int or version != 1:
        refuse(error, "version", "must be 1, the only one so far", version, "a newer hidiv may read it")


def frozen(array: Any) -> Any:
    """The array, contiguous and read-only."""
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array
