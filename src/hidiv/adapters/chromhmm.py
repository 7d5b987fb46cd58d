"""Models that ChromHMM writes as model_<states>.txt: chains of chromatin states with a Bernoulli law for each mark.

Tab-separated. The first line has the numbers of states and of marks, a letter, the log-likelihood and the number of
iterations. Then `probinit state p`, `transitionprobs from to p` and `emissionprobs state mark name value p`, with
states from 1, marks from 0, and the values 0 and 1.
"""

from __future__ import annotations

import math
from typing import NoReturn

import numpy as np

from hidiv.adapters.foreign import laws
from hidiv.emissions.families.bernoulli import Bernoulli
from hidiv.errors import InvalidFile, refuse
from hidiv.models.model import Model
from hidiv.types import Array

MOST_ENTRIES = 10_000_000  # of a transition matrix, or of a table of marks
FIELDS = {"probinit": 3, "transitionprobs": 4, "emissionprobs": 6}  # in a line of each kind, its name included


def read_text(text: str, place: str) -> Model:
    """The model in a text; `place` begins the messages."""
    lines = text.splitlines()
    n_states, n_marks = _sizes(lines[0].split("\t"), f"{place}, line 1")
    initial = np.full(n_states, np.nan)
    transition = np.full((n_states, n_states), np.nan)
    marks = np.full((n_states, n_marks, 2), np.nan)
    names: list[str | None] = [None] * n_marks
    for number, line in enumerate(lines[1:], 2):
        at = f"{place}, line {number}"
        kind, *fields = line.split("\t")
        if not line.strip():
            continue
        if kind not in FIELDS:
            _refuse(at, "begins with probinit, transitionprobs or emissionprobs", kind)
        if len(fields) + 1 != FIELDS[kind]:
            _refuse(at, f"{kind} has {FIELDS[kind]} fields between tabs", len(fields) + 1)
        state = _index(fields[0], 1, n_states, "a state", at)
        probability = _probability(fields[-1], at)
        if kind == "probinit":
            _put(initial, (state,), probability, at)
        elif kind == "transitionprobs":
            _put(transition, (state, _index(fields[1], 1, n_states, "a state", at)), probability, at)
        else:
            mark = _index(fields[1], 0, n_marks, "a mark", at)
            if names[mark] not in (None, fields[2]):
                _refuse(at, f"mark {mark} was called {names[mark]} before", fields[2])
            names[mark] = fields[2]
            _put(marks, (state, mark, _index(fields[3], 0, 2, "a value", at)), probability, at)
    for what, array in (("probinit", initial), ("transitionprobs", transition), ("emissionprobs", marks)):
        if np.isnan(array).any():
            state = int(np.argwhere(np.isnan(array))[0][0]) + 1
            refuse(InvalidFile, place, f"{what} of state {state} is not complete")
    shares = marks.sum(axis=2)
    if (np.abs(shares - 1.0) > 1e-6).any():
        state, mark = np.argwhere(np.abs(shares - 1.0) > 1e-6)[0]
        rule = f"emissionprobs of state {state + 1} and mark {names[mark]} must sum to one"
        refuse(InvalidFile, place, rule, float(shares[state, mark]))
    columns = [str(name) for name in names]
    return Model(
        laws("probinit", initial, (1,)), laws("transitionprobs", transition, (2,)), Bernoulli(marks[:, :, 1] / shares),
        column_names=columns if len(set(columns)) == n_marks else None,
    )  # fmt: skip


def _sizes(fields: list[str], at: str) -> tuple[int, int]:
    """The numbers of states and of marks in the first line."""
    try:
        n_states, n_marks = int(fields[0]), int(fields[1])
    except ValueError:
        _refuse(at, "begins with the numbers of states and of marks", " ".join(fields)[:40])
    if n_states < 1 or n_marks < 1 or n_states * max(n_states, 2 * n_marks) > MOST_ENTRIES:
        _refuse(at, f"tables of 1 to {MOST_ENTRIES} entries are read", f"{n_states} states and {n_marks} marks")
    return n_states, n_marks


def _index(field: str, first: int, count: int, what: str, at: str) -> int:
    """The place of a state, mark or value, from 0."""
    try:
        number = int(field)
    except ValueError:
        number = first - 1
    if not first <= number < first + count:
        _refuse(at, f"{what} is a number from {first} to {first + count - 1}", field[:40])
    return number - first


def _probability(field: str, at: str) -> float:
    """A number from 0 to 1, with room for rounding."""
    try:
        number = float(field)
    except ValueError:
        number = math.nan
    if not 0.0 <= number <= 1.0 + 1e-6:
        _refuse(at, "a probability is a number from 0 to 1", field[:40])
    return number


def _put(array: Array, where: tuple[int, ...], value: float, at: str) -> None:
    """Set an entry that has not been set before."""
    if not np.isnan(array[where]):
        _refuse(at, "gives a probability a second time", value)
    array[where] = value


def _refuse(at: str, rule: str, value: object) -> NoReturn:
    """Refuse a line."""
    refuse(InvalidFile, at, rule, value)
