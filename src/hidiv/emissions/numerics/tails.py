"""Logs of both tails of the gamma and beta laws, and the log-mass of an interval made from them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincc, gammainc, gammaincc

from hidiv.emissions.numerics.adaptive_integrals import unit_rule
from hidiv.emissions.numerics.deviance import deviance
from hidiv.emissions.numerics.stirling import PANEL, panel_rule, remainder
from hidiv.types import Array

Tails = tuple[Array, Array]  # log P(X <= x), log P(X >= x)

SMALL = 1e-2  # smaller tails are integrated here: their logs cannot underflow, and they keep their digits
TINY = 1e-25
NOTHING = 45.0  # e^-45 no longer shows
FEW = 64  # counts that are added one by one
MOST = -1e-3  # a log-mass above is that of what is left out: the sum of the counts inside rounds it to 1e-16
CELLS = 1 << 15  # of an integrand that are held at once
PANELS = 6  # over that many units, for a tail as short as SMALL allows


def gamma_tails(shape: Array, x: Array) -> Tails:
    """Tails at x >= 0 of the gamma law with rate 1, elementwise."""
    shape, x = np.broadcast_arrays(shape, x)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        head = np.asarray(-deviance(shape, x) - remainder(shape))  # log of x times the density

        def below(i: NDArray[np.bool_]) -> Array:  # at x e^-u
            t = x[i]
            return _beyond(head[i], shape[i] - t, lambda u: -t * (np.expm1(-u) + u))

        def above(i: NDArray[np.bool_]) -> Array:  # at x + u
            a, r = shape[i] - 1.0, 1.0 / x[i]
            return _beyond(head[i] + np.log(r), 1.0 - a * r, lambda u: a * (np.log1p(u * r) - u * r))

        return _both(
            _small(gammainc(shape, x), head, np.ones_like(x), below), _small(gammaincc(shape, x), head, shape, above)
        )


def beta_tails(a: Array, b: Array, x: Array, y: Array) -> Tails:
    """Tails at x in [0, 1] of the beta law, elementwise; y = 1 - x is given too, for it may have more digits."""
    a, b, x, y = np.broadcast_arrays(a, b, x, y)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        s, off = a + b, b * x - a * y
        near = deviance(a, s * x, off) + deviance(b, s * y, -off)
        head = np.asarray(remainder(s) - remainder(a) - remainder(b) - near)

        def one(a: Array, b: Array, x: Array, y: Array) -> Array:
            tail = np.where(x <= 0.5, betainc(a, b, np.minimum(x, 0.5)), betaincc(b, a, np.minimum(y, 0.5)))

            def below(i: NDArray[np.bool_]) -> Array:  # at x e^-u
                odds, c = x[i] / y[i], b[i] - 1.0
                return _beyond(
                    head[i] - np.log(y[i]), a[i] - c * odds, lambda u: c * (np.log1p(-odds * np.expm1(-u)) - odds * u)
                )

            return _small(tail, head, b, below)

        return _both(one(a, b, x, y), one(b, a, y, x))


def log_interval(low: Tails, high: Tails) -> Array:
    """log P(low <= X <= high) from the tails at both ends, always on the side where they are small."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        right, left = low[0] > np.log(0.5), high[1] > np.log(0.5)
        larger, smaller = np.where(right, low[1], high[0]), np.where(right, high[1], low[0])
        one_side = larger + np.log(-np.expm1(np.minimum(smaller - larger, 0.0)))
        across = np.log1p(-(np.exp(low[0]) + np.exp(high[1])))
        value = np.where(right | left, one_side, across)
    return np.where(larger == -np.inf, np.where(right | left, -np.inf, value), value)


def log_one_less(exponent: Array) -> Array:
    """log(1 - e^-exponent) for exponents from 0, relatively accurate at both ends."""
    large = exponent > np.log(2.0)
    return np.where(
        large,
        np.log1p(-np.exp(-np.where(large, exponent, 1.0))),
        np.log(-np.expm1(-np.where(large, 1.0, exponent))),
    )


