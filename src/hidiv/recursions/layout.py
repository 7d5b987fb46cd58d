"""Where the nodes hang, and which rows of the tables each of them uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hidiv.types import Indices, IntArray

Places = tuple[IntArray | None, IntArray | None, Indices | None]  # parent, transition_of, row_of


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
        return self.parent, self.transition_of, self.row_of

    def rows(self, nodes: IntArray) -> IntArray:
        return nodes if self.row_of is None else self.row_of[nodes].astype(np.int64)

    def transitions(self, nodes: IntArray) -> IntArray:
        return np.zeros_like(nodes) if self.transition_of is None else self.transition_of[nodes]

    def parents(self, nodes: IntArray) -> IntArray:
        return nodes - 1 if self.parent is None else self.parent[nodes]

    @cached_property
    def levels(self) -> list[IntArray]:
        """Nodes by level, root first; within a level siblings stand together."""
        if self.parent is None:
            return list(np.arange(self.n_nodes).reshape(-1, 1))
        level = np.zeros(self.n_nodes, dtype=np.int64)
        for u in range(1, self.n_nodes):
            level[u] = level[self.parent[u]] + 1
        order = np.lexsort((self.parent, level))
        cuts = np.flatnonzero(np.diff(level[order])) + 1
        return list(np.split(order, cuts))

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


def add_to_parents(total: NDArray[np.longdouble], parents: IntArray, values: NDArray[np.float64]) -> None:
    """total[parents[i]] += values[i]; equal parents stand together."""
    first = np.flatnonzero(np.r_[True, parents[1:] != parents[:-1]])
    total[parents[first]] += np.add.reduceat(values, first, axis=0, dtype=total.dtype)
