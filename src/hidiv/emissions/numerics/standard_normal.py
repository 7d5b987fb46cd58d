"""The standard normal law: its log-density, and the log-mass of an interval from log tails."""

from __future__ import annotations

import math

import numpy as np

from hidiv.emissions.numerics.adaptive_integrals import unit_rule
from hidiv.types import Array

HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


def normal_log_density(z: Array) -> Array:
    """log of exp(-z^2/2) / sqrt(2 pi)."""
    return np.asarray(-0.5 * z * z - HALF_LOG_TWO_PI)


def normal_log_mass(lower: Array, upper: Array, mean: Array, std: Array, width: Array | None = None) -> Array:
    """log P(lower <= X <= upper) for X normal, elementwise; ends may be infinite, -inf for an empty interval.

    Short intervals by a Gauss rule on the density, so that a tiny width keeps its digits (`width`: upper - lower, where
    the caller knows it better); long ones from log tails on the side where the mass is small.
    """
    with np.errstate(invalid="ignore", over="ignore", divide="ignore", under="ignore"):
        # The width is taken before standardising: afterwards its digits are gone.
        width = (upper - lower if width is None else width) / std
        low, high, width = np.broadcast_arrays((lower - mean) / std, (upper - mean) / std, width)
        short = width * (np.maximum(np.abs(low), np.abs(high)) + width) < 1.0
        value = np.where(short, _short(np.where(short, low, 0.0), np.where(short, width, 1.0)), _long(low, high))
    return np.where(width > 0, value, -np.inf)


def _short(lower: Array, width: Array) -> Array:
    """Gauss rule about the middle; the exponent moves by less than one."""
    nodes, weights = unit_rule()
    middle = lower + 0.5 * width
    t = width[..., None] * (nodes - 0.5)
    relative = np.exp(-t * (middle[..., None] + 0.5 * t)) @ weights
    return np.asarray(np.log(width) + normal_log_density(middle) + np.log(relative))


def _long(lower: Array, upper: Array) -> Array:
    """From log tails: both ends on one side, the smaller tail is taken from the larger; else one minus both tails."""
    from scipy.special import log_ndtr, ndtr

    near, far = np.where(lower >= 0, lower, -upper), np.where(lower >= 0, upper, -lower)
    larger = log_ndtr(-near)
    one_side = np.where(larger == -np.inf, -np.inf, larger + np.log1p(-np.exp(log_ndtr(-far) - larger)))
    across = np.log1p(-(ndtr(lower) + ndtr(-upper)))
    return np.asarray(np.where((lower >= 0) | (upper <= 0), one_side, across))
