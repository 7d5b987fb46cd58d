"""Bounds on all observed divergences from above: joint divergences, with q's states in a good order."""

from __future__ import annotations

import numpy as np

from hidiv.comparison.collection.by_shape import Shelves, check_states
from hidiv.comparison.pairwise.aligned_pairs import BY_PRODUCT, aligned_pairs
from hidiv.comparison.pairwise.assigned_orders import assigned_joint
from hidiv.comparison.pairwise.executors import Executor, fill
from hidiv.comparison.pairwise.joint_pairs import joint_pairs, joint_sides
from hidiv.comparison.pairwise.plan import Plan
from hidiv.comparison.pairwise.storage import in_memory
from hidiv.errors import HidivError
from hidiv.models.tree import Tree
from hidiv.types import Array

CHEAP = 20_000  # pairs whose states are matched one pair at a time


def joint_bounds(left: Shelves, right: Shelves, tree: Tree, edge: int, executor: Executor = None) -> Array | None:
    """(M, M'): no observed divergence is above them; None where the models' states or families cannot be paired."""
    try:
        check_states(left, right, "joint")
        few = left.shelves[0].models.n_states <= BY_PRODUCT
        pairs, _ = aligned_pairs(left, right, tree) if few else joint_pairs(left, right, tree)
        plan = Plan(left, right, pairs, None, edge, right is left)
        sheet = in_memory(plan)
        fill(sheet, plan, executor)
        if not few and sheet.values.size <= CHEAP:
            _lower(sheet.values, left, right, tree)
    except HidivError:
        return None
    return np.asarray(sheet.values)


def _lower(bounds: Array, left: Shelves, right: Shelves, tree: Tree) -> None:
    """Many states: one order for each pair besides the labels as they are."""
    ps, qs = joint_sides(left, right, tree)
    for (_, rows), p in zip(left.shelves, ps, strict=True):
        for (_, columns), q in zip(right.shelves, qs, strict=True):
            first, second = (grid.ravel() for grid in np.indices((len(rows), len(columns))))
            at = rows[first], columns[second]
            bounds[at] = np.minimum(bounds[at], assigned_joint(p, q, first, second))
