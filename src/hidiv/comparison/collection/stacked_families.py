"""Emission families of many models taken apart into stacked arrays, and put together again as one family."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.emissions.dicts import emission_from_dict
from hidiv.emissions.family import Family

# A family as a dict: "family" its name, and parameters with the model as first axis, the state as second.
# A product holds a list of such dicts; the number of states, a parameter where there is no other, is left out.
Law = dict[str, Any]


def law_of(family: Family) -> Law:
    """One family, parameters (K, ...)."""
    law: Law = {"family": family.name}
    for key, value in family.parameters().items():
        if isinstance(value, list | tuple):
            law[key] = [law_of(part) for part in value]
        elif key != "n_states":
            law[key] = np.asarray(value)
    return law


def stacked(laws: Sequence[Law]) -> Law:
    """Laws of one shape, parameters (K, ...), into one with parameters (M, K, ...)."""
    joined: Law = {}
    for key, value in laws[0].items():
        if isinstance(value, list):
            joined[key] = [stacked([law[key][i] for law in laws]) for i in range(len(value))]
        else:
            joined[key] = value if key == "family" else np.stack([law[key] for law in laws])
    return joined


def mapped(law: Law, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Law:
    """The law with every array changed."""
    return {
        key: [mapped(part, change) for part in value] if isinstance(value, list)
        else value if key == "family" else change(value)
        for key, value in law.items()
    }  # fmt: skip


def family_of(law: Law, n_states: int, place: str) -> Family:
    """The family of a law with parameters (K, ...); refusals name the place."""
    return emission_from_dict(_with_states(law, n_states), place)


def leaves(law: Law) -> Iterator[tuple[str, str, NDArray[Any]]]:
    """(path, parameter, array) of every parameter; the path of the second part of a product is "product.1.gaussian"."""
    name = law["family"]
    if len(law) == 1:  # no parameter but the number of states
        yield name, "n_states", np.empty(())
    for key, value in law.items():
        if isinstance(value, list):
            for i, part in enumerate(value):
                yield from ((f"{name}.{i}.{path}", parameter, array) for path, parameter, array in leaves(part))
        elif key != "family":
            yield name, key, value


def shape_in_words(law: Law) -> str:
    """Family, parameters and their shapes, as a sentence says them: gaussian(mean (2,), std (2,))."""
    said = []
    for key, value in law.items():
        if isinstance(value, list):
            said += [shape_in_words(part) for part in value]
        elif key != "family":
            said.append(f"{key} {value.shape}")
    return f"{law['family']}({', '.join(said)})"


def _with_states(law: Law, n_states: int) -> Law:
    if len(law) == 1:
        return {**law, "n_states": n_states}
    return {
        key: [_with_states(part, n_states) for part in value] if isinstance(value, list) else value
        for key, value in law.items()
    }
