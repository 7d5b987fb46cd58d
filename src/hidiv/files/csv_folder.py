"""A model as a folder of CSV files, as R, MATLAB, Julia or a spreadsheet write them.

`transition.csv` (K lines), `initial.csv` (K numbers; without it the law is stationary), and a file named after each
family of emissions, with a heading and a line for each state: the columns of `gaussian.csv` are `mean` and `std`, or
`mean_speed`, `mean_turn`, `std_speed`, `std_turn` for several; those of `categorical.csv` are the symbols. A column
`state` names the states. Several families stand side by side in the order of their files' names, from which a leading
number is taken off: `1_gamma.csv`, `2_von_mises.csv`.
"""

from __future__ import annotations

import csv
import os
import re
from typing import Any, NamedTuple

from hidiv.emissions.composite.product import Product
from hidiv.emissions.families.categorical import Categorical
from hidiv.emissions.registry import FAMILIES, family_class
from hidiv.errors import HidivError, InvalidFile, counted, refuse, shown
from hidiv.files.disk import opened, read_limited
from hidiv.files.formats import placed
from hidiv.models.model import Model
from hidiv.models.symbol_names import is_number

STATE = "state"  # the heading of the column with the names of the states


class Table(NamedTuple):
    """Headings, or None, the numbers below them line by line, and the entries of the column `state`."""

    headings: list[str] | None
    lines: list[list[float]]
    states: list[str] | None


def read_folder(folder: str) -> Model:
    """The model that the files of a folder describe; every refusal names the file."""
    names = sorted(name for name in os.listdir(folder) if name.lower().endswith(".csv"))
    parts = {name[:-4].lower(): os.path.join(folder, name) for name in names}
    if "transition" not in parts:
        refuse(
            InvalidFile, shown(folder), "a folder with a model has transition.csv", ", ".join(names) or "no CSV file"
        )
    transition = _table(parts.pop("transition"))
    n_states = len(transition.lines)
    initial: Any = "stationary"
    if "initial" in parts:
        path = parts.pop("initial")
        initial = [entry for line in _table(path).lines for entry in line]
        if len(initial) != n_states:
            refuse(InvalidFile, shown(path), f"needs {counted(n_states, 'number')}, one a state", len(initial))
    if not parts:
        refuse(InvalidFile, shown(folder), "needs a file named after a family, such as gaussian.csv", ", ".join(names))
    columns: list[str] = []
    symbols: list[list[str] | None] = []
    families, states = [], transition.states
    for part, path in parts.items():
        family, own, alphabets, named = _family(part, path, n_states)
        families.append(family)
        columns += own
        symbols += alphabets
        states = states or named
    if len(families) > 1:
        families = [Product(families)]
    known = [column for column in columns if column]
    try:
        return Model(
            initial, transition.lines, families[0], state_names=states,
            symbol_names=symbols if any(symbols) else None,
            column_names=columns if len(set(known)) == len(columns) else None,
        )  # fmt: skip
    except HidivError as error:
        raise placed(error, shown(folder)) from None


def _family(part: str, path: str, n_states: int) -> tuple[Any, list[str], list[list[str] | None], list[str] | None]:
    """The family in a file, the names of its columns, the names of their symbols, and those of the states."""
    place, name = shown(path), re.sub(r"^\d+[ _.-]*", "", part)
    if name not in FAMILIES:
        refuse(InvalidFile, place, "must be named after a family", name, "known are " + ", ".join(FAMILIES))
    table = _table(path)
    if table.headings is None:
        refuse(InvalidFile, f"{place}, line 1", "needs headings: parameters, or the symbols of categorical.csv")
    if len(table.lines) != n_states:
        refuse(InvalidFile, place, f"needs {counted(n_states, 'line')} below the headings", len(table.lines))
    if family_class(name) is Categorical:
        given, columns = {"probs": table.lines}, [""]
    else:
        given, columns = _parameters(table, place)
    alphabets = [list(table.headings) if family_class(name) is Categorical else None for _ in columns]
    try:
        family = family_class(name)(**given)
    except TypeError:
        refuse(InvalidFile, f"{place}, line 1", f"has not the parameters of {name}", ", ".join(given))
    except HidivError as error:
        raise placed(error, place) from None
    if family.n_features != len(columns):
        refuse(InvalidFile, f"{place}, line 1", "every parameter needs the same columns", ", ".join(table.headings))
    return family, columns, alphabets, table.states


def _parameters(table: Table, place: str) -> tuple[dict[str, Any], list[str]]:
    """Parameters (K,) or (K, F), named by what stands before the first _ or full stop, and the names of the columns."""
    split = [re.split(r"[_.]", heading, maxsplit=1) for heading in table.headings or ()]
    of_parameter: dict[str, list[int]] = {}
    for at, words in enumerate(split):
        of_parameter.setdefault(words[0].strip(), []).append(at)
    names = [[split[at][1] if len(split[at]) > 1 else "" for at in places] for places in of_parameter.values()]
    if any(own != names[0] for own in names):
        refuse(
            InvalidFile, f"{place}, line 1", "every parameter needs the same columns", ", ".join(table.headings or ())
        )
    plain = names[0] == [""]
    return {
        parameter: [line[places[0]] if plain else [line[at] for at in places] for line in table.lines]
        for parameter, places in of_parameter.items()
    }, names[0]


def _table(path: str) -> Table:
    """Numbers between commas, semicolons or tabs; a first line that is no numbers holds headings."""
    place = shown(path)
    with opened(path) as file:
        data = read_limited(file, path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        refuse(InvalidFile, place, f"must be UTF-8 text, byte {error.start + 1} is not")
    first = text.partition("\n")[0]
    mark = max(",;\t", key=first.count)
    try:
        rows = [row for row in csv.reader(text.splitlines(), delimiter=mark) if any(entry.strip() for entry in row)]
    except csv.Error as error:
        refuse(InvalidFile, place, f"is no table, {error}")
    if not rows:
        refuse(InvalidFile, place, "is empty")
    headings = None if all(is_number(entry) for entry in rows[0]) else [entry.strip() for entry in rows[0]]
    below = rows if headings is None else rows[1:]
    states = None
    if headings is not None and (headings[0].lower() in ("", STATE)):
        # R writes the names of its rows into a first column without a heading.
        texts = [row[0] for row in below]
        states = texts if headings[0] or not all(is_number(entry) for entry in texts) else None
        headings, below = headings[1:], [row[1:] for row in below]
    width = len(below[0]) if below else 0
    lines = []
    for number, row in enumerate(below, 1 if headings is None else 2):
        for entry in row:
            if not is_number(entry):
                refuse(InvalidFile, f"{place}, line {number}", "holds numbers", entry)
        if len(row) != width or (headings is not None and width != len(headings)):
            refuse(InvalidFile, f"{place}, line {number}", "all lines need as many entries as the first", len(row))
        lines.append([float(entry) for entry in row])
    return Table(headings, lines, states)
