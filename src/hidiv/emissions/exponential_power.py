"""Densities proportional to exp(-|(x - loc)/scale|^shape): what Laplace, Gaussian and generalised Gaussian laws share.

Concentric laws have a KL in closed form; everything else is integrated over the logs of the distances to both centres,
in which the densities have no kinks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, polygamma

from hidiv.emissions.quadrature import Array, Function, Laws, divergence, first_order, integral, log_power, renyi, second_order
from hidiv.emissions.registry import Pair, no_gaps
from hidiv.emissions.scales import power, scale_renyi, spread
from hidiv.recursions.terms import phi

NEAR = 0.5  # of shape_p/shape_q - 1: nearer laws are compared by integrals of derivatives
DEEP = 45.0  # e^-45: what lies further below a peak is left out
UNDERFLOW = 800.0  # e^-800 is no double


class Located(NamedTuple):
    """Laws by column: arrays that broadcast."""

    loc: Array
    scale: Array
    shape: Array


def log_gamma_step(start: Array, step: Array) -> Array:
    """log Gamma(start + step) - log Gamma(start) for start >= 1, relatively accurate in a small step."""
    near = np.abs(step) <= 0.5
    small = first_order(digamma, start, np.where(near, step, 0.0))
    return np.where(near, small, gammaln(start + step) - gammaln(start))


def concentric_kl(p: Located, q: Located) -> Array:
    """KL of laws with one centre: a/r phi(t) + f(1/r), both non-negative.

    a = 1/shape_p, r = shape_q/shape_p; f is the least KL over the scales of q, and t = shape_q log(scale_p/scale_q)
    less its value at that least.
    """
    a, r = 1.0 / p.shape, q.shape / p.shape
    over, under = (p.shape - q.shape) / q.shape, (q.shape - p.shape) / p.shape  # 1/r - 1, r - 1
    log_inverse = spread(p.shape, q.shape).log
    best = log_inverse - log_gamma_step(1.0 + a, under)
    eta = 1.0 + over
    near = np.abs(over) <= NEAR

    def curvature(n: Array) -> Array:
        b = a[..., None]
        return np.asarray(b * (b * polygamma(1, 1.0 + b * n) + polygamma(1, b + 1.0 / n) / n**3 - 1.0 / n))

    least = second_order(curvature, np.ones_like(over), np.where(near, over, 0.0))
    far = log_gamma_step(1.0 + a, a * over) + a * over - a * eta * best
    with np.errstate(over="ignore"):
        return np.asarray(a / r * phi(q.shape * spread(p.scale, q.scale).log - best) + np.where(near, least, far))


def kl_located(p: Located, q: Located) -> Array:
    """(K, F): in closed form for equal centres, else the integral of p phi(log q/p)."""
    value = np.array(concentric_kl(p, q))
    for index in np.argwhere(p.loc != q.loc):
        value[tuple(index)] = _Plane(p, q, tuple(index)).kl()
    return value


def renyi_located(p: Located, q: Located, alpha: float) -> Array:
    """(K, F): in closed form for equal centres and shapes, else by quadrature; +inf where the integral diverges."""
    value = np.array(scale_renyi(power(spread(p.scale, q.scale), p.shape), alpha) / p.shape)
    for index in np.argwhere((p.loc != q.loc) | (p.shape != q.shape)):
        value[tuple(index)] = _Plane(p, q, tuple(index)).renyi(alpha)
    return value


def log_ratio_located(p: Located, q: Located, x: Array) -> Array:
    """log q(x)/p(x), elementwise: the normalisers, then |x-loc_p|^.. - |x-loc_q|^.. through the difference of the logs."""
    scales = spread(p.scale, q.scale).log
    inverse = (q.shape - p.shape) / (p.shape * q.shape)  # 1/shape_p - 1/shape_q
    constant = scales - log_gamma_step(1.0 + 1.0 / p.shape, -inverse)
    off_p, off_q = np.abs(x - p.loc), np.abs(x - q.loc)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        apart = np.where(p.loc == q.loc, 0.0, np.log(off_q) - np.log(off_p))
        log_p = np.log(off_p / p.scale)
        return np.asarray(constant + _power_gap(p.shape, q.shape, log_p, apart + scales))


def _power_gap(shape_p: Array | float, shape_q: Array | float, log_p: Array, apart: Array) -> Array:
    """y_p^shape_p - y_q^shape_q from log y_p and apart = log y_q - log y_p, accurate where they agree."""
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        change = (shape_q - shape_p) * log_p + shape_q * apart
        first = np.exp(shape_p * log_p)
        direct = first - np.where(log_p == -np.inf, np.exp(shape_q * (log_p + np.where(np.isfinite(apart), apart, 0.0))), np.exp(shape_q * (log_p + apart)))
        return np.where(np.abs(change) < 1.0, -first * np.expm1(change), direct)


class _Plane:
    """One pair of laws on the line, p with scale one at 0 and q at a distance to its right."""

    def __init__(self, p: Located, q: Located, index: tuple[int, ...]) -> None:
        self.shape_p, self.shape_q = float(p.shape[index]), float(q.shape[index])
        self.log_scale = -float(spread(p.scale, q.scale).log[index])  # of q
        distance = abs(float(p.loc[index] - q.loc[index])) / float(p.scale[index])
        self.log_distance = math.log(distance) if distance > 0 else -math.inf
        gap = float(log_gamma_step(1.0 + 1.0 / p.shape, (p.shape - q.shape) / (p.shape * q.shape))[index])
        self.constant_p = -math.log(2.0) - float(gammaln(1.0 + 1.0 / self.shape_p))
        self.constant_gap = -self.log_scale - gap  # log of q's normaliser over p's

    # A point is (log |x|, log |x - distance| - log |x|), stacked on the first axis.

    def log_p(self, x: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(self.constant_p - np.exp(self.shape_p * x[0]))

    def log_q(self, x: Array) -> Array:
        with np.errstate(over="ignore"):
            y = np.exp(self.shape_q * (x[0] + x[1] - self.log_scale))
        return np.asarray(self.constant_p + self.constant_gap - y)

    def log_ratio(self, x: Array) -> Array:
        return self.constant_gap + _power_gap(self.shape_p, self.shape_q, x[0], x[1] - self.log_scale)

    @property
    def laws(self) -> Laws:
        return Laws(self.log_p, self.log_q, self.log_ratio)

    def kl(self) -> float:
        return divergence(self.laws, self.over(self.reach()))

    def renyi(self, alpha: float) -> float:
        rest = 1.0 - alpha
        if alpha > 1.0 and self.diverges(alpha):
            return math.inf
        highest = self.reach()
        if rest < 0 and self.shape_p > self.shape_q:
            # p^alpha wins over q^(1-alpha) only from here on.
            top = math.log(-rest * self.shape_q / (alpha * self.shape_p)) - self.shape_q * self.log_scale
            highest = max(highest, 2.0 + top / (self.shape_p - self.shape_q))
        if not highest < 700.0:
            return math.inf if rest < 0 else math.nan
        peaks = [self._peak(side, alpha, highest) for side in self.sides()]
        extra = [(t, width) for t, width, _ in peaks]
        return renyi(self.laws, alpha, self.over(highest, extra), max(value for _, _, value in peaks))

    def diverges(self, alpha: float) -> bool:
        """Whether p^alpha q^(1-alpha), alpha > 1, does not fall to zero far out."""
        if self.shape_p != self.shape_q:
            return self.shape_p < self.shape_q
        return alpha + (1.0 - alpha) * math.exp(-self.shape_q * self.log_scale) <= 0

    def reach(self) -> float:
        """Log of a distance beyond which neither law has any mass, nor p times the exponent of q."""
        r = self.shape_q / self.shape_p
        far_p = math.log(UNDERFLOW + 5.0 * r) / self.shape_p
        far_q = self.log_scale + math.log(UNDERFLOW) / self.shape_q
        return max(far_p, far_q, self.log_distance) + 1.0

    def sides(self) -> list[Callable[[Array], Array]]:
        """The line in pieces, each a map from t = log of the distance to the nearer centre to points."""
        d = self.log_distance
        if d == -math.inf:
            return [lambda t: np.stack([t, np.zeros_like(t)])]
        return [
            lambda t: np.stack([t, np.logaddexp(0.0, d - t)]),  # left of p
            lambda t: np.stack([t, _log_less(d - t)]),  # p to the middle
            lambda t: np.stack([t + _log_less(d - t), -_log_less(d - t)]),  # the middle to q
            lambda t: np.stack([np.logaddexp(t, d), -np.logaddexp(0.0, d - t)]),  # right of q
        ]

    def edges(self, side: int, highest: float) -> Array:
        low = min(0.0, self.log_scale, self.log_distance if self.log_distance > -math.inf else 0.0) - DEEP
        high = self.log_distance - math.log(2.0) if side in (1, 2) else highest
        return np.linspace(low, high, max(2, math.ceil(high - low) + 1))

    def over(self, highest: float, peaks: list[tuple[float, float]] | None = None) -> Callable[[Function], float]:
        """The integral over the line; every piece is weighed by dx = e^t dt."""
        sides = self.sides()

        def whole(f: Function) -> float:
            total = 0.0
            for number, side in enumerate(sides):
                edges = self.edges(number, highest)
                if peaks is not None:
                    t, width = peaks[number]
                    near = t + np.concatenate([-width * 2.0 ** np.arange(8.0, -2.0, -1.0), [0.0], width * 2.0 ** np.arange(-1.0, 9.0)])
                    edges = np.union1d(edges, near[(near > edges[0]) & (near < edges[-1])])
                total += integral(lambda t, side=side: f(side(t)) * np.exp(t), edges)  # type: ignore[misc]
            return total * (2.0 if len(sides) == 1 else 1.0)

        return whole

    def _peak(self, side: Callable[[Array], Array], alpha: float, highest: float) -> tuple[float, float, float]:
        raise NotImplementedError


def _log_less(t: Array) -> Array:
    """log(e^t - 1) for t >= log 2."""
    return np.asarray(t + np.log1p(-np.exp(-t)))


def power_pair(p: Callable[[Any], Located], q: Callable[[Any], Located]) -> Pair:
    """A pair of two families that are exponential power laws."""
    return Pair(
        kl=lambda a, b: kl_located(p(a), q(b)).sum(axis=1),
        renyi=lambda a, b, alpha: renyi_located(p(a), q(b), alpha).sum(axis=1),
        log_ratio=lambda a, b, x: np.where(np.isnan(x)[:, None, :], 0.0, log_ratio_located(p(a), q(b), x[:, None, :])).sum(axis=2),
        gaps=no_gaps,
    )
