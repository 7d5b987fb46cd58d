"""Checks of saved results: what `to_dict` cannot have written is refused, and the refusal names the key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from hidiv.divergences.quantities import COMPARED, OVERLAPS, QUANTITIES, RATES, STATUSES, UNITS
from hidiv.errors import HidivError, InvalidFile, refuse
from hidiv.models.checks import check_format, check_keys

Built = TypeVar("Built")

KEYS = ("subject", "quantity", "status", "value", "lower", "upper", "std_error", "n_samples", "unit", "per", "infinite",
        "certificate", "notes", "parts")  # fmt: skip
OPTIONAL = ("format", "version", "error")  # files of before do not have `error`
PARTS = ("initial", "transition", "emission", "rows", "states")
TEXTS = ("subject", "p", "q", "unit")  # of a comparison
ALIGNMENT = ("permutation", "value", "gain", "optimal", "ties", "infinite", "labelled_infinite", "finite")
WORDS = {"quantity": QUANTITIES, "status": STATUSES, "unit": tuple(UNITS)}


def read_saved(described: Any, form: str, keys: tuple[str, ...], build: Callable[[], Built]) -> Built:
    """What `build` makes of a description with these keys; whatever it stumbles over is refused in one sentence."""
    check_keys(InvalidFile, described, keys, OPTIONAL[:2])
    check_format(InvalidFile, described, form)
    try:
        return build()
    except HidivError as error:
        raise InvalidFile(f"{form}: {error}") from None
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, StopIteration) as error:
        refuse(InvalidFile, form, "holds what was never saved", str(error), "save the result again")


def check_saved(described: Any) -> None:
    """Refuse what `Divergence.to_dict` cannot have written."""
    check_keys(InvalidFile, described, KEYS, OPTIONAL)
    check_format(InvalidFile, described, "hidiv.divergence")
    for key, words in WORDS.items():
        if described[key] not in words:
            refuse(InvalidFile, key, f"must be {', '.join(words[:-1])} or {words[-1]}", repr(described[key]))
    _check_text("subject", described["subject"])
    if described["per"] is not None:
        _check_text("per", described["per"])
    _check_number("value", described["value"])
    certified, estimated = described["status"] == "certified", described["std_error"] is not None
    for key, needed in (("lower", certified), ("upper", certified), ("std_error", False), ("error", False)):
        if needed or described.get(key) is not None:
            _check_number(key, described[key])
    samples = described["n_samples"]
    if (estimated or samples is not None) and (type(samples) is not int or samples < 0):
        refuse(InvalidFile, "n_samples", "must be a whole number", repr(samples))
    for key in ("infinite", "notes"):
        if not isinstance(described[key], list):
            refuse(InvalidFile, key, "must be a list of texts", described[key])
        for i, text in enumerate(described[key]):
            _check_text(f"{key}[{i}]", text)
    if not isinstance(described["certificate"], Mapping | None):
        refuse(InvalidFile, "certificate", "must be an object or null", described["certificate"])
    if described["parts"] is not None:
        _check_parts(described["parts"])


def check_saved_comparison(described: Any) -> None:
    """Refuse what `Comparison.to_dict` cannot have written; its divergences are checked as they are read."""
    check_keys(
        InvalidFile,
        described,
        (*TEXTS, *COMPARED, "alignment", "rates", "infinite", "undefined"),
        (*OPTIONAL[:2], *OVERLAPS, "notes"),
    )
    check_format(InvalidFile, described, "hidiv.comparison")
    for key in TEXTS:
        if key not in ("p", "q") or described[key] is not None:
            _check_text(key, described[key])
    if described["unit"] not in WORDS["unit"]:
        refuse(InvalidFile, "unit", "must be nats or bits", repr(described["unit"]))
    for key, inside in (("rates", RATES), ("undefined", None), ("alignment", ALIGNMENT)):
        _check_object(key, described[key], inside, optional=key == "alignment")
    notes = described.get("notes", [])
    if not isinstance(notes, list):
        refuse(InvalidFile, "notes", "must be a list of texts", notes)
    for i, note in enumerate(notes):
        _check_text(f"notes[{i}]", note)
    for key, reason in described["undefined"].items():
        _check_text(f"undefined.{key}", reason)
    order = described["alignment"]
    if order is None:
        return
    permutation = order["permutation"]
    whole = isinstance(permutation, list) and all(type(i) is int for i in permutation)
    if not whole or sorted(permutation) != list(range(len(permutation))):
        refuse(InvalidFile, "alignment.permutation", "must be a permutation of the states", permutation)
    for key in ("value", "gain", "finite"):
        _check_number(f"alignment.{key}", order[key])
    for key in ("infinite", "labelled_infinite"):
        if type(order[key]) is not int:
            refuse(InvalidFile, f"alignment.{key}", "must be a whole number", repr(order[key]))
    if type(order["optimal"]) is not bool:
        refuse(InvalidFile, "alignment.optimal", "must be true or false", repr(order["optimal"]))
    if order["ties"] is not None and type(order["ties"]) is not int:
        refuse(InvalidFile, "alignment.ties", "must be a whole number or null", repr(order["ties"]))


def _check_parts(parts: Any) -> None:
    """Refuse parts that are not three numbers and two tables (K,) or (G, K)."""
    if not isinstance(parts, Mapping) or set(parts) != set(PARTS):
        refuse(InvalidFile, "parts", f"must be an object with {', '.join(PARTS)}", parts)
    for key in PARTS[:3]:
        _check_number(f"parts.{key}", parts[key])
    for key in PARTS[3:]:
        table = parts[key]
        rows = table if isinstance(table, list) and table and all(isinstance(row, list) for row in table) else [table]
        if not all(isinstance(row, list) and row and len(row) == len(rows[0]) for row in rows):
            refuse(InvalidFile, f"parts.{key}", "must be a list of numbers, or of equal lists of them", table)
        for row in rows:
            for number in row:
                _check_number(f"parts.{key}", number)


def _check_object(place: str, value: Any, keys: tuple[str, ...] | None, optional: bool) -> None:
    """Refuse what is no mapping with these keys; `keys` of None allow any."""
    if optional and value is None:
        return
    if not isinstance(value, Mapping) or (keys is not None and set(value) != set(keys)):
        inside = "" if keys is None else f" with {', '.join(keys)}"
        refuse(InvalidFile, place, f"must be an object{inside}", value)


def _check_number(place: str, value: Any) -> None:
    """Refuse what is neither a number nor an infinity written as text."""
    if isinstance(value, bool) or not (isinstance(value, int | float) or value in ("inf", "-inf")):
        refuse(InvalidFile, place, 'must be a number, "inf" or "-inf"', repr(value))


def _check_text(place: str, value: Any) -> None:
    """Refuse what is no text."""
    if not isinstance(value, str):
        refuse(InvalidFile, place, "must be text", repr(value))
