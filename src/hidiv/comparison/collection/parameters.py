"""Parameters of many models of one shape, stacked; checked in one pass by taking the states of all models together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidiv.comparison.collection.stacked_families import (
    FamilyParameters,
    family_of,
    mapped,
    parameters_of_family,
    shape_in_words,
    stacked,
)
from hidiv.emissions.family import Family
from hidiv.emissions.parameters import distributions
from hidiv.errors import InvalidModel, counted, refuse
from hidiv.models.checks import frozen, read_emission
from hidiv.models.model import Model
from hidiv.models.symbol_names import SymbolNames, read_symbol_names
from hidiv.types import Array, Flags, IntArray

Names = tuple[str | None, ...]
StateNames = tuple[tuple[str, ...] | None, ...]
AllSymbolNames = tuple[SymbolNames | None, ...]


class Parameters(NamedTuple):
    """The parameters of M models of one shape, as a file or a list of models gives them: not checked."""

    initial: Array  # (M, K)
    transitions: Array  # (M, G, K, K)
    has_transition: Flags  # (M, G)
    families: tuple[FamilyParameters, ...]  # one a group, or one
    end: Array | None  # (M, K)
    names: Names
    state_names: StateNames
    symbol_names: AllSymbolNames

    def take(self, which: IntArray) -> Parameters:
        """The parameters of some of the models, by index."""
        return Parameters(
            self.initial[which],
            self.transitions[which],
            self.has_transition[which],
            tuple(mapped(family, lambda array: array[which]) for family in self.families),
            None if self.end is None else self.end[which],
            tuple(self.names[i] for i in which),
            tuple(self.state_names[i] for i in which),
            tuple(self.symbol_names[i] for i in which),
        )


class CheckedParameters(NamedTuple):
    """The same after every check; each family has M K states, those of the first model first."""

    initial: Array
    transitions: Array
    has_transition: NDArray[np.bool_]
    emissions: tuple[Family, ...]
    end: Array | None
    names: Names
    state_names: StateNames
    symbol_names: AllSymbolNames


def parameters_of_models(models: Sequence[Model]) -> Parameters:
    """The stacked parameters of models that share their shape."""
    ends = [model.end for model in models if model.end is not None]
    return Parameters(
        np.stack([model.initial for model in models]),
        np.stack([model.transitions for model in models]),
        np.stack([model.has_transition for model in models]),
        tuple(stacked([parameters_of_family(family) for family in group])
              for group in zip(*(model.emissions for model in models), strict=True)),
        np.stack(ends) if ends else None,
        tuple(model.name for model in models),
        tuple(model.state_names for model in models),
        tuple(model.symbol_names for model in models),
    )  # fmt: skip


def parameters_of_checked(given: CheckedParameters) -> Parameters:
    """The inverse of `checked`: families taken apart into arrays with the model as first axis."""
    m, k = given.initial.shape
    families = tuple(
        mapped(parameters_of_family(family), lambda array: array.reshape(m, k, *array.shape[1:]))
        for family in given.emissions
    )
    return Parameters(
        given.initial, given.transitions, given.has_transition, families, given.end, given.names, given.state_names,
        given.symbol_names,
    )  # fmt: skip


def model_of(parameters: Parameters, i: int) -> Model:
    """The i-th model, checked on its own."""
    k = parameters.initial.shape[1]
    groups = len(parameters.families)
    places = ["emission"] if groups == 1 else [f"emission[{g}]" for g in range(groups)]
    families = [
        family_of(mapped(family, lambda array: array[i]), k, place)
        for family, place in zip(parameters.families, places, strict=True)
    ]
    matrices = [
        matrix if present else None
        for matrix, present in zip(parameters.transitions[i], parameters.has_transition[i], strict=True)
    ]
    return Model(
        parameters.initial[i],
        matrices if len(matrices) > 1 or matrices[0] is None else matrices[0],
        families,
        name=parameters.names[i],
        state_names=parameters.state_names[i],
        end=None if parameters.end is None else parameters.end[i],
        symbol_names=parameters.symbol_names[i],
    )


def checked(given: Parameters) -> CheckedParameters:
    """Every rule of a model, for all models at once; a refusal names a place among the stacked states."""
    m, k = given.initial.shape
    if not given.has_transition.any(axis=1).all():
        refuse(InvalidModel, "transition", "at least one group needs a matrix")
    for names in given.state_names:
        if names is not None and len(set(names)) < k:
            refuse(InvalidModel, "state_names", "must all differ", names)
    if given.end is not None and (given.end < 0).any():
        refuse(InvalidModel, "end", "probabilities cannot be negative")
    # A group without a transition stands as the identity while the rows are checked.
    present = given.has_transition[:, :, None, None]
    matrices = given.transitions if present.all() else np.where(present, given.transitions, np.eye(k))
    if given.end is not None:
        matrices = np.concatenate([matrices, given.end[:, None, :, None]], axis=3)
    matrices = distributions("transition", matrices, (4,))
    emissions = [
        family_of(mapped(family, lambda array: array.reshape(m * k, *array.shape[2:])), m * k, f"emission[{g}]")
        for g, family in enumerate(given.families)
    ]
    for symbols in set(given.symbol_names) - {None}:
        read_symbol_names(symbols, emissions)
    return CheckedParameters(
        distributions("initial", given.initial, (2,)),
        matrices if given.end is None and present.all() else frozen(np.where(present, matrices[..., :k], 0.0)),
        frozen(given.has_transition),
        read_emission(emissions, m * k),
        None if given.end is None else frozen(matrices[:, 0, :, k]),
        given.names,
        given.state_names,
        given.symbol_names,
    )


def shape_of(model: Model) -> dict[str, str]:
    """What the models of a collection share, in words."""
    shape = {
        "states": counted(model.n_states, "state"),
        "groups": counted(len(model.transitions), "transition group")
        + f" and {counted(len(model.emissions), 'family', 'families')}",
        "end": "no end probabilities" if model.end is None else "end probabilities",
    }
    return shape | {
        f"{g}": f"emission {shape_in_words(parameters_of_family(family))}" for g, family in enumerate(model.emissions)
    }
