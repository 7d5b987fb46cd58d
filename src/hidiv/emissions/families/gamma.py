"""Positive quantities with a shape and a rate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from hidiv.emissions.families.exponential import Exponential
from hidiv.emissions.family import Family, add_columns, check_between, check_density, ratio_of_rows
from hidiv.emissions.gradients import location_slopes
from hidiv.emissions.numerics.climbing import HIGH_LOG, climb
from hidiv.emissions.numerics.deviance import cross, deviance, times
from hidiv.emissions.numerics.exponential_family import renyi_between
from hidiv.emissions.numerics.stirling import bregman, change, remainder, slope
from hidiv.emissions.parameters import SHAPES, positive, same_shape, wide
from hidiv.emissions.registry import FamilyPair, converted, no_gaps, refuse_integral, register
from hidiv.emissions.sample_space import POSITIVE, SampleSpace
from hidiv.emissions.statistics import Statistics
from hidiv.emissions.weighted import Weighted, kept
from hidiv.recursions.curve_rows import RISING, CurveLaws, CurvePair
from hidiv.recursions.terms import h
from hidiv.types import Array, IntArray

SMALL_SHAPE = 1e-4  # of a law whose observations are mostly far above its mean, or as good as 0


@dataclass(frozen=True, eq=False)
class Gamma(Family):
    """Positive quantities with a shape and a rate.

    Parameters
    ----------
    shape : array_like
        (K,), or (K, F) for F independent columns; above 0.
    rate : array_like
        In the shape of `shape`; above 0.

    Raises
    ------
    InvalidModel
        If a parameter has not that shape or range; the message names the entry.

    Notes
    -----
    The density is rate^shape x^(shape-1) exp(-rate x) / Gamma(shape) on x > 0: e_s(x) of definitions (1.1). Shape 1 is
    Exponential, and compares with it.

    Examples
    --------
    >>> round(float(Gamma([1.0], [1.0]).kl(Gamma([1.0], [2.0]))[0]), 15)
    0.306852819440055
    """

    name: ClassVar[str] = "gamma"
    laws_independent: ClassVar[bool] = True
    start: ClassVar[dict[str, float]] = {"shape": 1.0, "rate": 1.0}
    shape: Array  # (K,) or (K, F)
    rate: Array  # the same

    def __init__(self, shape: ArrayLike, rate: ArrayLike) -> None:
        object.__setattr__(self, "shape", positive("shape", shape, span=SHAPES))
        object.__setattr__(self, "rate", positive("rate", rate, span=(1e-200, 1e200)))
        same_shape("rate", self.shape, self.rate)

    def parameters(self) -> dict[str, Array]:
        return {"shape": self.shape, "rate": self.rate}

    @property
    def space(self) -> SampleSpace:
        return POSITIVE

    def check(self, x: Array) -> None:
        check_between(x, self.name, 0.0)
        check_density(x, (x == 0) & (wide(self.shape) < 1).any(axis=0), self.name)

    def log_density(self, x: Array) -> Array:
        a, b, at = wide(self.shape), wide(self.rate), x[:, None, :]
        with np.errstate(divide="ignore", invalid="ignore"):
            value = -deviance(a, b * at) - remainder(a) - np.log(at)
            value = np.where(b * at > 0, value, _log_factor(self) + (a - 1.0) * np.log(at))  # a product that underflows
        return np.where(at == 0, np.where(a > 1, -np.inf, np.where(a == 1, np.log(b), np.inf)), value)

    @cached_property
    def curve_laws(self) -> CurveLaws:
        shape = wide(self.shape)
        return RISING, np.stack([shape, wide(self.rate)], axis=2), -remainder(shape).sum(axis=1)

    def log_mass(self, lower: Array, upper: Array) -> Array:
        from hidiv.emissions.numerics.tails import gamma_tails, log_interval, short_interval

        if np.isposinf(upper).all():  # censored on the right, as lifetimes are: one tail says it all
            return gamma_tails(wide(self.shape), wide(self.rate) * np.maximum(lower, 0.0)[:, None, :])[1]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            low, high, a, b = np.broadcast_arrays(
                np.maximum(lower, 0.0)[:, None, :], upper[:, None, :], wide(self.shape), wide(self.rate)
            )
            width = np.where(high > low, np.log1p((high - low) / low), 0.0)  # of log x
            head = remainder(a)
            # In log x the density is exp(-deviance - head): how far it tilts and bends over the interval.
            short = (width < 3.0) & (b * high * width * width < 4.0) & (np.abs(a - b * low) * width < 10.0)
            start, step = np.where(short, low, 1.0)[..., None], np.where(short, width, 0.0)

            def log_density(t: Array) -> Array:
                return -deviance(a[..., None], b[..., None] * start * np.exp(t)) - head[..., None]

            tails = log_interval(gamma_tails(a, b * low), gamma_tails(a, b * high))
            value = np.where(short, short_interval(log_density, step), tails)
        return np.where(high > low, value, -np.inf)

    def draw(self, states: IntArray, rng: np.random.Generator) -> Array:
        # Small shapes have much mass below the least positive double.
        drawn = rng.standard_gamma(wide(self.shape)[states]) / wide(self.rate)[states]
        return np.maximum(drawn, np.finfo(np.float64).tiny)

    def ranges(self) -> dict[str, str]:
        return {"shape": "positive", "rate": "rate"}

    def estimate(self, known: Weighted) -> Self:
        """rate = shape/mean; shape by its own equation G'(shape) = -(log mean - mean log), G as in stirling.py."""
        mean = known.mean()
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = known.mean_of(h(np.where(known.seen[:, None, :], known.x[:, None, :] / mean, 1.0) - 1.0))
        usable = np.isfinite(gap) & (mean > 0)
        gap, mean = np.where(usable, gap, 1.0), np.where(usable, mean, 1.0)
        start = np.log(wide(self.shape))
        shape = np.exp(
            climb(
                lambda z: -remainder(np.exp(z[0])) - np.exp(z[0]) * gap, start[None], (-HIGH_LOG, HIGH_LOG), rounds=2
            )[0]
        )
        mass = np.where(usable, known.mass, 0.0)
        return type(self)(kept(shape, self.shape, mass), kept(shape / mean, self.rate, mass))

    def log_slopes(self, x: Array) -> dict[str, Array]:
        a, b, at = wide(self.shape), wide(self.rate), x[:, None, :]
        return {"shape": np.log(b * at / a) - slope(a), "rate": a / b - at}

    def mass_slopes(self, lower: Array, upper: Array) -> dict[str, Array]:
        scale = 1.0 / wide(self.rate)
        return {"rate": -scale * scale * location_slopes(self, np.maximum(lower, 0.0), upper, np.zeros(()), scale)[1]}

    def statistics(self) -> Statistics:
        a, b = wide(self.shape), wide(self.rate)
        ones = np.ones((self.n_states, 1))
        constant = a * np.log(b / a) + a - remainder(a)
        return Statistics(
            (self.name, self.n_features),
            np.hstack([slope(a) + np.log(a / b), a / b, ones]),
            np.hstack([a, -b, constant.sum(axis=1, keepdims=True)]),
        )

    def powered(self, exponent: float) -> tuple[Self, Array]:
        shape = 1.0 + exponent * (self.shape - 1.0)
        if not (shape > 0).all():
            refuse_integral(self.name, exponent)
        law = type(self)(shape, exponent * self.rate)
        return law, (exponent * _log_factor(self) - _log_factor(law)).sum(axis=1)


