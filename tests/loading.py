"""Reference cases and plain dicts turned into what hidiv takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hidiv as hd

REFERENCE = Path(__file__).parent / "reference"


def cases(*kinds):
    """The reference cases of these kinds, as parameters named after them."""
    found = [case for case in json.loads((REFERENCE / "cases.json").read_text()) if case["what"] in kinds]
    return [pytest.param(case, id=f"{case['what']}: {case['name']}") for case in found]


def further(*kinds):
    """The further values of these kinds, model names replaced by models."""
    book = json.loads((REFERENCE / "further.json").read_text())
    found = []
    for value in book["values"]:
        if value["what"] in kinds:
            case = {**value, **{who: book["models"][value[who]] for who in ("p", "q") if who in value}}
            found.append(pytest.param(case, id=f"{case['what']}: {case['name']}"))
    return found


def models(case):
    """The pair of a case."""
    return hd.Model.from_dict(case["p"]), hd.Model.from_dict(case["q"])


def tree(described):
    """A tree from its plain form; no tree at all is a chain of random length."""
    if described is None:
        return hd.UNTIL_END
    if "chain" in described:
        return hd.Tree.chain(described["chain"], described.get("group"))
    if "regular" in described:
        return hd.Tree.regular(**described["regular"])
    return hd.Tree(described["parent"], described.get("group"))


def within(value, expected, rtol):
    """Whether value is expected up to a relative error; infinity is only itself."""
    value, expected = float(value), float(expected)
    # The oracle's own zero is 1e-49: the last of its 50 digits.
    return value == expected or abs(value - expected) <= rtol * abs(expected) + 1e-45
