"""Proportions between 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln

from hidiv.emissions.family import Family, add_columns, check_between, check_density, ratio_of_rows
from hidiv.emissions.numerics.climbing import HIGH_LOG, climb
from hidiv.emissions.numerics.deviance import cross, deviance, times
from hidiv.emissions.numerics.exponential_family import renyi_between, second_order
from hidiv.emissions.numerics.stirling import change, curvature, curvature_drop, remainder, slope
from hidiv.emissions.parameters import SHAPES, positive, same_shape, wide
from hidiv.emissions.registry import FamilyPair, no_gaps, refuse_integral, register
from hidiv.emissions.sample_space import UNIT, SampleSpace
from hidiv.emissions.statistics import Statistics
from hidiv.emissions.weighted import Weighted, kept
from hidiv.recursions import curve_rows
from hidiv.recursions.curve_rows import CurveLaws, CurvePair
from hidiv.types import Array, IntArray


@dataclass(frozen=True, eq=False)
class Beta(Family):
    """Proportions between 0 and 1.

    Parameters
    ----------
    a : array_like
        (K,), or (K, F) for F independent columns; above 0.
    b : array_like
        In the shape of `a`; above 0.

    Raises
    ------
    InvalidModel
        If a parameter has not that shape or range; the message names the entry.

    Notes
    -----
    The density is x^(a-1) (1-x)^(b-1) / B(a, b) on 0 < x < 1: e_s(x) of definitions (1.1).

    Examples
    --------
    >>> round(float(Beta([1.0], [1.0]).kl(Beta([2.0], [1.0]))[0]), 15)
    0.306852819440055
    """

    name: ClassVar[str] = "beta"
    start: ClassVar[dict[str, float]] = {"a": 1.0, "b": 1.0}
    a: Array  # (K,) or (K, F)
    b: Array  # the same

    def __init__(self, a: ArrayLike, b: ArrayLike) -> None:
        object.__setattr__(self, "a", positive("a", a, span=SHAPES))
        object.__setattr__(self, "b", positive("b", b, span=SHAPES))
        same_shape("b", self.a, self.b)

    def parameters(self) -> dict[str, Array]:
        return {"a": self.a, "b": self.b}

    @property
    def space(self) -> SampleSpace:
        return UNIT

    def check(self, x: Array) -> None:
        check_between(x, self.name, 0.0, 1.0)
        left, right = (wide(self.a) < 1).any(axis=0), (wide(self.b) < 1).any(axis=0)
        check_density(x, ((x == 0) & left) | ((x == 1) & right), self.name)

    def log_density(self, x: Array) -> Array:
        a, b, at = wide(self.a), wide(self.b), x[:, None, :]
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = log_mass_of_log_odds(a, b, at, 1.0 - at) - np.log(at) - np.log1p(-at)
        return np.where(at == 0, _at_end(a, b), np.where(at == 1, _at_end(b, a), inside))

    @cached_property
    def curve_laws(self) -> CurveLaws:
        a, b = wide(self.a), wide(self.b)
        constant = remainder(a + b) - remainder(a) - remainder(b)
        return curve_rows.UNIT, np.stack([a, b], axis=2), np.asarray(constant.sum(axis=1))

    def log_mass(self, lower: Array, upper: Array) -> Array:
        from hidiv.emissions.numerics.tails import beta_tails, log_interval, short_interval

        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            low, high, a, b = np.broadcast_arrays(
                np.maximum(lower, 0.0)[:, None, :], np.minimum(upper, 1.0)[:, None, :], wide(self.a), wide(self.b)
            )
            apart = np.maximum(high - low, 0.0)
            width = np.where(apart > 0, np.log1p(apart / low) + np.log1p(apart / (1.0 - high)), 0.0)  # of log x/(1-x)
            s = a + b
            bend = s * np.maximum(high * (1.0 - low), 0.0)
            short = (width < 3.0) & (bend * width * width < 4.0) & (np.abs(a - s * low) * width < 10.0)
            odds, step = np.where(short, low / (1.0 - low), 1.0)[..., None], np.where(short, width, 0.0)

            def log_density(t: Array) -> Array:
                ahead = odds * np.exp(t)
                return log_mass_of_log_odds(a[..., None], b[..., None], ahead / (1.0 + ahead), 1.0 / (1.0 + ahead))

            tails = log_interval(beta_tails(a, b, low, 1.0 - low), beta_tails(a, b, high, 1.0 - high))
            value = np.where(short, short_interval(log_density, step), tails)
        return np.where(apart > 0, value, -np.inf)

    def draw(self, states: IntArray, rng: np.random.Generator) -> Array:
        # Small shapes have much mass closer to the ends than any double between them.
        drawn = rng.beta(wide(self.a)[states], wide(self.b)[states])
        return np.clip(drawn, np.finfo(np.float64).tiny, np.nextafter(1.0, 0.0))

    def estimate(self, known: Weighted) -> Self:
        """From the means of log x and log(1 - x)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            left, right = known.mean(np.log(known.x)), known.mean(np.log1p(-known.x))
        usable = np.isfinite(left) & np.isfinite(right)
        left, right = np.where(usable, left, -1.0), np.where(usable, right, -1.0)

        def value(z: Array) -> Array:
            a, b = np.exp(z)
            s = a + b
            terms = a * (left - np.log(a / s)) + b * (right - np.log(b / s))
            return np.asarray(terms + remainder(s) - remainder(a) - remainder(b))

        a, b = np.exp(climb(value, np.log(natural(self)), (-HIGH_LOG, HIGH_LOG), rounds=2))
        mass = np.where(usable, known.mass, 0.0)
        return type(self)(kept(a, self.a, mass), kept(b, self.b, mass))

    def log_slopes(self, x: Array) -> dict[str, Array]:
        a, b, at = wide(self.a), wide(self.b), x[:, None, :]
        s = a + b
        return {
            "a": np.log(at * s / a) - slope(a) + slope(s),
            "b": np.log1p(-at) + np.log(s / b) - slope(b) + slope(s),
        }

    def statistics(self) -> Statistics:
        a, b = wide(self.a), wide(self.b)
        s, ones = a + b, np.ones((self.n_states, 1))
        means = [slope(c) - slope(s) + np.log(c / s) for c in (a, b)]
        terms = remainder(s) - remainder(a) - remainder(b) - a * np.log(a / s) - b * np.log(b / s)
        constant = terms.sum(axis=1, keepdims=True)
        sizes = [1.0 + np.abs(slope(c)) + np.abs(slope(s)) + np.abs(np.log(c / s)) for c in (a, b)]
        key = self.name, self.n_features
        return Statistics(key, np.hstack([*means, ones]), np.hstack([a, b, constant]), np.hstack([*sizes, ones]))

    def powered(self, exponent: float) -> tuple[Self, Array]:
        a, b = (1.0 + exponent * (side - 1.0) for side in (self.a, self.b))
        if not ((a > 0) & (b > 0)).all():
            refuse_integral(self.name, exponent)
        return type(self)(a, b), (betaln(wide(a), wide(b)) - exponent * betaln(wide(self.a), wide(self.b))).sum(axis=1)


