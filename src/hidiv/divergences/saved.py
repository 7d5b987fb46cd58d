"""A saved result is checked before it is believed: every refusal names the key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hidiv.errors import InvalidFile, refuse
from hidiv.models.checks import check_format, check_keys

KEYS = ("subject", "quantity", "status", "value", "lower", "upper", "std_error", "n_samples", "unit", "per", "infinite",
        "certificate", "notes", "parts")  # fmt: skip
PARTS = ("initial", "transition", "emission", "rows", "states")
WORDS = {
    "quantity": ("joint", "posterior", "observed"),
    "status": ("exact", "certified", "estimate", "approximation"),
    "unit": ("nats", "bits"),
}


def check_saved(described: Any) -> None:
    """Refuse what `Divergence.to_dict` cannot have written."""
    check_keys(InvalidFile, described, KEYS, ("format", "version"))
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


def _check_number(place: str, value: Any) -> None:
    if isinstance(value, bool) or not (isinstance(value, int | float) or value in ("inf", "-inf")):
        refuse(InvalidFile, place, 'must be a number, "inf" or "-inf"', repr(value))


def _check_text(place: str, value: Any) -> None:
    if not isinstance(value, str):
        refuse(InvalidFile, place, "must be text", repr(value))
