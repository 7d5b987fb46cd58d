"""Zeros and ones, one or several independent bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hidiv.emissions.families.categorical import Categorical
from hidiv.emissions.family import Family, add_columns, check_whole
from hidiv.emissions.numerics import bits
from hidiv.emissions.numerics.bits import Bits
from hidiv.emissions.parameters import outer_rows, proportions, wide
from hidiv.emissions.registry import FamilyPair, register
from hidiv.emissions.sample_space import BIT, SampleSpace
from hidiv.emissions.statistics import Statistics
from hidiv.emissions.weighted import Weighted, kept
from hidiv.errors import IncompatibleModels, refuse
from hidiv.recursions.terms import renyi_of
from hidiv.types import Array, IntArray


@dataclass(frozen=True, eq=False)
class Bernoulli(Family):
    """Zeros and ones.

    Parameters
    ----------
    probs : array_like
        The probability of a one, (K,), or (K, F) for F independent columns.

    Raises
    ------
    InvalidModel
        If a parameter has not that shape or range; the message names the entry.

    Notes
    -----
    P(X = 1 | S = s) = probs[s]: e_s(x) of definitions (1.1). Compares with Binomial, and with Categorical of 2 symbols.

    Examples
    --------
    >>> float(Bernoulli([0.5]).kl(Bernoulli([0.75]))[0])
    0.14384103622589045
    """

    name: ClassVar[str] = "bernoulli"
    start: ClassVar[dict[str, float]] = {"probs": 0.5}
    probs: Array  # (K,) or (K, F)

    def __init__(self, probs: ArrayLike) -> None:
        object.__setattr__(self, "probs", proportions("probs", probs))

    def parameters(self) -> dict[str, Array]:
        return {"probs": self.probs}

    @property
    def space(self) -> SampleSpace:
        return BIT

    def symbol_table(self) -> Array:
        return outer_rows([np.stack([1.0 - ones, ones], axis=1) for ones in wide(self.probs).T])

    def modes(self) -> Array:
        return np.asarray(wide(self.probs) >= 0.5, dtype=np.float64)

    def last_counts(self) -> Array:
        return np.ones_like(wide(self.probs))

    def check(self, x: Array) -> None:
        check_whole(x, self.name, 1)

    def log_density(self, x: Array) -> Array:
        one, zero = bits.log_bits(bits.bits(wide(self.probs)))
        return np.where(x[:, None, :] == 1, one, zero)

    def log_mass(self, lower: Array, upper: Array) -> Array:
        one, zero = bits.log_bits(bits.bits(wide(self.probs)))
        has = [((lower <= value) & (value <= upper))[:, None, :] for value in (0.0, 1.0)]
        neither = np.where(has[0], zero, np.where(has[1], one, -np.inf))
        return np.where(has[0] & has[1], 0.0, neither)

    def draw(self, states: IntArray, rng: np.random.Generator) -> Array:
        probs = wide(self.probs)[states]
        return np.asarray(rng.random(probs.shape) < probs, dtype=np.float64)

    def ranges(self) -> dict[str, str]:
        return {"probs": "unit"}

    def estimate(self, known: Weighted) -> Self:
        return type(self)(np.clip(kept(known.mean(), self.probs, known.mass), 0.0, 1.0))

    def powered(self, exponent: float) -> tuple[Self, Array]:
        one, zero = bits.log_bits(bits.bits(self.probs))
        log_norm = np.logaddexp(exponent * one, exponent * zero)
        return type(self)(np.exp(exponent * one - log_norm)), wide(log_norm).sum(axis=1)

    def log_slopes(self, x: Array) -> dict[str, Array]:
        return {"probs": bits.slope_of_bits(x[:, None, :], 1.0 - x[:, None, :], wide(self.probs))}

    def statistics(self) -> Statistics:
        both = bits.bits(wide(self.probs))
        return Statistics(
            (self.name, self.n_features), np.hstack(both), np.hstack(bits.log_bits(both)), are_probabilities=True
        )


def bits_of(family: Bernoulli | Categorical) -> Bits:
    """(K, F): one and zero; symbol 1 of a categorical law with two symbols counts as a one."""
    if isinstance(family, Bernoulli):
        return bits.bits(wide(family.probs))
    if family.n_symbols != 2:
        refuse(
            IncompatibleModels,
            "emission",
            "Bernoulli compares with Categorical of 2 symbols only",
            family.n_symbols,
            "use Categorical for both",
        )
    return Bits(family.probs[:, 1:], family.probs[:, :1])


def kl(p: Bernoulli | Categorical, q: Bernoulli | Categorical) -> Array:
    first, second = bits_of(p), bits_of(q)
    return np.asarray(bits.kl(first, second, bits.step(first, second)).sum(axis=1))


def renyi(p: Bernoulli | Categorical, q: Bernoulli | Categorical, alpha: float) -> Array:
    return np.asarray(bits_renyi(bits_of(p), bits_of(q), alpha).sum(axis=1))


def bits_renyi(p: Bits, q: Bits, alpha: float) -> Array:
    """Renyi divergence of one trial, any shape."""
    log_z = np.logaddexp(*bits.log_powers(p, q, alpha))
    return renyi_of(bits.defect(p, q, bits.step(p, q), alpha), log_z, alpha)


def log_ratio(p: Bernoulli | Categorical, q: Bernoulli | Categorical, x: Array) -> Array:
    first, second = bits_of(p), bits_of(q)
    one, zero = bits.log_ratio(first, second, bits.step(first, second))
    return add_columns(np.where(x[:, None, :] == 1, one, zero), x)


def gaps(p: Bernoulli | Categorical, q: Bernoulli | Categorical) -> list[str | None]:
    first, second = bits_of(p), bits_of(q)
    missing = np.stack([(first.zero > 0) & (second.zero == 0), (first.one > 0) & (second.one == 0)], axis=2)
    return [_first_gap(rows) for rows in missing]


def _first_gap(missing: NDArray[np.bool_]) -> str | None:
    """(F, 2): whether q lacks the value 0, 1 in each column."""
    if not missing.any():
        return None
    column, value = (int(i) for i in np.argwhere(missing)[0])
    return f"the value {value}" + (f" in column {column}" if missing.shape[0] > 1 else "")


_PAIR = FamilyPair(kl, renyi, log_ratio, gaps)
register(Bernoulli, Bernoulli, _PAIR)
register(Bernoulli, Categorical, _PAIR)
register(Categorical, Bernoulli, _PAIR)