def _log_factor(family: Gamma) -> Array:
    """(K, F): log of what the density is multiplied by."""
    return np.asarray(wide(family.shape) * np.log(wide(family.rate)) - gammaln(wide(family.shape)))


def _factor_size(family: Gamma) -> Array:
    """(K, F): the size of what `_log_factor` subtracts, to which its rounding is in proportion; at least one."""
    shape = wide(family.shape)
    return np.asarray(1.0 + np.abs(shape * np.log(wide(family.rate))) + np.abs(gammaln(shape)))


def natural(family: Gamma) -> Array:
    """(2, K, F): shape and rate."""
    return np.stack([wide(family.shape), wide(family.rate)])


def kl_natural(p: Array, q: Array, step: Array) -> Array:
    """(2, K, F) -> (K, F): the KL by mean and by shape, two non-negative terms.

    With m = shape/rate it is shape_q [m_p/m_q - 1 - log(m_p/m_q)] plus the Bregman divergence of G(a) = log Gamma(a)
    - a log a + a between the shapes: nothing cancels, neither near equality nor for large shapes.
    """
    (a, b), (c, d) = p, q
    across = cross(p, q, step)  # a d - c b
    with np.errstate(over="ignore"):
        return np.asarray(deviance(c, a * (d / b), across / b) + bregman(a, c, step[0]))


