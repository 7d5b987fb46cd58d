"""Two pieces of work timed in turns, so that a noisy machine slows both alike.

HIDIV_BENCH_CLOCK=processor takes processor time, all threads, where many other programs run.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time, sleep

CLOCK = process_time if os.environ.get("HIDIV_BENCH_CLOCK") == "processor" else perf_counter
PAUSE = 0.1  # seconds: threads of BLAS spin after their work, and would take a processor from what follows


@dataclass(frozen=True)
class Row:
    """One line of the table: what was measured, the ratio and the goal it is held against."""

    work: str
    against: str
    seconds: float
    peer_seconds: float
    goal: float | None = None  # the ratio should be at most this

    @property
    def ratio(self) -> float:
        return self.seconds / self.peer_seconds

    def line(self) -> str:
        goal = "" if self.goal is None else f"<= {self.goal:.4g} {'met' if self.ratio <= self.goal else 'MISSED'}"
        times = f"{_shown(self.seconds)} | {_shown(self.peer_seconds)}"
        return f"| {self.work} | {self.against} | {times} | {self.ratio:.3g} | {goal} |"


HEADER = "| work | against | time | its time | ratio | goal |\n|---|---|---|---|---|---|"


def interleaved(
    work: str,
    run: Callable[[], object],
    against: str,
    peer: Callable[[], object],
    goal: float | None = None,
    rounds: int = 7,
    repeat: int = 1,
    clock: Callable[[], float] = CLOCK,
    pause: float = 0.0,
) -> Row:
    """Median times of `rounds` alternations, each piece run `repeat` times a round; one round of warming up.

    pause: seconds before each piece, in which threads that the other one left spinning fall asleep; a call that is not
    timed follows, so that both pieces begin warm.
    """
    run()
    peer()
    mine: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        for piece, times in ((run, mine), (peer, theirs)):
            if pause:
                sleep(pause)
                piece()
            times.append(_timed(piece, repeat, clock))
    return Row(work, against, median(mine), median(theirs), goal)


def _timed(run: Callable[[], object], repeat: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(repeat):
        run()
    return (clock() - start) / repeat


def _shown(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
