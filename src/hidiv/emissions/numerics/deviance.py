"""The term x log(x/y) - x + y that the divergences of counts and rates are made of, and its Renyi twin."""

from __future__ import annotations

import numpy as np

from hidiv.emissions.numerics.stirling import log_quotient, log_step
from hidiv.recursions.terms import h, phi
from hidiv.types import Array


def deviance(x: Array, y: Array, step: Array | None = None) -> Array:
    """x log(x/y) - x + y >= 0 for x, y >= 0, relatively accurate; y where x = 0, +inf where x > 0 = y.

    `step` is y - x where the caller knows it better than a subtraction of x and y would.
    """
    d = np.asarray(y - x if step is None else step)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        near = x * h(d / x)
        far = x * log_quotient(x, y) + d
    value = np.where((d >= -0.5 * x) & (d <= 1e3 * x), near, far)
    return np.where(x == 0, y, np.where(y == 0, np.inf, value))


def power_gap(x: Array, y: Array, step: Array, alpha: float) -> Array:
    """alpha x + (1-alpha) y - x^alpha y^(1-alpha), step = y - x: >= 0 for alpha < 1, <= 0 above, relatively accurate.

    It is x [c h(v) - phi(c log1p(v))] with c = 1 - alpha, v = step/x (definitions (4.1)), which cancels
    as c -> 1: below alpha = 1/2 the two change places. -inf where alpha > 1 and x > 0 = y.
    """
    if alpha < 0.5:
        return power_gap(y, x, -step, 1.0 - alpha)
    rest = 1.0 - alpha
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        v, log = step / x, log_step(x, y, step)
        value = x * (rest * np.where(v >= -0.5, h(v), v - log) - phi(rest * log))
        far = x + rest * step - np.exp(alpha * np.log(x) + rest * np.log(y))
    value = np.where(np.isfinite(value), value, far)
    value = np.where(y == 0, alpha * x if alpha < 1 else -np.inf, value)
    return np.where(x == 0, rest * y, value)


def times(count: Array, log: Array) -> Array:
    """count * log with 0 * inf = 0: what a probability raised to a count adds to a log-probability."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(count == 0, 0.0, count * log)


def cross(p: Array, q: Array, step: Array) -> Array:
    """p_0 q_1 - p_1 q_0 for two pairs of positive numbers, (2, ...) -> (...); step = q - p has more digits."""
    near = (np.abs(step) <= 0.5 * p).all(axis=0)
    return np.where(near, products(p[0], step[1], step[0], p[1]), products(p[0], q[1], q[0], p[1]))


def products(a: Array, b: Array, c: Array, d: Array) -> Array:
    """a b - c d with each product taken to twice the digits, so that only the inputs' own rounding shows."""
    with np.errstate(invalid="ignore", over="ignore"):
        first, second = a * b, c * d
        exact = (first - second) + (_rounding(a, b, first) - _rounding(c, d, second))
        return np.where(np.isfinite(exact), exact, first - second)


def _rounding(a: Array, b: Array, product: Array) -> Array:
    """What the rounded product lacks of the exact one (Dekker)."""
    a_high, b_high = _high(a), _high(b)
    a_low, b_low = a - a_high, b - b_high
    return np.asarray(((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low)


def _high(a: Array) -> Array:
    """The upper half of the digits (Veltkamp)."""
    c = 134217729.0 * a
    return np.asarray(c - (c - a))
