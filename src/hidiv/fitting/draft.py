"""A model during the iterations of a fit: the numbers of a Model without its checks."""

from __future__ import annotations

from dataclasses import dataclass

from hidiv.emissions.family import Family
from hidiv.models.model import Model
from hidiv.types import Array, Flags


@dataclass(frozen=True, eq=False)
class Draft:
    """Parts as in Model: initial (K,), transitions (G, K, K), has_transition (G,), emissions, end (K,) or None."""

    initial: Array
    transitions: Array
    has_transition: Flags
    emissions: tuple[Family, ...]
    end: Array | None

    @property
    def n_states(self) -> int:
        """The number of hidden states K."""
        return len(self.initial)

    def finished(self, like: Model) -> Model:
        """The checked Model, with the names of `like`."""
        return Model(
            self.initial,
            [t if present else None for t, present in zip(self.transitions, self.has_transition, strict=True)],
            self.emissions, name=like.name, state_names=like.state_names, end=self.end, symbol_names=like.symbol_names,
            column_names=like.column_names,
        )  # fmt: skip


def draft_of(model: Model) -> Draft:
    """The draft with the numbers of a model."""
    return Draft(model.initial, model.transitions, model.has_transition, model.emissions, model.end)