def log_mass_of_log_odds(a: Array, b: Array, x: Array, y: Array) -> Array:
    """log of x^a y^b / B(a, b), y = 1 - x: the density by log x/(1-x); two deviances and no large terms that cancel."""
    s = a + b
    off = b * x - a * y  # s x - a, with the digits of the smaller shape
    near = deviance(a, s * x, off) + deviance(b, s * y, -off)
    return np.asarray(remainder(s) - remainder(a) - remainder(b) - near)


def _at_end(a: Array, b: Array) -> Array:
    """The log-density at 0."""
    return np.where(a > 1, -np.inf, np.where(a == 1, np.log(b), np.inf))


def natural(family: Beta) -> Array:
    """(2, K, F): a and b."""
    return np.stack([wide(family.a), wide(family.b)])


def mean_part(p: Array, q: Array, step: Array) -> Array:
    """(2, K, F) -> (K, F): the KL of one trial of success a/(a+b), from q's to p's, times a + b of q."""
    (a, b), (c, d) = p, q
    s, t = a + b, c + d
    off = cross(p, q, step) / s  # (a d - c b) / s
    return deviance(c, t * (a / s), off) + deviance(d, t * (b / s), -off)


def kl_natural(p: Array, q: Array, step: Array) -> Array:
    """(2, K, F) -> (K, F): the KL as `mean_part` and an integral along the segment, all terms non-negative.

    log B(a, b) is a log a + b log b - s log s, s = a + b, which gives the first, plus G(a) + G(b) - G(s) (stirling.py),
    whose second-order form is u^2 [a G''(a) - s G''(s)]/a, the same with b and v, and G''(s) (u b - v a)^2/(a b), with
    (u, v) the step.
    """
    u, v = step[0][..., None], step[1][..., None]
    across = cross(p, q, step)[..., None]

    def form(z: Array) -> Array:
        a, b = z
        total = curvature(a + b)
        first = u * u * (curvature_drop(a, b) - b / a * total)
        second = v * v * (curvature_drop(b, a) - a / b * total)
        return np.asarray(first + second + total * across * across / (a * b))

    return np.asarray(mean_part(p, q, step) + second_order(form, p, q, step))


