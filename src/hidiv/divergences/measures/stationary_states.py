"""What measures of stationary chains need: both models with one group, and their stationary laws."""

from __future__ import annotations

from typing import Any

from hidiv.divergences.pair import Pair, check_observations
from hidiv.types import Array


def stationary_pair(p: Any, q: Any) -> tuple[Pair, Array, Array]:
    """The pair, and the stationary laws of both."""
    pair = Pair.of(p, q, None)
    check_observations(pair.p, pair.q)
    return pair, pair.p.stationary(), pair.q.stationary()
