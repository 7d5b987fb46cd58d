"""Models that are one process up to the names of their states: the smallest joint divergence bounds it by zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hidiv.divergences.observed.certified.bounded import bounded
from hidiv.divergences.observed.certified.cheap_bounds import ROOM, joint_above
from hidiv.divergences.observed.interval import Interval, NotApplicable
from hidiv.errors import counted

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget
    from hidiv.divergences.pair import Pair
    from hidiv.divergences.result import Divergence


def applies(pair: Pair) -> str | None:
    """States can be paired only where there are as many in both models."""
    if pair.same_states:
        return None
    return f"p has {counted(pair.p.n_states, 'state')} and q has {pair.q.n_states}"


def run(pair: Pair, budget: Budget) -> Divergence:
    """Between 0 and the smallest joint divergence over relabellings, where that is within the tolerance."""
    above = pair.once(joint_above)
    if above > budget.allowance:
        raise NotApplicable("no relabelling of q is as near to p as the tolerance asks")
    how = {"method": "smallest joint divergence over relabellings", "rounding": above * ROOM}
    return bounded(Interval(0.0, above, how), pair, budget)
