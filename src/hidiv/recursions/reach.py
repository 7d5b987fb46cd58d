"""Which states a model can be in, node by node: the downward recursion in booleans."""

from __future__ import annotations

import numpy as np

from hidiv.recursions.kernels import kernel
from hidiv.recursions.levels import blocks
from hidiv.types import Flags, IntArray


@kernel
def reach(start: Flags, parent: IntArray, group: IntArray, allowed: Flags) -> Flags:
    """(n, K): out[u](s) = any_r out[parent](r) and allowed[g_u](r, s), and `start` at the root.

    start (K,), parent, group (n,), allowed (G, K, K): where p has mass.
    """
    reached = np.zeros((len(parent), len(start)), dtype=np.bool_)
    reached[0] = start
    for nodes in blocks(parent, len(start)):
        reached[nodes] = (reached[parent[nodes]][:, :, None] & allowed[group[nodes]]).any(axis=1)
    return reached
