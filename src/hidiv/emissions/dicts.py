"""Families as files hold them: {"family": name, parameter: value, ...}."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from inspect import Parameter, signature
from typing import Any

from hidiv.emissions.family import Family
from hidiv.emissions.registry import FAMILIES, family_class
from hidiv.errors import InvalidModel, refuse, shown


@cache
def _parameters(family: type[Family]) -> Mapping[str, Parameter]:
    """The parameters of a family by name."""
    return signature(family).parameters


def emission_to_dict(family: Family) -> dict[str, Any]:
    """The family's name and its constructor's arguments as plain lists."""
    return {"family": family.name, **{key: _plain(value) for key, value in family.parameters().items()}}


def emission_from_dict(described: Any, place: str) -> Family:
    """The family a description means; every refusal names its place."""
    if not isinstance(described, Mapping) or not isinstance(described.get("family"), str):
        refuse(InvalidModel, place, 'must be a mapping with a "family" name and its parameters', described)
    name = described["family"]
    if name not in FAMILIES:
        refuse(InvalidModel, f"{place}.family", "is not a known family", name, "known are " + ", ".join(FAMILIES))
    family = family_class(name)
    known = _parameters(family)
    given = {key: value for key, value in described.items() if key != "family"}
    for key in given:
        if key not in known:
            refuse(
                InvalidModel,
                f"{place}.{shown(str(key))}",
                f"is not a parameter of {name}",
                remedy="known are " + ", ".join(known),
            )
    for key, parameter in known.items():
        if parameter.default is parameter.empty and key not in given:
            refuse(InvalidModel, f"{place}.{key}", f"is missing, {name} needs it")
    inner = family.nested
    if inner is not None and isinstance(given[inner], list):
        given[inner] = [emission_from_dict(f, f"{place}.{inner}[{i}]") for i, f in enumerate(given[inner])]
    try:
        built: Family = family(**given)
    except InvalidModel as error:
        raise InvalidModel(f"{place}.{error}") from None
    return built


def _plain(value: Any) -> Any:
    """Arrays as lists, families as dicts, all else as it is."""
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if hasattr(value, "parameters"):
        return emission_to_dict(value)
    return value.tolist() if hasattr(value, "tolist") else value
