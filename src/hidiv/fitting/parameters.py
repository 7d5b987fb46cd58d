"""The number of free parameters of a model."""

from __future__ import annotations

import numpy as np

from hidiv.emissions.family import Family
from hidiv.models.model import Model
from hidiv.types import Array

ABSORBING = {
    "unit": (0.0, 1.0),
    "positive": (0.0,),
    "rate": (0.0,),
    "length": (0.0,),
}  # by range: values that a fit cannot change


def count_parameters(model: Model, fixed: frozenset[str] = frozenset(), zeros_stay: bool = False) -> int:
    """Free parameters of a model of this form: the root's law, every row of every transition with its end, emissions.

    zeros_stay: probabilities that are 0 in the start of a climb stay 0 (a transition left out, a symbol a state never
    shows) and are not counted.
    """
    count = 0 if "initial" in fixed else _of_rows(model.initial[None], zeros_stay)
    if "transition" not in fixed:
        rows = model.transitions[model.has_transition]
        if model.end is not None:
            rows = np.concatenate([rows, model.end[None, :, None]], axis=2)
        count += _of_rows(rows, zeros_stay)
    if "emission" not in fixed:
        count += sum(of_family(family, fixed, zeros_stay) for family in model.emissions)
    return count


def of_family(family: Family, fixed: frozenset[str], zeros_stay: bool = False) -> int:
    """Free parameters of all states of a family."""
    known = family.parameters()
    if family.name == "silent":
        return 0
    if family.name == "product":
        return sum(of_family(member, fixed, zeros_stay) for member in known["families"])
    if family.name == "mixture":
        inner = sum(of_family(member, fixed, zeros_stay) for member in known["components"])
        return inner + (0 if "weights" in fixed else _of_rows(known["weights"], zeros_stay))
    if family.name in ("categorical", "multinomial"):
        return 0 if "probs" in fixed else _of_rows(known["probs"], zeros_stay)
    ranges, total = family.ranges(), 0
    for name, value in known.items():
        if name in fixed:
            continue
        if name == "cov":
            total += value.shape[0] * value.shape[1] * (value.shape[1] + 1) // 2
        elif ranges.get(name) != "fixed":
            held = np.isin(value, ABSORBING.get(ranges.get(name, ""), ())) if zeros_stay else np.zeros(1)
            total += int(value.size - held.sum())
    return total


def _of_rows(rows: Array, zeros_stay: bool) -> int:
    """Free entries of rows that sum to one."""
    entries = int(np.count_nonzero(rows)) if zeros_stay else int(rows.size)
    return entries - int(np.prod(rows.shape[:-1]))
