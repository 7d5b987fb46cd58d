"""All joint divergences between two lists of models: a product, and the close pairs it cannot promise directly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hidiv.comparison.collection.by_shape import ModelsByShape
from hidiv.comparison.pairwise.direct import direct_or_beyond, refuse_beyond
from hidiv.comparison.pairwise.matrix_product import RELATIVE_ERROR, Factors, factors_of, multiply
from hidiv.comparison.pairwise.operands import Operand, expected_of, operand_of
from hidiv.comparison.pairwise.plan import DirectedPairs, PairsByShape
from hidiv.comparison.pairwise.second_order import second_order
from hidiv.models.tree import Tree
from hidiv.models.until_end import UntilEnd
from hidiv.types import Array

SAMPLE = 48  # models of each list that show how close the models lie
OFTEN = 0.02  # share of close pairs from which the second-order product is tried


@dataclass(frozen=True, eq=False)
class JointPairs:
    """Models of p and q from some place on, and the factors of their product, or None: every pair directly."""

    p: Operand
    q: Operand
    factors: Factors | None
    shape: tuple[int, int]  # of the block
    start: tuple[int, int] = (0, 0)  # its first p and q

    def part(self, first: slice, second: slice) -> JointPairs:
        """The pairs of some p and some q; the operands are not cut before the block is packed."""
        (top, left), (rows, columns) = self.start, self.shape
        i, j = range(rows)[first], range(columns)[second]
        factors = None if self.factors is None else self.factors.part(first, second)
        return JointPairs(self.p, self.q, factors, (len(i), len(j)), (top + i.start, left + j.start))

    def packed(self) -> JointPairs:
        """The same pairs with no more models than they need."""
        (top, left), (rows, columns) = self.start, self.shape
        p, q = self.p.take(slice(top, top + rows)), self.q.take(slice(left, left + columns))
        return JointPairs(p, q, self.factors, self.shape)

    def fill(self, out: Array, alike: bool) -> int:
        """Write D of every p from every q into out (m, m'); return how many pairs were too close for the product."""
        close, beyond = self.fill_or_beyond(out, alike)
        refuse_beyond(beyond)
        return close

    def fill_or_beyond(self, out: Array, alike: bool) -> tuple[int, NDArray[np.bool_]]:
        """The same without a refusal: +inf and True in the second table where a finite value is beyond the doubles."""
        if self.factors is None:
            first, second = (grid.ravel() for grid in np.indices(out.shape))
        else:
            first, second = multiply(self.factors, out, alike)
        pairs = direct_or_beyond(self.p, self.q, self.start[0] + first, self.start[1] + second)
        out[first, second] = pairs.value
        beyond = np.zeros(out.shape, dtype=np.bool_)
        beyond[first, second] = pairs.beyond
        return 0 if self.factors is None else len(first), beyond


def joint_pairs(
    left: ModelsByShape, right: ModelsByShape, tree: Tree | UntilEnd, level_weights: Array | None = None
) -> DirectedPairs:
    """The pairs of every shape group of p with every one of q, and notes on how they are computed."""
    ps, qs = joint_operands(left, right, tree, level_weights)
    pairs: PairsByShape = {}
    notes: dict[str, None] = {}
    for a, p in enumerate(ps):
        for b, q in enumerate(qs):
            factors, note = _best_product(p, q)
            pairs[a, b] = JointPairs(p, q, factors, (len(p), len(q)))
            notes[note] = None
    return DirectedPairs(pairs, [note for note in notes if note], "exact")


def joint_operands(
    left: ModelsByShape, right: ModelsByShape, tree: Tree | UntilEnd, level_weights: Array | None = None
) -> tuple[list[Operand], list[Operand]]:
    """Every shape group of p with its expected visits, and every one of q; by group where any model has groups."""
    everyone = [group.models for group in (*left.groups, *right.groups)]
    n_groups = tree.n_groups if isinstance(tree, Tree) else None
    groups = (
        n_groups or 1 if any(m.transitions.shape[1] > 1 for m in everyone) else 1,
        n_groups or 1 if any(len(m.emissions) > 1 for m in everyone) else 1,
    )
    ps = [
        operand_of(group.models, expected_of(group.models, tree, groups, level_weights), n_groups)
        for group in left.groups
    ]
    return ps, ps if right is left else [operand_of(group.models, None, n_groups) for group in right.groups]


def _best_product(p: Operand, q: Operand) -> tuple[Factors | None, str]:
    """The product that leaves the fewest close pairs, None where there is none, and a note on it."""
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
