"""A family as a table to look at: one row a state, one named column a parameter."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidiv.emissions.family import Family
from hidiv.emissions.sample_space import Kind
from hidiv.types import Array


def tabular(family: Family) -> tuple[list[str], Array]:
    """Names of the columns and the values (K, columns); a symbol of a categorical family is a column.

    >>> import hidiv as hd
    >>> tabular(hd.Gaussian([0, 2], std=[1, 3]))
    (['mean', 'std'], array([[0., 1.],
           [2., 3.]]))
    """
    names: list[str] = []
    columns: list[Array] = []
    for key, value in family.parameters().items():
        for name, values in _columns(family, key, value):
            names.append(name)
            columns.append(values)
    table = np.column_stack(columns) if columns else np.empty((family.n_states, 0))
    return names, table


def is_probabilities(family: Family) -> bool:
    """Whether the table of a family holds rows of probabilities and nothing else."""
    return set(family.ranges().values()) == {"rows"}


def _columns(family: Family, key: str, value: Any) -> list[tuple[str, Array]]:
    """The columns of one parameter; families within a family give theirs with their place in front."""
    if isinstance(value, list | tuple):
        inner = [(i, *tabular(part)) for i, part in enumerate(value) if hasattr(part, "parameters")]
        return [(f"{i}: {name}", table[:, c]) for i, names, table in inner for c, name in enumerate(names)]
    if value is None or np.ndim(value) == 0:
        return []
    array = np.asarray(value, dtype=np.float64)
    flat = array.reshape(len(array), -1)
    if array.ndim == 1:
        return [(key, flat[:, 0])]
    word = "symbol" if family.space.kind is Kind.SYMBOLS else key
    places = [", ".join(map(str, index)) for index in np.ndindex(array.shape[1:])]
    return [(f"{word} {place}", flat[:, c]) for c, place in enumerate(places)]
