"""What measures of stationary chains need: both models with one group, and their stationary laws."""

from __future__ import annotations

from typing import Any

from hidiv.divergences.pair import Pair, check_observations
from hidiv.errors import IncompatibleModels, refuse
from hidiv.types import Array


def stationary_pair(name: str, p: Any, q: Any) -> tuple[Pair, Array, Array]:
    """The pair, and the stationary laws of both; name: the measure that needs them."""
    pair = Pair.models(p, q)
    for model in (pair.p, pair.q):
        if model.n_groups > 1:
            rule, remedy = (
                "compares stationary chains, which have one law for all steps",
                "use product_kernel on a tree",
            )
            refuse(IncompatibleModels, name, rule, f"{model.n_groups} groups", remedy)
        if model.end is not None:
            rule = "compares stationary chains, and models with end probabilities have none"
            refuse(IncompatibleModels, name, rule, remedy="use joint_kl or observed_kl with UNTIL_END")
    check_observations(pair.p, pair.q)
    return pair, pair.p.stationary(), pair.q.stationary()
