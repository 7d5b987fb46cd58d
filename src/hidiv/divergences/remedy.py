"""What can be done about an infinite divergence: zeros of q that smoothing fills."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from hidiv.adapters.as_model import as_models
from hidiv.divergences.result import Divergence
from hidiv.emissions.family import Family
from hidiv.errors import HidivError
from hidiv.models.model import Model
from hidiv.models.zero_filling import with_weight

Function = TypeVar("Function", bound=Callable[..., Divergence])

SMOOTHED = "hd.smoothed(q, weight) fills the zeros of q, and the divergence is finite"


def advised(function: Function) -> Function:
    """A divergence of p and q whose infinite values say how to get finite ones, where smoothing gives them."""

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Divergence:
        found = function(*args, **kwargs)
        if not found.infinite:
            return found
        p, q = as_models(*(args[i] if i < len(args) else kwargs[key] for i, key in enumerate("pq")))
        return found.noted(SMOOTHED) if smoothing_helps(p, q) else found

    return cast(Function, called)


def smoothing_helps(p: Model, q: Model) -> bool:
    """Whether all that p shows is within the support of a smoothed q; its states and steps always are."""
    filled = with_weight(q, 0.5)
    count = max(len(p.emissions), len(q.emissions))
    pairs = [[model.emissions[min(g, len(model.emissions) - 1)] for model in (p, filled)] for g in range(count)]
    try:
        return all(_within(a.complete(), b.complete()) for a, b in pairs)
    except HidivError:  # families without a comparison in closed form
        return False


def _within(a: Family, b: Family) -> bool:
    """Whether each state of one is within the same state of the other; within any, where their numbers differ."""
    if a.n_states == b.n_states:
        return all(gap is None for gap in a.gaps(b))
    return all(None in a.take(np.full(b.n_states, s)).gaps(b) for s in range(a.n_states))
