"""Densities proportional to exp(-|(x - loc)/scale|^shape): Laplace, Gaussian and generalised Gaussian laws alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from hidiv.emissions.numerics.adaptive_integrals import (
    Function,
    Laws,
    Over,
    around,
    divergence,
    first_order,
    integral,
    log_power,
    peak,
    second_order,
)
from hidiv.emissions.numerics.adaptive_integrals import renyi as renyi_integral
from hidiv.emissions.numerics.scales import compare_scales, power, scale_renyi
from hidiv.emissions.registry import FamilyPair, no_gaps
from hidiv.recursions.terms import phi
from hidiv.types import Array

NEAR = 0.5  # of shape_p/shape_q - 1, or of a step of log Gamma: nearer ones by integrals of derivatives
DEEP = 45.0  # e^-45: what lies further below is left out
UNDERFLOW = 800.0  # e^-800 is no double
ASTRONOMICAL = 1e14  # of log Z: the width of the integrand does not show beside its height


class Located(NamedTuple):
    """Laws by state and column: three (K, F) arrays."""

    loc: Array
    scale: Array
    shape: Array


def concentric_kl(p: Located, q: Located) -> Array:
    """KL of laws with one centre, elementwise: a/r phi(t) + f(1/r), both non-negative.

    a = 1/shape_p, r = shape_q/shape_p; f is the least KL over the scales of q, and t = shape_q log(scale_p/scale_q)
    less its value at that least. Near r = 1, f is the integral of f''.
    """
    a, over, under = 1.0 / p.shape, (p.shape - q.shape) / q.shape, (q.shape - p.shape) / p.shape  # 1/r - 1, r - 1
    best = compare_scales(p.shape, q.shape).log - log_gamma_step(1.0 + a, under)
    near = np.abs(over) <= NEAR

    def curvature(n: Array) -> Array:
        b = a[..., None]
        return np.asarray(b * (b * polygamma(1, 1.0 + b * n) + polygamma(1, b + 1.0 / n) / n**3 - 1.0 / n))

    least = second_order(curvature, np.ones_like(over), np.where(near, over, 0.0))
    far = log_gamma_step(1.0 + a, a * over) + a * over - best / q.shape
    with np.errstate(over="ignore"):
        return np.asarray(
            phi(q.shape * compare_scales(p.scale, q.scale).log - best) / q.shape + np.where(near, least, far)
        )


def log_gamma_step(start: Array, step: Array) -> Array:
    """log Gamma(start + step) - log Gamma(start) for start >= 1, relatively accurate in a small step."""
    near = np.abs(step) <= NEAR
    small = first_order(digamma, start, np.where(near, step, 0.0))
    return np.where(near, small, gammaln(start + step) - gammaln(start))


def kl(p: Located, q: Located) -> Array:
    """(K, F): in closed form for equal centres, else by quadrature."""
    value = np.array(concentric_kl(p, q))
    for index in np.argwhere(p.loc != q.loc):
        value[tuple(index)] = line_kl(_line(p, q, tuple(index)))
    return value


def renyi(p: Located, q: Located, alpha: float) -> Array:
    """(K, F): in closed form for equal centres and shapes, else by quadrature; +inf where the integral diverges."""
    value = np.array(scale_renyi(power(compare_scales(p.scale, q.scale), p.shape), alpha) / p.shape)
    for index in np.argwhere((p.loc != q.loc) | (p.shape != q.shape)):
        value[tuple(index)] = line_renyi(_line(p, q, tuple(index)), alpha)
    return value


def log_ratio(p: Located, q: Located, x: Array) -> Array:
    """(n, 1, F) -> (n, K, F): log q(x)/p(x); 0 where x is not seen."""
    off_p, off_q = np.abs(x - p.loc), np.abs(x - q.loc)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        apart = np.where(p.loc == q.loc, 0.0, np.log(off_q) - np.log(off_p)) + compare_scales(p.scale, q.scale).log
        gap = power_gap(p.shape, q.shape, np.log(off_p / p.scale), apart)
        at_p, at_q = -((off_q / q.scale) ** q.shape), (off_p / p.scale) ** p.shape  # where a log is infinite
        gap = np.where(off_p == 0.0, at_p, np.where(off_q == 0.0, at_q, gap))
    return np.where(np.isnan(x), 0.0, norm_gap(p, q) + gap)


def norm_gap(p: Located, q: Located) -> Array:
    """log of q's normaliser over p's: scales, and Gamma(1 + 1/shape)."""
    return compare_scales(p.scale, q.scale).log - log_gamma_step(
        1.0 + 1.0 / p.shape, (p.shape - q.shape) / (p.shape * q.shape)
    )


def _line(p: Located, q: Located, index: tuple[int, ...]) -> Line:
    """One state and column in units of p's scale."""
    distance = abs(float(p.loc[index] - q.loc[index])) / float(p.scale[index])
    return Line(
        shape_p=float(p.shape[index]),
        shape_q=float(q.shape[index]),
        log_scale=-float(compare_scales(p.scale, q.scale).log[index]),
        log_distance=math.log(distance) if distance > 0 else -math.inf,
        log_norm_p=-math.log(2.0) - float(gammaln(1.0 + 1.0 / p.shape[index])),
        lognorm_gap=float(norm_gap(p, q)[index]),
    )


def power_pair(
    p: Callable[[Any], Located], q: Callable[[Any], Located], coordinates: Callable[..., Callable[..., list[Any]]]
) -> FamilyPair:
    """The pair of two families, given how to see each as exponential power laws; coordinates(p, q) for intervals."""
    return FamilyPair(
        kl=lambda a, b: kl(p(a), q(b)).sum(axis=1),
        renyi=lambda a, b, alpha: renyi(p(a), q(b), alpha).sum(axis=1),
        log_ratio=lambda a, b, x: log_ratio(p(a), q(b), x[:, None, :]).sum(axis=2),
        gaps=no_gaps,
        stretches=coordinates(p, q),
    )


class Line(NamedTuple):
    """One pair of laws, in units of p's scale."""

    shape_p: float
    shape_q: float
    log_scale: float  # of q
    log_distance: float  # of the centres, -inf for one centre
    log_norm_p: float
    lognorm_gap: float  # log of q's normaliser over p's, accurate when they nearly agree


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
    return renyi_integral(both, alpha, over(line, refined), height)


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
        return np.asarray(line.log_norm_p + line.lognorm_gap + x[2] - fall)

    def log_ratio(x: Array) -> Array:
        return line.lognorm_gap + power_gap(line.shape_p, line.shape_q, x[0], x[1] - line.log_scale)

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
