"""The smallest joint divergence over relabellings of q, which bounds every observed divergence from above.

Where it is zero the two models are one process up to the names of their states. Models whose states are split or merged
differently may be one process too; then the divergence is zero as well.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from hidiv.divergences.alignment.align import CLOSE, EXHAUSTIVE, alignment, all_orders
from hidiv.divergences.alignment.relabelling_costs import Costs
from hidiv.divergences.equivalence.equivalent import same_process
from hidiv.divergences.joint.local_terms import NEVER, first_places
from hidiv.divergences.observed.alphabets import by_formula
from hidiv.divergences.observed.certified.refining import bounded
from hidiv.divergences.observed.interval import Interval, NotApplicable
from hidiv.errors import HidivError, counted
from hidiv.models.tree import Tree
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget
    from hidiv.divergences.pair import Pair
    from hidiv.divergences.result import Divergence

ROOM = 1e-12  # relative: what is bounded here is right to far fewer units
MOST = 64  # states of models whose relabellings are searched
CHANCE = 2.5  # half-widths of its interval, five standard errors, by which an estimate may be too high by chance
FEW = 4  # states all of whose orders are tried in no time
SMALLEST = "smallest joint divergence over relabellings"
UNWEIGHABLE = "the draws hold numbers that no double can weigh; only the ends are certain, the middle is no estimate"


def applies(pair: Pair) -> str | None:
    """States can be paired only where there are as many in both models; one process needs no pairs."""
    if pair.same_states or pair.once(same_process):
        return None
    return f"p has {counted(pair.p.n_states, 'state')} and q has {pair.q.n_states}"


def run(pair: Pair, budget: Budget) -> Divergence:
    """Between 0 and the smallest joint divergence over relabellings, where that is within the tolerance; or 0."""
    result = within_tolerance(pair, budget)
    if result is None:
        raise NotApplicable("no relabelling of q is as near to p as the tolerance asks")
    return result


def within_tolerance(pair: Pair, budget: Budget) -> Divergence | None:
    """Between 0 and the joint bound, or 0 for one process, where that is as narrow as asked; None elsewhere."""
    known = cut_at_joint(pair, budget, Interval(0.0, inf))
    return bounded(known, pair, budget) if known.upper <= budget.allowance else None


def cut_at_joint(pair: Pair, budget: Budget, interval: Interval) -> Interval:
    """The interval with nothing above the joint bound; [0, 0] where p and q are one process."""
    above = pair.once(joint_above)
    if interval.lower <= 0.0 and above > budget.allowance and pair.once(same_process):
        return Interval(0.0, 0.0, {"method": "one process, whatever its states"})
    if above >= interval.upper:
        return interval
    if interval.lower <= 0.0 and above <= budget.allowance:
        return Interval(0.0, above, {"method": SMALLEST, "rounding": above * ROOM})
    return Interval(min(interval.lower, above), above, interval.how | {"upper": SMALLEST})


def joint_above(pair: Pair) -> float:
    """The smallest joint divergence over relabellings of q, moved up by its rounding; +inf where there is none.

    For an endless chain the joint rate, q's states relabelled as matches p best on a long chain.
    """
    if not pair.same_states or pair.p.n_states > MOST or _no_order_fits(pair):
        return inf
    try:
        return room_above(pair.once(alignment).value)
    except HidivError:
        return inf


def _no_order_fits(pair: Pair) -> bool:
    """Whether q's zeros alone make the joint divergence infinite in every order of its states; False where it is open.

    A row or column of p with m transitions needs one of q with at least as many, and each of them its own.
    """
    p, q = pair.p, pair.q
    if not len(p.transitions) == len(q.transitions) == 1 or (q.transitions > 0).all():
        return False
    places = first_places(p, pair.tree, 1, 1)
    used, there = (p.transitions[0] > 0) & (places.rows[0] < NEVER)[:, None], q.transitions[0] > 0
    return any((np.sort(used.sum(axis=axis)) > np.sort(there.sum(axis=axis))).any() for axis in (0, 1))


def room_above(value: float, levels: int = 1) -> float:
    """A bound moved up by the rounding of so many levels."""
    return value * (1.0 + ROOM * levels) if value > 0 else 0.0


def below_all_orders(pair: Pair) -> float:
    """A number that the joint divergence is not below in any order of q's states; found sooner than the best order.

    For few states by trying all orders, for more from the least that each pair of states adds. 0 where nodes
    cannot be counted.
    """
    states = pair.p.n_states
    if not pair.same_states or not isinstance(pair.tree, Tree) or states > MOST:
        return 0.0
    try:
        costs = Costs.of(pair)
    except HidivError:  # of laws without a divergence
        return 0.0
    if states <= FEW:
        each = costs.of_orders(all_orders(states))
        per_node = float(np.where(each.infinite > 0, inf, each.finite - CLOSE * each.rounding).min())
    else:
        per_node = _cheapest(costs.least()) * (1.0 - CLOSE)
        per_node -= 2.0 * CLOSE * sum(float(np.abs(rows.own).sum()) for rows in costs.rows)
    return max(per_node, 0.0) * pair.tree.n_nodes * (1.0 - ROOM)


def _cheapest(costs: Array) -> float:
    """The smallest sum of one entry from each row and column."""
    if len(costs) <= EXHAUSTIVE:
        return float(costs[np.arange(len(costs)), all_orders(len(costs))].sum(axis=1).min())
    from scipy.optimize import linear_sum_assignment

    return float(costs[linear_sum_assignment(costs)].sum())


def capped_by_joint(estimate: Divergence, pair: Pair) -> Divergence:
    """An estimate within the joint divergence; the certified bounds alone where the draws contradict it."""
    if estimate.status != "estimate" or estimate.lower is None or estimate.upper is None:
        return estimate
    if not by_formula(pair.p, pair.q) or estimate.upper <= below_all_orders(pair):
        return estimate
    above = pair.once(joint_above)
    if not estimate.upper > above:
        return estimate
    half = estimate.upper - estimate.value
    if not estimate.value - above <= CHANCE * half:
        how = {"method": SMALLEST}
        return replace(
            estimate, value=0.5 * above, status="certified", lower=0.0, upper=above, std_error=None, n_samples=None,
            certificate=how, notes=[UNWEIGHABLE],
        )  # fmt: skip
    note = f"cut at {above:.6g}, the {SMALLEST}"
    lower = estimate.lower if estimate.lower <= above else max(above - half, 0.0)
    return replace(estimate, value=min(estimate.value, above), lower=lower, upper=above).noted(note)
