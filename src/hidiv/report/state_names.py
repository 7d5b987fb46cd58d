"""How pages call states and models."""

from __future__ import annotations

from hidiv.divergences.quantities import called
from hidiv.models.model import Model


def state_name(model: Model, s: int) -> str:
    """The name of a state, or "state 0"."""
    return f"state {s}" if model.state_names is None else model.state_names[s]


def names_of(p: Model, q: Model) -> tuple[str, str]:
    """The names of the models, "p" and "q" if they have none; told apart where they are equal."""
    return called(p.name, q.name)
