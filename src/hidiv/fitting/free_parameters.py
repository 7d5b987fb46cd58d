"""The number of free parameters of a model."""

from __future__ import annotations

import numpy as np

from hidiv.emissions.family import free_entries
from hidiv.models.model import Model


def count_parameters(model: Model, fixed: frozenset[str] = frozenset(), zeros_stay: bool = False) -> int:
    """Free parameters of a model of this form: the root's law, every row of every transition with its end, emissions.

    zeros_stay: probabilities that are 0 in the start of a climb stay 0 (a transition left out, a symbol a state never
    shows) and are not counted.
    """
    count = 0 if "initial" in fixed else free_entries(model.initial[None], zeros_stay)
    if "transition" not in fixed:
        rows = model.transitions[model.has_transition]
        if model.end is not None:
            rows = np.concatenate([rows, model.end[None, :, None]], axis=2)
        count += free_entries(rows, zeros_stay)
    if "emission" not in fixed:
        count += sum(family.n_free(fixed, zeros_stay) for family in model.emissions)
    return count
