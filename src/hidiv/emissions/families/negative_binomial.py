"""Failures before a number of successes, whole or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from hidiv.emissions.families.geometric import Geometric, renyi_failures, success
from hidiv.emissions.families.poisson import draw_poisson
from hidiv.emissions.family import add_columns, check_whole
from hidiv.emissions.numerics import bits
from hidiv.emissions.numerics.bits import Bits
from hidiv.emissions.numerics.climbing import HIGH_LOG, climb
from hidiv.emissions.numerics.deviance import times
from hidiv.emissions.numerics.negative_binomial_sizes import kl_sizes, log_pmf, ratio_sizes, renyi_sizes
from hidiv.emissions.numerics.stirling import slope_rise
from hidiv.emissions.parameters import SHAPES, positive, same_shape, wide
from hidiv.emissions.registry import FamilyPair, converted, register
from hidiv.emissions.sample_space import COUNTS, SampleSpace
from hidiv.emissions.shifted import Shifted, count_gaps, shifted_pair
from hidiv.emissions.statistics import Statistics
from hidiv.emissions.weighted import Weighted, kept
from hidiv.types import Array, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class NegativeBinomial(Shifted):
    """Failures before a number of successes: counts that vary more than Poisson's.

    Parameters
    ----------
    size : array_like
        The number of successes, (K,), or (K, F) for F independent columns; above 0, need not be whole.
    prob : array_like
        The probability of a success, above 0 and at most 1, in the shape of `size`.
    shift : array_like, optional
        The least count, 0 unless given: a whole number, one a state, or in the shape of `size`. Fits keep it.

    Raises
    ------
    InvalidModel
        If a parameter has not that shape or range; the message names the entry.

    Notes
    -----
    P(X = shift + x | S = s) = Gamma(size+x) / (Gamma(size) x!) prob^size (1-prob)^x: e_s of definitions (1.1). The mean
    is shift + size (1-prob)/prob. Size 1 is Geometric, and compares with it.

    Examples
    --------
    >>> round(float(NegativeBinomial([2.0], [0.5]).kl(NegativeBinomial([2.0], [0.75]))[0]), 15)
    0.575364144903562
    """

    name: ClassVar[str] = "negative_binomial"
    laws_independent: ClassVar[bool] = True
    start: ClassVar[dict[str, float]] = {"size": 1.0, "prob": 0.5}
    size: Array  # (K,) or (K, F)
    prob: Array  # the same
    shift: Array  # the same, whole numbers

    def __init__(self, size: ArrayLike, prob: ArrayLike, shift: ArrayLike = 0) -> None:
        object.__setattr__(self, "size", positive("size", size, span=SHAPES))
        object.__setattr__(self, "prob", success("prob", prob))
        same_shape("prob", self.size, self.prob)
        self.keep_shift(shift, self.size)

    def parameters(self) -> dict[str, Array]:
        return {"size": self.size, "prob": self.prob}

    @property
    def space(self) -> SampleSpace:
        return COUNTS

    def modes(self) -> Array:
        size, prob = wide(self.size), wide(self.prob)
        return np.floor(np.maximum(size - 1.0, 0.0) * (1.0 - prob) / prob)

    def support(self) -> tuple[Array, Array]:
        prob = wide(self.prob)
        return np.zeros_like(prob), np.where(prob < 1, np.inf, 0.0)

    def check(self, x: Array) -> None:
        check_whole(x, self.name)

    def log_density(self, x: Array) -> Array:
        return log_pmf(x[:, None, :], wide(self.size), trial(self))

    def log_mass(self, lower: Array, upper: Array) -> Array:
        from hidiv.emissions.numerics.tails import Tails, beta_tails, log_counts

        low, high, size, one, zero = np.broadcast_arrays(
            lower[:, None, :], upper[:, None, :], wide(self.size), *trial(self)
        )

        def tails(k: Array) -> Tails:
            at_least, below = beta_tails(k, size, zero, one)
            return below, at_least

        return log_counts(lambda k: log_pmf(k, size, Bits(one, zero)), tails, low, high)

    def draw(self, states: IntArray, rng: np.random.Generator) -> Array:
        one, zero = (part[states] for part in trial(self))
        odds, drawn = zero / one, rng.standard_gamma(wide(self.size)[states])
        # Odds that no double holds, of a number so small that it is drawn as 0.
        return draw_poisson(np.where(odds < np.inf, drawn * odds, drawn * zero / one), rng)

    def ranges(self) -> dict[str, str]:
        return {"size": "positive", "prob": "unit"}

    def estimate(self, known: Weighted) -> Self:
        """prob = size / (size + mean); the size by climbing what is left."""
        mean = known.mean()
        mean = np.where(np.isfinite(mean), mean, 1.0)

        def built(size: Array) -> NegativeBinomial:
            prob = size / (size + mean)
            return NegativeBinomial(kept(size, self.size, known.mass), kept(prob, self.prob, known.mass))

        def value(z: Array) -> Array:
            return known.mean_of(built(np.exp(z[0])).log_density(known.x))

        start = np.log(wide(self.size))[None]
        return type(self)(**built(np.exp(climb(value, start, (-HIGH_LOG, HIGH_LOG), rounds=1)[0])).parameters())

    def log_slopes(self, x: Array) -> dict[str, Array]:
        size, prob, at = wide(self.size), wide(self.prob), x[:, None, :]
        one = bits.log_bits(trial(self)).one
        # digamma(x + size) - digamma(size) + log prob
        grown = np.where(at > 0, np.log1p(at / size) + slope_rise(size, at), 0.0)
        return {"size": grown + one, "prob": bits.slope_of_bits(size, at, prob)}

    def statistics(self) -> Statistics:
        """Only laws with the same sizes make one exponential family: the sizes are in the key."""
        p, size = trial(self), wide(self.size)
        one, zero = bits.log_bits(p)
        expected = np.hstack([size * p.zero / p.one, np.ones((self.n_states, 1))])
        key = (self.name, self.n_features, tuple(size.ravel().tolist()))
        return Statistics(key, expected, np.hstack([zero, (size * one).sum(axis=1, keepdims=True)]))


def trial(family: NegativeBinomial) -> Bits:
    """(K, F): probabilities of a success and of a failure."""
    return bits.bits(wide(family.prob))


def kl(p: NegativeBinomial, q: NegativeBinomial) -> Array:
    first, second, r, s = trial(p), trial(q), wide(p.size), wide(q.size)
    value = r * bits.kl_failures(first, second, bits.step(first, second))
    for i in zip(*np.nonzero(r != s), strict=True):
        value[i] = kl_sizes(r[i], _one(first, i), s[i], _one(second, i))
    return np.asarray(value.sum(axis=1))


def renyi(p: NegativeBinomial, q: NegativeBinomial, alpha: float) -> Array:
    first, second, r, s = trial(p), trial(q), wide(p.size), wide(q.size)
    value = r * renyi_failures(first, second, alpha)
    for i in zip(*np.nonzero(r != s), strict=True):
        value[i] = renyi_sizes(r[i], _one(first, i), s[i], _one(second, i), alpha)
    return np.asarray(value.sum(axis=1))


def _one(both: Bits, i: tuple[np.int64, ...]) -> Bits:
    """The trial of one state and column."""
    return Bits(both.one[i], both.zero[i])


def log_ratio(p: NegativeBinomial, q: NegativeBinomial, x: Array) -> Array:
    first, second, r, s = trial(p), trial(q), wide(p.size), wide(q.size)
    d = bits.step(first, second)
    one, zero = bits.log_ratio(first, second, d)
    at, mean = x[:, None, :], r * first.zero / first.one
    # About the mean, so that large sizes keep their digits; where a success is sure the log is infinite.
    with np.errstate(invalid="ignore"):
        terms = np.where(
            np.isfinite(zero),
            times(at - mean, zero) - r * bits.kl_failures(first, second, d),
            r * one + times(at, zero),
        )
    for i, j in zip(*np.nonzero(r != s), strict=True):
        terms[:, i, j] = ratio_sizes(x[:, j], r[i, j], _one(first, (i, j)), s[i, j], _one(second, (i, j)))
    return add_columns(terms, x)


def of_geometric(family: Geometric) -> NegativeBinomial:
    """The same law as failures before one success."""
    return NegativeBinomial(np.ones_like(family.prob), family.prob, family.shift)


_PAIR = shifted_pair(FamilyPair(kl, renyi, log_ratio, count_gaps))
register(NegativeBinomial, NegativeBinomial, _PAIR)
register(Geometric, NegativeBinomial, converted(_PAIR, p=of_geometric))
register(NegativeBinomial, Geometric, converted(_PAIR, q=of_geometric))
