"""Parameters of many models of one shape; checked in one pass by taking the states of all models together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidiv.comparison.collection.stacked_families import Law, family_of, law_of, mapped, shape_in_words, stacked
from hidiv.emissions.family import Family
from hidiv.emissions.parameters import distributions
from hidiv.errors import InvalidModel, counted, refuse
from hidiv.models.checks import frozen, read_emission
from hidiv.models.model import Model
from hidiv.types import Array, IntArray

Names = tuple[str | None, ...]
StateNames = tuple[tuple[str, ...] | None, ...]


class Raw(NamedTuple):
    """What a collection of M models is made of, unchecked."""

    initial: Array  # (M, K)
    transitions: Array  # (M, G, K, K)
    has_transition: NDArray[np.bool_]  # (M, G)
    laws: tuple[Law, ...]  # one a group, or one
    end: Array | None  # (M, K)
    names: Names
    state_names: StateNames

    def take(self, which: IntArray) -> Raw:
        """The models of these indices."""
        return Raw(
            self.initial[which],
            self.transitions[which],
            self.has_transition[which],
            tuple(mapped(law, lambda array: array[which]) for law in self.laws),
            None if self.end is None else self.end[which],
            tuple(self.names[i] for i in which),
            tuple(self.state_names[i] for i in which),
        )


class Stack(NamedTuple):
    """The same, checked; the families have M K states, those of the first model first."""

    initial: Array
    transitions: Array
    has_transition: NDArray[np.bool_]
    emissions: tuple[Family, ...]
    end: Array | None
    names: Names
    state_names: StateNames


def raw_of_models(models: Sequence[Model]) -> Raw:
    """The parameters of models of one shape."""
    ends = [model.end for model in models if model.end is not None]
    return Raw(
        np.stack([model.initial for model in models]),
        np.stack([model.transitions for model in models]),
        np.stack([model.has_transition for model in models]),
        tuple(stacked([law_of(family) for family in group])
              for group in zip(*(model.emissions for model in models), strict=True)),
        np.stack(ends) if ends else None,
        tuple(model.name for model in models),
        tuple(model.state_names for model in models),
    )  # fmt: skip


def raw_of_stack(stack: Stack) -> Raw:
    """The families taken apart again."""
    m, k = stack.initial.shape
    laws = tuple(mapped(law_of(family), lambda a: a.reshape(m, k, *a.shape[1:])) for family in stack.emissions)
    return Raw(stack.initial, stack.transitions, stack.has_transition, laws, stack.end, stack.names, stack.state_names)


def model_of(raw: Raw, i: int) -> Model:
    """One model, checked on its own."""
    k = raw.initial.shape[1]
    places = ["emission"] if len(raw.laws) == 1 else [f"emission[{g}]" for g in range(len(raw.laws))]
    families = [family_of(mapped(law, lambda a: a[i]), k, place) for law, place in zip(raw.laws, places, strict=True)]
    matrices = [t if there else None for t, there in zip(raw.transitions[i], raw.has_transition[i], strict=True)]
    return Model(
        raw.initial[i],
        matrices if len(matrices) > 1 or matrices[0] is None else matrices[0],
        families,
        name=raw.names[i],
        state_names=raw.state_names[i],
        end=None if raw.end is None else raw.end[i],
    )


def checked(raw: Raw) -> Stack:
    """Every rule of a model, for all models at once; the place a refusal names is one in the stack."""
    m, k = raw.initial.shape
    if not raw.has_transition.any(axis=1).all():
        refuse(InvalidModel, "transition", "at least one group needs a matrix")
    for names in raw.state_names:
        if names is not None and len(set(names)) < k:
            refuse(InvalidModel, "state_names", "must all differ", names)
    if raw.end is not None and (raw.end < 0).any():
        refuse(InvalidModel, "end", "probabilities cannot be negative")
    # A group without a transition stands as the identity while the rows are checked.
    there = raw.has_transition[:, :, None, None]
    matrices = raw.transitions if there.all() else np.where(there, raw.transitions, np.eye(k))
    if raw.end is not None:
        matrices = np.concatenate([matrices, raw.end[:, None, :, None]], axis=3)
    matrices = distributions("transition", matrices, (4,))
    emissions = [
        family_of(mapped(law, lambda a: a.reshape(m * k, *a.shape[2:])), m * k, f"emission[{g}]")
        for g, law in enumerate(raw.laws)
    ]
    return Stack(
        distributions("initial", raw.initial, (2,)),
        matrices if raw.end is None and there.all() else frozen(np.where(there, matrices[..., :k], 0.0)),
        frozen(raw.has_transition),
        read_emission(emissions, m * k),
        None if raw.end is None else frozen(matrices[:, 0, :, k]),
        raw.names,
        raw.state_names,
    )


def shape_of(model: Model) -> dict[str, str]:
    """What the models of a collection share, in words."""
    shape = {
        "states": counted(model.n_states, "state"),
        "groups": counted(len(model.transitions), "transition group")
        + f" and {counted(len(model.emissions), 'family', 'families')}",
        "end": "no end probabilities" if model.end is None else "end probabilities",
    }
    return shape | {f"{g}": f"emission {shape_in_words(law_of(family))}" for g, family in enumerate(model.emissions)}
