"""Many models of one shape, their parameters stacked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from hidiv.adapters.as_model import as_model
from hidiv.comparison.collection.npz_arrays import arrays_of, parameters_of_arrays
from hidiv.comparison.collection.stacked_parameters import (
    CheckedParameters,
    Parameters,
    checked,
    model_of,
    parameters_of_checked,
    shape_of,
    stacked_models,
)
from hidiv.emissions.family import Family
from hidiv.errors import HidivError, InvalidFile, InvalidModel, counted, refuse, shown
from hidiv.files.disk import Path
from hidiv.files.loading import load
from hidiv.files.saving import save
from hidiv.models.model import Model
from hidiv.models.symbol_names import SymbolNames
from hidiv.types import Array, IntArray
from hidiv.values import Value

NAMED = 5  # how many further bad models are named


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Collection(Value):
    """Many models of one shape: the same numbers of states and groups and the same families, parameters stacked.

    Frozen and checked in one pass. `collection[i]` is a Model, `collection[i:j]` a Collection; it is accepted wherever
    a list of models is.

    Parameters
    ----------
    models : iterable of models
        Models, or fitted models of other libraries, which are converted; at least one.

    Raises
    ------
    InvalidModel
        No models, something that is not a model, or models of different shapes; the message names the place.

    Examples
    --------
    >>> import hidiv as hd
    >>> coins = hd.Collection([hd.Model([1.0], [[1.0]], hd.Bernoulli([prob])) for prob in (0.25, 0.5, 0.75)])
    >>> coins
    Collection of 3 models: 1 state, bernoulli emission
    >>> len(coins[1:]), coins[0].headline
    (2, 'Model: 1 state, bernoulli emission')
    """

    initial: Array  # (M, K)
    transitions: Array  # (M, G, K, K), zeros where a group has none
    has_transition: NDArray[np.bool_]  # (M, G)
    emissions: tuple[Family, ...]  # one a group, each of M K states: those of the first model, then of the second, ...
    end: Array | None  # (M, K)
    names: tuple[str | None, ...]  # M
    state_names: tuple[tuple[str, ...] | None, ...]  # M
    symbol_names: tuple[SymbolNames | None, ...]  # M, each one entry a column
    column_names: tuple[tuple[str, ...] | None, ...]  # M

    def __init__(self, models: Iterable[Any]) -> None:
        given = _read(models)
        stack = stacked_models(given)
        if stack is not None:
            self._set(stack)
            return
        first = shape_of(given[0])
        for i, model in enumerate(given):
            for what, value in shape_of(model).items():
                if value != first.get(what, value):
                    refuse(
                        InvalidModel,
                        title(i, model.name),
                        f"has {value} where models[0] has {first[what]}",
                        remedy="the models of a collection share their shape",
                    )
        raise AssertionError("models of one shape in words that cannot be stacked")

    @classmethod
    def _of(cls, given: CheckedParameters) -> Collection:
        collection = cls.__new__(cls)
        collection._set(given)
        return collection

    def _set(self, given: CheckedParameters) -> None:
        for key, value in given._asdict().items():
            object.__setattr__(self, key, value)

    @property
    def _checked(self) -> CheckedParameters:
        return CheckedParameters(*(getattr(self, key) for key in CheckedParameters._fields))

    @cached_property
    def _parameters(self) -> Parameters:
        return parameters_of_checked(self._checked)

    @property
    def n_states(self) -> int:
        """Number of hidden states K of every model."""
        return int(self.initial.shape[1])

    @property
    def n_groups(self) -> int:
        """Number of groups G of the grouped parts."""
        return max(int(self.transitions.shape[1]), len(self.emissions))

    def __len__(self) -> int:
        return int(self.initial.shape[0])

    @overload
    def __getitem__(self, index: int) -> Model: ...

    @overload
    def __getitem__(self, index: slice) -> Collection: ...

    def __getitem__(self, index: int | slice) -> Model | Collection:
        if isinstance(index, slice):
            which = np.arange(len(self))[index]
            if which.shape[0] == 0:
                refuse(InvalidModel, "models", "a collection needs at least one model", "an empty slice")
            return self.take(which)
        return model_of(self._parameters, range(len(self))[index])  # IndexError outside, as a list would

    def take(self, which: NDArray[np.int64]) -> Collection:
        """The collection of the models at these places."""
        return Collection._of(self._checked.take(which))

    def __iter__(self) -> Iterator[Model]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Collection):
            return NotImplemented
        mine, theirs = self.to_arrays(), other.to_arrays()
        return mine.keys() == theirs.keys() and all(np.array_equal(mine[key], theirs[key]) for key in mine)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        kinds = "/".join(dict.fromkeys(family.name for family in self.emissions))
        groups = f", {self.n_groups} groups" if self.n_groups > 1 else ""
        return (
            f"Collection of {counted(len(self), 'model')}: {counted(self.n_states, 'state')}, {kinds} emission{groups}"
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Named arrays, as an NPZ file holds them."""
        return arrays_of(self._parameters)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Collection:
        """A collection from the form of `to_arrays`; checked in one pass, then the bad models are named."""
        parameters = parameters_of_arrays(arrays)
        try:
            return cls._of(checked(parameters))
        except InvalidModel as error:
            i, reason = _first_bad(parameters, 0, error)
            refuse(InvalidModel, title(i, parameters.names[i]), str(reason), remedy=_further_bad(parameters, i + 1))

    @classmethod
    def load(cls, path: Path) -> Collection:
        """The collection of an NPZ file."""
        loaded = load(path)
        if not isinstance(loaded, Collection):
            refuse(InvalidFile, str(path), "must hold a collection, an NPZ file", type(loaded).__name__)
        return loaded

    def save(self, path: Path) -> None:
        """Write the collection as an NPZ file."""
        save(self, path)


