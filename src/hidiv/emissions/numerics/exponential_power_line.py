"""Two exponential power laws with their own centres, scales and shapes, compared by quadrature along the line.

The line is cut at both centres and half-way between them; on each piece the variable is t, the log of the distance to
the nearer centre, in which |x|^shape has no kink. p has scale one and sits at 0, q sits to its right.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hidiv.emissions.numerics.quadrature import (
    Function,
    Laws,
    Over,
    around,
    divergence,
    integral,
    log_power,
    peak,
    renyi,
)
from hidiv.types import Array

DEEP = 45.0  # e^-45: what lies further below is left out
UNDERFLOW = 800.0  # e^-800 is no double
ASTRONOMICAL = 1e14  # of log Z: the width of the integrand does not show beside its height


class Line(NamedTuple):
    """One pair of laws, in units of p's scale."""

    shape_p: float
    shape_q: float
    log_scale: float  # of q
    log_distance: float  # of the centres, -inf for one centre
    log_norm_p: float
    log_norm_gap: float  # log of q's normaliser over p's, accurate when they nearly agree


def line_kl(line: Line) -> float:
    """KL(p || q)."""
    return divergence(laws(line), over(line, [edges for edges, _ in pieces(line, reach(line))]))


def line_renyi(line: Line, alpha: float) -> float:
    """Renyi divergence of order alpha; +inf where the integral diverges or leaves the range of doubles."""
    rest, highest = 1.0 - alpha, reach(line)
    if rest < 0:
        if diverges(line, alpha):
            return math.inf
        if line.shape_p > line.shape_q:  # p^alpha wins over q^(1-alpha) only past this point
            turn = math.log(-rest * line.shape_q / (alpha * line.shape_p)) - line.shape_q * line.log_scale
            highest = max(highest, 3.0 + turn / (line.shape_p - line.shape_q))
        if highest > 700.0 / max(1.0, line.shape_p):
            return math.inf
    both = laws(line)
    refined, heights = [], []
    for edges, point in pieces(line, highest):
        top = peak(lambda t, point=point: log_power(both, alpha, point(t)), edges)  # type: ignore[misc]
        refined.append(around(top, edges))
        heights.append(top.height)
    height = max(heights)
    if abs(height) > ASTRONOMICAL:
        return height / -rest
    return renyi(both, alpha, over(line, refined), height)


def diverges(line: Line, alpha: float) -> bool:
    """Whether p^alpha q^(1-alpha), alpha > 1, does not fall to zero far out."""
    if line.shape_p != line.shape_q:
        return line.shape_p < line.shape_q
    return alpha + (1.0 - alpha) * math.exp(-line.shape_q * line.log_scale) <= 0


def laws(line: Line) -> Laws:
    """The two densities of t at points (log |x|, log |x - distance| - log |x|, t), stacked on the first axis."""

    def log_p(x: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(line.log_norm_p + x[2] - np.exp(line.shape_p * x[0]))

    def log_q(x: Array) -> Array:
        with np.errstate(over="ignore"):
            fall = np.exp(line.shape_q * (x[0] + x[1] - line.log_scale))
        return np.asarray(line.log_norm_p + line.log_norm_gap + x[2] - fall)

    def log_ratio(x: Array) -> Array:
        return line.log_norm_gap + power_gap(line.shape_p, line.shape_q, x[0], x[1] - line.log_scale)

    return Laws(log_p, log_q, log_ratio)


def power_gap(shape_p: Array | float, shape_q: Array | float, log_p: Array, apart: Array) -> Array:
    """y_p^shape_p - y_q^shape_q from log y_p and apart = log y_q - log y_p, accurate where they agree."""
    with np.errstate(invalid="ignore", over="ignore"):
        change = (shape_q - shape_p) * log_p + shape_q * apart
        first, second = np.exp(shape_p * log_p), np.exp(shape_q * (log_p + apart))
        far = np.where(np.isinf(first) & np.isinf(second), np.copysign(np.inf, -change), first - second)
        return np.where(np.abs(change) < 1.0, -first * np.expm1(change), far)


def reach(line: Line) -> float:
    """Log of a distance beyond which neither law has any mass, nor p times the exponent of q."""
    far_p = math.log(UNDERFLOW + 5.0 * line.shape_q / line.shape_p) / line.shape_p
    far_q = line.log_scale + math.log(UNDERFLOW) / line.shape_q
    return max(far_p, far_q, line.log_distance) + 1.0


def pieces(line: Line, highest: float) -> list[tuple[Array, Function]]:
    """The line as (edges in t, map from t to points): one piece for one centre (half the line), else four."""
    d = line.log_distance
    low = min(0.0, line.log_scale, d if d > -math.inf else 0.0) - DEEP

    def piece(high: float, point: Callable[[Array], tuple[Array, Array]]) -> tuple[Array, Function]:
        return np.linspace(low, high, max(2, math.ceil(high - low) + 1)), lambda t: np.stack([*point(t), t])

    if d == -math.inf:
        return [piece(highest, lambda t: (t, np.zeros_like(t)))]
    middle = d - math.log(2.0)
    return [
        piece(highest, lambda t: (t, np.logaddexp(0.0, d - t))),  # left of p
        piece(middle, lambda t: (t, _log_less(d - t))),  # from p to the middle
        piece(middle, lambda t: (t + _log_less(d - t), -_log_less(d - t))),  # from the middle to q
        piece(highest, lambda t: (np.logaddexp(t, d), -np.logaddexp(0.0, d - t))),  # right of q
    ]


def over(line: Line, edges: list[Array]) -> Over:
    """The integral over the whole line, of densities of t."""
    points = [point for _, point in pieces(line, 0.0)]

    def whole(f: Function) -> float:
        parts = [
            integral(lambda t, point=point: f(point(t)), each)  # type: ignore[misc]
            for each, point in zip(edges, points, strict=True)
        ]
        return math.fsum(parts) * (2.0 if len(parts) == 1 else 1.0)

    return whole


def _log_less(t: Array) -> Array:
    """log(e^t - 1) for t >= log 2."""
    return np.asarray(t + np.log1p(-np.exp(-t)))
