"""Successes out of a number of trials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from hidiv.emissions.families.bernoulli import Bernoulli, bits_renyi
from hidiv.emissions.family import add_columns, check_whole
from hidiv.emissions.numerics import bits
from hidiv.emissions.numerics.binomial_trials import kl_trials, log_pmf, ratio_trials, renyi_trials
from hidiv.emissions.numerics.bits import Bits
from hidiv.emissions.numerics.deviance import times
from hidiv.emissions.parameters import counts, proportions, same_shape, wide
from hidiv.emissions.registry import FamilyPair, converted, register
from hidiv.emissions.sample_space import SampleSpace, counts_up_to
from hidiv.emissions.shifted import Shifted, count_gaps, shifted_pair
from hidiv.emissions.statistics import Statistics
from hidiv.emissions.weighted import Weighted, kept
from hidiv.types import Array, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class Binomial(Shifted):
    """Successes out of a number of trials.

    Parameters
    ----------
    trials : array_like
        Whole numbers from 0, (K,), or (K, F) for F independent columns.
    prob : array_like
        The probability of a success, from 0 to 1, in the shape of `trials`.
    shift : array_like, optional
        The least count, 0 unless given: a whole number, one a state, or in the shape of `trials`. Fits keep it.

    Raises
    ------
    InvalidModel
        If a parameter has not that shape or range; the message names the entry.

    Notes
    -----
    P(X = shift + x | S = s) = C(trials, x) prob^x (1-prob)^(trials-x): e_s of definitions (1.1), counts from shift to
    shift + trials. One trial is Bernoulli, and compares with it.

    Examples
    --------
    >>> round(float(Binomial([2], [0.5]).kl(Binomial([2], [0.75]))[0]), 15)
    0.287682072451781
    """

    name: ClassVar[str] = "binomial"
    needs: ClassVar[str] = "its trials"
    template: ClassVar[str] = "hd.Binomial([10], [0.5])"
    trials: Array  # (K,) or (K, F), whole numbers
    prob: Array  # the same shape
    shift: Array  # the same, whole numbers

    def __init__(self, trials: ArrayLike, prob: ArrayLike, shift: ArrayLike = 0) -> None:
        object.__setattr__(self, "trials", counts("trials", trials))
        object.__setattr__(self, "prob", proportions("prob", prob))
        same_shape("prob", self.trials, self.prob)
        self.keep_shift(shift, self.trials)

    def parameters(self) -> dict[str, Array]:
        return {"trials": self.trials, "prob": self.prob}

    @property
    def space(self) -> SampleSpace:
        return counts_up_to(float(self.last_counts().max()))

    def modes(self) -> Array:
        trials = wide(self.trials)
        return np.minimum(np.floor((trials + 1.0) * wide(self.prob)), trials)

    def support(self) -> tuple[Array, Array]:
        trials, prob = wide(self.trials), wide(self.prob)
        return np.where(prob == 1, trials, 0.0), np.where(prob == 0, 0.0, trials)

    def last_counts(self) -> Array:
        return wide(self.trials)

    def check(self, x: Array) -> None:
        check_whole(x, self.name, self.space.most)

    def log_density(self, x: Array) -> Array:
        return log_pmf(x[:, None, :], wide(self.trials), trial(self))

    def log_mass(self, lower: Array, upper: Array) -> Array:
        from hidiv.emissions.numerics.tails import Tails, beta_tails, log_counts

        low, high, n, one, zero = np.broadcast_arrays(
            lower[:, None, :], upper[:, None, :], wide(self.trials), *trial(self)
        )

        def tails(k: Array) -> Tails:
            at_least, below = beta_tails(k, n - k + 1.0, one, zero)
            return below, at_least

        return log_counts(lambda k: log_pmf(k, n, Bits(one, zero)), tails, low, high, n)

    def draw(self, states: IntArray, rng: np.random.Generator) -> Array:
        drawn = rng.binomial(wide(self.trials)[states].astype(np.int64), wide(self.prob)[states])
        return np.asarray(drawn, dtype=np.float64)

    def ranges(self) -> dict[str, str]:
        return {"trials": "fixed", "prob": "unit"}

    def estimate(self, known: Weighted) -> Self:
        with np.errstate(divide="ignore", invalid="ignore"):
            share = known.mean() / wide(self.trials)
        return type(self)(self.trials, np.clip(kept(share, self.prob, known.mass), 0.0, 1.0))

    def log_slopes(self, x: Array) -> dict[str, Array]:
        at = x[:, None, :]
        return {"prob": bits.slope_of_bits(at, wide(self.trials) - at, wide(self.prob))}

    def statistics(self) -> Statistics:
        """Only laws with the same trials make one exponential family: the trials are in the key."""
        p, n = trial(self), wide(self.trials)
        key = (self.name, self.n_features, tuple(n.ravel().tolist()))
        return Statistics(key, np.hstack([n * p.one, n * p.zero]), np.hstack(bits.log_bits(p)))


def trial(family: Binomial) -> Bits:
    """(K, F): probabilities of a success and of a failure."""
    return bits.bits(wide(family.prob))


def _one(both: Bits, i: tuple[np.int64, ...]) -> Bits:
    """The trial of one state and column."""
    return Bits(both.one[i], both.zero[i])


def kl(p: Binomial, q: Binomial) -> Array:
    """Infinite where p can have more successes than q has trials."""
    first, second, n, m = trial(p), trial(q), wide(p.trials), wide(q.trials)
    value = times(n, bits.kl(first, second, bits.step(first, second)))
    for i in zip(*np.nonzero(n != m), strict=True):
        value[i] = kl_trials(n[i], _one(first, i), m[i], _one(second, i))
    return np.asarray(value.sum(axis=1))


def renyi(p: Binomial, q: Binomial, alpha: float) -> Array:
    first, second, n, m = trial(p), trial(q), wide(p.trials), wide(q.trials)
    value = times(n, bits_renyi(first, second, alpha))
    for i in zip(*np.nonzero(n != m), strict=True):
        value[i] = renyi_trials(n[i], _one(first, i), m[i], _one(second, i), alpha)
    return np.asarray(value.sum(axis=1))


def log_ratio(p: Binomial, q: Binomial, x: Array) -> Array:
    first, second, n, m = trial(p), trial(q), wide(p.trials), wide(q.trials)
    d, at = bits.step(first, second), x[:, None, :]
    one, zero = bits.log_ratio(first, second, d)
    # About the mean, so that many trials keep their digits; where an outcome is sure a log is infinite.
    with np.errstate(invalid="ignore"):
        near = (at - n * first.one) * (one - zero) - n * bits.kl(first, second, d)
        sure = np.nan_to_num(times(at, one) + times(n - at, zero), nan=0.0, posinf=np.inf, neginf=-np.inf)
        terms = np.where(np.isfinite(one) & np.isfinite(zero), near, sure)
    for i, j in zip(*np.nonzero((n != m) | (n < x.max(axis=0, initial=0.0))), strict=True):
        terms[:, i, j] = ratio_trials(x[:, j], n[i, j], _one(first, (i, j)), m[i, j], _one(second, (i, j)))
    return add_columns(terms, x)


def of_bernoulli(family: Bernoulli) -> Binomial:
    """The same law as successes out of one trial."""
    return Binomial(np.ones_like(family.probs), family.probs)


_PAIR = shifted_pair(FamilyPair(kl, renyi, log_ratio, count_gaps))
register(Binomial, Binomial, _PAIR)
register(Bernoulli, Binomial, converted(_PAIR, p=of_bernoulli))
register(Binomial, Bernoulli, converted(_PAIR, q=of_bernoulli))
