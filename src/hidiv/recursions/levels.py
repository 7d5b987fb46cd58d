"""The level of every node of a tree, and the laws of a homogeneous chain by level."""

from __future__ import annotations

from math import fsum

import numpy as np

from hidiv.recursions.kernels import kernel
from hidiv.recursions.powers import stochastic
from hidiv.types import Array, IntArray

_CELLS = 1 << 17  # numbers handled at once by the numpy twins: a few arrays of it stay in the cache


@kernel
def levels(parent: IntArray) -> IntArray:
    """(n,): the level of each node, 0 for the root; parent[0] = -1, parent[u] < u.

    Every node jumps to its ancestor's ancestor, so that the number of rounds is the logarithm of the depth.
    """
    level = (parent >= 0).astype(np.int64)
    ancestor = parent.copy()
    jumping = np.flatnonzero(ancestor > 0)  # nodes that have not reached the root, whose level is 0
    while jumping.size:
        ahead = ancestor[jumping]
        gained, further = level[ahead], ancestor[ahead]
        level[jumping] += gained
        ancestor[jumping] = further
        jumping = jumping[further > 0]
    return level


def by_level(level: IntArray, parent: IntArray | None = None) -> list[IntArray]:
    """The nodes of each level, root first; with parents given, sorted by those, so that siblings are neighbours."""
    order = np.argsort(level, kind="stable") if parent is None else np.lexsort((parent, level))
    return np.split(order, np.cumsum(np.bincount(level))[:-1])


def blocks(parent: IntArray, n_states: int) -> list[IntArray]:
    """The nodes below the root in cache-sized blocks of one level: parents before children, siblings together."""
    size = max(1, _CELLS // n_states**2)
    lines = by_level(levels(parent), parent)[1:]
    return [nodes[i : i + size] for nodes in lines for i in range(0, len(nodes), size)]


def level_laws(initial: Array, transition: Array, n_levels: int) -> Array:
    """(L, K): initial T^l for l < L, by doubling: rows m..2m-1 are the first m times T^m, rescaled to sum to one."""
    laws, power = (initial / initial.sum())[None, :], stochastic(transition)
    while len(laws) < n_levels:
        laws = np.concatenate([laws, stochastic(laws[: n_levels - len(laws)] @ power)])
        power = stochastic(power @ power)
    return np.asarray(laws)


@kernel
def level_visits(initial: Array, transition: Array, count: Array) -> Array:
    """(K,): sum over l of count[l] initial T^l, count (L,) the numbers of nodes by level (definitions (3.3))."""
    terms = count[:, None] * level_laws(initial, transition, len(count))
    return np.array([fsum(column) for column in terms.T.tolist()])
