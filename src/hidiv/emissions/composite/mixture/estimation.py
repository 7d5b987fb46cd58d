"""Mixtures from weighted observations, shared out among the components of each state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.emissions.composite.mixture.mixture import Mixture
    from hidiv.emissions.weighted import Weighted


def maximised(family: Mixture, known: Weighted, laws: Array, fixed: frozenset[str]) -> Mixture:
    """The mixture that laws (n, K, C) of the component, given the state and the observation, ask for.

    Components estimate themselves from the weight that falls on them; weights(s, c) is its share of the state's. States
    without weight stay as they are.
    """
    shared = laws * known.weight[:, :, None]
    members = [
        member.maximise(known.weighing(np.ascontiguousarray(shared[:, :, c])), fixed)
        for c, member in enumerate(family.components)
    ]
    weights = family.weights
    if "weights" not in fixed:
        mass = shared.sum(axis=0)
        total = mass.sum(axis=1, keepdims=True)
        weights = np.where(total > 0, mass / np.where(total > 0, total, 1.0), weights)
    return type(family)(weights, members)
