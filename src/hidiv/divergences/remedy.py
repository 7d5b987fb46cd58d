"""What can be done about an infinite observed divergence, for models that no pair was made of."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from hidiv.divergences import infinite
from hidiv.divergences.infinite import SMOOTHED as SMOOTHED
from hidiv.divergences.pair import Pair
from hidiv.divergences.result import Divergence
from hidiv.models.model import Model

Function = TypeVar("Function", bound=Callable[..., Divergence])


def smoothing_helps(p: Model, q: Model) -> bool:
    """Whether all that p shows is within the support of a smoothed q."""
    return Pair.models(p, q).once(infinite.smoothing_helps)


def advised(function: Function) -> Function:
    """A divergence of p and q whose infinite values say how to get finite ones, where smoothing gives them."""

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Divergence:
        result = function(*args, **kwargs)
        if not result.infinite:
            return result
        models = (args[i] if i < len(args) else kwargs[key] for i, key in enumerate("pq"))
        return infinite.advised(Pair.models(*models), result)

    return cast(Function, called)
