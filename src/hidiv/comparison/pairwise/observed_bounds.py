"""Upper bounds on all observed divergences: joint divergences, with q's states in a good order."""

from __future__ import annotations

import numpy as np

from hidiv.comparison.collection.by_shape import ModelsByShape, check_states
from hidiv.comparison.pairwise.aligned_pairs import BY_PRODUCT, aligned_pairs
from hidiv.comparison.pairwise.assigned_orders import assigned_joint
from hidiv.comparison.pairwise.executors import Executor, fill
from hidiv.comparison.pairwise.joint_pairs import joint_operands, joint_pairs
from hidiv.comparison.pairwise.plan import Plan
from hidiv.comparison.pairwise.storage import in_memory
from hidiv.errors import HidivError
from hidiv.models.tree import Tree
from hidiv.types import Array

CHEAP = 20_000  # most pairs for which states are matched pair by pair


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
