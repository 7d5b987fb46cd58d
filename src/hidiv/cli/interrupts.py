"""Ctrl-C: a command prints or writes what it has finished, and its exit code still says that it was stopped."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

EXIT_CODE = 130  # what shells give a command that was stopped by SIGINT

_noted: list[int] = []


def was_interrupted() -> bool:
    """Whether Ctrl-C came, though what was running then may have kept what it had and gone on."""
    return bool(_noted)


@contextmanager
def noted_interrupts() -> Iterator[list[int]]:
    """KeyboardInterrupt as usual, and a list that grows by one at each, so that a caller who went on still knows."""
    noted = _noted
    noted.clear()

    def note(number: int, frame: FrameType | None) -> None:
        noted.append(number)
        signal.default_int_handler(number, frame)

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # not in the main thread: no signals arrive here
        yield noted
        return
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)
