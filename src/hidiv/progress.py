"""The progress of long work: a line on the terminal, or calls of a function that the caller gave."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from shutil import get_terminal_size
from time import monotonic
from typing import Any, TypeVar, cast

from hidiv.errors import HidivError, refuse

PATIENCE = 1.0  # seconds before anything is shown
PAUSE = 0.1  # seconds between two lines
WIDTH, NARROW = 24, 8  # of a bar, and of one that makes room for words
FIRST = 0.02  # share of the work from which the time left is told

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


def time_left(seconds: float, share: float) -> str:
    """How long the rest will take if it goes on as so far; "" while that is a mere guess.

    >>> time_left(30.0, 0.25), time_left(600.0, 0.5), time_left(0.1, 0.01)
    ('about 90 s left', 'about 10 min left', '')
    """
    if share < FIRST or share >= 1 or seconds < PATIENCE:
        return ""
    rest = seconds * (1 - share) / share
    if rest < 100:
        return f"about {rest:.0f} s left"
    return f"about {rest / 60:.0f} min left" if rest < 6000 else f"about {rest / 3600:.0f} h left"


def with_bar(label: str, share: float, told: str, columns: int) -> str:
    """The line of a piece of work; its bar is shorter where that leaves room for what is told.

    >>> with_bar("fitting", 0.5, "best so far -382.3", 41)
    'fitting [######------] best so far -382.3'
    """
    width = min(WIDTH, max(NARROW, columns - len(f"{label} [] {told}")))
    filled = round(width * share)
    return fitted(f"{label} [{'#' * filled}{'-' * (width - filled)}] {told}", columns)


def fitted(line: str, columns: int) -> str:
    """The line cut to a terminal's width: a line that wraps could not be written over."""
    return line if len(line) <= columns else line[: max(columns - 3, 1)] + "..."


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
        left = time_left(now - self.start, done / total)
        told = f"{words}{', ' if words and left else ''}{left}"
        line = with_bar(self.label, done / total, told, get_terminal_size().columns - 1)
        sys.stderr.write("\r" + line.ljust(self.shown))
        sys.stderr.flush()
        self.shown = len(line)
