"""Angles gathered about a mean direction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from hidiv.emissions.family import Family, check_between, ratio_of_rows
from hidiv.emissions.gradients import location_slopes
from hidiv.emissions.numerics.adaptive_integrals import unit_rule
from hidiv.emissions.numerics.bessel import bregman, growth, log_bessel, mean_cosine, mean_cosine_gap, scaled_growth
from hidiv.emissions.numerics.climbing import HIGH_LOG, climb
from hidiv.emissions.parameters import reading, require, same_shape, wide
from hidiv.emissions.registry import FamilyPair, no_gaps, register
from hidiv.emissions.sample_space import ANGLE, SampleSpace
from hidiv.emissions.statistics import Statistics
from hidiv.emissions.weighted import Weighted, kept
from hidiv.errors import InvalidEvidence, refuse
from hidiv.recursions.curve_rows import TURNING, CurveLaws, CurvePair
from hidiv.types import Array, IntArray

TWO_PI = 2.0 * math.pi
LOG_TWO_PI = math.log(TWO_PI)
DEEP = 45.0  # e^-45: where an arc falls further below its top it is cut
ARC_NODES = 48  # for a fall of DEEP along one smooth arc


@dataclass(frozen=True, eq=False)
class VonMises(Family):
    """Angles in radians, any turn.

    Parameters
    ----------
    mean : array_like
        The mean direction, (K,), or (K, F) for F independent columns.
    concentration : array_like
        At least 0, where 0 is the uniform law, in the shape of `mean`.

    Raises
    ------
    InvalidModel
        If a parameter has not that shape or range; the message names the entry.

    Notes
    -----
    The density is exp(concentration cos(x - mean)) / (2 pi I_0(concentration)): e_s(x) of definitions (1.1).

    Examples
    --------
    >>> float(VonMises([0.0], [0.0]).kl(VonMises([1.0], [1.0]))[0])
    0.23591435850717912
    """

    name: ClassVar[str] = "von_mises"
    laws_independent: ClassVar[bool] = True
    start: ClassVar[dict[str, float]] = {"mean": 0.0, "concentration": 1.0}
    mean: Array  # (K,) or (K, F)
    concentration: Array

    def __init__(self, mean: ArrayLike, concentration: ArrayLike) -> None:
        object.__setattr__(self, "mean", reading("mean", mean, (1, 2)))
        object.__setattr__(self, "concentration", reading("concentration", concentration, (1, 2)))
        require("concentration", self.concentration, self.concentration >= 0, "must be at least 0")
        require("concentration", self.concentration, self.concentration <= 1e100, "must be at most 1e100")
        require(
            "mean", self.mean, np.abs(self.mean) <= 1e15, "must be an angle between -1e15 and 1e15", "take off turns"
        )
        same_shape("concentration", self.mean, self.concentration)

    def parameters(self) -> dict[str, Array]:
        return {"mean": self.mean, "concentration": self.concentration}

    @property
    def space(self) -> SampleSpace:
        return ANGLE

    def check(self, x: Array) -> None:
        check_between(x, self.name, -np.inf)

    def log_density(self, x: Array) -> Array:
        kappa = wide(self.concentration)
        fall = 2.0 * kappa * np.sin(0.5 * (x[:, None, :] - wide(self.mean))) ** 2
        return np.asarray(-fall - log_bessel(kappa) - LOG_TWO_PI)

    @cached_property
    def curve_laws(self) -> CurveLaws:
        mean, kappa = wide(self.mean), wide(self.concentration)
        return TURNING, np.stack([mean, kappa], axis=2), -(log_bessel(kappa) + LOG_TWO_PI).sum(axis=1)

    def log_mass(self, lower: Array, upper: Array) -> Array:
        """Of the arc from lower on to upper, at most one turn; both ends infinite: the whole circle."""
        free = (lower == -np.inf) & (upper == np.inf)
        with np.errstate(invalid="ignore"):
            width = np.where(free, TWO_PI, upper - lower)
        if (width > TWO_PI * (1.0 + 1e-15)).any():
            row, column = (int(i) for i in np.argwhere(width > TWO_PI * (1.0 + 1e-15))[0])
            place = f"lower[{row}]" + (f"[{column}]" if lower.shape[1] > 1 else "")
            refuse(
                InvalidEvidence,
                place,
                "an arc of angles has two finite ends, at most 2 pi apart",
                f"{lower[row, column]:g} to {upper[row, column]:g}",
                "cut it into arcs, or leave both ends open",
            )
        kappa = wide(self.concentration)
        start = np.where(free, -math.pi, lower)[:, None, :] - wide(self.mean)
        # Only what lies beyond half a turn is brought back: it costs digits.
        start = np.where(np.abs(start) <= math.pi, start, np.remainder(start + math.pi, TWO_PI) - math.pi)
        return _log_arc(start, width[:, None, :], kappa)

    def draw(self, states: IntArray, rng: np.random.Generator) -> Array:
        return np.asarray(rng.vonmises(wide(self.mean)[states], wide(self.concentration)[states]))

    def ranges(self) -> dict[str, str]:
        return {"mean": "number", "concentration": "positive"}

    def estimate(self, known: Weighted) -> Self:
        """The direction of the mean vector; its length is the mean cosine of the law."""
        cosine, sine = known.mean(np.cos(known.values)), known.mean(np.sin(known.values))
        mean = np.arctan2(sine, cosine)
        mean = np.where(np.isfinite(mean), mean, 0.0)
        # 1 - mean cosine about that direction, without subtracting from one.
        short = known.mean_of(2.0 * np.sin(0.5 * (known.values[:, None, :] - mean)) ** 2)
        short = np.where(np.isfinite(short), short, 1.0)
        start = np.log(np.maximum(wide(self.concentration), 1e-3))[None]
        concentration = np.exp(
            climb(lambda z: -np.exp(z[0]) * short - log_bessel(np.exp(z[0])), start, (-HIGH_LOG, HIGH_LOG), rounds=2)[0]
        )
        return type(self)(kept(mean, self.mean, known.mass), kept(concentration, self.concentration, known.mass))

    def log_slopes(self, x: Array) -> dict[str, Array]:
        kappa, apart = wide(self.concentration), x[:, None, :] - wide(self.mean)
        fall = 2.0 * np.sin(0.5 * apart) ** 2
        return {
            "mean": kappa * np.sin(apart),
            "concentration": np.where(kappa > 0, mean_cosine_gap(kappa) - fall, 0.0),
        }

    def mass_slopes(self, lower: Array, upper: Array) -> dict[str, Array]:
        return {"mean": location_slopes(self, lower, upper, wide(self.mean), np.ones(()))[0]}

    def statistics(self) -> Statistics:
        mean, kappa = wide(self.mean), wide(self.concentration)
        length = mean_cosine(kappa)
        constant = -(LOG_TWO_PI + kappa + log_bessel(kappa)).sum(axis=1, keepdims=True)
        return Statistics(
            (self.name, self.n_features),
            np.hstack([length * np.cos(mean), length * np.sin(mean), np.ones_like(constant)]),
            np.hstack([kappa * np.cos(mean), kappa * np.sin(mean), constant]),
        )

    def powered(self, exponent: float) -> tuple[Self, Array]:
        kappa = wide(self.concentration)
        log_norm = (1.0 - exponent) * LOG_TWO_PI + log_bessel(exponent * kappa) - exponent * log_bessel(kappa)
        return type(self)(self.mean, exponent * self.concentration), log_norm.sum(axis=1)


def _log_arc(start: Array, width: Array, kappa: Array) -> Array:
    """log-mass of arcs about a mean at 0: start in [-pi, pi), width up to 2 pi; from the rest if smaller."""
    start, width, kappa = np.broadcast_arrays(start, width, kappa)
    end = start + width
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = _log_sum_arcs(start, end, width, kappa)
        outside = _log_sum_arcs(end, start + TWO_PI, TWO_PI - width, kappa)
        value = np.where(inside < outside, inside, np.log1p(-np.exp(np.minimum(outside, -math.log(2.0)))))
    return np.where(width > 0, np.where(width >= TWO_PI, 0.0, value), -np.inf)


def _log_sum_arcs(start: Array, end: Array, width: Array, kappa: Array) -> Array:
    """log-mass of an arc within [-pi, 3 pi], cut at multiples of pi so that the density is monotone on each piece."""
    total = np.full(start.shape, -np.inf)
    whole = np.floor(start / math.pi) == np.floor(end / math.pi)
    for turn in range(-1, 3):
        low, high = np.maximum(start, turn * math.pi), np.minimum(end, (turn + 1) * math.pi)
        # Pieces rise to a top at an even multiple of pi: measure from there, |angle| from near to far.
        top = 2.0 * math.pi * round((turn + 0.5) / 2.0)
        near, far = np.minimum(np.abs(low - top), np.abs(high - top)), np.maximum(np.abs(low - top), np.abs(high - top))
        length = np.where(whole, width, far - near)
        inside = high > low
        total = np.logaddexp(total, np.where(inside, _log_piece(near, np.where(inside, length, 0.0), kappa), -np.inf))
    return total


def _log_piece(near: Array, length: Array, kappa: Array) -> Array:
    """log-mass from angle `near` on, over `length`, the density falling: Gauss rule, cut where nothing is left."""
    nodes, weights = unit_rule(ARC_NODES)
    # The exponent falls by 2 kappa [sin^2((near+t)/2) - sin^2(near/2)] = 2 kappa sin(near + t/2) sin(t/2).
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        level = np.sin(0.5 * near) ** 2 + DEEP / (2.0 * kappa)
        cut = np.where(level < 1.0, 2.0 * np.arcsin(np.sqrt(np.minimum(level, 1.0))) - near, length)
        span = np.minimum(length, cut)
        t = span[..., None] * nodes
        fall = 2.0 * kappa[..., None] * np.sin(near[..., None] + 0.5 * t) * np.sin(0.5 * t)
        top = -2.0 * kappa * np.sin(0.5 * near) ** 2 - log_bessel(kappa) - LOG_TWO_PI
        return np.asarray(top + np.log(span) + np.log(np.exp(-fall) @ weights))


# Pairs: G = log I_0, with G' = A the mean cosine.


def _half_sine_squared(p: VonMises, q: VonMises) -> Array:
    return np.asarray(np.sin(0.5 * (wide(p.mean) - wide(q.mean))) ** 2)


def kl(p: VonMises, q: VonMises) -> Array:
    """A(kappa_p) kappa_q (1 - cos(mean_p - mean_q)) + G(kappa_q) - G(kappa_p) - A(kappa_p)(kappa_q - kappa_p)."""
    kp, kq = wide(p.concentration), wide(q.concentration)
    turned = 2.0 * mean_cosine(kp) * kq * _half_sine_squared(p, q)
    return np.asarray((turned + bregman(kp, kq, kq - kp)).sum(axis=1))


def renyi(p: VonMises, q: VonMises, alpha: float) -> Array:
    """log Z = G(r) - alpha G(kappa_p) - c G(kappa_q), c = 1 - alpha, r the length of the vector sum alpha p + c q.

    Through m = alpha kappa_p + c kappa_q: what G(m) leaves is the value for equal means, G(r) - G(m) comes on top.
    """
    rest = 1.0 - alpha
    if rest > 0.5:  # order alpha of (p, q) is alpha/c times order c of (q, p)
        return alpha / rest * renyi(q, p, rest)
    kp, kq = wide(p.concentration), wide(q.concentration)
    mixed = alpha * kp + rest * kq
    squares = -4.0 * alpha * rest * kp * kq * _half_sine_squared(p, q)  # r^2 - m^2
    r = np.sqrt(np.maximum(mixed * mixed + squares, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.where(squares == 0.0, 0.0, squares / (r + np.abs(mixed)))
    return np.asarray((_equal_means(kp, kq, mixed, rest) - growth(np.abs(mixed), r, change) / rest).sum(axis=1) + 0.0)


def _equal_means(kp: Array, kq: Array, mixed: Array, rest: float) -> Array:
    """G(kappa_q) - G(kappa_p) - [G(m) - G(kappa_p)]/c: Bregman terms when near, e^-kappa I_0 when far (G is even)."""
    step, size = kq - kp, np.abs(mixed)
    near = bregman(kp, kq, step) - bregman(kp, mixed, rest * step) / rest
    moved = scaled_growth(kp, size, np.where(mixed < 0, size - kp, rest * step)) + (size - mixed)
    far = scaled_growth(kp, kq, step) - moved / rest
    return np.where(np.abs(step) <= 0.5 * (kp + 1.0), near, far)


def tables(p: VonMises, q: VonMises) -> CurvePair:
    """`_log_ratio` in the sine s and cosine c of half the angle from p's mean: constant + u s c + w s^2."""
    kp, kq = wide(p.concentration), wide(q.concentration)
    half = 0.5 * (wide(q.mean) - wide(p.mean))
    sine, cosine, step = np.sin(half), np.cos(half), kq - kp
    with np.errstate(all="ignore"):
        between = np.stack([4.0 * kq * sine * cosine, 4.0 * kq * sine**2 - 2.0 * step], axis=2)
        constant = step * mean_cosine_gap(kp) - bregman(kp, kq, step) - 2.0 * kq * sine**2
    return CurvePair(p.curve_laws, q.curve_laws, (between, np.asarray(constant.sum(axis=1))))