def short_interval(log_density: Callable[[Array], Array], width: Array) -> Array:
    """log of the integral of exp(log_density(t)) over t from 0 to `width`, for a density that moves little in between.

    No tails are subtracted, so a tiny width keeps its digits. log_density takes (..., n) and gives (..., n).
    """
    nodes, weights = unit_rule()
    values = log_density(width[..., None] * nodes)
    top = values.max(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", under="ignore"):
        return np.asarray(np.log(width) + top[..., 0] + np.log(np.exp(values - top) @ weights))


def log_counts(
    log_p: Callable[[Array], Array],
    tails: Callable[[Array], Tails],
    lower: Array,
    upper: Array,
    top: Array | float = np.inf,
) -> Array:
    """log P(lower <= X <= upper) of counts 0..top: few counts one by one, many from their tails.

    `tails` gives log P(X < k) and log P(X >= k). All arrays have one shape; log_p and tails take arrays of that shape.
    """
    first, last = np.maximum(np.ceil(lower), 0.0), np.minimum(np.floor(upper), top)
    few = last - first < FEW
    start, stop = np.where(few, first, 0.0), np.where(few, last, -1.0)
    value = np.full(first.shape, -np.inf)
    for k in range(int(np.max(stop - start, initial=-1.0)) + 1):
        inside = start + k <= stop
        value = np.logaddexp(value, np.where(inside, log_p(np.where(inside, start + k, 0.0)), -np.inf))
    everything = (first <= 0) & (last >= top)
    value = np.where(everything, 0.0, value)
    few &= (value <= MOST) | everything
    if few.all():
        return value

    def ends(k: Array, beyond: NDArray[np.bool_]) -> Tails:
        inner = (k > 0) & ~beyond & (k < np.inf)
        below, above = tails(np.where(inner, k, np.minimum(1.0, top)))
        outside = np.where(k > 0, 0.0, -np.inf), np.where(k > 0, -np.inf, 0.0)
        return np.where(inner, below, outside[0]), np.where(inner, above, outside[1])

    # From 2^53 on the next count is the same double: whether there is one above the last is asked of the last itself.
    return np.where(few, value, log_interval(ends(first, first > top), ends(last + 1.0, last >= top)))


def _beyond(log_first: Array, rate: Array, bend: Callable[[Array], Array]) -> Array:
    """log of the integral over u > 0 of exp(log_first - rate u + bend(u)), bend of second order; (n,) -> (n,)."""
    nodes, weights = panel_rule(PANELS * PANEL)
    total = np.zeros_like(rate)
    at_once = max(1, CELLS // max(rate.size, 1))
    for first in range(0, len(nodes), at_once):
        t = NOTHING * nodes[first : first + at_once, None]
        total = total + NOTHING * weights[first : first + at_once] @ np.exp(bend(t / rate) - t)
    return np.asarray(log_first - np.log(rate) + np.log(total))


def _small(tail: Array, head: Array, shape: Array, beyond: Callable[[NDArray[np.bool_]], Array]) -> Array:
    """log of a tail, by its own integral where it is small; `head` is not finite at an end of the range.

    A shape below one on the tail's side bends the density the slow way: there only the very far tail is integrated.
    """
    value = np.log(tail)
    small = (tail < np.where(shape >= 1, SMALL, TINY)) & np.isfinite(head)
    if small.any():
        value[small] = beyond(small)
    return np.asarray(value)


def _both(log_lower: Array, log_upper: Array) -> Tails:
    """Both tails, the larger one made from the smaller."""
    smaller = np.minimum(log_lower, log_upper)
    larger = np.log1p(-np.exp(smaller))
    return np.where(log_lower > log_upper, larger, log_lower), np.where(log_upper > log_lower, larger, log_upper)
