"""A list of models of any shapes, sorted into collections of one shape; and whether two lists can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hidiv.adapters.as_model import as_model
from hidiv.comparison.collection.collection import Collection, title
from hidiv.comparison.collection.stacked_parameters import shape_key, stacked_models
from hidiv.errors import IncompatibleModels, InvalidModel, counted, refuse
from hidiv.models.model import Model, check_groups
from hidiv.models.symbol_names import Alphabet, listed
from hidiv.models.tree import Tree, as_tree
from hidiv.models.until_end import UntilEnd
from hidiv.types import IntArray

ListNames = tuple[str, str]  # what error messages call the two lists


class ShapeGroup(NamedTuple):
    """The models of one shape, and their ascending places in the list they came from."""

    models: Collection
    places: IntArray


class ModelsByShape(NamedTuple):
    """A list of M models by shape; most lists have one shape, so one group."""

    groups: tuple[ShapeGroup, ...]
    names: tuple[str | None, ...]

    def __len__(self) -> int:  # of models, not of fields
        return len(self.names)


def by_shape(models: Any, list_name: str = "models") -> ModelsByShape:
    """The models of a list grouped by shape; a Collection is one group as it is."""
    if isinstance(models, Collection):
        return ModelsByShape((ShapeGroup(models, np.arange(len(models))),), models.names)
    if isinstance(models, ModelsByShape):
        return models
    given = _read(models, list_name)
    stack = stacked_models(given)
    if stack is not None:
        return ModelsByShape((ShapeGroup(Collection._of(stack), np.arange(len(given))),), stack.names)
    places_of: dict[tuple[Any, ...], list[int]] = {}
    for i, model in enumerate(given):
        places_of.setdefault(shape_key(model), []).append(i)
    groups = []
    for places in places_of.values():
        stack = stacked_models([given[i] for i in places])
        assert stack is not None
        groups.append(ShapeGroup(Collection._of(stack), np.array(places)))
    return ModelsByShape(tuple(groups), tuple(model.name for model in given))


def _read(models: Any, list_name: str) -> Sequence[Model]:
    if isinstance(models, list | tuple) and set(map(type, models)) == {Model}:
        return models
    if isinstance(models, Mapping | str | Model) or not isinstance(models, Iterable):
        refuse(InvalidModel, list_name, "must be a list of models or a Collection", type(models).__name__)
    given = []
    for i, model in enumerate(models):
        try:
            given.append(as_model(model))
        except InvalidModel as error:
            raise InvalidModel(f"{list_name}[{i}]: {error}") from None
    if not given:
        refuse(InvalidModel, list_name, "at least one model is needed", "an empty list")
    return given


def check_on_tree(models: ModelsByShape, tree: Tree, list_name: str) -> None:
    """Refuse models whose groups do not fit the tree; models with the same transitions present are checked once."""
    for group, places in models.groups:
        if group.n_groups == 1:
            continue  # it fits every tree
        present = group.has_transition
        alike = bool((present == present[0]).all())
        for i in [0] if alike else np.unique(present, axis=0, return_index=True)[1].tolist():
            check_groups(group[i], tree, title(int(places[i]), group.names[i], list_name))


def check_states(
    left: ModelsByShape, right: ModelsByShape, quantity: str, list_names: ListNames = ("models", "others")
) -> None:
    """Refuse different numbers of states: joint and posterior divergences pair states by label."""
    first = left.groups[0].models.n_states
    for models, list_name in zip((left, right), list_names, strict=True):
        for group, places in models.groups:
            if group.n_states != first:
                refuse(
                    IncompatibleModels,
                    title(int(places[0]), group.names[0], list_name),
                    f"has {counted(group.n_states, 'state')} and {list_names[0]}[0] has {first}, "
                    f"so their {quantity} divergence is not defined",
                    remedy='use quantity="observed", which does not look at states',
                )


def check_ends(left: ModelsByShape, right: ModelsByShape, until_end: bool, list_names: ListNames) -> None:
    """Refuse models with `end` on a tree of given size, and models without it on chains of random length."""
    for models, list_name in zip((left, right), list_names, strict=True):
        for group, places in models.groups:
            if (group.end is None) == until_end:
                place = title(int(places[0]), group.names[0], list_name)
                rule = "has no end probabilities" if until_end else "has end probabilities"
                remedy = "UNTIL_END needs models with end" if until_end else "use tree=hd.UNTIL_END"
                refuse(IncompatibleModels, place, rule, remedy=remedy)


def check_symbols(left: ModelsByShape, right: ModelsByShape, list_names: ListNames = ("models", "others")) -> None:
    """Refuse symbols that have other names in a model of `right` than in one of `left`, column by column."""
    first, second = _alphabets(left), _alphabets(right)
    for column, names in first.items():
        for alphabet, i in names.items():
            for other, j in second.get(column, {}).items():
                if other != alphabet:
                    rule = f"{list_names[0]}[{i}] has the symbols {listed(alphabet)} and "
                    rule += f"{list_names[0 if right is left else 1]}[{j}] has {listed(other)}"
                    remedy = "fit all with the same categories, in one order"
                    refuse(IncompatibleModels, "symbol_names", rule, remedy=remedy)
    _check_columns(left, right, list_names)


def _check_columns(left: ModelsByShape, right: ModelsByShape, list_names: ListNames) -> None:
    """Refuse a column that a model of `right` has at another place than one of `left`."""
    places: dict[str, tuple[int, int]] = {}
    for side, models in enumerate((left,) if right is left else (left, right)):
        for group, numbers in models.groups:
            for names in dict.fromkeys(group.column_names):
                i = int(numbers[group.column_names.index(names)])
                for f, name in enumerate(names or ()):
                    before, owner = places.setdefault(name, (f, i))
                    if before != f:
                        rule = f"{name!r} is column {before} of {list_names[0]}[{owner}] and column {f} of "
                        rule += f"{list_names[side]}[{i}]"
                        remedy = "give all models the same columns with model.select(names)"
                        refuse(IncompatibleModels, "column_names", rule, remedy=remedy)


def _alphabets(models: ModelsByShape) -> dict[int, dict[Alphabet, int]]:
    """By column of the observations: the names of its symbols, and the place of a model that uses them."""
    by_column: dict[int, dict[Alphabet, int]] = {}
    for group, places in models.groups:
        for columns in dict.fromkeys(group.symbol_names):
            for f, alphabet in enumerate(columns or ()):
                if alphabet is not None:
                    first = group.symbol_names.index(columns)
                    by_column.setdefault(f, {}).setdefault(alphabet, int(places[first]))
    return by_column


def checked_tree(
    left: ModelsByShape, right: ModelsByShape, tree: Any, list_names: ListNames = ("models", "others")
) -> Tree | UntilEnd:
    """The tree, once every model of both lists is known to fit it and their symbols to agree."""
    until_end = isinstance(tree, UntilEnd)
    check_ends(left, right, until_end, list_names)
    check_symbols(left, right, list_names)
    if isinstance(tree, UntilEnd):
        return tree
    checked_one = as_tree(tree)
    check_on_tree(left, checked_one, list_names[0])
    if right is not left:
        check_on_tree(right, checked_one, list_names[1])
    return checked_one
