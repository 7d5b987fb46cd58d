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

STRIP = 1 << 17  # entries handled while they are in the cache


@dataclass(frozen=True, eq=False)
class JointBlock:
    """Models p and q of a block and the factors of their product, or None: every pair directly."""

    p: Side
    q: Side
    factors: Factors | None

    def part(self, first: slice, second: slice) -> JointBlock:
        """Some p against some q."""
        return JointBlock(
            self.p.take(first), self.q.take(second), None if self.factors is None else self.factors.part(first, second)
        )

    def fill(self, out: Array) -> int:
        """Write D of every p from every q into out (m, m'); how many pairs were computed directly."""
        if self.factors is None:
            first, second = (grid.ravel() for grid in np.indices(out.shape))
            out[...] = direct_joint(self.p, self.q, first, second).reshape(out.shape)
            return out.size
        close_first, close_second = multiply(self.factors, out)
        out[close_first, close_second] = direct_joint(self.p, self.q, close_first, close_second)
        return len(close_first)


def multiply(factors: Factors, out: Array) -> tuple[IntArray, IntArray]:
    """The product, infinite where support is missing; and the pairs too close for it."""
    right = np.ascontiguousarray(factors.right.T)
    # A bound for the whole row first: one comparison an entry, and few entries to look at twice.
    bounds = factors.error_left / RELATIVE_ERROR
    of_row = (bounds @ factors.error_right.max(axis=0))[:, None]
    found: list[tuple[IntArray, IntArray]] = []
    height = max(1, STRIP // out.shape[1])
    for top in range(0, len(out), height):
        strip = out[top : top + height]
        np.matmul(factors.left[top : top + height], right, out=strip)
        if factors.support is not None and factors.missing is not None:
            strip[factors.support[top : top + height] @ factors.missing.T > 0.5] = np.inf
        first, second = np.nonzero(strip <= of_row[top : top + height])
        if len(first):
            bound = np.einsum("ir,ir->i", bounds[top + first], factors.error_right[second])
            close = strip[first, second] <= bound
            found.append((top + first[close], second[close]))
    if not found:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    return np.concatenate([first for first, _ in found]), np.concatenate([second for _, second in found])
