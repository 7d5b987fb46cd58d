"""Densities proportional to exp(-|(x - loc)/scale|^shape): Laplace, Gaussian and generalised Gaussian laws alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from hidiv.emissions.numerics.exponential_power_line import Line, line_kl, line_renyi, power_gap
from hidiv.emissions.numerics.quadrature import first_order, second_order
from hidiv.emissions.numerics.scales import compare_scales, power, scale_renyi
from hidiv.emissions.registry import FamilyPair, no_gaps
from hidiv.recursions.terms import phi
from hidiv.types import Array

NEAR = 0.5  # of shape_p/shape_q - 1, or of a step of log Gamma: nearer ones by integrals of derivatives


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
    return np.where(np.isnan(x), 0.0, _norm_gap(p, q) + gap)


def _norm_gap(p: Located, q: Located) -> Array:
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
        log_norm_gap=float(_norm_gap(p, q)[index]),
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
