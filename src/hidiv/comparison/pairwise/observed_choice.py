"""How all observed divergences are computed: the variational approximation where it holds, else Monte Carlo.

Neither may exceed the joint divergences of the same pairs, with q's states in a good order (definitions (5.1)).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from hidiv.arguments import number
from hidiv.comparison.collection.by_shape import ModelsByShape, check_states
from hidiv.comparison.pairwise.aligned_pairs import BY_PRODUCT, aligned_pairs
from hidiv.comparison.pairwise.direct import assigned_joint
from hidiv.comparison.pairwise.executors import Executor, fill
from hidiv.comparison.pairwise.joint_pairs import joint_pairs
from hidiv.comparison.pairwise.matrix import Status
from hidiv.comparison.pairwise.observed_check import check_variational
from hidiv.comparison.pairwise.observed_draws import MonteCarloPlan, monte_carlo_plan
from hidiv.comparison.pairwise.observed_variational import variational_pairs_by_shape
from hidiv.comparison.pairwise.operands import joint_operands
from hidiv.comparison.pairwise.plan import Pairs, PairsByShape, Plan
from hidiv.comparison.pairwise.storage import in_memory
from hidiv.errors import HidivError, refuse
from hidiv.models.tree import Tree
from hidiv.types import Array

Method = Literal["auto", "variational", "montecarlo"]

DRAWS = 64  # from each p
RTOL = 0.1  # standard error of an entry, as a share of it
VARIATIONAL = "variational recursion: deterministic, no bound"
CHEAP = 20_000  # most pairs for which states are matched pair by pair


class ObservedOptions(NamedTuple):
    """The arguments of `pairwise_kl` that belong to the observed divergence."""

    method: Method = "auto"
    samples: int | None = None
    rtol: float | None = None
    seed: int = 0
    level_weights: Array | None = None

    @property
    def by_draws(self) -> bool:
        """Whether the caller asked for Monte Carlo."""
        return self.method == "montecarlo" or (self.method == "auto" and (self.samples, self.rtol) != (None, None))


class ObservedProblem(NamedTuple):
    """Two lists of models on a tree, and how their matrix is to be cut and computed."""

    left: ModelsByShape
    right: ModelsByShape
    tree: Tree
    symmetric: bool
    edge: int
    executor: Executor

    @property
    def local_executor(self) -> Executor:
        """For work too small to be sent to other processes."""
        return "serial" if self.executor == "serial" else None


class ObservedPlan(NamedTuple):
    """The plan, its notes and status, and the options that a store remembers."""

    plan: Plan | MonteCarloPlan
    notes: list[str]
    status: Status
    described: dict[str, Any]


class UpperBounds(NamedTuple):
    """Upper bounds on D(p || q) (M, M') and on D(q || p) (M', M); None where there are none or none are needed."""

    values: Array | None
    reverse: Array | None


@dataclass(frozen=True, eq=False)
class BoundedPairs:
    """Approximations clipped at 0 and at upper bounds."""

    pairs: Pairs
    upper: Array | None  # (m, m')

    def part(self, first: slice, second: slice) -> BoundedPairs:
        return BoundedPairs(self.pairs.part(first, second), None if self.upper is None else self.upper[first, second])

    def packed(self) -> BoundedPairs:
        return replace(self, pairs=self.pairs.packed())

    def fill(self, out: Array, alike: bool) -> int:
        slow = self.pairs.fill(out, alike)
        np.clip(out, 0.0, self.upper, out=out)
        return slow


def checked_options(options: ObservedOptions) -> ObservedOptions:
    """The options, unless they contradict each other."""
    if options.method not in ("auto", "variational", "montecarlo"):
        refuse(HidivError, "method", 'must be "auto", "variational" or "montecarlo"', options.method)
    if options.method == "variational" and options.samples is not None:
        refuse(HidivError, "samples", "the variational recursion draws nothing", remedy='use method="montecarlo"')
    if options.method == "variational" and options.rtol is not None:
        refuse(HidivError, "rtol", "the variational recursion has no tolerance", remedy='use method="montecarlo"')
    if options.rtol is not None and not number("rtol", options.rtol) > 0:
        refuse(HidivError, "rtol", "must be above 0", options.rtol)
    if options.by_draws and options.level_weights is not None:
        what = "samples" if options.samples is not None else "rtol" if options.rtol is not None else "method"
        refuse(HidivError, what, "Monte Carlo takes no level_weights", remedy='use method="variational"')
    if options.level_weights is not None and not (options.level_weights > 0).all():
        rule = "must be above 0 for the observed divergence"
        refuse(HidivError, "level_weights", rule, options.level_weights.tolist())
    return options


def observed_plan(problem: ObservedProblem, options: ObservedOptions) -> ObservedPlan:
    """The method that was asked for; without one, the approximation if a check of some pairs allows it, else draws."""
    left, right, tree, symmetric, edge, _ = problem
    if options.by_draws and options.rtol is None and options.samples is not None:
        plan = monte_carlo_plan(left, right, tree, options.samples, options.seed, symmetric, edge)
        notes = [f"plain Monte Carlo of the log-ratio, {options.samples} draws from each p"]
        return ObservedPlan(plan, notes, "estimate", _described("monte carlo", plan.samples, options))
    if options.by_draws:
        return _by_draws(problem, options, _upper_bounds(problem), [])
    if options.method == "variational" or options.level_weights is not None:
        note = VARIATIONAL
        if options.method == "auto":
            note = f"{VARIATIONAL}, not checked: draws take no level_weights"
        unchecked = _variational(problem, lambda pairs, *_: pairs, options.level_weights)
        return ObservedPlan(unchecked, [note], "approximation", {"method": "variational"})
    upper = _upper_bounds(problem)

    def approximate(some: ModelsByShape) -> Array:
        plan = Plan(some, right, variational_pairs_by_shape(some, right, tree), None, edge, False)
        storage = in_memory(plan)
        fill(storage, plan, problem.local_executor, label="approximation of some pairs")
        return np.asarray(storage.values)

    check = check_variational(left, right, tree, upper.values, options.seed, approximate)
    if not check.holds:
        return _by_draws(problem, options, upper, [f"variational approximation not used: {check.words}"])
    kept = "0 and the joint divergence" if upper.values is not None else "0"
    notes = [f"variational recursion, kept within {kept}", check.words]
    bounded = _within_bounds(problem, upper)
    return ObservedPlan(bounded, notes, "approximation", {"method": "variational within bounds", "seed": options.seed})


def _upper_bounds(problem: ObservedProblem) -> UpperBounds:
    left, right, tree, symmetric, edge, _ = problem
    upper = joint_bounds(left, right, tree, edge, problem.local_executor)
    if not symmetric:
        return UpperBounds(upper, None)
    reverse = upper if right is left else joint_bounds(right, left, tree, edge, problem.local_executor)
    return UpperBounds(upper, reverse)


def _by_draws(problem: ObservedProblem, options: ObservedOptions, upper: UpperBounds, notes: list[str]) -> ObservedPlan:
    """Monte Carlo, with pairs that are not accurate enough drawn again."""
    left, right, tree, symmetric, edge, _ = problem
    rtol = RTOL if options.rtol is None else options.rtol
    plan = monte_carlo_plan(left, right, tree, options.samples or DRAWS, options.seed, symmetric, edge)
    plan = replace(plan, rtol=rtol, upper=upper.values, upper_reverse=upper.reverse)
    note = f"Monte Carlo with controls, the draws of each p shared by all q, seed {options.seed}"
    note += f"; pairs whose standard error stays above {rtol:.3g} of their value are drawn again on their own"
    described = {**_described("monte carlo with controls", plan.samples, options), "rtol": rtol}
    return ObservedPlan(plan, [*notes, note], "estimate", described)


def _described(method: str, samples: int, options: ObservedOptions) -> dict[str, Any]:
    return {"method": method, "samples": samples, "seed": options.seed}


def _within_bounds(problem: ObservedProblem, upper: UpperBounds) -> Plan:
    """The variational recursion clipped at 0 and at the upper bounds."""

    def bounded(pairs: PairsByShape, first: ModelsByShape, second: ModelsByShape, is_reverse: bool) -> PairsByShape:
        table = upper.reverse if is_reverse else upper.values
        return {
            (a, b): BoundedPairs(
                each, None if table is None else table[np.ix_(first.groups[a].places, second.groups[b].places)]
            )
            for (a, b), each in pairs.items()
        }

    return _variational(problem, bounded, None)


def _variational(problem: ObservedProblem, change: Any, level_weights: Array | None) -> Plan:
    """The variational recursion; change(pairs, first, second, is_reverse) may wrap the pairs of each direction."""
    left, right, tree, symmetric, edge, _ = problem
    pairs = change(variational_pairs_by_shape(left, right, tree, level_weights), left, right, False)
    reverse = None
    if symmetric and right is left:
        reverse = pairs
    elif symmetric:
        reverse = change(variational_pairs_by_shape(right, left, tree, level_weights), right, left, True)
    return Plan(left, right, pairs, reverse, edge, right is left)


def joint_bounds(
    left: ModelsByShape, right: ModelsByShape, tree: Tree, edge: int, executor: Executor = None
) -> Array | None:
    """(M, M'): no observed divergence is above them; None where the models' states or families cannot be paired."""
    try:
        check_states(left, right, "joint")
        few = left.groups[0].models.n_states <= BY_PRODUCT
        pairs = (aligned_pairs if few else joint_pairs)(left, right, tree).pairs
        plan = Plan(left, right, pairs, None, edge, right is left)
        storage = in_memory(plan)
        fill(storage, plan, executor, label="upper bounds")
        if not few and storage.values.size <= CHEAP:
            _lower(storage.values, left, right, tree)
    except HidivError:
        return None
    return np.asarray(storage.values)


def _lower(bounds: Array, left: ModelsByShape, right: ModelsByShape, tree: Tree) -> None:
    """Lower the bounds of models with many states, in place: one more order of states for each pair."""
    ps, qs = joint_operands(left, right, tree)
    for (_, rows), p in zip(left.groups, ps, strict=True):
        for (_, columns), q in zip(right.groups, qs, strict=True):
            first, second = (grid.ravel() for grid in np.indices((len(rows), len(columns))))
            places = rows[first], columns[second]
            bounds[places] = np.minimum(bounds[places], assigned_joint(p, q, first, second))
