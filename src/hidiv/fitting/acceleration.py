"""Longer steps near a top: where expected counts go if they go on as in the last two iterations."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hidiv.recursions.expectation import ExpectedCounts

LEFT = 0.1  # of a count: a step takes no more of it away at once, so that none becomes zero


class Steps(NamedTuple):
    """Expected counts of three models, each the maximisation of the one before."""

    first: ExpectedCounts
    second: ExpectedCounts
    third: ExpectedCounts


def farther(steps: Steps) -> ExpectedCounts | None:
    """Counts far along the path, by squared extrapolation; None where the path is no longer than its steps.

    With r = second - first and v = (third - second) - r the counts are first + 2 a r + a^2 v, a = |r| / |v|: the limit
    itself where all errors shrink by one factor. Any counts make a model, so parameters stay where they belong.
    """
    parts = [[np.asarray(getattr(counts, part)) for counts in steps] for part in ("initial", "transition", "rows")]
    r = [second - first for first, second, _ in parts]
    v = [(third - second) - each for (_, second, third), each in zip(parts, r, strict=True)]
    length, bend = (float(np.sqrt(sum(float(np.vdot(each, each)) for each in side))) for side in (r, v))
    if not length > bend > 0.0:
        return None
    a = length / bend
    initial, transition, rows = (
        np.maximum(first + 2.0 * a * one + a * a * two, LEFT * third)
        for (first, _, third), one, two in zip(parts, r, v, strict=True)
    )
    return replace(steps.third, initial=initial, transition=transition, rows=rows)
