"""Parameters of many models of one shape, their emission families among them, stacked as arrays.

They are checked in one pass, by making one family of the states of all models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from hidiv.emissions.dicts import emission_from_dict
from hidiv.emissions.family import Family
from hidiv.emissions.parameters import distributions
from hidiv.errors import InvalidModel, counted, refuse
from hidiv.models.checks import frozen, read_columns, read_emission
from hidiv.models.model import Model
from hidiv.models.symbol_names import SymbolNames, read_symbol_names
from hidiv.types import Array, Flags, IntArray

# A family as a dict: "family" its name, and parameters with the model as first axis, the state as second.
# A product holds a list of such dicts; the number of states, a parameter where there is no other, is left out.
FamilyParameters = dict[str, Any]
Names = tuple[str | None, ...]
StateNames = tuple[tuple[str, ...] | None, ...]
AllSymbolNames = tuple[SymbolNames | None, ...]


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
    column_names: StateNames

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
            tuple(self.column_names[i] for i in which),
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
    column_names: StateNames

    def take(self, which: IntArray) -> CheckedParameters:
        """The parameters of some of the models, by index."""
        k = self.initial.shape[1]
        states = (which[:, None] * k + np.arange(k)).ravel()
        return CheckedParameters(
            _read_only(self.initial[which]),
            _read_only(self.transitions[which]),
            _read_only(self.has_transition[which]),
            tuple(family.take(states) for family in self.emissions),
            None if self.end is None else _read_only(self.end[which]),
            tuple(self.names[i] for i in which),
            tuple(self.state_names[i] for i in which),
            tuple(self.symbol_names[i] for i in which),
            tuple(self.column_names[i] for i in which),
        )


def shape_key(model: Model) -> tuple[Any, ...]:
    """Equal for models whose parameters can be stacked."""
    families = map(parameters_of_family, model.emissions)
    return (model.transitions.shape, model.end is None, *map(_family_key, families))


def _family_key(parameters: FamilyParameters) -> tuple[Any, ...]:
    return tuple(
        (key, *map(_family_key, value)) if isinstance(value, list) else (key, getattr(value, "shape", value))
        for key, value in parameters.items()
    )


_shape = attrgetter("shape")
_laws = [attrgetter(name) for name in ("initial", "transitions", "emissions", "end")]
# In the order of CheckedParameters.
_names = [attrgetter(name) for name in ("name", "state_names", "symbol_names", "column_names")]


def stacked_models(models: Sequence[Model]) -> CheckedParameters | None:
    """The parameters of models in one stack, in passes over all of them; None where their shapes differ.

    Every model was checked when it was made, so that nothing is checked again.
    """
    # A pass an attribute: a tuple a model would be thousands of objects for the garbage collector to look through.
    initial, transitions, emissions, end = (list(map(part, models)) for part in _laws)
    if any(len(kinds) > 1 for kinds in (set(map(_shape, transitions)), set(map(len, emissions)), set(map(type, end)))):
        return None
    families = [_stacked_family([each[g] for each in emissions]) for g in range(len(emissions[0]))]
    if any(family is None for family in families):
        return None
    have_transition = np.ones((len(models), 1), dtype=np.bool_)
    if len(transitions[0]) > 1:
        have_transition = np.stack([model.has_transition for model in models])
    return CheckedParameters(
        _side_by_side(initial),
        _side_by_side(transitions),
        _read_only(have_transition),
        tuple(family for family in families if family is not None),
        None if end[0] is None else _side_by_side(end),
        *(tuple(map(part, models)) for part in _names),
    )


def _stacked_family(families: Sequence[Family]) -> Family | None:
    """The states of all families as those of one; None where the families are of different shapes."""
    kind = type(families[0])
    if len(set(map(type, families))) > 1:
        return None
    names = list(families[0].parameters())
    if names == [field.name for field in fields(cast(Any, kind))]:  # the parameters are all that the family holds
        tables = [list(map(attrgetter(name), families)) for name in names]
        if all(isinstance(table[0], np.ndarray) for table in tables):
            if any(len(set(map(_shape, table))) > 1 for table in tables):
                return None
            together = object.__new__(kind)
            for name, table in zip(names, tables, strict=True):
                stack = _side_by_side(table)
                object.__setattr__(together, name, stack.reshape(-1, *stack.shape[2:]))
            return together
    each = [parameters_of_family(family) for family in families]
    if len(set(map(_family_key, each))) > 1:
        return None
    n_states = families[0].n_states * len(families)
    whole = mapped(stacked(each), lambda array: array.reshape(n_states, *array.shape[2:]))
    return family_of(whole, n_states, "emission")


def _read_only(fresh: NDArray[Any]) -> NDArray[Any]:
    """An array that nobody else has yet, made read-only."""
    fresh.flags.writeable = False
    return fresh


def _side_by_side(arrays: Sequence[Array]) -> Array:
    """(M, ...), read-only: arrays of doubles of one shape. Joining bytes takes a third of np.stack's time."""
    return np.frombuffer(b"".join(cast(Any, arrays))).reshape(len(arrays), *arrays[0].shape)


def parameters_of_checked(given: CheckedParameters) -> Parameters:
    """The inverse of `checked`: families taken apart into arrays with the model as first axis."""
    m, k = given.initial.shape
    families = tuple(
        mapped(parameters_of_family(family), lambda array: array.reshape(m, k, *array.shape[1:]))
        for family in given.emissions
    )
    return Parameters(
        given.initial, given.transitions, given.has_transition, families, given.end, given.names, given.state_names,
        given.symbol_names, given.column_names,
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
        column_names=parameters.column_names[i],
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
    for columns in set(given.column_names) - {None}:
        read_columns(columns, emissions)
    return CheckedParameters(
        distributions("initial", given.initial, (2,)),
        matrices if given.end is None and present.all() else frozen(np.where(present, matrices[..., :k], 0.0)),
        frozen(given.has_transition),
        read_emission(emissions, m * k),
        None if given.end is None else frozen(matrices[:, 0, :, k]),
        given.names,
        given.state_names,
        given.symbol_names,
        given.column_names,
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
