"""Logs of both tails of the gamma and beta laws, and the log-mass of an interval made from them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincc, gammainc, gammaincc

from hidiv.emissions.deviance import deviance, times
from hidiv.emissions.quadrature import unit_rule
from hidiv.emissions.stirling import PANEL, panel_rule, remainder

Array = NDArray[np.float64]
Tails = tuple[Array, Array]  # log P(X <= x), log P(X >= x)

SMALL = 1e-2  # smaller tails are integrated here: their logs cannot underflow, and they keep their digits
TINY = 1e-25
NOTHING = 45.0  # e^-45 no longer shows
PANELS = 6  # over that many units, for a tail as short as SMALL allows


def gamma_tails(shape: Array, x: Array) -> Tails:
    """Tails at x >= 0 of the gamma law with rate 1, elementwise."""
    shape, x = np.broadcast_arrays(shape, x)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        lower, upper = gammainc(shape, x), gammaincc(shape, x)
        head = np.asarray(-deviance(shape, x) - remainder(shape))  # log of x times the density
        log_lower = _log_tail(
            lower, upper, np.ones_like(x), lambda i: _beyond(head[i], shape[i] - x[i], lambda u: -x[i] * (np.expm1(-u) + u))
        )
        inverse = 1.0 / x

        def right(i: NDArray[np.bool_]) -> Array:
            a, r = shape[i] - 1.0, inverse[i]
            return _beyond(head[i] - np.log(x[i]), 1.0 - a * r, lambda u: a * (np.log1p(u * r) - u * r))

        log_upper = _log_tail(upper, lower, shape, right)
    return log_lower, log_upper


def beta_tails(a: Array, b: Array, x: Array, y: Array) -> Tails:
    """Tails at x in [0, 1] of the beta law, elementwise; y = 1 - x is given too, for it may have more digits."""
    a, b, x, y = np.broadcast_arrays(a, b, x, y)
    first = x <= 0.5
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        lower = np.where(first, betainc(a, b, np.where(first, x, 0.5)), betaincc(b, a, np.where(first, 0.5, y)))
        upper = np.where(first, betaincc(a, b, np.where(first, x, 0.5)), betainc(b, a, np.where(first, 0.5, y)))
        s = a + b
        head = np.asarray(remainder(s) - remainder(a) - remainder(b) - deviance(a, s * x) - deviance(b, s * y))

        def one(a: Array, b: Array, x: Array, y: Array) -> Callable[[NDArray[np.bool_]], Array]:
            # t = x e^-u: the density times t is head * e^-au [(1 - t)/(1 - x)]^(b-1) / (1 - x).
            def tail(i: NDArray[np.bool_]) -> Array:
                odds, c = x[i] / y[i], b[i] - 1.0
                rate = a[i] - c * odds
                return _beyond(head[i] - np.log(y[i]), rate, lambda u: c * (np.log1p(-odds * np.expm1(-u)) - odds * u))

            return tail

        return _log_tail(lower, upper, b, one(a, b, x, y)), _log_tail(upper, lower, a, one(b, a, y, x))


def log_interval(low: Tails, high: Tails) -> Array:
    """log P(low <= X <= high) from the tails at both ends, always on the side where they are small."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        right, left = low[0] > np.log(0.5), high[1] > np.log(0.5)
        larger, smaller = np.where(right, low[1], high[0]), np.where(right, high[1], low[0])
        one_side = larger + np.log(-np.expm1(np.minimum(smaller - larger, 0.0)))
        across = np.log1p(-(np.exp(low[0]) + np.exp(high[1])))
        value = np.where(right | left, one_side, across)
    return np.where(larger == -np.inf, np.where(right | left, -np.inf, value), value)


def short_interval(log_density: Callable[[Array], Array], width: Array) -> Array:
    """log of the integral of exp(log_density(t)) over t from 0 to `width`, for a density that moves little in between.

    No tails are subtracted, so a tiny width keeps its digits. log_density takes (..., n) and gives (..., n).
    """
    nodes, weights = unit_rule()
    values = log_density(width[..., None] * nodes)
    top = values.max(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", under="ignore"):
        return np.asarray(np.log(width) + top[..., 0] + np.log(np.exp(values - top) @ weights))


def log_range(log_probability: Callable[[Array], Array], first: Array, last: Array) -> Array:
    """log of the sum of exp(log_probability(k)) over k = first..last, for ranges of few counts; -inf for empty ones."""
    total = np.full(np.broadcast_shapes(first.shape, last.shape), -np.inf)
    for k in range(int(np.max(last - first, initial=-1.0)) + 1):
        inside = first + k <= last
        total = np.logaddexp(total, np.where(inside, log_probability(np.minimum(first + k, last)), -np.inf))
    return total


def _beyond(log_first: Array, rate: Array, bend: Callable[[Array], Array]) -> Array:
    """log of the integral over u > 0 of exp(log_first - rate u + bend(u)), bend of second order; (n,) -> (n,)."""
    nodes, weights = panel_rule(PANELS * PANEL)
    total = np.zeros_like(rate)
    for t, w in zip(NOTHING * nodes, NOTHING * weights, strict=True):
        total = total + w * np.exp(bend(t / rate) - t)
    return np.asarray(log_first - np.log(rate) + np.log(total))


def _log_tail(tail: Array, other: Array, shape: Array, beyond: Callable[[NDArray[np.bool_]], Array]) -> Array:
    """log of a tail: from the other tail where it is nearly one, by its own integral where it is small.

    A shape below one on the tail's side bends the density the slow way: there only the very far tail is integrated.
    """
    value = np.where(tail < 0.5, np.log(tail), np.log1p(-other))
    small = (tail < np.where(shape >= 1, SMALL, TINY)) & (other > 0.5)
    if small.any():
        value[small] = beyond(small)
    return np.asarray(value)