def kl(p: Gamma, q: Gamma) -> Array:
    first, second = natural(p), natural(q)
    return np.asarray(kl_natural(first, second, second - first).sum(axis=1))


def renyi(p: Gamma, q: Gamma, alpha: float) -> Array:
    """Infinite where alpha shape_p + (1 - alpha) shape_q <= 0, or the same of the rates: the integral diverges."""
    return np.asarray(renyi_between(kl_natural, natural(p), natural(q), alpha).sum(axis=1))


def tables(p: Gamma, q: Gamma) -> CurvePair:
    """About p's mean, first the shape at equal means, then the mean: no large terms that cancel."""
    first, second = natural(p), natural(q)
    (a, b), (c, d) = first, second
    step, across = c - a, cross(first, second, second - first)
    with np.errstate(all="ignore"):
        constant = -change(a, c, step) - deviance(c, a * (d / b), across / b)
        constant[a < SMALL_SHAPE] = np.nan  # left to `_log_ratio`
        return CurvePair(
            p.curve_laws, q.curve_laws, (np.stack([-step, -across / b], axis=2), np.asarray(constant.sum(axis=1)))
        )


def log_ratio(p: Gamma, q: Gamma, x: Array) -> Array:
    return ratio_of_rows(tables(p, q), lambda known: _log_ratio(p, q, known), x)


def _log_ratio(p: Gamma, q: Gamma, x: Array) -> Array:
    """`log_ratio` of entries that may be missing, out of range, or so far above p's mean that its terms cancel.

    There the textbook form has smaller terms.
    """
    first, second = natural(p), natural(q)
    (a, b), (c, d) = first, second
    step, across = c - a, cross(first, second, second - first)
    at = x[:, None, :] * b / a  # over p's mean
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        off = deviance(np.ones_like(at), at, at - 1.0)
        by_shape, by_mean = times(step, off), c * (at - 1.0) * (across / (c * b))
        terms = -change(a, c, step) - by_shape - (by_mean + deviance(c, a * (d / b), across / b))
        plain = _log_factor(q) - _log_factor(p) + step * np.log(x)[:, None, :] - (d - b) * x[:, None, :]
        size = _factor_size(p) + _factor_size(q)
        size = size + np.abs(step * np.log(x)[:, None, :]) + np.abs((d - b) * x[:, None, :])
        cancels = np.isfinite(plain) & ~(np.abs(by_shape) + np.abs(by_mean) <= size)
    return add_columns(np.where(cancels, plain, terms), x)


def of_exponential(family: Exponential) -> Gamma:
    """The gamma law of shape one."""
    return Gamma(np.ones_like(family.rate), family.rate)


def stretches(p: Gamma, q: Gamma, lower: Array, upper: Array) -> list[Any]:
    from hidiv.emissions.evidence.coordinates import Rising, first, half_line, on_points

    laws = [Rising(first(law.shape), first(law.rate)) for law in (p, q)]
    return [half_line(laws[0], laws[1], on_points(p, q)[1], lower, upper)]


_PAIR = FamilyPair(kl, renyi, log_ratio, no_gaps, stretches, tables=tables)
register(Gamma, Gamma, _PAIR)
register(Exponential, Gamma, converted(_PAIR, p=of_exponential))
register(Gamma, Exponential, converted(_PAIR, q=of_exponential))
