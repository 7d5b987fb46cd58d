"""Where to draw the nodes of a tree: leaves side by side, parents above the middle of their children."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hidiv.plots.style import MIDDLE
from hidiv.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hidiv.models.tree import Tree


def places(tree: Tree) -> tuple[Array, Array]:
    """(n,), (n,): x of each node, leaves at 0, 1, 2, ... in the order of their ancestors; y is minus the level.

    >>> import hidiv as hd
    >>> places(hd.Tree.regular(2, 3))[0].tolist()
    [1.5, 0.5, 2.5, 0.0, 1.0, 2.0, 3.0]
    """
    n = tree.n_nodes
    children: list[list[int]] = [[] for _ in range(n)]
    for u in range(1, n):
        children[int(tree.parent[u])].append(u)
    x = np.zeros(n)
    leaves = 0
    stack, order = [0], []
    while stack:
        u = stack.pop()
        order.append(u)
        stack.extend(reversed(children[u]))
    for u in order:
        if not children[u]:
            x[u] = leaves
            leaves += 1
    for u in reversed(order):
        if children[u]:
            x[u] = 0.5 * (x[children[u][0]] + x[children[u][-1]])
    return x, -np.asarray(tree.level, dtype=np.float64)


def edges(ax: Axes, tree: Tree, x: Array, y: Array) -> None:
    """Draw a line from every parent to each of its children."""
    from matplotlib.collections import LineCollection

    parent = tree.parent[1:]
    ends = np.stack([np.column_stack([x[parent], y[parent]]), np.column_stack([x[1:], y[1:]])], axis=1)
    ax.add_collection(LineCollection(list(ends), colors=MIDDLE, linewidths=0.8, zorder=1))


def node_names(tree: Tree) -> Sequence[str]:
    """The labels of the nodes if they have some, otherwise the paper's words; "root" for the empty word."""
    if tree.labels is not None:
        return [str(label) or "root" for label in tree.labels]
    return [tree.word(u) or "root" for u in range(tree.n_nodes)]