def title(i: int, name: str | None, what: str = "models") -> str:
    """What error messages call one model of a list."""
    return f"{what}[{i}]" if name is None else f"{what}[{i}] {shown(name)!r}"


def evenly_spread(size: int, most: int) -> IntArray:
    """At most `most` indices below `size`, ascending, evenly spread from the first to the last; most > 1."""
    count = min(size, most)
    return np.arange(count) * (size - 1) // max(count - 1, 1)


def _read(models: Iterable[Any]) -> list[Model]:
    if isinstance(models, Mapping | str) or not isinstance(models, Iterable):
        refuse(InvalidModel, "models", "must be a list of models", type(models).__name__)
    given = []
    for i, model in enumerate(models):
        try:
            given.append(as_model(model))
        except InvalidModel as error:
            raise InvalidModel(f"models[{i}]: {error}") from None
    if not given:
        refuse(InvalidModel, "models", "a collection needs at least one model", "an empty list")
    return given


def _further_bad(parameters: Parameters, start: int) -> str:
    """A few of the further models that are refused, by their places; empty where there are none."""
    bad: list[str] = []
    while start < len(parameters.initial) and len(bad) <= NAMED:
        try:
            checked(parameters.take(np.arange(start, len(parameters.initial))))
        except InvalidModel as error:
            start = _first_bad(parameters, start, error)[0] + 1
            bad.append(f"models[{start - 1}]")
        else:
            break
    if len(bad) > NAMED:
        bad[NAMED:] = ["others"]
    return "bad too: " + ", ".join(bad) if bad else ""


def _first_bad(parameters: Parameters, low: int, error: HidivError) -> tuple[int, HidivError]:
    """The first model from `low` on that a check refuses, located by bisection, and its own error message."""
    high = len(parameters.initial)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            checked(parameters.take(np.arange(low, middle)))
        except InvalidModel:
            high = middle
        else:
            low = middle
    try:
        model_of(parameters, low)
    except InvalidModel as alone:
        return low, alone
    return low, error
