"""Estimates held against the joint divergence, which bounds every observed one."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from hidiv.divergences.observed.alphabets import by_formula
from hidiv.divergences.observed.certified.cheap_bounds import joint_above

if TYPE_CHECKING:
    from hidiv.divergences.pair import Pair
    from hidiv.divergences.result import Divergence

UNWEIGHABLE = "the draws hold numbers that no double can weigh; only the ends are certain, the middle is no estimate"


def capped_by_joint(estimate: Divergence, pair: Pair) -> Divergence:
    """An estimate within the joint divergence; the certified bounds alone where the draws contradict it."""
    if estimate.status != "estimate" or estimate.lower is None or estimate.upper is None:
        return estimate
    above = pair.once(joint_above) if by_formula(pair.p, pair.q) else inf
    if not estimate.upper > above:
        return estimate
    if not estimate.lower <= above:
        how = {"method": "smallest joint divergence over relabellings"}
        return replace(
            estimate, value=0.5 * above, status="certified", lower=0.0, upper=above, std_error=None, n_samples=None,
            certificate=how, notes=[UNWEIGHABLE],
        )  # fmt: skip
    note = f"cut at {above:.6g}, the smallest joint divergence over relabellings"
    return replace(estimate, value=min(estimate.value, above), upper=above).noted(note)
