"""A block of joint divergences: the product, what it cannot promise computed directly, what is missing infinite."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hidiv.comparison.pairwise.direct import direct_joint
from hidiv.comparison.pairwise.operands import Side
from hidiv.comparison.pairwise.product import RELATIVE_ERROR, Factors
from hidiv.recursions.products import products
from hidiv.types import Array, IntArray

STRIP = 1 << 18  # entries handled while they are in the cache


@dataclass(frozen=True, eq=False)
class JointBlock:
    """Models of p and q from some place on, and the factors of their product, or None: every pair directly."""

    p: Side
    q: Side
    factors: Factors | None
    shape: tuple[int, int]  # of the block
    start: tuple[int, int] = (0, 0)  # its first p and q

    def part(self, first: slice, second: slice) -> JointBlock:
        """Some p against some q; the sides are not cut before the block is sent away."""
        (top, left), (rows, columns) = self.start, self.shape
        i, j = range(rows)[first], range(columns)[second]
        factors = None if self.factors is None else self.factors.part(first, second)
        return JointBlock(self.p, self.q, factors, (len(i), len(j)), (top + i.start, left + j.start))

    def packed(self) -> JointBlock:
        """The same block with no more models than it needs."""
        (top, left), (rows, columns) = self.start, self.shape
        p, q = self.p.take(slice(top, top + rows)), self.q.take(slice(left, left + columns))
        return JointBlock(p, q, self.factors, self.shape)

    def fill(self, out: Array, alike: bool) -> int:
        """Write D of every p from every q into out (m, m'); how many pairs were too close for the product."""
        top, left = self.start
        if self.factors is None:
            first, second = (grid.ravel() for grid in np.indices(out.shape))
            out[...] = direct_joint(self.p, self.q, top + first, left + second).reshape(out.shape)
            return 0
        first, second = multiply(self.factors, out, alike)
        out[first, second] = direct_joint(self.p, self.q, top + first, left + second)
        return len(first)


def multiply(factors: Factors, out: Array, alike: bool = False) -> tuple[IntArray, IntArray]:
    """The product, infinite where support is missing; and the pairs too close for it, if `alike` off the diagonal."""
    # A bound for the whole row first: one comparison an entry, and few entries to look at twice.
    bounds = factors.error_left / RELATIVE_ERROR
    of_row = bounds @ factors.error_right.max(axis=0)
    close_rows = products(factors.left, factors.right, of_row, alike, out)
    height = max(1, STRIP // out.shape[1])
    if factors.support is not None and factors.missing is not None:
        for top in range(0, len(out), height):
            out[top : top + height][factors.support[top : top + height] @ factors.missing.T > 0.5] = np.inf
    found: list[tuple[IntArray, IntArray]] = [(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))]
    rows = np.flatnonzero(close_rows)
    for start in range(0, len(rows), height):
        some = rows[start : start + height]
        first, second = np.nonzero(out[some] <= of_row[some, None])
        first = some[first]
        close = out[first, second] <= np.einsum("ir,ir->i", bounds[first], factors.error_right[second])
        if alike:  # what a model is from itself is known
            close &= first != second
        found.append((first[close], second[close]))
    return np.concatenate([first for first, _ in found]), np.concatenate([second for _, second in found])
