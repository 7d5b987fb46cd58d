"""What Stirling's formula leaves of the log-gamma function: G(a) = log Gamma(a) - a log a + a, and its derivatives.

Gamma, beta and count laws with large shapes are small differences of large log-gammas; written with G they are not.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hidiv.emissions.numerics.adaptive_integrals import unit_rule
from hidiv.types import Array

LARGE = 16.0  # from here on the series below are good to the last digit
NEAR = 0.5  # of log(b/a): closer shapes have their difference taken by a rule of 8 nodes, good to 1e-20
PANEL = 4.0  # of log(b/a): the same for 20 nodes

# G(a) = log(2 pi/a)/2 + c_0/a + c_1/a^3 + ... ; the other two are its derivatives.
_VALUE = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_SLOPE = tuple(-(2 * k + 1) * c for k, c in enumerate(_VALUE))
_CURVATURE = tuple(-(2 * k + 2) * c for k, c in enumerate(_SLOPE))


def remainder(a: Array) -> Array:
    """G(a) for a > 0: near log(2 pi/a)/2 for large a, near -log a for small a; +inf at 0."""

    def series(z: Array) -> Array:
        return np.asarray(0.5 * np.log(2.0 * math.pi / z) + _odd(_VALUE, z) / z)

    value = _raised(a, lambda z: (z + 1.0) * np.log1p(1.0 / z) - 1.0, series)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(a < 1e-300, -np.log(a), value)  # 1/a overflows there, and nothing but the log is left


def factorial_remainder(n: Array) -> Array:
    """log n! - n log n + n for n >= 0: 0 at 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n == 0, 0.0, remainder(n) + np.log(n))


def slope(a: Array) -> Array:
    """G'(a) = digamma(a) - log a: negative for every a > 0, relatively accurate."""
    return _raised(a, lambda z: np.log1p(1.0 / z) - 1.0 / z, lambda z: -0.5 / z + _odd(_SLOPE, z) / (z * z))


def curvature(a: Array) -> Array:
    """G''(a) = trigamma(a) - 1/a: between 1/(2 a^2) and 1/a^2, relatively accurate."""
    return _raised(a, lambda z: 1.0 / (z * z * (z + 1.0)), lambda z: (0.5 + _odd(_CURVATURE, z) / z) / (z * z))


def _raised(a: Array, term: Callable[[Array], Array], series: Callable[[Array], Array]) -> Array:
    """f(a) from f(a) - f(a+1) = term(a), and f by its series for large arguments."""
    a = np.asarray(a, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        small = a < LARGE
        if not small.any():
            return np.asarray(series(a))
        z = a[small]
        total = np.zeros_like(z)
        for _ in range(int(LARGE)):
            total = total + term(z)
            z = z + 1.0
        value = np.asarray(series(np.where(small, LARGE, a)))
        value[small] = total + series(z)
    return value


def slope_rise(a: Array, b: Array) -> Array:
    """G'(a + b) - G'(a) >= 0 for b = 0 and b >= 1, relatively accurate however small b is beside a."""
    a, b = np.broadcast_arrays(a, b)
    z = np.maximum(a, LARGE)
    apart = np.log1p(b / z)
    rise = -0.5 * np.expm1(-apart) / z
    for k, c in enumerate(_SLOPE):
        rise = rise + c * np.expm1(-(2 * k + 2) * apart) / z ** (2 * k + 2)
    small = a < LARGE
    if small.any():
        rise[small] = slope((a + b)[small]) - slope(a[small])
    return np.asarray(rise)


def curvature_drop(a: Array, b: Array) -> Array:
    """G''(a) - G''(a + b) > 0 for b > 0, relatively accurate however small b is beside a."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        total, z = np.zeros_like(a + b), a + 0.0 * b
        while (small := z < LARGE).any():
            y = z + b
            term = b * (y * y + y * z + z * z + y + z) / (z * z * (z + 1.0) * y * y * (y + 1.0))
            total = np.where(small, total + term, total)
            z = np.where(small, z + 1.0, z)
        apart = np.log1p(b / z)
        total = total - 0.5 * np.expm1(-2.0 * apart) / (z * z)
        for k, c in enumerate(_CURVATURE):
            total = total - c * np.expm1(-(2 * k + 3) * apart) / z ** (2 * k + 3)
    return np.asarray(total)


def change(a: Array, b: Array, step: Array) -> Array:
    """G(b) - G(a) from step = b - a, relatively accurate; elementwise."""
    apart = log_step(a, b, step)
    nodes, weights = unit_rule(8)
    v = np.clip(apart, -NEAR, NEAR)[..., None] * nodes
    z = a[..., None] * np.exp(v)
    near = apart * ((z * slope(z)) @ weights)
    return np.where(np.abs(apart) <= NEAR, near, remainder(b) - remainder(a))


def bregman(a: Array, b: Array, step: Array) -> Array:
    """G(b) - G(a) - step G'(a) >= 0 from step = b - a, relatively accurate; elementwise.

    With z = a e^v and V = log(b/a) it is the integral over v from 0 to V of z^2 G''(z) (e^(V-v) - 1): no cancellation,
    and the first factor stays between 1/2 and 1.
    """
    apart = log_step(a, b, step)
    nodes, weights = panel_rule(float(np.max(np.abs(apart), initial=0.0)))
    v = apart[..., None] * nodes
    z = a[..., None] * np.exp(v)
    return np.asarray(apart * ((z * z * curvature(z) * np.expm1(apart[..., None] - v)) @ weights))


def log_step(a: Array, b: Array, step: Array) -> Array:
    """log(b/a) from step = b - a, relatively accurate; 0 where a = b = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(np.abs(step) <= 0.5 * a, np.log1p(step / a), log_quotient(b, a))
    return np.where((a == 0) & (b == 0), 0.0, value)


def log_quotient(a: Array, b: Array) -> Array:
    """log(a/b) for a and b far apart: by their quotient, whose log is smaller than theirs, wherever it is a number."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        quotient = a / b
        return np.where((quotient > 1e-300) & (quotient < 1e300), np.log(quotient), np.log(a) - np.log(b))


def panel_rule(length: float) -> tuple[Array, Array]:
    """Nodes and weights on [0, 1] for a smooth integrand over `length` units of log, cut in panels."""
    nodes, weights = unit_rule()
    panels = max(1, math.ceil(length / PANEL)) if math.isfinite(length) else 1
    starts = np.arange(panels)[:, None]
    return ((starts + nodes) / panels).ravel(), np.tile(weights / panels, panels)


def _odd(coefficients: tuple[float, ...], z: Array) -> Array:
    """c_0 + c_1/z^2 + c_2/z^4 + ..."""
    square = 1.0 / (z * z)
    total = np.zeros_like(z)
    for c in reversed(coefficients):
        total = total * square + c
    return total
