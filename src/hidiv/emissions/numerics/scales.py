"""Two positive scales compared: the second-order terms that scale families are made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hidiv.recursions.terms import h
from hidiv.types import Array


class ScaleRatio(NamedTuple):
    """p/q of two scales, twice: the excess p/q - 1 (inf when it overflows) and log(p/q), both relatively accurate."""

    excess: Array
    log: Array


def compare_scales(p: Array, q: Array) -> ScaleRatio:
    """How scale p compares with scale q, elementwise."""
    with np.errstate(over="ignore"):
        excess = np.where(np.abs(p - q) <= 0.5 * q, (p - q) / q, p / q - 1.0)
    return ratio_from_excess(excess, np.log(p) - np.log(q))


def ratio_from_excess(excess: Array, far_log: Array) -> ScaleRatio:
    """A ratio from its excess; the log is taken from `far_log` only where the two scales are far apart."""
    near = np.abs(excess) <= 0.5
    return ScaleRatio(excess, np.where(near, np.log1p(np.where(near, excess, 0.0)), far_log))


def power(ratio: ScaleRatio, exponent: Array) -> ScaleRatio:
    """The ratio of both scales raised to one exponent."""
    with np.errstate(over="ignore"):
        log = exponent * ratio.log
        return ScaleRatio(np.expm1(log), log)


def scale_kl(ratio: ScaleRatio) -> Array:
    """p/q - 1 - log(p/q) >= 0, relatively accurate for near-equal scales."""
    near = np.abs(ratio.excess) <= 0.25
    return np.where(near, h(np.where(near, ratio.excess, 0.0)), ratio.excess - ratio.log)


def scale_renyi(ratio: ScaleRatio, alpha: float) -> Array:
    """log(alpha + c p/q)/c - log(p/q) >= 0, c = 1 - alpha: `scale_kl` as alpha -> 1; +inf where alpha + c p/q <= 0.

    Near equality h(v) - h(c v)/c with v the excess; c <= 1/2, so that the difference keeps its digits.
    """
    rest = 1.0 - alpha
    if rest > 0.5:  # order alpha of (p, q) is alpha/c times order c of (q, p)
        with np.errstate(over="ignore"):
            return alpha / rest * scale_renyi(ScaleRatio(np.expm1(-ratio.log), -ratio.log), rest)
    v, log = ratio
    near = (np.abs(v) <= 0.25) & (np.abs(rest * v) <= 0.25)
    small = np.where(near, v, 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Past 1e200 the one in 1 + c v does not show, and v itself may have overflowed.
        inside = np.where(v < 1e200, np.log1p(rest * v), np.log(rest) + log)
        far = np.where(1.0 + rest * v > 0, inside / rest - log, np.inf)
        return np.where(near, h(small) - h(rest * small) / rest, far)


def squared(s: Array) -> tuple[Array, Array]:
    """s^2 as a double and its rounding error (Dekker's product)."""
    square = s * s
    split = 134217729.0 * s
    high = split - (split - s)
    low = s - high
    return square, ((high * high - square) + 2.0 * high * low) + low * low
