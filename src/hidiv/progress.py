"""How far long work has come: a line on the terminal, or whatever the caller wants to be told."""

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

# What a parameter `progress` takes. None: a line on a terminal, from the first second on, and nothing in a pipe. True:
# the line wherever the output goes (a notebook is no terminal). False: nothing. A function: called with (done, total).
Wanted = bool | Callable[[float, float], object] | None
Function = TypeVar("Function", bound=Callable[..., Any])
_wanted: ContextVar[Wanted] = ContextVar("wanted", default=None)


@contextmanager
def reporting(wanted: Wanted) -> Iterator[None]:
    """While this lasts all work reports as wanted; None leaves it to whoever called."""
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
    """A function whose keyword `progress` holds for all that it calls; it need not hand it on."""

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        with reporting(kwargs.get("progress")):
            return function(*args, **kwargs)

    return cast(Function, called)


class Progress:
    """Shows how far a piece of work has come; used as a context, it removes its line at the end.

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
        """How much of `total` is done, and where it stands in words."""
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
