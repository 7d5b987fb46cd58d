"""Any list of models sorted into collections of one shape, each with its places in the list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from hidiv.adapters.as_model import as_model
from hidiv.comparison.collection.collection import Collection, title
from hidiv.comparison.collection.parameters import checked, raw_of_models, shape_of
from hidiv.errors import IncompatibleModels, InvalidModel, counted, refuse
from hidiv.models.groups import check_groups
from hidiv.models.model import Model
from hidiv.models.tree import Tree, as_tree
from hidiv.models.until_end import UntilEnd
from hidiv.types import IntArray

Whats = tuple[str, str]  # what the two lists are called


class Shelf(NamedTuple):
    """A collection and, ascending, where its models stand in the list."""

    models: Collection
    places: IntArray


class Shelves(NamedTuple):
    """M models; most lists are one shelf."""

    shelves: tuple[Shelf, ...]
    names: tuple[str | None, ...]

    def __len__(self) -> int:  # of models, not of fields
        return len(self.names)


def shelves_of(models: Any, what: str = "models") -> Shelves:
    """A collection as it is; models of several shapes side by side."""
    if isinstance(models, Collection):
        return Shelves((Shelf(models, np.arange(len(models))),), models.names)
    if isinstance(models, Shelves):
        return models
    given = _read(models, what)
    by_shape: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for i, model in enumerate(given):
        by_shape.setdefault(tuple(shape_of(model).items()), []).append(i)
    shelves = tuple(
        Shelf(Collection._of(checked(raw_of_models([given[i] for i in places]))), np.array(places))
        for places in by_shape.values()
    )
    return Shelves(shelves, tuple(model.name for model in given))


def _read(models: Any, what: str) -> list[Model]:
    if isinstance(models, Mapping | str | Model) or not isinstance(models, Iterable):
        refuse(InvalidModel, what, "must be a list of models or a Collection", type(models).__name__)
    given = []
    for i, model in enumerate(models):
        try:
            given.append(as_model(model))
        except InvalidModel as error:
            raise InvalidModel(f"{what}[{i}]: {error}") from None
    if not given:
        refuse(InvalidModel, what, "at least one model is needed", "an empty list")
    return given


def check_on_tree(shelves: Shelves, tree: Tree, what: str) -> None:
    """Every model's groups must fit the tree; models with the same transitions present are looked at once."""
    for models, places in shelves.shelves:
        present = models.has_transition
        alike = bool((present == present[0]).all())
        for i in [0] if alike else np.unique(present, axis=0, return_index=True)[1].tolist():
            check_groups(models[i], tree, title(int(places[i]), models.names[i], what))


def check_states(left: Shelves, right: Shelves, quantity: str, whats: Whats = ("models", "others")) -> None:
    """Joint and posterior divergences pair states by label, so all models need the same number."""
    first = left.shelves[0].models.n_states
    for shelves, what in zip((left, right), whats, strict=True):
        for models, places in shelves.shelves:
            if models.n_states != first:
                place = title(int(places[0]), models.names[0], what)
                refuse(
                    IncompatibleModels,
                    place,
                    f"has {counted(models.n_states, 'state')} and {whats[0]}[0] has {first}, "
                    f"so their {quantity} divergence is not defined",
                    remedy='use quantity="observed", which does not look at states',
                )


def check_ends(left: Shelves, right: Shelves, until_end: bool, whats: Whats) -> None:
    """Models with `end` live on chains of random length, models without on a tree."""
    for shelves, what in zip((left, right), whats, strict=True):
        for models, places in shelves.shelves:
            if (models.end is None) == until_end:
                place = title(int(places[0]), models.names[0], what)
                rule = "has no end probabilities" if until_end else "has end probabilities"
                remedy = "UNTIL_END needs models with end" if until_end else "use tree=hd.UNTIL_END"
                refuse(IncompatibleModels, place, rule, remedy=remedy)


def checked_tree(left: Shelves, right: Shelves, tree: Any, whats: Whats = ("models", "others")) -> Tree | UntilEnd:
    """The tree, after a look at whether every model can live on it."""
    until_end = isinstance(tree, UntilEnd)
    check_ends(left, right, until_end, whats)
    if isinstance(tree, UntilEnd):
        return tree
    on = as_tree(tree)
    check_on_tree(left, on, whats[0])
    if right is not left:
        check_on_tree(right, on, whats[1])
    return on
