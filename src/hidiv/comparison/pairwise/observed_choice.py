"""Which way all observed divergences go: the variational approximation where it holds, else draws."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from hidiv.arguments import number
from hidiv.comparison.collection.by_shape import Shelves
from hidiv.comparison.pairwise.executors import Executor, fill
from hidiv.comparison.pairwise.matrix import Status
from hidiv.comparison.pairwise.observed_bounds import joint_bounds
from hidiv.comparison.pairwise.observed_check import check_variational
from hidiv.comparison.pairwise.observed_draws import EstimatedPlan, estimated_plan
from hidiv.comparison.pairwise.observed_variational import observed_pairs
from hidiv.comparison.pairwise.plan import Pairs, Plan
from hidiv.comparison.pairwise.storage import in_memory
from hidiv.errors import HidivError, refuse
from hidiv.models.tree import Tree
from hidiv.types import Array

Method = Literal["auto", "variational", "montecarlo"]

DRAWS = 64  # of each p
RTOL = 0.1  # standard error of an entry, as a share of it
VARIATIONAL = "variational recursion: deterministic, no bound"


class Asked(NamedTuple):
    """What a caller may say of observed divergences."""

    method: Method = "auto"
    samples: int | None = None
    rtol: float | None = None
    seed: int = 0
    level_weights: Array | None = None

    @property
    def by_draws(self) -> bool:
        """Whether draws are asked for."""
        return self.method == "montecarlo" or (self.method == "auto" and (self.samples, self.rtol) != (None, None))


class ObservedWay(NamedTuple):
    """The plan, what is to be said of it, and what a store remembers."""

    plan: Plan | EstimatedPlan
    notes: list[str]
    status: Status
    described: dict[str, Any]


@dataclass(frozen=True, eq=False)
class WithinBounds:
    """Approximations cut off at 0 and at a bound from above."""

    pairs: Pairs
    upper: Array | None  # (m, m')

    def part(self, first: slice, second: slice) -> WithinBounds:
        return WithinBounds(self.pairs.part(first, second), None if self.upper is None else self.upper[first, second])

    def packed(self) -> WithinBounds:
        return replace(self, pairs=self.pairs.packed())

    def fill(self, out: Array, alike: bool) -> int:
        slow = self.pairs.fill(out, alike)
        np.clip(out, 0.0, self.upper, out=out)
        return slow


def checked_asked(asked: Asked) -> Asked:
    """Refuse what does not go together."""
    if asked.method not in ("auto", "variational", "montecarlo"):
        refuse(HidivError, "method", 'must be "auto", "variational" or "montecarlo"', asked.method)
    if asked.method == "variational" and asked.samples is not None:
        refuse(HidivError, "samples", "the variational recursion draws nothing", remedy='use method="montecarlo"')
    if asked.method == "variational" and asked.rtol is not None:
        refuse(HidivError, "rtol", "the variational recursion has no tolerance", remedy='use method="montecarlo"')
    if asked.rtol is not None and not number("rtol", asked.rtol) > 0:
        refuse(HidivError, "rtol", "must be above 0", asked.rtol)
    if asked.by_draws and asked.level_weights is not None:
        what = "samples" if asked.samples is not None else "rtol" if asked.rtol is not None else "method"
        refuse(HidivError, what, "Monte Carlo takes no level_weights", remedy='use method="variational"')
    if asked.level_weights is not None and not (asked.level_weights > 0).all():
        rule = "must be above 0 for the observed divergence"
        refuse(HidivError, "level_weights", rule, asked.level_weights.tolist())
    return asked


def observed_way(
    left: Shelves, right: Shelves, tree: Tree, asked: Asked, symmetric: bool, edge: int, executor: Executor
) -> ObservedWay:
    """Variational as it is, draws as they are asked for, or what the check of some pairs decides."""
    if asked.by_draws and asked.rtol is None and asked.samples is not None:
        plan = estimated_plan(left, right, tree, asked.samples, asked.seed, symmetric, edge)
        notes = [f"plain Monte Carlo of the log-ratio, {asked.samples} draws from each p"]
        return ObservedWay(plan, notes, "estimate", _described("monte carlo", plan.samples, asked))
    if asked.by_draws:
        upper, back = _bounds(left, right, tree, symmetric, edge, executor)
        return _drawn(left, right, tree, asked, symmetric, edge, upper, back, [])
    if asked.method == "variational" or asked.level_weights is not None:
        notes = [VARIATIONAL]
        if asked.method == "auto":
            notes = [f"{VARIATIONAL}, not checked: draws take no level_weights"]
        return ObservedWay(
            _variational(left, right, tree, asked, symmetric, edge, None, None), notes, "approximation",
            {"method": "variational"},
        )  # fmt: skip
    upper, back = _bounds(left, right, tree, symmetric, edge, executor)

    def approximate(some: Shelves) -> Array:
        plan = Plan(some, right, observed_pairs(some, right, tree), None, edge, False)
        sheet = in_memory(plan)
        fill(sheet, plan, "serial" if executor == "serial" else None)
        return np.asarray(sheet.values)

    check = check_variational(left, right, tree, upper, asked.seed, approximate)
    if not check.holds:
        said = [f"variational approximation not used: {check.words}"]
        return _drawn(left, right, tree, asked, symmetric, edge, upper, back, said)
    kept = "0 and the joint divergence" if upper is not None else "0"
    notes = [f"variational recursion, kept within {kept}", check.words]
    within = _variational(left, right, tree, asked, symmetric, edge, upper, back)
    return ObservedWay(within, notes, "approximation", {"method": "variational within bounds", "seed": asked.seed})


def _bounds(
    left: Shelves, right: Shelves, tree: Tree, symmetric: bool, edge: int, executor: Executor
) -> tuple[Array | None, Array | None]:
    here = "serial" if executor == "serial" else None
    upper = joint_bounds(left, right, tree, edge, here)
    back = None
    if symmetric:
        back = upper if right is left else joint_bounds(right, left, tree, edge, here)
    return upper, back


def _drawn(
    left: Shelves, right: Shelves, tree: Tree, asked: Asked, symmetric: bool, edge: int, upper: Array | None,
    back: Array | None, notes: list[str],
) -> ObservedWay:  # fmt: skip
    rtol = RTOL if asked.rtol is None else asked.rtol
    plan = estimated_plan(left, right, tree, asked.samples or DRAWS, asked.seed, symmetric, edge)
    plan = replace(plan, rtol=rtol, upper=upper, upper_back=back)
    said = f"Monte Carlo of the log-ratio, {plan.samples} draws from each p, seed {asked.seed}"
    said += f"; pairs with a standard error above {rtol:.3g} of their value are drawn again with controls"
    described = {**_described("monte carlo with controls", plan.samples, asked), "rtol": rtol}
    return ObservedWay(plan, [*notes, said], "estimate", described)


def _described(method: str, samples: int, asked: Asked) -> dict[str, Any]:
    return {"method": method, "samples": samples, "seed": asked.seed}


def _variational(
    left: Shelves, right: Shelves, tree: Tree, asked: Asked, symmetric: bool, edge: int, upper: Array | None,
    back: Array | None,
) -> Plan:  # fmt: skip
    as_it_is = asked.method == "variational" or asked.level_weights is not None

    def pairs(first: Shelves, second: Shelves, above: Array | None) -> dict[tuple[int, int], Pairs]:
        found = observed_pairs(first, second, tree, asked.level_weights)
        if as_it_is:
            return found
        return {
            (a, b): WithinBounds(
                each, None if above is None else above[np.ix_(first.shelves[a].places, second.shelves[b].places)]
            )
            for (a, b), each in found.items()
        }

    there = pairs(left, right, upper)
    behind = None
    if symmetric:
        behind = there if right is left else pairs(right, left, back)
    return Plan(left, right, there, behind, edge, right is left)
