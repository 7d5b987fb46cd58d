"""A block of joint divergences: the product, what it cannot promise computed directly, what is missing infinite."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hidiv.comparison.direct import direct_joint
from hidiv.comparison.factors import RELATIVE_ERROR, Factors
from hidiv.comparison.sides import Side

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

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
    right = np.ascontiguousarray(factors.right.T)
    # A bound for the whole row first: one comparison an entry, and few entries to look at twice.
    bounds = factors.error_left / RELATIVE_ERROR
    of_row = bounds @ factors.error_right.max(axis=0)
    found: list[tuple[IntArray, IntArray]] = []
    height = max(1, STRIP // out.shape[1])
    for top in range(0, len(out), height):
        strip = out[top : top + height]
        np.matmul(factors.left[top : top + height], right, out=strip)
        if factors.support is not None and factors.missing is not None:
            strip[factors.support[top : top + height] @ factors.missing.T > 0.5] = np.inf
        if alike:  # what a model is from itself is known
            own = np.arange(len(strip))
            strip[own, top + own] = np.inf
        rows = np.flatnonzero(strip.min(axis=1) <= of_row[top : top + height])
        if len(rows):
            first, second = np.nonzero(strip[rows] <= of_row[top + rows, None])
            first = rows[first]
            bound = np.einsum("ir,ir->i", bounds[top + first], factors.error_right[second])
            close = strip[first, second] <= bound
            found.append((top + first[close], second[close]))
    if not found:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    return np.concatenate([first for first, _ in found]), np.concatenate([second for _, second in found])
