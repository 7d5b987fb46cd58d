"""Ctrl-C: a command prints or writes what is finished, and its exit code still says that it was interrupted."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

EXIT_CODE = 130  # the code shells use for a command stopped by SIGINT

_recorded: list[int] = []


def was_interrupted() -> bool:
    """Whether Ctrl-C was pressed, even if the computation then went on with what it had."""
    return bool(_recorded)


@contextmanager
def recorded_interrupts() -> Iterator[list[int]]:
    """Raise KeyboardInterrupt as usual and record each one in a list, so that callers who go on still know of it."""
    recorded = _recorded
    recorded.clear()

    def record(number: int, frame: FrameType | None) -> None:
        recorded.append(number)
        signal.default_int_handler(number, frame)

    try:
        before = signal.signal(signal.SIGINT, record)
    except ValueError:  # not in the main thread, which alone receives signals
        yield recorded
        return
    try:
        yield recorded
    finally:
        signal.signal(signal.SIGINT, before)
