"""Mixtures in a joint divergence: the component is part of the hidden state; bounds for when it is summed out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hidiv.divergences.joint.places import reached_terms
from hidiv.divergences.joint.visits import visits_of
from hidiv.emissions.registry import kl_bounds

if TYPE_CHECKING:
    from hidiv.divergences.pair import Pair


def component_notes(pair: Pair, per_node: bool) -> list[str]:
    """Notes of a finite joint divergence: what is compared, and bounds without components; none without mixtures."""
    if not any(family.complete() is not family for model in (pair.p, pair.q) for family in model.emissions):
        return []
    lower, upper = _without_components(pair, per_node)
    return [
        "divergence of states, components and observations: the component of a mixture is part of the hidden state, "
        "paired by place",
        f"of states and observations alone it is between {lower:.12g} and {upper:.12g} nats, certified",
    ]


def _without_components(pair: Pair, per_node: bool) -> tuple[float, float]:
    """Bounds on the divergence of states and observations alone, that of the mixtures themselves."""
    local, visits = pair.once(reached_terms).local, pair.once(visits_of)
    lower, upper = np.zeros((2, *local.states.shape))
    for g, (a, b) in enumerate(pair.families()):
        lower[g], upper[g] = kl_bounds(a, b)
    rest = visits.root * local.initial + float((visits.rows * local.rows).sum())
    scale = 1.0 if per_node else visits.n_nodes
    with np.errstate(invalid="ignore"):
        below, above = (
            scale * (rest + float(np.where(visits.states > 0, visits.states * e, 0.0).sum())) for e in (lower, upper)
        )
    return below, above
