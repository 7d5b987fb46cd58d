"""A law given an interval as weighted points: what stretches of a continuous law and ranges of counts both become."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hidiv.types import Array

DEEP = 64.0  # e^-64 of the peak: p is cut there


class IntervalPoints(NamedTuple):
    """p given the interval as weighted points; log q/p is base + step."""

    log_weight: Array  # (U, m) log of p over its peak, times the rule's weight; -inf where there is no point
    base: Array  # (U,) log q/p at the peak
    step: Array  # (U, m)
    log_outside: Array | float = -np.inf  # (U,) log of q's mass in the interval beyond p's support, over p's mass
