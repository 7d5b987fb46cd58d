"""What a joint divergence of models with mixtures compares, and what is left when components are summed out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hidiv.divergences.joint.local_terms import Local
from hidiv.divergences.joint.visits import Visits
from hidiv.emissions.registry import kl_bounds

if TYPE_CHECKING:
    from hidiv.models.model import Model


COMPARED = "states, components and observations"


def has_components(*models: Model) -> bool:
    """Whether an emission hides a component besides the state."""
    return any(family.complete() is not family for model in models for family in model.emissions)


def without_components(p: Model, q: Model, local: Local, visits: Visits, scale: float) -> tuple[float, float]:
    """Bounds on the divergence of states and observations alone, that of the mixtures themselves."""
    lower, upper = np.zeros((2, *local.states.shape))
    for g in range(len(local.states)):
        a, b = (model.emissions[min(g, len(model.emissions) - 1)] for model in (p, q))
        lower[g], upper[g] = kl_bounds(a, b)
    rest = visits.root * local.initial + float((visits.rows * local.rows).sum())
    with np.errstate(invalid="ignore"):
        below, above = (
            scale * (rest + float(np.where(visits.states > 0, visits.states * e, 0.0).sum())) for e in (lower, upper)
        )
    return below, above


def component_notes(p: Model, q: Model, local: Local, visits: Visits, scale: float) -> list[str]:
    """Sentences for the notes of a finite joint divergence; none for models without mixtures."""
    if not has_components(p, q):
        return []
    lower, upper = without_components(p, q, local, visits, scale)
    return [
        f"divergence of {COMPARED}: the component of a mixture is part of the hidden state, paired by place",
        f"of states and observations alone it is between {lower:.12g} and {upper:.12g} nats, certified",
    ]
