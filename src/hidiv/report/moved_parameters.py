"""Which parameter of an emission makes two laws differ most: each is moved alone, and the divergence tells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from hidiv.emissions.family import Family
from hidiv.emissions.tabular import tabular
from hidiv.errors import HidivError
from hidiv.models.model import Model
from hidiv.report.heat_tables import of_group
from hidiv.types import Array


def most_moved(p: Model, q: Model, g: int, s: int) -> int:
    """The place, among the columns of `tabular`, of the parameter of state s whose move alone makes most difference."""
    left, right = (tabular(of_group(model.emissions, g))[1] for model in (p, q))
    size = np.maximum(np.abs(left), np.abs(right)).max(axis=0)
    relative = np.abs(left[s] - right[s]) / np.where(size > 0, size, 1.0)
    best, most = range(left.shape[1]), 0.0
    for places, apart in _moves(of_group(p.emissions, g), of_group(q.emissions, g), s):
        if apart > most:
            best, most = places, apart
    return max(best, key=lambda c: relative[c])


def _moves(p: Family, q: Family, s: int) -> Iterator[tuple[range, float]]:
    """The places of every parameter and the divergence of state s when it alone takes q's value.

    A matrix, such as a covariance, moves as a whole. Parameters that a law cannot have alone are passed over.
    """
    start = 0
    own, other = p.parameters(), q.parameters()
    for key, value in own.items():
        if isinstance(value, list | tuple) or value is None or np.ndim(value) == 0:
            return  # families within a family: their parameters are not moved
        width = int(np.prod(np.shape(value)[1:]))
        for f in range(width) if np.ndim(value) == 2 else [None]:
            moved: Array = np.array(value, dtype=np.float64)
            moved[(s,) if f is None else (s, f)] = np.asarray(other[key])[(s,) if f is None else (s, f)]
            places = range(start, start + width) if f is None else range(start + f, start + f + 1)
            yield places, _apart(p, own | {key: moved}, s)
        start += width


def _apart(p: Family, parameters: dict[str, Any], s: int) -> float:
    """The divergence of state s from a law with these parameters; 0 where there is none."""
    try:
        return float(p.kl(type(p)(**parameters))[s])
    except (HidivError, TypeError, ValueError):
        return 0.0
