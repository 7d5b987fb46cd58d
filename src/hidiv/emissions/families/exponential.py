"""Waiting times without memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from hidiv.emissions.family import Family, add_columns, check_between, ratio_of_rows
from hidiv.emissions.numerics.deviance import deviance
from hidiv.emissions.numerics.exponential_family import renyi_between
from hidiv.emissions.parameters import positive, wide
from hidiv.emissions.registry import FamilyPair, no_gaps, register
from hidiv.emissions.sample_space import POSITIVE, SampleSpace
from hidiv.emissions.statistics import Statistics
from hidiv.emissions.weighted import Weighted, kept
from hidiv.recursions.curve_rows import FALLING, CurveLaws, CurvePair
from hidiv.types import Array, IntArray


@dataclass(frozen=True, eq=False)
class Exponential(Family):
    """Waiting times without memory.

    Parameters
    ----------
    rate : array_like
        One over the mean, (K,), or (K, F) for F independent columns; above 0.

    Raises
    ------
    InvalidModel
        If a parameter has not that shape or range; the message names the entry.

    Notes
    -----
    The density is rate exp(-rate x) on x >= 0: e_s(x) of definitions (1.1). Compares with Gamma: it is shape 1.

    Examples
    --------
    >>> float(Exponential([1.0]).kl(Exponential([2.0]))[0])
    0.3068528194400547
    """

    name: ClassVar[str] = "exponential"
    laws_independent: ClassVar[bool] = True
    start: ClassVar[dict[str, float]] = {"rate": 1.0}
    rate: Array  # (K,) or (K, F)

    def __init__(self, rate: ArrayLike) -> None:
        object.__setattr__(self, "rate", positive("rate", rate))

    def parameters(self) -> dict[str, Array]:
        return {"rate": self.rate}

    @property
    def space(self) -> SampleSpace:
        return POSITIVE

    def check(self, x: Array) -> None:
        check_between(x, self.name, 0.0)

    def log_density(self, x: Array) -> Array:
        return np.asarray(np.log(wide(self.rate)) - wide(self.rate) * x[:, None, :])

    @cached_property
    def curve_laws(self) -> CurveLaws:
        rate = wide(self.rate)
        return FALLING, np.stack([rate, np.zeros_like(rate)], axis=2), np.log(rate).sum(axis=1)

    def log_mass(self, lower: Array, upper: Array) -> Array:
        from hidiv.emissions.numerics.tails import log_one_less

        low = np.maximum(lower, 0.0)[:, None, :]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            width = np.maximum(upper[:, None, :] - low, 0.0)
            value = log_one_less(wide(self.rate) * width) - wide(self.rate) * low
        return np.where(width > 0, value, -np.inf)

    def draw(self, states: IntArray, rng: np.random.Generator) -> Array:
        rate = wide(self.rate)[states]
        return np.asarray(rng.standard_exponential(rate.shape) / rate)

    def ranges(self) -> dict[str, str]:
        return {"rate": "rate"}

    def estimate(self, known: Weighted) -> Self:
        mean = np.maximum(known.mean(), np.minimum(known.smallest, 1.0 / wide(self.rate)))
        return type(self)(kept(1.0 / mean, self.rate, known.mass))

    def log_slopes(self, x: Array) -> dict[str, Array]:
        return {"rate": 1.0 / wide(self.rate) - x[:, None, :]}

    def mass_slopes(self, lower: Array, upper: Array) -> dict[str, Array]:
        """With d the width: d / (exp(rate d) - 1) less the lower end."""
        low = np.maximum(lower, 0.0)[:, None, :]
        width = upper[:, None, :] - low
        stretched = wide(self.rate) * width
        gain = np.where(np.isinf(width), 0.0, width / np.expm1(np.minimum(stretched, 700.0)))
        return {"rate": gain - low}

    def statistics(self) -> Statistics:
        rate = wide(self.rate)
        natural = np.hstack([-rate, np.log(rate).sum(axis=1, keepdims=True)])
        return Statistics((self.name, self.n_features), np.hstack([1.0 / rate, np.ones((self.n_states, 1))]), natural)

    def powered(self, exponent: float) -> tuple[Self, Array]:
        log_norm = (exponent - 1.0) * np.log(wide(self.rate)) - np.log(exponent)
        return type(self)(exponent * self.rate), log_norm.sum(axis=1)


def kl_rates(p: Array, q: Array, step: Array) -> Array:
    """(1, K, F) rates -> (K, F): log(p/q) + q/p - 1."""
    return deviance(np.ones_like(p[0]), q[0] / p[0], step[0] / p[0])


def kl(p: Exponential, q: Exponential) -> Array:
    a, b = wide(p.rate)[None], wide(q.rate)[None]
    return np.asarray(kl_rates(a, b, b - a).sum(axis=1))


def renyi(p: Exponential, q: Exponential, alpha: float) -> Array:
    """Infinite where alpha rate_p + (1 - alpha) rate_q <= 0: the integral diverges."""
    return np.asarray(renyi_between(kl_rates, wide(p.rate)[None], wide(q.rate)[None], alpha).sum(axis=1))


def tables(p: Exponential, q: Exponential) -> CurvePair:
    """The log-ratio is linear in x: minus the divergence at p's mean."""
    a, b = wide(p.rate), wide(q.rate)
    with np.errstate(all="ignore"):
        slope = (a - b) / a
        constant = -kl_rates(a[None], b[None], (b - a)[None]).sum(axis=1)
    return CurvePair(p.curve_laws, q.curve_laws, (np.stack([slope, np.zeros_like(slope)], axis=2), constant))


def log_ratio(p: Exponential, q: Exponential, x: Array) -> Array:
    return ratio_of_rows(tables(p, q), lambda known: _log_ratio(p, q, known), x)


def _log_ratio(p: Exponential, q: Exponential, x: Array) -> Array:
    """`log_ratio` of entries that may be missing or out of range."""
    a, b = wide(p.rate), wide(q.rate)
    relative = (b - a) / a
    return add_columns((1.0 - a * x[:, None, :]) * relative - kl_rates(a[None], b[None], (b - a)[None]), x)


def stretches(p: Exponential, q: Exponential, lower: Array, upper: Array) -> list[Any]:
    from hidiv.emissions.evidence.coordinates import Rising, first, half_line, on_points

    laws = [Rising(1.0, first(law.rate)) for law in (p, q)]
    return [half_line(laws[0], laws[1], on_points(p, q)[1], lower, upper)]


register(Exponential, Exponential, FamilyPair(kl, renyi, log_ratio, no_gaps, stretches, tables=tables))
