"""Bounds that hold and what they rest on; NotApplicable, where a method has none."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, nextafter
from typing import Any

TINY = 1e-150  # products of a transition and an emission below this are left to other methods: they could underflow
UNIT = 2.0**-53  # half the distance from one to the next double: the error of one operation


@dataclass(frozen=True)
class Interval:
    """lower <= value <= upper, and `how`: method, counts, allowance for rounding."""

    lower: float
    upper: float
    how: dict[str, Any] = field(default_factory=dict)

    @property
    def width(self) -> float:
        """upper - lower; 0 where both are infinite."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower


class NotApplicable(Exception):
    """The method has no certificate for this pair; the message says why, and another method must be asked."""


def outward(lower: float, upper: float, how: dict[str, Any] | None = None) -> Interval:
    """The interval with both ends moved to the next double outside, which covers the last operation."""
    return Interval(nextafter(lower, -inf), nextafter(upper, inf), how or {})


def difference(cross: Interval, entropy: Interval) -> Interval:
    """A divergence from its two parts, D = C - h, never below zero."""
    how = {"cross_entropy": cross.how | ends(cross), "entropy": entropy.how | ends(entropy)}
    interval = outward(cross.lower - entropy.upper, cross.upper - entropy.lower, how)
    return Interval(max(interval.lower, 0.0), max(interval.upper, 0.0), how)


def ends(interval: Interval) -> dict[str, float]:
    """The bounds as entries of a certificate."""
    return {"lower": interval.lower, "upper": interval.upper}
