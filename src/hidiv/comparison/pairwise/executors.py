"""Where blocks are computed: in threads of this process, in other processes, or on a Dask cluster.

Blocks run in parallel, so BLAS is limited to one thread meanwhile, and the same block always gives the same bits.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import warnings
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

import numpy as np

from hidiv.comparison.pairwise.storage import AnyBlock, AnyPlan, MatrixStorage
from hidiv.errors import HidivError, refuse
from hidiv.progress import Progress, Wanted, reporting
from hidiv.types import Array

Executor = Any  # None, "serial", "processes" or a Dask client

IN_FLIGHT = 3  # blocks sent out for each worker: one is computed, one on its way, one waiting


def compute(block: AnyBlock) -> tuple[Array, int]:
    """Compute a block with one BLAS thread; what a worker process runs."""
    with one_blas_thread():
        return block.compute()


def fill(
    storage: MatrixStorage, plan: AnyPlan, executor: Executor, progress: Wanted = None, label: str = "all pairs"
) -> int:
    """Compute every block the storage lacks and write it once; return how many were computed."""
    corners = storage.todo(plan)
    total = len(plan.corners())
    done = total - len(corners)
    with reporting(progress), Progress(label) as bar:
        for block, values, direct in _computed(corners, plan, executor, storage):
            if values is not None:
                storage.write(block, values, direct)
            else:
                storage.mark(block, direct)
            done += 1
            bar.show(done, f"{done} of {total} blocks", total)
    return len(corners)


def _computed(
    corners: list[tuple[int, int]], plan: AnyPlan, executor: Executor, storage: MatrixStorage
) -> Iterator[tuple[AnyBlock, Array | None, int]]:
    """Blocks as they are done, with their values unless those were written in place."""
    if executor is None or executor == "serial":
        yield from _in_threads(corners, plan, storage, 1 if executor == "serial" else processors())
    elif executor == "processes":
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(processors(), context, _ignore_interrupts) as pool:
            yield from _in_workers(corners, plan, pool.submit, _any_done, IN_FLIGHT * processors())
    elif hasattr(executor, "submit") and hasattr(executor, "scheduler_info"):
        workers = max(1, len(executor.scheduler_info(n_workers=-1)["workers"]))

        def submit(function: Any, block: AnyBlock) -> Any:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Sending large graph")  # a block carries its models with it
                return executor.submit(function, block, pure=False)

        yield from _in_workers(corners, plan, submit, _any_done_on_dask, IN_FLIGHT * workers)
    else:
        refuse(HidivError, "executor", 'must be None, "serial", "processes" or a Dask client', type(executor).__name__)


def _in_threads(
    corners: list[tuple[int, int]], plan: AnyPlan, storage: MatrixStorage, threads: int
) -> Iterator[tuple[AnyBlock, Array | None, int]]:
    """Blocks computed in this process; a matrix in memory is written in place."""
    in_place = isinstance(storage.values, np.ndarray) and storage.errors is None

    def one(corner: tuple[int, int]) -> tuple[AnyBlock, Array | None, int]:
        block = plan.block(*corner)
        if not in_place:
            return block, *block.compute()
        target = storage.values[block.top : block.bottom, block.left : block.right]
        _, direct = block.compute(target)
        if storage.is_mirrored and block.top != block.left:
            storage.values[block.left : block.right, block.top : block.bottom] = target.T
        return block, None, direct

    with one_blas_thread():
        if threads == 1 or len(corners) == 1:
            yield from map(one, corners)
            return
        # Down the columns: threads side by side in the same rows would fault on the same pages of a new matrix.
        corners = sorted(corners, key=lambda corner: corner[::-1])
        with ThreadPoolExecutor(threads) as pool:
            # Values on their way to a store are memory too: only a few blocks at a time.
            some = len(corners) if in_place else 4 * threads
            for start in range(0, len(corners), some):
                yield from _in_turn([pool.submit(one, corner) for corner in corners[start : start + some]])


def _in_turn(futures: list[Any]) -> Iterator[Any]:
    """Results of the futures in order; after an interrupt those already running are waited for, no more are begun."""
    for i, future in enumerate(futures):
        try:
            result = future.result()
        except KeyboardInterrupt:
            begun = [other for other in futures[i:] if not other.cancel()]
            yield from (other.result() for other in begun)
            raise
        yield result


def _ignore_interrupts() -> None:
    """Ctrl-C reaches every process of a terminal: only the one that waits for the workers acts on it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _in_workers(
    corners: list[tuple[int, int]], plan: AnyPlan, submit: Any, any_done: Any, most: int
) -> Iterator[tuple[AnyBlock, Array, int]]:
    """Blocks sent out a few at a time, and yielded in the order in which they are done."""
    waiting: dict[Any, AnyBlock] = {}
    ahead = iter(corners)
    try:
        while True:
            for corner in ahead:
                block = plan.block(*corner)
                waiting[submit(compute, block.packed())] = block
                if len(waiting) >= most:
                    break
            if not waiting:
                return
            for future in any_done(list(waiting)):
                yield waiting.pop(future), *future.result()
    except KeyboardInterrupt:
        # Blocks that processes of this machine are computing are waited for, as with threads; those of a cluster not.
        for future in [one for one in waiting if one.cancel() is False]:
            yield waiting.pop(future), *future.result()
        raise
    finally:
        for future in waiting:
            future.cancel()


def _any_done(futures: list[Any]) -> Any:
    return wait(futures, return_when=FIRST_COMPLETED).done


def _any_done_on_dask(futures: list[Any]) -> Any:
    import distributed

    wait_on_dask: Any = distributed.wait
    return wait_on_dask(futures, return_when=FIRST_COMPLETED).done


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_lock = Lock()
_inside = 0
_limit: Any = None


@cache
def _libraries() -> Any:
    """The loaded BLAS libraries, looked for once: numpy's, whose products are limited, is loaded before."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS from the first thread of this process that enters until the last one leaves.

    Without threadpoolctl, which the extra dask brings, BLAS keeps its threads: the last bits may then differ.
    """
    global _inside, _limit
    try:
        libraries = _libraries()
    except ImportError:
        yield
        return

    with _lock:
        if _inside == 0:
            _limit = libraries.limit(limits=1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit.restore_original_limits()
                _limit = None
