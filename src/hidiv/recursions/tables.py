"""What a recursion reads: where each node looks, one model's numbers, and those of a pair with accurate log-ratios."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hidiv.recursions.levels import by_level, levels
from hidiv.types import Array, Indices, IntArray

Places = tuple[IntArray | None, IntArray | None, Indices | None]  # parent, transition_of, row_of
# initial (K,), transition (G, K, K), log_weight (R, K), or the log-ratios of the three
Law = tuple[Array, Array, Array]
# the log-weights of the nodes first..end-1, and for a pair their log-ratios and residuals
MakeRows = Callable[[int, int], tuple[Array, Array | None, Array | None]]


@dataclass(frozen=True, eq=False)
class Layout:
    """n_nodes; parent (n,) with parent[0] = -1, parent[u] < u, or None for a chain (parent u-1);
    transition_of (n,) index into the stacked transitions, or None for 0 everywhere (row 0 is never read);
    row_of (n,) index into the weight tables, or None when node u uses row u. Indices may be int32 or int64.
    """

    n_nodes: int
    parent: IntArray | None = None
    transition_of: IntArray | None = None
    row_of: Indices | None = None

    @property
    def places(self) -> Places:
        """The three index arrays, as kernels take them."""
        return self.parent, self.transition_of, self.row_of

    def rows(self, nodes: IntArray) -> IntArray:
        """(L,): the rows of the weight tables."""
        return nodes if self.row_of is None else self.row_of[nodes].astype(np.int64)

    def transitions(self, nodes: IntArray) -> IntArray:
        """(L,): the indices of the transitions into the nodes."""
        return np.zeros_like(nodes) if self.transition_of is None else self.transition_of[nodes]

    def parents(self, nodes: IntArray) -> IntArray:
        """(L,): the parents; -1 for the root."""
        return nodes - 1 if self.parent is None else self.parent[nodes]

    @cached_property
    def levels(self) -> list[IntArray]:
        """Nodes by level, root first; within a level siblings are neighbours."""
        if self.parent is None:
            return list(np.arange(self.n_nodes).reshape(-1, 1))
        parent = np.ascontiguousarray(self.parent)
        return by_level(levels(parent), parent)

    def upward(self, cells: int) -> Iterator[IntArray]:
        """Blocks of nodes, children before parents, the root left out; at most about 2^20 table cells a block."""
        size = max(1, (1 << 20) // max(cells, 1))
        for nodes in reversed(self.levels[1:]):
            for start in range(0, nodes.size, size):
                yield nodes[start : start + size]

    def downward(self, cells: int) -> Iterator[IntArray]:
        """The same blocks, parents before children."""
        size = max(1, (1 << 20) // max(cells, 1))
        for nodes in self.levels[1:]:
            for start in range(0, nodes.size, size):
                yield nodes[start : start + size]


@dataclass(frozen=True, eq=False)
class Tables:
    """initial (K,), transition (G, K, K), log_weight (R, K); a layout says which of them a node uses.

    shift (R,) or None: what was taken out of the rows of log_weight; only log-likelihoods depend on it.
    """

    initial: Array
    transition: Array
    log_weight: Array
    shift: Array | None = None

    @property
    def n_states(self) -> int:
        """K."""
        return int(self.initial.shape[0])

    @property
    def arrays(self) -> Law:
        """The tables without the shift, as kernels take them."""
        return packed(self.initial, self.transition, self.log_weight)

    def taken_out(self, layout: Layout) -> float:
        """The sum of `shift` over all nodes, which belongs to the log-likelihood; -inf where it overflows."""
        if self.shift is None:
            return 0.0
        return float(self.shift[layout.rows(np.arange(layout.n_nodes))].sum(dtype=np.longdouble))


@dataclass(frozen=True, eq=False)
class PairTables:
    """Tables of p and q, and log(q/p) of each part, computed from parameter differences.

    initial_ratio (K,), transition_ratio (G, K, K), weight_ratio (R, K); entries where p or q vanish are not read.
    residual (R, K) >= 0 or None: what the hidden part of an observation adds (definitions (1.3)); +inf allowed.
    """

    p: Tables
    q: Tables
    initial_ratio: Array
    transition_ratio: Array
    weight_ratio: Array
    residual: Array | None = None

    @property
    def ratios(self) -> Law:
        """The three log-ratios, as kernels take them."""
        return packed(self.initial_ratio, self.transition_ratio, self.weight_ratio)


def packed(initial: Array, transition: Array, log_weight: Array) -> Law:
    """The three arrays, C-contiguous as the kernels take them."""
    return np.ascontiguousarray(initial), np.ascontiguousarray(transition), np.ascontiguousarray(log_weight)


def add_to_parents(total: NDArray[np.longdouble], parents: IntArray, values: NDArray[np.float64]) -> None:
    """total[parents[i]] += values[i]; equal parents must be neighbours."""
    first = np.flatnonzero(np.r_[True, parents[1:] != parents[:-1]])
    total[parents[first]] += np.add.reduceat(values, first, axis=0, dtype=total.dtype)
