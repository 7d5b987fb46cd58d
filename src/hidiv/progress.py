"""The progress of long work: a line on the terminal, or calls of a function that the caller gave."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from time import monotonic
from typing import Any, TypeVar, cast

from hidiv.errors import HidivError, refuse

PATIENCE = 1.0  # seconds before anything is shown
PAUSE = 0.1  # seconds between two lines
WIDTH = 24

# The values of a parameter `progress`. None: a line on a terminal after the first second, nothing in a pipe. True: the
# line wherever the output goes (a notebook is no terminal). False: nothing. A function: called with (done, total).
Wanted = bool | Callable[[float, float], object] | None
Function = TypeVar("Function", bound=Callable[..., Any])
_wanted: ContextVar[Wanted] = ContextVar("wanted", default=None)


@contextmanager
def reporting(wanted: Wanted) -> Iterator[None]:
    """Within this context all work reports as wanted; None leaves the setting of the context around it."""
    if not (wanted is None or isinstance(wanted, bool) or callable(wanted)):
        rule = "must be True, False, None or a function of what is done and how much there is"
        refuse(HidivError, "progress", rule, wanted)
    if wanted is None:
        yield
        return
    token = _wanted.set(wanted)
    try:
        yield
    finally:
        _wanted.reset(token)


def reported(function: Function) -> Function:
    """A decorator: the keyword `progress` of the function applies to all it calls, without being passed on."""

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        with reporting(kwargs.get("progress")):
            return function(*args, **kwargs)

    return cast(Function, called)


class Progress:
    """Shows the progress of a piece of work; used as a context manager, it removes its line at the end.

    >>> with Progress("drawing") as progress:
    ...     progress.show(0.5, "200 sequences")
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self.wanted = _wanted.get()
        self.start = monotonic()
        self.shown = 0
        self.last = 0.0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown:
            sys.stderr.write("\r" + " " * self.shown + "\r")
            sys.stderr.flush()

    def show(self, done: float, words: str = "", total: float = 1.0) -> None:
        """Report that `done` of `total` is done, with words to show after the bar."""
        done = min(max(done, 0), total)
        if callable(self.wanted):
            self.wanted(done, total)
            return
        now = monotonic()
        if self.wanted is False or now - self.last < PAUSE:
            return
        if self.wanted is None and (now - self.start < PATIENCE or not sys.stderr.isatty()):
            return
        self.last = now
        filled = round(WIDTH * done / total)
        line = f"{self.label} [{'#' * filled}{'-' * (WIDTH - filled)}] {words}"
        sys.stderr.write("\r" + line.ljust(self.shown))
        sys.stderr.flush()
        self.shown = len(line)
