"""Theorem 1: the divergences of subtrees flow to the root (definitions (2.2))."""

from __future__ import annotations

import numpy as np

from hidiv.recursions.doubled import add, row_corrections, settled, sums_by_key, weighted
from hidiv.recursions.kernels import kernel
from hidiv.recursions.levels import blocks
from hidiv.types import Array, IntArray


@kernel
def inward(parent: IntArray, group: IntArray, transition: Array, own: Array, root: Array) -> Array:
    """(n, K): out[u](r) = own[g_u](r) + sum_s T[g_u](r, s) sum_{c child of u} out[c](s); row 0 is root + sum_c out[c].

    parent, group (n,), transition (G, K, K), own (G, K), root (K,), all finite. Rows of T count as summing to one
    exactly, and sums are carried in doubled precision: plain doubles would drift by an ulp of every row's sum a level.
    """
    correction = row_corrections(transition)
    # Sums over the children of each node, until they are replaced by the node's own value.
    high, low = np.zeros((len(parent), len(root))), np.zeros((len(parent), len(root)))
    for nodes in reversed(blocks(parent, len(root))):
        g = group[nodes]
        value, rest = weighted(transition[g], settled((high[nodes], low[nodes])))
        value, rest = settled(add((value, rest + correction[g] * value), (own[g], np.zeros(1))))
        high[nodes] = value
        above, sums = sums_by_key(parent[nodes], (value, rest))
        high[above], low[above] = add((high[above], low[above]), sums)
    high[0] = settled(add((high[0], low[0]), (root, np.zeros(1))))[0]
    return high
