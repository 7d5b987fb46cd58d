"""Emission families of many models as stacked arrays, and the one family of all their states made from them again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.emissions.dicts import emission_from_dict
from hidiv.emissions.family import Family

# A family as a dict: "family" its name, and parameters with the model as first axis, the state as second.
# A product holds a list of such dicts; the number of states, a parameter where there is no other, is left out.
FamilyParameters = dict[str, Any]


def parameters_of_family(family: Family) -> FamilyParameters:
    """The parameters (K, ...) of one family."""
    parameters: FamilyParameters = {"family": family.name}
    for key, value in family.parameters().items():
        if isinstance(value, list | tuple):
            parameters[key] = [parameters_of_family(part) for part in value]
        elif key != "n_states":
            parameters[key] = np.asarray(value)
    return parameters


def stacked(each: Sequence[FamilyParameters]) -> FamilyParameters:
    """Parameters (K, ...) of families of one shape, stacked as (M, K, ...)."""
    together: FamilyParameters = {}
    for key, value in each[0].items():
        if isinstance(value, list):
            together[key] = [stacked([one[key][i] for one in each]) for i in range(len(value))]
        else:
            together[key] = value if key == "family" else np.stack([one[key] for one in each])
    return together


def mapped(parameters: FamilyParameters, change: Callable[[NDArray[Any]], NDArray[Any]]) -> FamilyParameters:
    """The parameters with every array changed by a function."""
    return {
        key: [mapped(part, change) for part in value] if isinstance(value, list)
        else value if key == "family" else change(value)
        for key, value in parameters.items()
    }  # fmt: skip


def family_of(parameters: FamilyParameters, n_states: int, place: str) -> Family:
    """The family with these parameters (K, ...); error messages name the place."""
    return emission_from_dict(_with_states(parameters, n_states), place)


def leaves(parameters: FamilyParameters) -> Iterator[tuple[str, str, NDArray[Any]]]:
    """(path, parameter, array) of every parameter; the path of the second part of a product is "product.1.gaussian"."""
    name = parameters["family"]
    if len(parameters) == 1:  # no parameter but the number of states
        yield name, "n_states", np.empty(())
    for key, value in parameters.items():
        if isinstance(value, list):
            for i, part in enumerate(value):
                yield from ((f"{name}.{i}.{path}", parameter, array) for path, parameter, array in leaves(part))
        elif key != "family":
            yield name, key, value


def shape_in_words(parameters: FamilyParameters) -> str:
    """Family, parameters and their shapes for an error message: gaussian(mean (2,), std (2,))."""
    words = []
    for key, value in parameters.items():
        if isinstance(value, list):
            words += [shape_in_words(part) for part in value]
        elif key != "family":
            words.append(f"{key} {value.shape}")
    return f"{parameters['family']}({', '.join(words)})"


def _with_states(parameters: FamilyParameters, n_states: int) -> FamilyParameters:
    if len(parameters) == 1:
        return {**parameters, "n_states": n_states}
    return {
        key: [_with_states(part, n_states) for part in value] if isinstance(value, list) else value
        for key, value in parameters.items()
    }
