"""docs/json.md read as what it is, a schema: every key there, nothing else, each of its type."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "json.md"
ONLY = ", only with"


def formats() -> dict[str, dict[str, str]]:
    """Format -> key -> what it is, from the tables of the page."""
    found: dict[str, dict[str, str]] = {}
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        title, body = section.split("\n", 1)
        rows = [re.split(r" (?<!\\)\| ", line.strip("| ")) for line in body.splitlines() if line.startswith("| `")]
        found[title.strip()] = {}
        for keys, kinds, *_ in rows:
            names = re.findall(r"`([^`]+)`", keys)
            each = (
                kinds.split(", ")
                if ONLY not in kinds and len(kinds.split(", ")) == len(names)
                else [kinds] * len(names)
            )
            found[title.strip()] |= dict(zip(names, each, strict=True))
    found["hidiv.posterior"] = found["hidiv.divergence"] | found["hidiv.posterior"]
    return found


def check(value: Any, kind: str, place: str = "$") -> None:
    """Fail unless the value is what the page says."""
    kind = kind.split(ONLY)[0]
    if kind.endswith(" or null"):
        if value is not None:
            check(value, kind.removesuffix(" or null"), place)
    elif kind.startswith("list of "):
        assert isinstance(value, list), place
        for i, item in enumerate(value):
            check(item, kind.removeprefix("list of "), f"{place}[{i}]")
    elif kind.startswith("map of "):
        assert isinstance(value, dict), place
        for key, item in value.items():
            check(item, kind.removeprefix("map of "), f"{place}.{key}")
    elif kind == "table" and isinstance(value, list):
        for i, item in enumerate(value):
            check(item, "table", f"{place}[{i}]")
    elif kind.startswith("hidiv."):
        _check_object(value, kind, place)
    elif kind != "anything":
        assert _is(value, kind), f"{place}: {value!r} is no {kind}"


def _check_object(value: Any, form: str, place: str) -> None:
    keys = formats()[form]
    assert isinstance(value, dict), place
    assert set(value) <= set(keys), f"{place}: {set(value) - set(keys)} is not in {PAGE.name}"
    needed = {key for key, kind in keys.items() if ONLY not in kind}
    assert needed <= set(value), f"{place}: {needed - set(value)} is missing"
    if "format" in keys:
        assert value["format"] == ("hidiv.divergence" if form == "hidiv.posterior" else form), place
        assert value["version"] == 1, place
    for key, item in value.items():
        check(item, keys[key], f"{place}.{key}")


def _is(value: Any, kind: str) -> bool:
    if kind in ("number", "table"):
        return (isinstance(value, int | float) and not isinstance(value, bool)) or value in ("inf", "-inf")
    kinds = {"text": str, "flag": bool, "whole number": int}
    return isinstance(value, kinds[kind]) and (kind == "flag" or not isinstance(value, bool))
