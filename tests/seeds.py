"""How many random cases a test has: some with every commit, all of them in a long run (HIDIV_FUZZ, make fuzz)."""

from __future__ import annotations

import os

LONG = bool(os.environ.get("HIDIV_FUZZ"))


def seeds(some: int, every: int) -> range:
    """The seeds of a test: the first `some`, or all of `every`."""
    return range(every if LONG else some)
