"""Where two models differ, as shaded tables: one for the transitions and one for the emissions of each group."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from hidiv.divergences.result import Parts
from hidiv.emissions.family import Family
from hidiv.emissions.sample_space import Kind
from hidiv.emissions.tabular import is_probabilities, tabular
from hidiv.errors import HidivError
from hidiv.models.model import Model
from hidiv.recursions.terms import divergence_terms
from hidiv.report.page import short
from hidiv.types import Array

STEPS = 10  # shades of each of the two colours
WIDEST = 40  # rows or columns of a table; of more, those that differ most are shown
OPEN = 10  # rows that are open from the start
CELLS = 5000  # of all tables together; groups that do not fit are left out


@dataclass(frozen=True, eq=False)
class HeatTable:
    """Parameters of p and q; `adds` is what each cell adds to the divergence, None if only whole rows have a value."""

    kind: str  # "transition" or "emission"
    group: int | None
    rows: list[str]
    columns: list[str]
    p: Array
    q: Array
    shades: Array  # whole numbers from -10 to 10, positive where p is larger
    paints: dict[str, Array]  # whole shades of every way to colour the table
    row_adds: list[float]
    adds: Array | None
    left_out: str  # what is not shown
    first: list[bool]  # which rows are open from the start

    def view(self) -> dict[str, Any]:
        """What the script of the page needs to show a cell and its row."""
        return {
            "kind": self.kind, "group": self.group, "rows": self.rows, "columns": self.columns,
            "p": short(self.p), "q": short(self.q), "rowAdds": short(self.row_adds),
            "adds": None if self.adds is None else short(self.adds),
            "paints": {key: paint.astype(int).tolist() for key, paint in self.paints.items()},
        }  # fmt: skip


def heat_tables(p: Model, q: Model, parts: Parts) -> tuple[list[HeatTable], str]:
    """The tables of all groups, or of those that add most if there are too many, and a sentence about the others."""
    groups = max(p.n_groups, q.n_groups)
    weights = [sum(group_adds(table, g).sum() for table in (parts.rows, parts.states)) for g in range(groups)]
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
    """One table, or None if there is nothing to subtract."""
    states = list(p.state_names) if p.state_names is not None else [str(s) for s in range(p.n_states)]
    if kind == "transition":
        if not (has_transition(p, g) and has_transition(q, g)):
            return None
        columns, left, right = states, of_group(p.transitions, g), of_group(q.transitions, g)
        row_adds = group_adds(parts.rows, g)
        adds: Array | None = cell_adds(left, right, row_adds)
    else:
        table = emission_table(p, q, g)
        if table is None:
            return None
        columns, left, right = table
        row_adds = group_adds(parts.states, g)
        adds = emission_adds(p, q, g, left, right, row_adds)
    probabilities = kind == "transition" or is_probabilities(of_group(p.emissions, g))
    rows = _largest(row_adds)
    keep = rows if kind == "transition" else _largest(np.abs(left - right).max(axis=0, initial=0.0))
    left_out = ""
    if len(rows) < len(states) or len(keep) < len(columns):
        left_out = (
            f"{len(rows)} of {len(states)} rows and {len(keep)} of {len(columns)} columns, those that differ most."
        )
    pick = np.ix_(rows, keep)
    shades = _shades(left[pick], right[pick], probabilities)
    open_rows = set(_largest(row_adds, OPEN))
    return HeatTable(
        kind, group, [states[r] for r in rows], [columns[c] for c in keep], left[pick], right[pick],
        shades,
        _paints(left[pick], right[pick], shades, row_adds[rows], None if adds is None else adds[pick], probabilities),
        [float(row_adds[r]) for r in rows], None if adds is None else adds[pick], left_out,
        [r in open_rows for r in rows],
    )  # fmt: skip


def emission_table(p: Model, q: Model, g: int) -> tuple[list[str], Array, Array] | None:
    """Names of the parameters and their values in p and q, or None if there is nothing to subtract."""
    families = [of_group(model.emissions, g) for model in (p, q)]
    (columns, left), (others, right) = (tabular(family) for family in families)
    if columns != others or type(families[0]) is not type(families[1]) or not columns or left.shape != right.shape:
        return None
    return [_named(column, families[0], p) for column in columns], left, right


def _named(column: str, family: Family, p: Model) -> str:
    """A parameter with the names of the model's symbols or columns in place of their numbers."""
    key, _, numbers = column.rpartition(" ")
    if key == "symbol" and p.symbol_names is not None and p.symbol_names[0] is not None and numbers.isdecimal():
        return p.symbol_names[0][int(numbers)]
    if p.column_names is None or ":" in column or family.space.kind is Kind.SYMBOLS:
        return column
    key, *places = column.replace(",", "").split(" ")
    if not places or not all(place.isdecimal() and int(place) < len(p.column_names) for place in places):
        return column
    return f"{'' if key == 'probs' else key + ' '}{', '.join(p.column_names[int(place)] for place in places)}"


