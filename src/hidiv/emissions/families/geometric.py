"""Failures before the first success."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from hidiv.emissions.family import add_columns, check_whole
from hidiv.emissions.numerics import bits
from hidiv.emissions.numerics.bits import Bits
from hidiv.emissions.numerics.deviance import times
from hidiv.emissions.parameters import proportions, require, wide
from hidiv.emissions.registry import FamilyPair, register
from hidiv.emissions.sample_space import COUNTS, SampleSpace
from hidiv.emissions.shifted import Shifted, count_gaps, shifted_pair
from hidiv.emissions.statistics import Statistics
from hidiv.emissions.weighted import Weighted, kept
from hidiv.types import Array, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class Geometric(Shifted):
    """Failures before the first success, counted from 0 or from a shift.

    Parameters
    ----------
    prob : array_like
        The probability of a success, (K,), or (K, F) for F independent columns; above 0, at most 1.
    shift : array_like, optional
        The least count, 0 unless given: a whole number, one a state, or in the shape of `prob`. Fits keep it.

    Raises
    ------
    InvalidModel
        If a parameter has not that shape or range; the message names the entry.

    Notes
    -----
    P(X = shift + x | S = s) = prob (1 - prob)^x: e_s of definitions (1.1). It is NegativeBinomial of size 1, and
    compares with it.

    Examples
    --------
    >>> round(float(Geometric([0.5]).kl(Geometric([0.75]))[0]), 15)
    0.287682072451781
    """

    name: ClassVar[str] = "geometric"
    laws_independent: ClassVar[bool] = True
    start: ClassVar[dict[str, float]] = {"prob": 0.5}
    prob: Array  # (K,) or (K, F)
    shift: Array  # the same, whole numbers

    def __init__(self, prob: ArrayLike, shift: ArrayLike = 0) -> None:
        object.__setattr__(self, "prob", success("prob", prob))
        self.keep_shift(shift, self.prob)

    def parameters(self) -> dict[str, Array]:
        return {"prob": self.prob}

    @property
    def space(self) -> SampleSpace:
        return COUNTS

    def modes(self) -> Array:
        return np.zeros_like(wide(self.prob))

    def support(self) -> tuple[Array, Array]:
        prob = wide(self.prob)
        return np.zeros_like(prob), np.where(prob < 1, np.inf, 0.0)

    def check(self, x: Array) -> None:
        check_whole(x, self.name)

    def log_density(self, x: Array) -> Array:
        one, zero = bits.log_bits(bits.bits(wide(self.prob)))
        return np.asarray(one + times(x[:, None, :], zero))

    def log_mass(self, lower: Array, upper: Array) -> Array:
        from hidiv.emissions.numerics.tails import log_one_less

        first, last = np.maximum(np.ceil(lower), 0.0)[:, None, :], np.floor(upper)[:, None, :]
        zero = bits.log_bits(bits.bits(wide(self.prob))).zero
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            number = np.maximum(last - first + 1.0, 0.0)
            value = times(first, zero) + log_one_less(-(number * zero))
        return np.where(number > 0, value, -np.inf)

    def draw(self, states: IntArray, rng: np.random.Generator) -> Array:
        zero = bits.log_bits(bits.bits(wide(self.prob))).zero[states]
        return np.floor(rng.standard_exponential(zero.shape) / -zero)

    def ranges(self) -> dict[str, str]:
        return {"prob": "unit"}

    def estimate(self, known: Weighted) -> Self:
        return type(self)(kept(1.0 / (1.0 + known.mean()), self.prob, known.mass))

    def log_slopes(self, x: Array) -> dict[str, Array]:
        return {"prob": bits.slope_of_bits(np.ones(()), x[:, None, :], wide(self.prob))}

    def statistics(self) -> Statistics:
        p = bits.bits(wide(self.prob))
        one, zero = bits.log_bits(p)
        expected = np.hstack([p.zero / p.one, np.ones((self.n_states, 1))])
        return Statistics((self.name, self.n_features), expected, np.hstack([zero, one.sum(axis=1, keepdims=True)]))

    def powered(self, exponent: float) -> tuple[Self, Array]:
        one, zero = bits.log_bits(bits.bits(self.prob))
        prob = -np.expm1(exponent * zero)
        return type(self)(prob), wide(exponent * one - np.log(prob)).sum(axis=1)


def success(place: str, value: ArrayLike) -> Array:
    """Probabilities of a success that comes in the end."""
    prob = proportions(place, value)
    require(place, prob, prob > 0, "must be above 0", "a success that never comes has no count of failures before it")
    return prob


def renyi_failures(p: Bits, q: Bits, alpha: float) -> Array:
    """Renyi divergence of the failures before one success; +inf where p^alpha q^(1-alpha) of a failure reaches one.

    Z = u / (1 - w), u and w that of a success and of a failure: -log Z = log1p(defect / u).
    """
    p, q, d = bits.lifted(p, q, bits.step(p, q))
    log_u, log_w = bits.log_powers(p, q, alpha)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        excess = bits.defect(p, q, d, alpha) / np.exp(log_u)
        far = np.log(-np.expm1(log_w)) - log_u
        value = np.where(np.abs(excess) < 0.5, np.log1p(excess), far) / (1.0 - alpha)
    return np.where(log_w >= 0, np.inf, value)


def kl(p: Geometric, q: Geometric) -> Array:
    first, second = bits.bits(wide(p.prob)), bits.bits(wide(q.prob))
    return np.asarray(bits.kl_failures(first, second, bits.step(first, second)).sum(axis=1))


def renyi(p: Geometric, q: Geometric, alpha: float) -> Array:
    return np.asarray(renyi_failures(bits.bits(wide(p.prob)), bits.bits(wide(q.prob)), alpha).sum(axis=1))


def log_ratio(p: Geometric, q: Geometric, x: Array) -> Array:
    first, second = bits.bits(wide(p.prob)), bits.bits(wide(q.prob))
    one, zero = bits.log_ratio(first, second, bits.step(first, second))
    return add_columns(one + times(x[:, None, :], zero), x)


register(Geometric, Geometric, shifted_pair(FamilyPair(kl, renyi, log_ratio, count_gaps)))
