"""Inner products of all pairs of rows, and the rows that have small ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hidiv.recursions.kernels import kernel
from hidiv.types import Array

STRIP = 1 << 18  # entries handled while they are in the cache


@kernel
def products(left: Array, right: Array, bound: Array, alike: bool, out: Array) -> NDArray[np.bool_]:
    """Write left right^T into out (m, n), left (m, F), right (n, F); (m,): rows with an entry of at most bound (m,).

    alike: entry (i, i) is written as 0 and not compared with the bound.
    """
    across = np.ascontiguousarray(right.T)
    small = np.zeros(len(out), dtype=np.bool_)
    height = max(1, STRIP // out.shape[1])
    for top in range(0, len(out), height):
        strip = out[top : top + height]
        np.matmul(left[top : top + height], across, out=strip)
        rows = np.arange(min(len(strip), max(0, out.shape[1] - top)) if alike else 0)
        strip[rows, top + rows] = np.inf
        small[top : top + height] = strip.min(axis=1) <= bound[top : top + height]
        strip[rows, top + rows] = 0.0
    return small
