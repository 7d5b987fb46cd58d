"""Portions of work side by side, results in order: the same whatever the number of workers."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from hidiv.arguments import Seed, seed_number

Portion = TypeVar("Portion")
Result = TypeVar("Result")

AHEAD = 1  # portions to a worker beyond the one it works on


def available() -> int:
    """The processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(
    work: Callable[[Portion], Result], portions: Iterable[Portion], workers: int
) -> Generator[Result, None, None]:
    """work(portion) for each portion, as they come; with several workers a few are under way ahead of the reader.

    The first is done alone, since it is often enough. Left early, by an interrupt or a break, it starts nothing more.
    """
    left = iter(portions)
    for portion in left:
        yield work(portion)
        if workers > 1:
            break
    waiting: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(workers)
    try:
        for portion in left:
            waiting.append(pool.submit(work, portion))
            if len(waiting) > AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


class Streams:
    """Independent generators by number, from one seed."""

    def __init__(self, seed: Seed) -> None:
        if isinstance(seed, np.random.Generator):
            self.entropy: object = seed.integers(2**63, size=4).tolist()
        else:
            self.entropy = np.random.SeedSequence(seed_number(seed)).entropy

    def __call__(self, number: int) -> np.random.Generator:
        """The generator of a portion."""
        return np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(number,)))  # type: ignore[arg-type]