def kl(p: Beta, q: Beta) -> Array:
    first, second = natural(p), natural(q)
    return np.asarray(kl_natural(first, second, second - first).sum(axis=1))


def renyi(p: Beta, q: Beta, alpha: float) -> Array:
    """Infinite where alpha a_p + (1 - alpha) a_q <= 0, or the same of b: the integral diverges."""
    return np.asarray(renyi_between(kl_natural, natural(p), natural(q), alpha).sum(axis=1))


def tables(p: Beta, q: Beta) -> CurvePair:
    """About p's mean: the shapes times the logarithms of x and 1 - x over theirs."""
    first, second = natural(p), natural(q)
    step = second - first
    (a, b), (c, d), (u, v) = first, second, step
    with np.errstate(all="ignore"):
        constant = change(a + b, c + d, u + v) - change(a, c, u) - change(b, d, v) - mean_part(first, second, step)
    return CurvePair(p.curve_laws, q.curve_laws, (np.stack([u, v], axis=2), np.asarray(constant.sum(axis=1))))


def log_ratio(p: Beta, q: Beta, x: Array) -> Array:
    return ratio_of_rows(tables(p, q), lambda known: _log_ratio(p, q, known), x)


def _log_ratio(p: Beta, q: Beta, x: Array) -> Array:
    """`log_ratio` of entries that may be missing, or at an end of the range."""
    first, second = natural(p), natural(q)
    step, at = second - first, x[:, None, :]
    (a, b), (c, d), (u, v) = first, second, step
    s, off = a + b, b * at - a * (1.0 - at)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.where(np.abs(off) <= 0.5 * a, np.log1p(off / a), np.log(at) - np.log(a / s))  # log of x over p's mean
        right = np.where(np.abs(off) <= 0.5 * b, np.log1p(-off / b), np.log1p(-at) - np.log(b / s))
        constant = change(s, c + d, u + v) - change(a, c, u) - change(b, d, v) - mean_part(first, second, step)
        terms = times(u, left) + times(v, right) + constant
    return add_columns(terms, x)


def stretches(p: Beta, q: Beta, lower: Array, upper: Array) -> list[Any]:
    from hidiv.emissions.evidence.coordinates import Exponents, first, odds, on_points

    exponents = [Exponents(first(law.a), first(law.b)) for law in (p, q)]
    ratio, mirrored = on_points(p, q)[1], on_points(Beta(p.b, p.a), Beta(q.b, q.a))[1]
    return [odds(exponents[0], exponents[1], ratio, mirrored, lower, upper)]


register(Beta, Beta, FamilyPair(kl, renyi, log_ratio, no_gaps, stretches, tables=tables))
