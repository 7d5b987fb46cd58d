"""Where two models differ, as tables to look at: one for the transitions and one for the emissions of a group."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from hidiv.divergences.result import Parts
from hidiv.emissions.tabular import is_probabilities, tabular
from hidiv.models.model import Model
from hidiv.recursions.terms import divergence_terms
from hidiv.report.page import short
from hidiv.types import Array

STEPS = 10  # shades of either colour
WIDEST = 40  # rows or columns of a table; of more, those that matter most
CELLS = 5000  # of all tables together; further groups are left out


@dataclass(frozen=True, eq=False)
class HeatTable:
    """p and q side by side; `adds` is what each cell adds to the divergence, None where only whole rows have it."""

    kind: str  # "transition" or "emission"
    group: int | None
    rows: list[str]
    columns: list[str]
    p: Array
    q: Array
    shades: Array  # whole numbers -10..10, positive where p is larger
    row_adds: list[float]
    adds: Array | None
    left_out: str  # what is not shown

    def view(self) -> dict[str, Any]:
        """What the script needs for hover and detail."""
        return {
            "kind": self.kind, "group": self.group, "rows": self.rows, "columns": self.columns,
            "p": short(self.p), "q": short(self.q), "rowAdds": short(self.row_adds),
            "adds": None if self.adds is None else short(self.adds),
        }  # fmt: skip


def heat_tables(p: Model, q: Model, parts: Parts) -> tuple[list[HeatTable], str]:
    """Every group's tables, those with the largest contributions first chosen where all would be too many."""
    groups = max(p.n_groups, q.n_groups)
    weights = [sum(_adds(table, g).sum() for table in (parts.rows, parts.states)) for g in range(groups)]
    chosen: list[int] = []
    cells = 0
    for g in sorted(range(groups), key=lambda g: -weights[g]):
        cost = min(p.n_states, WIDEST) * (min(p.n_states, WIDEST) + WIDEST)
        if chosen and cells + cost > CELLS:
            break
        chosen.append(g)
        cells += cost
    made = []
    for g in sorted(chosen):
        group = g if groups > 1 else None
        made += [
            table
            for kind in ("transition", "emission")
            if (table := heat_table(p, q, parts, kind, g, group)) is not None
        ]
    left = "" if len(chosen) == groups else f"{len(chosen)} of {groups} groups are shown, those that add most."
    return made, left


def heat_table(p: Model, q: Model, parts: Parts, kind: str, g: int, group: int | None) -> HeatTable | None:
    """One table, None where there is nothing to subtract."""
    states = list(p.state_names) if p.state_names is not None else [str(s) for s in range(p.n_states)]
    if kind == "transition":
        if not (_there(p, g) and _there(q, g)):
            return None
        columns, left, right = states, _of(p.transitions, g), _of(q.transitions, g)
        row_adds = _adds(parts.rows, g)
        probabilities = True
    else:
        families = [_of(model.emissions, g) for model in (p, q)]
        (columns, left), (others, right) = (tabular(family) for family in families)
        if columns != others or type(families[0]) is not type(families[1]) or not columns:
            return None
        row_adds = _adds(parts.states, g)
        probabilities = is_probabilities(families[0])
    adds = _cell_adds(left, right, row_adds) if probabilities else None
    rows = _largest(row_adds)
    keep = rows if kind == "transition" else _largest(np.abs(left - right).max(axis=0, initial=0.0))
    left_out = ""
    if len(rows) < len(states) or len(keep) < len(columns):
        left_out = (
            f"{len(rows)} of {len(states)} rows and {len(keep)} of {len(columns)} columns, those that differ most."
        )
    pick = np.ix_(rows, keep)
    return HeatTable(
        kind, group, [states[r] for r in rows], [columns[c] for c in keep], left[pick], right[pick],
        _shades(left[pick], right[pick], probabilities), [float(row_adds[r]) for r in rows],
        None if adds is None else adds[pick], left_out,
    )  # fmt: skip


def _shades(left: Array, right: Array, probabilities: bool) -> Array:
    difference = left - right
    if not probabilities:
        largest = np.maximum(np.abs(left), np.abs(right)).max(axis=0, initial=0.0)
        difference = difference / np.where(largest > 0, largest, 1.0)
    top = float(np.abs(difference).max(initial=0.0)) or 1.0
    return np.asarray(np.sign(difference) * np.ceil(STEPS * np.abs(difference) / top - 1e-9))


def _cell_adds(left: Array, right: Array, row_adds: Array) -> Array:
    """Each row's contribution shared among its cells by their second-order terms, none of which is negative."""
    terms = divergence_terms(left, right)
    total = terms.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(np.isinf(total), np.isinf(terms), terms / total)
        return np.where(shares > 0, shares * row_adds[:, None], 0.0)


def _adds(table: Array, g: int) -> Array:
    return table if table.ndim == 1 else np.asarray(table[g])


def _of(many: Any, g: int) -> Any:
    return many[g if len(many) > 1 else 0]


def _there(model: Model, g: int) -> bool:
    return bool(_of(model.has_transition, g))


def _largest(weights: Array) -> list[int]:
    """The places of the largest, all of a few, in their order."""
    order = np.argsort(-np.where(np.isfinite(weights), weights, np.inf), kind="stable")
    return sorted(int(i) for i in order[:WIDEST])


def share(value: float, whole: float) -> float | None:
    """value / whole, None where that says nothing."""
    return value / whole if isfinite(value) and isfinite(whole) and whole > 0 else None
