"""All joint divergences between two lists of models, made ready to be cut into blocks."""

from __future__ import annotations

import numpy as np

from hidiv.comparison.collection.by_shape import Shelves
from hidiv.comparison.pairwise.expected_visits import expected_of
from hidiv.comparison.pairwise.joint_block import JointBlock
from hidiv.comparison.pairwise.operands import Side, side_of
from hidiv.comparison.pairwise.plan import Pairs
from hidiv.comparison.pairwise.product import RELATIVE_ERROR, Factors, factors_of
from hidiv.comparison.pairwise.second_order import second_order
from hidiv.models.tree import Tree
from hidiv.models.until_end import UntilEnd
from hidiv.types import Array

SAMPLE = 48  # models of each side looked at to see how close they lie
OFTEN = 0.02  # share of close pairs from which another product is looked for


def joint_pairs(
    left: Shelves, right: Shelves, tree: Tree | UntilEnd, level_weights: Array | None = None
) -> tuple[dict[tuple[int, int], Pairs], list[str]]:
    """The pairs of every shelf of p with every shelf of q, and what is to be said of how they are computed."""
    ps, qs = joint_sides(left, right, tree, level_weights)
    found: dict[tuple[int, int], Pairs] = {}
    notes: dict[str, None] = {}
    for a, p in enumerate(ps):
        for b, q in enumerate(qs):
            factors, note = _best(p, q)
            found[a, b] = JointBlock(p, q, factors, (len(p), len(q)))
            notes[note] = None
    return found, [note for note in notes if note]


def joint_sides(
    left: Shelves, right: Shelves, tree: Tree | UntilEnd, level_weights: Array | None = None
) -> tuple[list[Side], list[Side]]:
    """Every shelf of p with its expected visits, and every shelf of q; by group where any model has groups."""
    everyone = [shelf.models for shelf in (*left.shelves, *right.shelves)]
    n_groups = tree.n_groups if isinstance(tree, Tree) else None
    groups = (
        n_groups or 1 if any(m.transitions.shape[1] > 1 for m in everyone) else 1,
        n_groups or 1 if any(len(m.emissions) > 1 for m in everyone) else 1,
    )
    ps = [
        side_of(shelf.models, expected_of(shelf.models, tree, groups, level_weights), n_groups)
        for shelf in left.shelves
    ]
    return ps, ps if right is left else [side_of(shelf.models, None, n_groups) for shelf in right.shelves]


def _best(p: Side, q: Side) -> tuple[Factors | None, str]:
    factors = factors_of(p, q)
    if factors is None:
        kinds = "/".join(dict.fromkeys(family.name for family in (*p.families, *q.families)))
        return None, f"{kinds} emissions without common sufficient statistics: every pair computed directly"
    often = close_share(factors)
    if often > OFTEN:
        other = second_order(p, q)
        if other is not None and close_share(other) < often:
            return other, "models clustered around one: second-order product"
    return factors, ""


def close_share(factors: Factors) -> float:
    """Share of the pairs of a sample, each model with itself left out, for which the product is not good enough."""
    first, second = (
        np.unique(np.linspace(0, n - 1, SAMPLE).astype(int)) for n in (len(factors.left), len(factors.right))
    )
    if len(factors.left) > len(first):
        first = np.minimum(first + 1, len(factors.left) - 1)  # others than those of the columns
    value = factors.left[first] @ factors.right[second].T
    bound = factors.error_left[first] @ factors.error_right[second].T / RELATIVE_ERROR
    apart = (
        first[:, None] != second if len(factors.left) == len(factors.right) else np.ones(value.shape, dtype=np.bool_)
    )
    return float((value <= bound)[apart].mean()) if apart.any() else 0.0
