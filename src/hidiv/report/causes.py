"""Why two models differ, in sentences: the cells, rows and states that add most to the joint divergence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from hidiv.divergences.comparison import Comparison
from hidiv.divergences.quantities import MEANINGS, in_names, in_words
from hidiv.divergences.result import Parts
from hidiv.emissions.family import Family
from hidiv.emissions.sample_space import Kind
from hidiv.emissions.tabular import is_probabilities, tabular
from hidiv.errors import HidivError
from hidiv.models.model import Model
from hidiv.plots.emission_curves import column_name
from hidiv.report.digits import shown
from hidiv.report.heat_tables import cell_adds, emission_adds, emission_table, group_adds, has_transition, of_group
from hidiv.report.state_names import state_name
from hidiv.types import Array

NAMED = 4  # causes that are told
LEAST = 0.05  # share of the whole below which a cause is not told
ENOUGH = 0.85  # share of the whole that the causes told may leave it at
OWN = 0.6  # share of a row from which its largest cell stands for it
FAINT = 1e-3  # a probability below this, and below this part of the other model's, is almost impossible


@dataclass(frozen=True)
class Cause:
    """A sentence, what its place adds to the whole, and what the place is called; "" where the sentence says it."""

    words: str
    adds: float
    place: str

    @property
    def initial(self) -> bool:
        """Whether it is the initial law."""
        return not self.place


def causes(p: Model, q: Model, parts: Parts, names: tuple[str, str], word: str = "group") -> list[Cause]:
    """The largest causes of a finite divergence, or of the finite rest of an infinite one; the largest first."""
    named = [*_initial(p, q, parts, names), *_rows(p, q, parts, names, word), *_states(p, q, parts, names, word)]
    named = sorted((one for one in named if isfinite(one.adds)), key=lambda one: -one.adds)
    whole = finite_whole(parts)
    told: list[Cause] = []
    for one in named[:NAMED]:
        if one.adds < LEAST * whole or one.adds <= 0 or sum(t.adds for t in told) > ENOUGH * whole:
            break
        told.append(one)
    return told


def finite_whole(parts: Parts) -> float:
    """The sum of all finite parts: the whole divergence unless it is infinite."""
    terms = np.concatenate([[parts.initial], parts.rows.ravel(), parts.states.ravel()])
    return float(terms[np.isfinite(terms)].sum())


def guilty(p: Model, q: Model, parts: Parts, names: tuple[str, str], word: str = "group") -> list[str]:
    """The places where p has probability and q has none, as sentences; the likeliest under p first."""
    cells: list[tuple[float, str]] = []

    def note(place: str, probability: float) -> None:
        cells.append((probability, f"{place}: {shown(probability, 3)} in {names[0]}, 0 in {names[1]}"))

    if np.isinf(parts.initial):
        for s in np.flatnonzero((p.initial > 0) & (q.initial == 0)):
            note(f"{state_name(p, int(s))} as the first state", float(p.initial[s]))
    for g in range(max(p.n_groups, q.n_groups)):
        where = _where(p, q, g, word)
        for s in np.flatnonzero(np.isinf(group_adds(parts.rows, g))):
            own, other, name = of_group(p.transitions, g)[s], of_group(q.transitions, g)[s], state_name(p, int(s))
            for t in np.flatnonzero((own > 0) & (other == 0)):
                note(f"{name} to {state_name(p, int(t))}{where}", float(own[t]))
            if p.end is not None and q.end is not None and p.end[s] > 0 and q.end[s] == 0:
                note(f"the end after {name}", float(p.end[s]))
        for s in np.flatnonzero(np.isinf(group_adds(parts.states, g))):
            cells += _impossible_emissions(p, q, g, int(s), names, where)
    return [words for _, words in sorted(cells, key=lambda cell: -cell[0])]


def _impossible_emissions(
    p: Model, q: Model, g: int, s: int, names: tuple[str, str], where: str
) -> list[tuple[float, str]]:
    """The symbols that q excludes in a state, each after its probability under p; the state where they have none."""
    table = emission_table(p, q, g)
    if table is not None and _bits_or_symbols(p, g):
        columns, left, right = table
        excluded = [(columns[c], float(left[s, c])) for c in np.flatnonzero((left[s] > 0) & (right[s] == 0))]
        if not is_probabilities(of_group(p.emissions, g)):  # a bit that q always has
            always = np.flatnonzero((left[s] < 1) & (right[s] == 1))
            excluded += [(f"no {columns[c]}", 1.0 - float(left[s, c])) for c in always]
        return [
            (chance, f"{what} in {state_name(p, s)}{where}: {shown(chance, 3)} in {names[0]}, 0 in {names[1]}")
            for what, chance in excluded
        ]
    return [(1.0, f"what is seen in {state_name(p, s)}{where}: {names[1]} excludes values that {names[0]} allows")]


def infinite_quantities(p: Model, comparison: Comparison) -> tuple[list[str], list[str]]:
    """The names of what is infinite, and the reasons that are not in the list of impossible places."""
    named = [name for name in MEANINGS if getattr(comparison, name) is not None and getattr(comparison, name).infinite]
    rates = [
        f"{in_words(name)} rate"
        for name in comparison.rates
        if (rate := comparison.rates[name]) is not None and rate.infinite
    ]
    seen = [getattr(comparison, name).infinite for name in named if name in ("observed", "posterior")]
    reasons = dict.fromkeys(forbidden(reason, p, comparison.names) for one in seen for reason in one)
    return [*map(in_words, named), *rates], list(reasons)


def forbidden(reason: str, p: Model, names: tuple[str, str]) -> str:
    """The reason of an infinite divergence with the models' names, and its word with the names of what is seen.

    >>> import hidiv as hd
    >>> coin = hd.Model([1.0], [[1.0]], hd.Bernoulli([[0.5, 0.2]]), column_names=["acid", "heat"])
    >>> forbidden("p emits the word 2 0 and q cannot", coin, ("wet", "dry"))
    'wet can show only acid, then nothing, and dry cannot'
    """
    word = re.fullmatch(r"p emits the word ([\d ]+)( \.\.\.)? and q cannot", reason)
    rows = p.emissions[0].alphabet()
    if word is None or rows is None:
        return in_names(reason, names)
    spelled = [_symbol(p, rows[int(i)]) for i in word[1].split()]
    return f"{names[0]} can show {', then '.join(spelled)}{word[2] or ''}, and {names[1]} cannot"


def _symbol(p: Model, row: Array) -> str:
    """One observation in words: the name of a symbol, or of the columns that are 1."""
    if len(row) == 1 and p.symbol_names is not None and p.symbol_names[0] is not None:
        return str(p.symbol_names[0][int(row[0])])
    if len(row) > 1 and all(space.kind is Kind.BIT for space in p.emissions[0].column_spaces()):
        return "only " + " and ".join(column_name(p, int(f)) for f in np.flatnonzero(row)) if row.any() else "nothing"
    return ", ".join(shown(float(value), 6) for value in row)


def _initial(p: Model, q: Model, parts: Parts, names: tuple[str, str]) -> list[Cause]:
    whole = finite_whole(parts)
    if not isfinite(parts.initial) or whole <= 0:
        return []
    s = int(np.argmax(cell_adds(p.initial[None], q.initial[None], np.array([1.0]))[0]))
    values = _against(float(p.initial[s]), float(q.initial[s]), names)
    words = (
        "of the joint divergence is the initial law, which one sequence cannot teach: the probability to start in "
        f"{state_name(p, s)} is {values}"
    )
    return [Cause(words, parts.initial, "")]


def _rows(p: Model, q: Model, parts: Parts, names: tuple[str, str], word: str) -> list[Cause]:
    named = []
    for g in range(max(p.n_groups, q.n_groups)):
        if not (has_transition(p, g) and has_transition(q, g)):
            continue
        left, right = of_group(p.transitions, g), of_group(q.transitions, g)
        adds = group_adds(parts.rows, g)
        each = cell_adds(left, right, adds)
        for s in range(p.n_states):
            t = int(np.argmax(each[s]))
            what = f"{state_name(p, s)} to {state_name(p, t)}" if s != t else f"staying in {state_name(p, s)}"
            named.append(
                _of_cell(what, _where(p, q, g, word), float(left[s, t]), float(right[s, t]), float(each[s, t]),
                         float(adds[s]), names, f"the transitions from {state_name(p, s)}")
            )  # fmt: skip
    return named


def _states(p: Model, q: Model, parts: Parts, names: tuple[str, str], word: str) -> list[Cause]:
    named = []
    for g in range(max(p.n_groups, q.n_groups)):
        adds, where, table = group_adds(parts.states, g), _where(p, q, g, word), emission_table(p, q, g)
        for s in range(p.n_states):
            seen = f"What is seen in {state_name(p, s)}{where}"
            if table is None or not len(table[0]):
                named.append(Cause(f"{seen} differs", float(adds[s]), "this state"))
                continue
            columns, left, right = table
            shares = emission_adds(p, q, g, left, right, adds)
            if shares is not None and _bits_or_symbols(p, g):
                each = shares[s]
                c = int(np.argmax(each))
                what = f"{columns[c]} in {state_name(p, s)}"
                named.append(
                    _of_cell(what, where, float(left[s, c]), float(right[s, c]), float(each[c]), float(adds[s]), names,
                             f"what is seen in {state_name(p, s)}")
                )  # fmt: skip
            else:
                c = int(np.argmax(shares[s])) if shares is not None else _most_moved(p, q, g, s)
                values = _against(float(left[s, c]), float(right[s, c]), names)
                named.append(Cause(f"{seen} differs ({columns[c]} is {values})", float(adds[s]), "this state"))
    return named


def _of_cell(
    what: str, where: str, a: float, b: float, cell: float, row: float, names: tuple[str, str], whole: str
) -> Cause:
    """A cell that stands for its row, or the row with its largest cell."""
    if b < FAINT and b < FAINT * a:
        return Cause(f"{names[1]} makes {what}{where} almost impossible ({shown(b, 2)}; {names[0]} has {shown(a, 2)})",
                     cell, "this cell")  # fmt: skip
    alone = cell >= OWN * row
    going = "going from " if whole.startswith("the transitions") and not what.startswith("staying") else ""
    return Cause(f"The probability of {going}{what}{where} is {_against(a, b, names)}", cell if alone else row,
                 "this cell" if alone else whole)  # fmt: skip


def _against(a: float, b: float, names: tuple[str, str]) -> str:
    return f"{shown(a, 3)} in {names[0]} and {shown(b, 3)} in {names[1]}"


def _where(p: Model, q: Model, g: int, word: str) -> str:
    """ ", level 2" where there are several."""
    return f", {word} {g}" if max(p.n_groups, q.n_groups) > 1 else ""


def _bits_or_symbols(p: Model, g: int) -> bool:
    """Whether the table of the emissions holds probabilities, of symbols or of bits."""
    family = of_group(p.emissions, g)
    return is_probabilities(family) or all(space.kind is Kind.BIT for space in family.column_spaces())


def _most_moved(p: Model, q: Model, g: int, s: int) -> int:
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
