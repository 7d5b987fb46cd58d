"""A saved result is checked before it is believed: every refusal names the key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hidiv.errors import InvalidFile, refuse
from hidiv.models.checks import check_format, check_keys

KEYS = ("subject", "quantity", "status", "value", "lower", "upper", "std_error", "n_samples", "unit", "per", "infinite",
        "certificate", "notes", "parts")  # fmt: skip
PARTS = ("initial", "transition", "emission", "rows", "states")
FORM = ("format", "version")
TOLD = ("subject", "p", "q", "unit")
COMPARED = ("joint", "joint_per_node", "joint_aligned", "observed", "expected_posterior", "posterior", "do_bound")
RATES = ("joint", "observed", "expected_posterior")
ORDER = ("permutation", "value", "gain", "optimal", "ties", "infinite", "labelled_infinite", "finite")
WORDS = {
    "quantity": ("joint", "posterior", "observed"),
    "status": ("exact", "certified", "estimate", "approximation"),
    "unit": ("nats", "bits"),
}


def check_saved(described: Any) -> None:
    """Refuse what `Divergence.to_dict` cannot have written."""
    check_keys(InvalidFile, described, KEYS, FORM)
    check_format(InvalidFile, described, "hidiv.divergence")
    for key, words in WORDS.items():
        if described[key] not in words:
            refuse(InvalidFile, key, f"must be {', '.join(words[:-1])} or {words[-1]}", repr(described[key]))
    _check_text("subject", described["subject"])
    if described["per"] is not None:
        _check_text("per", described["per"])
    _check_number("value", described["value"])
    certified, estimated = described["status"] == "certified", described["std_error"] is not None
    for key, needed in (("lower", certified), ("upper", certified), ("std_error", False)):
        if needed or described[key] is not None:
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
    check_keys(InvalidFile, described, (*TOLD, *COMPARED, "alignment", "rates", "infinite", "undefined"), FORM)
    check_format(InvalidFile, described, "hidiv.comparison")
    for key in TOLD:
        if key not in ("p", "q") or described[key] is not None:
            _check_text(key, described[key])
    if described["unit"] not in WORDS["unit"]:
        refuse(InvalidFile, "unit", "must be nats or bits", repr(described["unit"]))
    for key, inside in (("rates", RATES), ("undefined", None), ("alignment", ORDER)):
        _check_object(key, described[key], inside, optional=key == "alignment")
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
    """Numbers, and rows and states (K,) or (G, K)."""
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
    """A mapping with these keys; with any, where none are named."""
    if optional and value is None:
        return
    if not isinstance(value, Mapping) or (keys is not None and set(value) != set(keys)):
        inside = "" if keys is None else f" with {', '.join(keys)}"
        refuse(InvalidFile, place, f"must be an object{inside}", value)


def _check_number(place: str, value: Any) -> None:
    if isinstance(value, bool) or not (isinstance(value, int | float) or value in ("inf", "-inf")):
        refuse(InvalidFile, place, 'must be a number, "inf" or "-inf"', repr(value))


def _check_text(place: str, value: Any) -> None:
    if not isinstance(value, str):
        refuse(InvalidFile, place, "must be text", repr(value))
