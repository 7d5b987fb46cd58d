"""Bounds for chains that stop by themselves: the first nodes from below, the joint divergence from above."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, inf
from typing import TYPE_CHECKING, Any

from hidiv.divergences.observed.alphabets import has_symbols
from hidiv.divergences.observed.certified.chains import observed_chain
from hidiv.divergences.observed.certified.joint_bound import joint_above
from hidiv.divergences.observed.interval import Interval, NotApplicable
from hidiv.divergences.observed.sampled.until_end_estimate import ending
from hidiv.divergences.result import Divergence

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget
    from hidiv.divergences.pair import Pair

SECONDS = 5.0  # for the bound from below
MOST = 200  # nodes that it takes in
ENOUGH = 1e-3  # relative width of the divergence of the first nodes


def applies(pair: Pair) -> str | None:
    """Any models with `end`, though a finite upper bound needs as many states in both."""
    return None


def run(pair: Pair, budget: Budget) -> Divergence:
    """Wide bounds; +inf where q cannot show, or end after, what p does. NotApplicable where nothing bounds it above."""
    chains = pair.once(ending)
    reason = chains.forbidden()
    if reason is not None:
        words = {"method": "support of words"}
        return Divergence(
            inf, "observed", "certified", inf, inf, infinite=[reason], certificate=words, subject=pair.subject
        )
    above = pair.once(joint_above)
    if above == inf:
        raise NotApplicable("nothing bounds chains of random length from above")
    below, length, shown = Interval(0.0, inf), 0, pair.p.emissions[0]
    if has_symbols(shown) or not shown.n_features:
        length = int(min(MOST, max(4, ceil(3.0 * chains.visits.sum()))))
        effort = (budget if budget.max_seconds is not None else replace(budget, max_seconds=SECONDS)).effort()
        below = observed_chain(*chains.chains, length, lambda first: first.width <= ENOUGH * first.lower, effort)
    lower = min(below.lower, above)
    how: dict[str, Any] = {
        "method": "first nodes below, smallest joint divergence over relabellings above",
        "nodes": length,
        "first_nodes": below.how,
    }
    return Divergence(
        0.5 * (lower + above), "observed", "certified", lower, above, certificate=how, subject=pair.subject,
        notes=["wide: only its ends are certain, the middle is no estimate"] if above - lower > 1e-9 else [],
    )  # fmt: skip
