"""Inner products of all pairs of rows, and the rows that have small ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hidiv.recursions.kernels import instruction_set, kernel, twins
from hidiv.types import Array

STRIP = 1 << 18  # entries handled while they are in the cache
LINE = 64  # bytes of a line of the cache


@kernel
def products(left: Array, right: Array, bound: Array, alike: bool, out: Array, threads: int = 1) -> NDArray[np.bool_]:
    """Write left right^T into out (m, n), left (m, F), right (n, F); (m,): rows with an entry of at most bound (m,).

    alike: entry (i, i) is written as 0 and not compared with the bound. threads: of the compiled kernel, 0 for all
    processors; BLAS has a setting of its own.
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


def unset_table(shape: tuple[int, int]) -> Array:
    """A table not yet written that begins at a line of the cache: the kernel writes large ones past it."""
    numbers = shape[0] * shape[1]
    raw = np.empty(numbers + LINE // 8)
    start = -raw.ctypes.data % LINE // 8
    return raw[start : start + numbers].reshape(shape)


def cut_shows() -> bool:
    """Whether bits of a product depend on the blocks it is cut into: those of BLAS do, those of the kernel do not."""
    return instruction_set() in (None, "baseline")


def quickest_products(
    left: Array, right: Array, bound: Array, alike: bool, out: Array, threads: int = 1
) -> NDArray[np.bool_]:
    """`products` by the compiled kernel or by BLAS, whichever the instruction set makes quicker.

    Measured with 10 to 2,000 features and one thread: with AVX2 the kernel takes 0.74 to 1.12 times as long as BLAS, so
    that it runs there and with AVX-512; with the baseline 1.2 to 2.8 times, since BLAS chooses its own instructions.
    """
    twin = twins["products"]
    run = twin if products is twin or cut_shows() else products
    small: NDArray[np.bool_] = run(left, right, bound, alike, out, threads)
    return small
