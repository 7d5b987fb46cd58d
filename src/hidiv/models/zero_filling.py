"""Zeros filled: every law of a model mixed with the uniform one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hidiv.emissions.family import Family
from hidiv.errors import InvalidModel, refuse
from hidiv.models.model import Model
from hidiv.types import Array

Share = Callable[[int], float]  # number of entries of a law -> share of the uniform law in the mixture

BELOW_ONE = 1.0 - 2.0**-53  # a single probability of 1 leaves nothing for the other value


def with_weight(model: Model, weight: float) -> Model:
    """Every law becomes (1 - weight) law + weight / n, n its number of entries."""
    if not _is_number(weight) or not 0.0 <= weight <= 1.0:
        refuse(InvalidModel, "weight", "must be a number from 0 to 1", weight)
    return _mixed(model, lambda n: float(weight))


def with_floor(model: Model, floor: float) -> Model:
    """Every law becomes (1 - n floor) law + floor, so that no probability is below the floor."""
    if not _is_number(floor) or not 0.0 <= floor <= 0.5:
        refuse(InvalidModel, "floor", "must be a number from 0 to 0.5", floor)

    def share(n: int) -> float:
        """The share of the uniform law with which its n entries are at the floor."""
        if n * floor > 1.0:
            refuse(InvalidModel, "floor", f"can be at most 1/{n} for a law of {n} entries", floor)
        return float(n * floor)

    return _mixed(model, share)


def _is_number(value: Any) -> bool:
    """Whether a value is a number and no bool."""
    return isinstance(value, int | float | np.floating) and not isinstance(value, bool)


def _mixed(model: Model, share: Share) -> Model:
    """The model with all its laws mixed; a row of a transition and its end are one law."""
    transition: list[Array | None] = []
    end = model.end
    for rows, present in zip(model.transitions, model.has_transition, strict=True):
        if model.end is not None:
            rows = _even(np.hstack([rows, model.end[:, None]]), share)
            rows, end = rows[:, :-1], rows[:, -1]
        else:
            rows = _even(rows, share)
        transition.append(rows if present else None)
    return Model(
        _even(model.initial, share),
        transition,
        [_family(family, share) for family in model.emissions],
        name=model.name,
        state_names=model.state_names,
        end=end,
        symbol_names=model.symbol_names,
        column_names=model.column_names,
    )


def _even(rows: Array, share: Share) -> Array:
    """(..., n): rows that sum to one, mixed with the uniform law."""
    n = rows.shape[-1]
    part = share(n)
    return np.asarray((1.0 - part) * rows + part / n)


def _family(family: Family, share: Share) -> Family:
    """The same family; parameters that are no probabilities stay as they are."""
    given = dict(family.parameters())
    for key, kind in family.ranges().items():
        if kind == "rows":
            given[key] = _even(given[key], share)
        if kind == "unit":
            part = share(2)
            mixed = (1.0 - part) * np.asarray(given[key]) + part / 2
            given[key] = mixed if part == 0.0 else np.minimum(mixed, BELOW_ONE)
    if family.nested is not None:
        given[family.nested] = [_family(member, share) for member in family.members()]
    built: Family = type(family)(**given)
    return built
