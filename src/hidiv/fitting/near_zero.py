"""The interval of a divergence between fits, whose estimate cannot be negative and lies above the truth.

Near its minimum a divergence of two fits is c times a noncentral chi-square variable with d degrees of freedom and
noncentrality l: the true divergence is c l, and noise adds c d on average. Far from it the law is normal about c l.
"""

from __future__ import annotations

from math import inf, isinf, sqrt
from typing import NamedTuple

from scipy.special import chndtr, ndtri

LARGE = 1e4  # of the variable: from there on its square root is normal
HALVINGS = 60


class Corrected(NamedTuple):
    """A divergence without what noise adds, and its interval."""

    value: float
    lower: float
    upper: float


def corrected(fitted: float, bias: float, variance: float, level: float = 0.95) -> Corrected:
    """From the divergence of the fits, what noise adds to it on average, and its variance over data sets.

    c and d follow from the bias c d and the variance 2 c^2 (d + 2 l) at c l = fitted - bias.
    """
    if isinf(fitted) or isinf(variance):
        return Corrected(fitted, 0.0, inf)
    value = max(0.0, fitted - bias)
    if variance <= 0.0:
        return Corrected(value, value, value)
    tail = 0.5 * (1.0 - level)
    c = variance / (2.0 * max(bias, 0.0) + 4.0 * value) if bias > 0 or value > 0 else 0.0
    x, d = (fitted / c, max(bias, 0.0) / c) if c > 0 else (inf, 0.0)
    if x > LARGE or d < 1e-3:
        # The square root is normal where the value is large beside what noise adds.
        root, half = sqrt(value), -float(ndtri(tail)) * sqrt(variance) / (2.0 * sqrt(value)) if value > 0 else 0.0
        return Corrected(value, max(0.0, root - half) ** 2, (root + half) ** 2)
    lower, upper = c * _noncentrality(x, d, 1.0 - tail), c * _noncentrality(x, d, tail)
    return Corrected(value, min(lower, value), max(upper, value))


def _noncentrality(x: float, d: float, probability: float) -> float:
    """The noncentrality at which values up to x have this probability; 0 where they have less of it at 0."""
    if chndtr(x, d, 0.0) <= probability:
        return 0.0
    low, high = 0.0, max(4.0 * x, 40.0)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if chndtr(x, d, middle) > probability else (low, middle)
    return 0.5 * (low + high)
