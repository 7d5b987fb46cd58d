"""Independent pieces of work: in threads of this process, in other processes, or on a Dask cluster."""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

from hidiv.comparison.pairwise.executors import _ignore_interrupts as ignore_interrupts
from hidiv.comparison.pairwise.executors import processors
from hidiv.errors import HidivError, refuse
from hidiv.progress import Progress

Executor = Any  # None, "serial", "processes", a concurrent.futures.Executor or a Dask client
Job = TypeVar("Job")
Result = TypeVar("Result")


def all_done(work: Callable[[Job], Result], jobs: Sequence[Job], executor: Executor, label: str) -> list[Result]:
    """The results of all jobs, in order."""
    results: dict[int, Result] = dict(as_done(work, jobs, executor, label))
    return [results[i] for i in range(len(jobs))]


def as_done(
    work: Callable[[Job], Result], jobs: Sequence[Job], executor: Executor, label: str
) -> Iterator[tuple[int, Result]]:
    """(number, result) of every job as it is done; after Ctrl-C no more are begun."""
    with Progress(label) as progress:
        done = 0
        if executor == "serial" or (executor is None and len(jobs) == 1):
            for i, job in enumerate(jobs):
                yield i, work(job)
                done += 1
                progress.show(done, f"{done} of {len(jobs)}", len(jobs))
            return
        with _pool(executor) as (submit, any_done, most):
            waiting: dict[Any, int] = {}
            ahead = iter(enumerate(jobs))
            try:
                while True:
                    for i, job in ahead:
                        waiting[submit(work, job)] = i
                        if len(waiting) >= most:
                            break
                    if not waiting:
                        return
                    for future in any_done(list(waiting)):
                        yield waiting.pop(future), future.result()
                        done += 1
                        progress.show(done, f"{done} of {len(jobs)}", len(jobs))
            finally:
                for future in waiting:
                    future.cancel()


@contextmanager
def _pool(executor: Executor) -> Iterator[tuple[Callable[..., Any], Callable[[list[Any]], Any], int]]:
    """How jobs are sent out, how some are waited for, and how many are sent at once."""
    if executor is None:
        with ThreadPoolExecutor(processors()) as threads:
            yield threads.submit, _any_done, 3 * processors()
    elif executor == "processes":
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(processors(), context, ignore_interrupts) as processes:
            yield processes.submit, _any_done, 3 * processors()
    elif hasattr(executor, "submit") and hasattr(executor, "scheduler_info"):

        def submit(work: Any, job: Any) -> Any:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Sending large graph")
                return executor.submit(work, job, pure=False)

        workers = max(1, len(executor.scheduler_info(n_workers=-1)["workers"]))
        yield submit, _any_done_on_dask, 3 * workers
    elif hasattr(executor, "submit") and hasattr(executor, "shutdown"):
        yield executor.submit, _any_done, 10**9
    else:
        rule = 'must be None, "serial", "processes", an executor or a Dask client'
        refuse(HidivError, "executor", rule, type(executor).__name__)


def _any_done(futures: list[Future[Any]]) -> Any:
    return wait(futures, return_when=FIRST_COMPLETED).done


def _any_done_on_dask(futures: list[Any]) -> Any:
    import distributed

    wait_on_dask: Any = distributed.wait
    return wait_on_dask(futures, return_when=FIRST_COMPLETED).done
