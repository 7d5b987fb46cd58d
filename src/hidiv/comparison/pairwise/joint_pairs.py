"""All joint divergences between two lists of models: a product, and the close pairs it cannot promise directly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hidiv.comparison.collection.by_shape import ModelsByShape
from hidiv.comparison.collection.collection import evenly_spread
from hidiv.comparison.pairwise.direct import direct_or_beyond, refuse_beyond
from hidiv.comparison.pairwise.matrix_product import RELATIVE_ERROR, Factors, factors_of, multiply
from hidiv.comparison.pairwise.operands import Operand, joint_operands
from hidiv.comparison.pairwise.plan import DirectedPairs, PairsByShape
from hidiv.comparison.pairwise.second_order import second_order
from hidiv.models.tree import Tree
from hidiv.models.until_end import UntilEnd
from hidiv.recursions.products import cut_shows, unset_table
from hidiv.types import Array, Flags, IntArray

SAMPLE = 48  # models of each list by which it is judged how close they lie
OFTEN = 0.02  # share of close pairs from which the second-order product is tried


@dataclass(frozen=True, eq=False)
class JointPairs:
    """Models p and q from some place on, and the factors of their product; None: every pair is computed directly."""

    p: Operand
    q: Operand
    factors: Factors | None
    shape: tuple[int, int]  # of the block
    start: tuple[int, int] = (0, 0)  # its first p and q
    many_close: bool = False  # whether many pairs are too close for the product

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

    def fill(self, out: Array, alike: bool, threads: int = 1) -> int:
        """Write D of every p from every q into out (m, m'); return how many pairs were too close for the product."""
        first, _, beyond = self._filled(out, alike, threads)
        if len(beyond):
            refuse_beyond(beyond)
        return 0 if self.factors is None else len(first)

    def fill_or_beyond(self, out: Array) -> Flags:
        """The same without a refusal: +inf, and True in what is returned, where no double holds a finite value."""
        first, second, beyond = self._filled(out, False)
        table = np.zeros(out.shape, dtype=np.bool_)
        table[first, second] = beyond
        return table

    def _filled(self, out: Array, alike: bool, threads: int = 1) -> tuple[IntArray, IntArray, Flags]:
        """The pairs that were computed directly, and which of them are finite and beyond the doubles."""
        if self.factors is None:
            first, second = (grid.ravel() for grid in np.indices(out.shape))
        else:
            first, second = multiply(self.factors, out, alike, threads)
        if not len(first):
            return first, second, np.zeros(0, dtype=np.bool_)
        pairs = direct_or_beyond(self.p, self.q, self.start[0] + first, self.start[1] + second)
        out[first, second] = pairs.value
        return first, second, pairs.beyond


def whole_matrix(pairs: PairsByShape, alike: bool, edge: int) -> tuple[Array, int] | None:
    """All joint divergences at once, and how many pairs were too close for the product.

    None where it is better to cut the matrix into blocks of `edge`: models of several shapes, pairs that are mostly
    computed directly, and products whose bits would depend on the blocks that other executors compute.
    """
    only = pairs[0, 0]
    assert isinstance(only, JointPairs)
    if len(pairs) > 1 or only.factors is None or only.many_close or (max(only.shape) > edge and cut_shows()):
        return None
    values = unset_table(only.shape)
    return values, only.fill(values, alike, threads=0)


def joint_pairs(
    left: ModelsByShape, right: ModelsByShape, tree: Tree | UntilEnd, level_weights: Array | None = None
) -> DirectedPairs:
    """The pairs of every shape group of p with every one of q, and notes on how they are computed."""
    ps, qs = joint_operands(left, right, tree, level_weights)
    pairs: PairsByShape = {}
    notes: dict[str, None] = {}
    for a, p in enumerate(ps):
        for b, q in enumerate(qs):
            factors, note, many_close = _best_product(p, q)
            pairs[a, b] = JointPairs(p, q, factors, (len(p), len(q)), many_close=many_close)
            notes[note] = None
    return DirectedPairs(pairs, [note for note in notes if note], "exact")


def _best_product(p: Operand, q: Operand) -> tuple[Factors | None, str, bool]:
    """The product that leaves the fewest close pairs, None where there is none; a note on it; whether many are left."""
    factors = factors_of(p, q)
    if factors is None:
        kinds = "/".join(dict.fromkeys(family.name for family in (*p.families, *q.families)))
        return None, f"{kinds} emissions without common sufficient statistics: every pair computed directly", True
    often = close_share(factors)
    if often > OFTEN:
        other = second_order(p, q)
        less = often if other is None else close_share(other)
        if other is not None and less < often:
            return other, "models clustered around one: second-order product", less > OFTEN
    return factors, "", often > OFTEN


def close_share(factors: Factors) -> float:
    """Share of the pairs of a sample, each model with itself left out, for which the product is not good enough."""
    first, second = (evenly_spread(len(table), SAMPLE) for table in (factors.left, factors.right))
    if len(factors.left) > len(first):
        first = np.minimum(first + 1, len(factors.left) - 1)  # other models than those of the columns
    value = factors.left[first] @ factors.right[second].T
    bound = factors.error_left[first] @ factors.error_right[second].T / RELATIVE_ERROR
    apart = (
        first[:, None] != second if len(factors.left) == len(factors.right) else np.ones(value.shape, dtype=np.bool_)
    )
    return float((value <= bound)[apart].mean()) if apart.any() else 0.0
