"""Counts with equal mean and variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from hidiv.emissions.family import add_columns, check_whole
from hidiv.emissions.numerics.deviance import deviance, power_gap, times
from hidiv.emissions.numerics.stirling import factorial_remainder, log_step
from hidiv.emissions.parameters import RESCALE, reading, require, wide
from hidiv.emissions.registry import FamilyPair, register
from hidiv.emissions.sample_space import COUNTS, SampleSpace
from hidiv.emissions.shifted import Shifted, count_gaps, shifted_pair
from hidiv.emissions.statistics import Statistics
from hidiv.emissions.weighted import Weighted, kept
from hidiv.types import Array, IntArray

LARGEST_DRAW = 1e15  # of a mean: above it whole numbers leave no trace in a double, and a normal law is drawn


@dataclass(frozen=True, eq=False, repr=False)
class Poisson(Shifted):
    """Counts whose mean and variance are equal.

    Parameters
    ----------
    rate : array_like
        The mean less the shift, (K,), or (K, F) for F independent columns; at least 0, where 0 is the law that only
        gives the shift.
    shift : array_like, optional
        The least count, 0 unless given: a whole number, one a state, or in the shape of `rate`. Fits keep it.

    Raises
    ------
    InvalidModel
        If a parameter has not that shape or range; the message names the entry.

    Notes
    -----
    P(X = shift + x | S = s) = exp(-rate) rate^x / x!: e_s of definitions (1.1).

    Examples
    --------
    >>> float(Poisson([1.0]).kl(Poisson([2.0]))[0])
    0.3068528194400547
    """

    name: ClassVar[str] = "poisson"
    laws_independent: ClassVar[bool] = True
    start: ClassVar[dict[str, float]] = {"rate": 1.0}
    rate: Array  # (K,) or (K, F); 0 is the law that gives nothing but the shift
    shift: Array  # the same, whole numbers

    def __init__(self, rate: ArrayLike, shift: ArrayLike = 0) -> None:
        object.__setattr__(self, "rate", reading("rate", rate, (1, 2)))
        require("rate", self.rate, self.rate >= 0, "cannot be negative")
        require("rate", self.rate, self.rate <= 1e300, "must be at most 1e300", RESCALE)
        self.keep_shift(shift, self.rate)

    def parameters(self) -> dict[str, Array]:
        return {"rate": self.rate}

    @property
    def space(self) -> SampleSpace:
        return COUNTS

    def modes(self) -> Array:
        return np.floor(wide(self.rate))

    def support(self) -> tuple[Array, Array]:
        rate = wide(self.rate)
        return np.zeros_like(rate), np.where(rate > 0, np.inf, 0.0)

    def check(self, x: Array) -> None:
        check_whole(x, self.name)

    def log_density(self, x: Array) -> Array:
        # x log(rate) - rate - log x! as minus a deviance, so that large counts keep their digits.
        return np.asarray(-deviance(x[:, None, :], wide(self.rate)) - factorial_remainder(x)[:, None, :])

    def log_mass(self, lower: Array, upper: Array) -> Array:
        from hidiv.emissions.numerics.tails import Tails, gamma_tails, log_counts

        low, high, rate = np.broadcast_arrays(lower[:, None, :], upper[:, None, :], wide(self.rate))

        def log_p(k: Array) -> Array:
            return np.asarray(-deviance(k, rate) - factorial_remainder(k))

        def tails(k: Array) -> Tails:
            at_least, below = gamma_tails(k, rate)
            return below, at_least

        return log_counts(log_p, tails, low, high)

    def draw(self, states: IntArray, rng: np.random.Generator) -> Array:
        return draw_poisson(wide(self.rate)[states], rng)

    def ranges(self) -> dict[str, str]:
        return {"rate": "length"}

    def estimate(self, known: Weighted) -> Self:
        return type(self)(kept(known.mean(), self.rate, known.mass))

    def log_slopes(self, x: Array) -> dict[str, Array]:
        rate = wide(self.rate)
        return {"rate": np.where(rate > 0, x[:, None, :] / np.where(rate > 0, rate, 1.0) - 1.0, 0.0)}

    def mass_slopes(self, lower: Array, upper: Array) -> dict[str, Array]:
        """The probability of the count before the first, less that of the last, over that of the interval."""
        mass, first, last = self.log_mass(lower, upper), np.ceil(lower), np.floor(upper)
        before = np.exp(self.log_density(np.maximum(first - 1.0, 0.0)) - mass)
        at_last = np.exp(self.log_density(np.where(np.isfinite(last), last, 0.0)) - mass)
        gain = np.where((first > 0)[:, None, :], before, 0.0) - np.where(np.isfinite(last)[:, None, :], at_last, 0.0)
        return {"rate": np.where(wide(self.rate) > 0, gain, 0.0)}

    def statistics(self) -> Statistics:
        rate = wide(self.rate)
        with np.errstate(divide="ignore"):
            natural = np.hstack([np.log(rate), -rate.sum(axis=1, keepdims=True)])
        return Statistics((self.name, self.n_features), np.hstack([rate, np.ones((self.n_states, 1))]), natural)


def draw_poisson(rate: Array, rng: np.random.Generator) -> Array:
    """One count for every rate."""
    small = np.minimum(rate, LARGEST_DRAW)
    drawn = np.asarray(rng.poisson(small), dtype=np.float64)
    if (rate > small).any():
        normal = np.rint(rate + np.sqrt(rate) * rng.standard_normal(rate.shape))
        drawn = np.where(rate > small, normal, drawn)
    return drawn


def kl(p: Poisson, q: Poisson) -> Array:
    return np.asarray(deviance(wide(p.rate), wide(q.rate)).sum(axis=1))


def renyi(p: Poisson, q: Poisson, alpha: float) -> Array:
    a, b = wide(p.rate), wide(q.rate)
    return np.asarray((power_gap(a, b, b - a, alpha) / (1.0 - alpha)).sum(axis=1) + 0.0)


def log_ratio(p: Poisson, q: Poisson, x: Array) -> Array:
    a, b = wide(p.rate), wide(q.rate)
    at, log = x[:, None, :], log_step(a, b, b - a)
    # About the mean, so that large rates keep their digits; at a rate of 0 the log is infinite.
    with np.errstate(invalid="ignore"):
        terms = np.where(np.isfinite(log), times(at - a, log) - deviance(a, b), times(at, log) - (b - a))
    return add_columns(terms, x)


register(Poisson, Poisson, shifted_pair(FamilyPair(kl, renyi, log_ratio, count_gaps)))