def _paints(
    left: Array, right: Array, difference: Array, row_adds: Array, adds: Array | None, probabilities: bool
) -> dict[str, Array]:
    """Shades by contribution, difference, p and q; where only rows have a contribution, the whole row has its shade."""
    added = np.broadcast_to(row_adds[:, None], left.shape) if adds is None else adds
    largest = (
        np.ones(left.shape[1]) if probabilities else np.maximum(np.abs(left), np.abs(right)).max(axis=0, initial=0.0)
    )
    scale = np.where(largest > 0, largest, 1.0)
    return {
        "contribution": _sequential(added, float(added[np.isfinite(added)].max(initial=0.0))),
        "difference": difference,
        "p": _sequential(np.abs(left) / scale, 1.0),
        "q": _sequential(np.abs(right) / scale, 1.0),
    }


def _sequential(values: Array, top: float) -> Array:
    """Shades from 0 to 10 of values from 0 to `top`; infinite values have the darkest."""
    return np.asarray(
        np.where(np.isfinite(values), np.ceil(STEPS * np.clip(values, 0, top) / (top or 1.0) - 1e-9), STEPS)
    )


def _shades(left: Array, right: Array, probabilities: bool) -> Array:
    """Differences as whole shades, relative to the column's largest value unless they are probabilities."""
    difference = left - right
    if not probabilities:
        largest = np.maximum(np.abs(left), np.abs(right)).max(axis=0, initial=0.0)
        difference = difference / np.where(largest > 0, largest, 1.0)
    top = float(np.abs(difference).max(initial=0.0)) or 1.0
    return np.asarray(np.sign(difference) * np.ceil(STEPS * np.abs(difference) / top - 1e-9))


def cell_adds(left: Array, right: Array, row_adds: Array) -> Array:
    """(K, columns): what each row adds, divided among its cells in proportion to their second-order terms, all >= 0."""
    return _divided(divergence_terms(left, right), row_adds)


def emission_adds(p: Model, q: Model, g: int, left: Array, right: Array, row_adds: Array) -> Array | None:
    """(K, columns): what each parameter of the emissions adds; None where only whole states have a value.

    Beside probabilities of symbols these are families with one parameter a column, such as bits and counts.
    """
    one, other = of_group(p.emissions, g), of_group(q.emissions, g)
    if is_probabilities(one):
        return cell_adds(left, right, row_adds)
    if left.shape[1] != one.n_features:
        return None
    try:
        columns = [one.select([f]).kl(other.select([f])) for f in range(one.n_features)]
    except (HidivError, TypeError, ValueError, IndexError):  # columns that cannot be taken apart
        return None
    return _divided(np.column_stack(columns), row_adds)


def _divided(terms: Array, row_adds: Array) -> Array:
    """(K, columns): what each row adds, in proportion to the terms of its cells; infinite terms take all."""
    total = terms.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(np.isinf(total), np.isinf(terms), terms / total)
        return np.where(shares > 0, shares * row_adds[:, None], 0.0)


def group_adds(table: Array, g: int) -> Array:
    """(K,): what the rows or states of group g add to the divergence."""
    return table if table.ndim == 1 else np.asarray(table[g])


def of_group(many: Any, g: int) -> Any:
    """The entry of group g, or the only one."""
    return many[g if len(many) > 1 else 0]


def has_transition(model: Model, g: int) -> bool:
    """Whether group g has a transition matrix."""
    return bool(of_group(model.has_transition, g))


def _largest(weights: Array, most: int = WIDEST) -> list[int]:
    """The places of the largest weights in ascending order, at most `most` of them."""
    order = np.argsort(-np.where(np.isfinite(weights), weights, np.inf), kind="stable")
    return sorted(int(i) for i in order[:most])


def share(value: float, whole: float) -> float | None:
    """value / whole, or None if that is not a finite share."""
    return value / whole if isfinite(value) and isfinite(whole) and whole > 0 else None