def log_ratio(p: VonMises, q: VonMises, x: Array) -> Array:
    return ratio_of_rows(tables(p, q), lambda known: _log_ratio(p, q, known), x)


def _log_ratio(p: VonMises, q: VonMises, x: Array) -> Array:
    """`log_ratio` of entries that may be missing, or many turns away."""
    kp, kq = wide(p.concentration), wide(q.concentration)
    off_p, off_q = 0.5 * (x[:, None, :] - wide(p.mean)), 0.5 * (x[:, None, :] - wide(q.mean))
    turned = 2.0 * kq * np.sin(off_p + off_q) * np.sin(0.5 * (wide(q.mean) - wide(p.mean)))
    longer = (kq - kp) * (mean_cosine_gap(kp) - 2.0 * np.sin(off_p) ** 2) - bregman(kp, kq, kq - kp)
    return np.asarray(np.where(np.isnan(x)[:, None, :], 0.0, turned + longer).sum(axis=2))


def stretches(p: VonMises, q: VonMises, lower: Array, upper: Array) -> list[Any]:
    from hidiv.emissions.evidence.coordinates import first, on_points, turns

    return turns(*on_points(p, q), first(p.mean), first(p.concentration), lower, upper)


register(VonMises, VonMises, FamilyPair(kl, renyi, log_ratio, no_gaps, stretches, tables=tables))
