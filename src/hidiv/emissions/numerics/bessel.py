"""G = log I_0, the log-normaliser of the von Mises law, with its derivatives, differences and second-order remainders.

Up to LARGE by averages over the circle (the trapezoidal rule there is exact to rounding), beyond by the expansion in
1/kappa; both are sums of positive terms.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from hidiv.emissions.numerics.adaptive_integrals import first_order, second_order
from hidiv.types import Array

LARGE = 30.0
POINTS = 80  # on half the circle, for kappa up to LARGE
TERMS = 24  # of the expansion from LARGE on


@cache
def _circle() -> tuple[Array, Array]:
    """1 - cos at the points of the rule, and their weights."""
    angles = np.arange(POINTS + 1) * (math.pi / POINTS)
    weights = np.full(POINTS + 1, 1.0 / POINTS)
    weights[[0, -1]] *= 0.5
    return 2.0 * np.sin(0.5 * angles) ** 2, weights


@cache
def _coefficients() -> Array:
    """sqrt(2 pi kappa) e^-kappa I_0(kappa) ~ sum_k c_k kappa^-k, c_k = ((1)(3)...(2k-1))^2 / (k! 8^k)."""
    return np.cumprod(np.array([1.0, *((2.0 * k - 1.0) ** 2 / (8.0 * k) for k in range(1, TERMS))]))


def _expansion(kappa: Array) -> tuple[Array, Array, Array]:
    """The sum, its first and its second derivative in 1/kappa, for kappa >= LARGE."""
    u = 1.0 / kappa
    c, k = _coefficients(), np.arange(TERMS)
    value, slope, bend = np.zeros_like(u), np.zeros_like(u), np.zeros_like(u)
    for j in range(TERMS - 1, -1, -1):
        value = value * u + c[j]
        if j >= 1:
            slope = slope * u + k[j] * c[j]
        if j >= 2:
            bend = bend * u + k[j] * (k[j] - 1) * c[j]
    return value, slope, bend


def _averages(kappa: Array) -> tuple[Array, Array, Array]:
    """log of the mean of e^(-kappa y), y = 1 - cos over the circle, and mean and variance of y so weighted."""
    y, weights = _circle()
    terms = np.exp(-kappa[..., None] * y) * weights
    total = terms.sum(axis=-1)
    mean = (terms @ y) / total
    return np.log(total), mean, (terms * np.square(y - mean[..., None])).sum(axis=-1) / total


def _both(kappa: Array) -> tuple[Array, Array, Array]:
    """log(e^-kappa I_0), 1 - A and A' with A = I_1/I_0 the mean cosine."""
    kappa = np.asarray(kappa, dtype=np.float64)
    large = kappa > LARGE
    near = _averages(np.where(large, 0.0, kappa))
    k = np.where(large, kappa, LARGE)
    s, s1, s2 = _expansion(k)
    u, r = 1.0 / k, s1 / s
    bend = s2 / s - r * r
    far = (np.log(s) - 0.5 * np.log(2.0 * math.pi * k), u * (0.5 + u * r), u * u * (0.5 + u * (2.0 * r + u * bend)))
    first, second, third = (np.where(large, f, n) for f, n in zip(far, near, strict=True))
    return first, second, third


def log_bessel(kappa: Array) -> Array:
    """log(e^-kappa I_0(kappa)) for kappa >= 0."""
    return _both(kappa)[0]


def mean_cosine_gap(kappa: Array) -> Array:
    """1 - I_1(kappa)/I_0(kappa), relatively accurate for large kappa too."""
    return _both(kappa)[1]


def mean_cosine(kappa: Array) -> Array:
    """I_1(kappa)/I_0(kappa), relatively accurate for small kappa too; for kappa >= 0."""
    y, weights = _circle()
    cosine = 1.0 - y
    small = np.minimum(kappa, 1.0)[..., None] * cosine
    # An angle and its opposite together: cos sinh(kappa cos) is never negative.
    near = ((cosine * np.sinh(small)) @ weights) / (np.cosh(small) @ weights)
    return np.where(kappa < 1.0, near, 1.0 - mean_cosine_gap(kappa))


def mean_cosine_slope(kappa: Array) -> Array:
    """Derivative of I_1/I_0: the variance of the cosine; even in kappa."""
    return _both(np.abs(kappa))[2]


def bregman(kappa: Array, end: Array, step: Array) -> Array:
    """G(end) - G(kappa) - A(kappa) step >= 0, relatively accurate; kappa >= 0, end = kappa + step of any sign."""
    near = np.abs(step) <= 0.5 * (kappa + 1.0)
    small = second_order(mean_cosine_slope, kappa, np.where(near, step, 0.0))
    # G is even: an end below 0 counts as its mirror image.
    far = log_bessel(np.abs(end)) - log_bessel(kappa) + mean_cosine_gap(kappa) * step + (np.abs(end) - end)
    return np.where(near, small, far)


def growth(kappa: Array, end: Array, step: Array) -> Array:
    """G(end) - G(kappa), relatively accurate; kappa >= 0, end = kappa + step >= 0."""
    near = np.abs(step) <= 0.5 * (kappa + 1.0)
    small = first_order(mean_cosine, kappa, np.where(near, step, 0.0))
    return np.where(near, small, log_bessel(end) - log_bessel(kappa) + step)


def scaled_growth(kappa: Array, end: Array, step: Array) -> Array:
    """The same for log(e^-kappa I_0(kappa)): small where G itself is large; end = kappa + step >= 0."""
    near = np.abs(step) <= 0.5 * (kappa + 1.0)
    small = -first_order(mean_cosine_gap, kappa, np.where(near, step, 0.0))
    return np.where(near, small, log_bessel(end) - log_bessel(kappa))
