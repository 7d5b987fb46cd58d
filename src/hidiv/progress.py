"""A line on the terminal while long work runs; nothing at all in a pipe, and nothing for work of a second."""

from __future__ import annotations

import sys
from time import monotonic

PATIENCE = 1.0  # seconds before anything is shown
PAUSE = 0.1  # seconds between two lines
WIDTH = 24


class Progress:
    """Shows how far a piece of work has come; used as a context, it removes its line at the end.

    >>> with Progress("drawing") as progress:
    ...     progress.show(0.5, "200 sequences")
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self.start = monotonic()
        self.shown = 0
        self.last = 0.0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown:
            sys.stderr.write("\r" + " " * self.shown + "\r")
            sys.stderr.flush()

    def show(self, share: float, words: str = "") -> None:
        """The share of the work that is done, between 0 and 1, and where it stands in words."""
        now = monotonic()
        if now - self.start < PATIENCE or now - self.last < PAUSE or not sys.stderr.isatty():
            return
        self.last = now
        done = round(WIDTH * min(max(share, 0.0), 1.0))
        line = f"{self.label} [{'#' * done}{'-' * (WIDTH - done)}] {words}"
        sys.stderr.write("\r" + line.ljust(self.shown))
        sys.stderr.flush()
        self.shown = len(line)
