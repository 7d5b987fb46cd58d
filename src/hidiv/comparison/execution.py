"""Where blocks are computed: in this process, in others, or on a Dask cluster; the same function everywhere."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.comparison.blocks import Plan

Array = NDArray[np.float64]
Executor = Any  # None, "serial", "processes" or a Dask client


def run(plan: Plan, executor: Executor, store: Any) -> tuple[Any, int]:
    """The matrix, and how many pairs the shorter way could not do."""
    out = np.empty(plan.shape)
    slow = 0

    def one(corner: tuple[int, int]) -> int:
        block = plan.block(*corner)
        target = out[block.top : block.bottom, block.left : block.right]
        _, count = block.compute(target)
        if plan.is_mirrored and block.top != block.left:
            out[block.left : block.right, block.top : block.bottom] = target.T
        return count

    with one_blas_thread(), ThreadPoolExecutor(1 if executor == "serial" else processors()) as pool:
        for count in pool.map(one, plan.corners()):
            slow += count
    return out, slow


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Blocks are the parallelism; and with one thread each the same block gives the same bits everywhere."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield
