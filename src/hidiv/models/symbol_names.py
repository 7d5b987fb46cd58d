"""Names of symbols: text and categories become numbers from 0, and their names are kept, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hidiv.emissions.family import Family
from hidiv.errors import InvalidEvidence, InvalidModel, counted, refuse
from hidiv.types import Array

Alphabet = tuple[str, ...]
SymbolNames = tuple[Alphabet | None, ...]  # one entry a column, None for a column of numbers

SHOWN = 12  # names that a message lists


def text_columns(place: str, value: Any) -> tuple[Array, SymbolNames | None, tuple[str, ...] | None]:
    """Read a table or an array with text or categories: numbers (n, F), the names of its symbols, its headings.

    Text is numbered in alphabetical order, categories in their own order. A column holds either numbers or symbols.
    """
    headed = _headed(value)
    labelled: list[tuple[Any, Any]] = headed or []
    if headed is None:
        try:
            array = np.asarray(value, dtype=object)
        except ValueError:
            array = np.empty(0, dtype=object)
        if array.ndim not in (1, 2) or not array.size:
            refuse(InvalidEvidence, place, "must be an array of numbers or of symbols, (n,) or (n, F)", _kind(value))
        labelled = [(None, array)] if array.ndim == 1 else list(enumerate(array.T))
    if not labelled:
        refuse(InvalidEvidence, place, "is a table without columns", remedy="give it a column of observations")
    read = [_column(place if label is None else f"{place}, column {label!r}", column) for label, column in labelled]
    alphabets = tuple(alphabet for _, alphabet in read)
    headings = tuple(str(label) for label, _ in labelled) if headed and labelled[0][0] is not None else None
    x = np.column_stack([codes for codes, _ in read])
    return x, alphabets if any(alphabet is not None for alphabet in alphabets) else None, headings


def has_headings(value: Any) -> bool:
    """Whether a value is a table, a column or categories of pandas, or has their attributes."""
    return _headed(value) is not None


def encoded(entries: Sequence[str | None]) -> tuple[Array, Alphabet]:
    """Texts as numbers from 0 in alphabetical order (NaN for None), and the texts in that order."""
    alphabet = tuple(sorted({str(entry) for entry in entries if entry is not None}))  # numpy has texts of its own
    number = {name: float(i) for i, name in enumerate(alphabet)}
    return np.array([np.nan if entry is None else number[entry] for entry in entries]), alphabet


def translated(x: Array, own: SymbolNames, wanted: SymbolNames | None, whose: str) -> Array:
    """(n, F): the same symbols numbered by the names `wanted`; `whose` names their owner in messages."""
    numbers = np.array(x, dtype=np.float64)
    for f, alphabet in enumerate(own):
        names = None if wanted is None or f >= len(wanted) else wanted[f]
        if alphabet is None or alphabet == names:
            continue
        if names is None:
            remedy = "give the model symbol_names, or evidence in numbers from 0"
            refuse(
                InvalidEvidence, "x", f"holds text in column {f}, and the {whose} has no symbol_names", remedy=remedy
            )
        place = {name: float(i) for i, name in enumerate(names)}
        seen = ~np.isnan(numbers[:, f])
        for code in np.unique(numbers[seen, f]).astype(int).tolist():
            if alphabet[code] not in place:
                rule = f"{alphabet[code]!r} in column {f} is not a symbol of the {whose}"
                refuse(InvalidEvidence, "x", rule, remedy="its symbols are " + listed(names))
        table = np.array([place.get(name, np.nan) for name in alphabet])
        numbers[seen, f] = table[numbers[seen, f].astype(int)]
    return numbers


def united(each: Sequence[SymbolNames | None]) -> SymbolNames | None:
    """Names for the symbols of several tables: the common ones, or all in alphabetical order where they differ."""
    given = [names for names in each if names is not None]
    if not given or len({len(names) for names in given}) > 1:
        return given[0] if given else None
    columns = []
    for alphabets in zip(*given, strict=True):
        text = [alphabet for alphabet in alphabets if alphabet is not None]
        same = all(alphabet == text[0] for alphabet in text)
        columns.append(None if not text else text[0] if same else tuple(sorted(set().union(*text))))
    return tuple(columns)


def alphabet_sizes(family: Family) -> list[int | None]:
    """How many symbols each column of a family has; None for a column of numbers."""
    return [space.n_symbols for space in family.column_spaces()]


def read_symbol_names(given: Any, emissions: Sequence[Family]) -> SymbolNames:
    """The names of symbols, column by column, checked against the families; one list will do for a single column."""
    shape = "needs the names of all symbols: a list of texts, or for several columns one such list a column (or null)"
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        refuse(InvalidModel, "symbol_names", shape, given)
    columns = [given] if all(isinstance(name, str) for name in given) else list(given)
    for family in emissions:
        sizes = alphabet_sizes(family)
        if len(columns) != len(sizes):
            rule = f"needs {counted(len(sizes), 'entry', 'entries')}, one a column"
            refuse(InvalidModel, "symbol_names", rule, len(columns))
        for f, (names, size) in enumerate(zip(columns, sizes, strict=True)):
            place = "symbol_names" if len(columns) == 1 else f"symbol_names[{f}]"
            if names is None:
                continue
            if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(n, str) for n in names):
                refuse(InvalidModel, place, shape, names)
            if size is None:
                refuse(InvalidModel, place, f"{family.name} shows numbers, not symbols", list(names)[:SHOWN])
            if len(names) != size:
                refuse(InvalidModel, place, f"must name the {counted(size, 'symbol')} of {family.name}", len(names))
            if len(set(names)) != size:
                refuse(InvalidModel, place, "must all differ", list(names)[:SHOWN])
    return tuple(None if names is None else tuple(map(str, names)) for names in columns)


def listed(names: Sequence[str]) -> str:
    """The names joined by commas; of many, the first SHOWN and the number of the others."""
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def _headed(value: Any) -> list[tuple[Any, Any]] | None:
    """Columns with their headings of a data frame, a series or categories; None for anything else."""
    if type(value).__module__.partition(".")[0] == "polars":
        return _headed_polars(value)
    if hasattr(value, "iloc") and hasattr(value, "columns"):
        return [(label, value.iloc[:, i]) for i, label in enumerate(value.columns)]
    if hasattr(value, "iloc"):
        return [(getattr(value, "name", None), value)]
    return [(None, value)] if hasattr(value, "categories") and hasattr(value, "codes") else None


class PolarsCategories(NamedTuple):
    """Categories of polars in the form of those of pandas: names, and for each entry its number, -1 for none."""

    categories: Sequence[str]
    codes: Sequence[int]


def _headed_polars(value: Any) -> list[tuple[Any, Any]] | None:
    """Columns with their headings of a table or a column of polars."""
    if hasattr(value, "collect"):  # a lazy one
        value = value.collect()
    if hasattr(value, "get_columns"):
        return [(column.name, _plain_polars(column)) for column in value.get_columns()]
    return [(value.name or None, _plain_polars(value))] if hasattr(value, "to_physical") else None


def _plain_polars(column: Any) -> Any:
    """A column of polars as a list with None, or the categories that its type lists; other categories are text."""
    names = getattr(column.dtype, "categories", None) if type(column.dtype).__name__ == "Enum" else None
    if names is not None:
        number = {name: i for i, name in enumerate(names)}
        return PolarsCategories(list(names), [-1 if entry is None else number[entry] for entry in column.to_list()])
    return column.to_numpy() if column.dtype.is_temporal() else column.to_list()


def _column(place: str, column: Any) -> tuple[Array, Alphabet | None]:
    """One column as numbers (n,), and its alphabet where it holds symbols."""
    held = getattr(column, "cat", column)
    if hasattr(held, "categories") and hasattr(held, "codes"):
        codes = np.asarray(held.codes, dtype=np.float64)
        names = tuple(str(name) for name in held.categories)
        if len(set(names)) != len(names):
            refuse(InvalidEvidence, place, "has categories that read the same", listed(names))
        return np.where(codes < 0, np.nan, codes), names
    if np.asarray(column).dtype.kind in "mM":
        refuse(InvalidEvidence, place, "holds dates or times", remedy="leave the column out, or give numbers")
    entries = [None if _is_missing(entry) else entry for entry in np.asarray(column, dtype=object).tolist()]
    try:
        numbers = np.array([np.nan if entry is None else float(entry) for entry in entries])
    except (TypeError, ValueError):
        return _text(place, entries)
    whole = bool((numbers >= 0).all() and (numbers == np.floor(numbers)).all())
    if place.endswith("column 'Unnamed: 0'") and whole and bool((np.diff(numbers) > 0).all()):
        refuse(
            InvalidEvidence, place, "numbers the rows and is no observation",
            remedy="read the file with index_col=0, or drop the column",
        )  # fmt: skip
    return numbers, None


def _text(place: str, entries: list[Any]) -> tuple[Array, Alphabet]:
    """Texts as symbols; a number among them is probably a mistake, and is refused."""
    text = [entry for entry in entries if isinstance(entry, str) and not is_number(entry)]
    for node, entry in enumerate(entries):
        if entry is not None and (not isinstance(entry, str) or is_number(entry)):
            both = f"{text[0]!r} and {entry!r}" if text else repr(entry)
            refuse(InvalidEvidence, place, f"must hold numbers only, or text only for symbols (see node {node})", both)
    return encoded(entries)


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_missing(entry: Any) -> bool:
    """Whether an entry is None, NaN, NA or NaT."""
    return (
        entry is None or type(entry).__name__ in ("NAType", "NaTType") or (isinstance(entry, float) and entry != entry)
    )


def _kind(value: Any) -> str:
    """The name of a value's type."""
    return type(value).__name__
