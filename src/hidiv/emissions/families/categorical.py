"""Symbols 0..M-1 with any probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hidiv.emissions.family import Family, check_whole
from hidiv.emissions.gradients import Gradients, Items
from hidiv.emissions.parameters import distributions
from hidiv.emissions.registry import FamilyPair, Tables, register
from hidiv.emissions.sample_space import SampleSpace
from hidiv.emissions.sample_space import symbols as symbol_space
from hidiv.emissions.statistics import Statistics
from hidiv.emissions.weighted import Weighted
from hidiv.errors import IncompatibleModels, InvalidModel, counted, refuse
from hidiv.recursions.terms import log_ratio, row_divergence, row_renyi
from hidiv.types import Array, IntArray

FEW = 8  # symbols that are quicker compared one by one than searched


@dataclass(frozen=True, eq=False)
class Categorical(Family):
    """Symbols 0 to M - 1 with any probabilities.

    Parameters
    ----------
    probs : array_like
        (K, M): the probability of each symbol in each state; rows sum to one within 1e-8.

    Raises
    ------
    InvalidModel
        If a parameter has not that shape or range; the message names the entry.

    Notes
    -----
    P(X = m | S = s) = probs[s, m]: e_s(x) of definitions (1.1).

    Examples
    --------
    >>> float(Categorical([[0.5, 0.5]]).kl(Categorical([[0.25, 0.75]]))[0])
    0.14384103622589045
    """

    name: ClassVar[str] = "categorical"
    probs: Array  # (K, M)

    def __init__(self, probs: ArrayLike) -> None:
        object.__setattr__(self, "probs", distributions("probs", probs, (2,)))

    @property
    def n_symbols(self) -> int:
        return int(self.probs.shape[1])

    @property
    def n_features(self) -> int:
        return 1

    @property
    def is_scalar(self) -> bool:
        return True

    def parameters(self) -> dict[str, Array]:
        return {"probs": self.probs}

    def take(self, states: ArrayLike) -> Self:
        rows = np.ascontiguousarray(self.probs[np.asarray(states)])
        if rows.ndim != 2 or not rows.size:
            return super().take(states)  # which refuses it
        taken = object.__new__(type(self))  # rows that were checked already
        rows.flags.writeable = False
        object.__setattr__(taken, "probs", rows)
        return taken

    @cached_property
    def space(self) -> SampleSpace:
        return symbol_space(self.n_symbols)

    def alphabet(self) -> Array:
        return np.arange(float(self.n_symbols))[:, None]

    def symbol_table(self) -> Array:
        return self.probs

    @classmethod
    def begin(cls, n_states: int, x: Array | None, n_symbols: int) -> Self:
        if not n_symbols:
            rule = f"{cls.name} cannot be fitted to evidence without symbols"
            refuse(InvalidModel, "emission", rule, remedy="use silent")
        return cls(np.full((n_states, n_symbols), 1.0 / n_symbols))

    def check(self, x: Array) -> None:
        check_whole(x, self.name, self.n_symbols - 1)

    def log_density(self, x: Array) -> Array:
        return self._log_probs()[:, symbols(x)].transpose(1, 0, 2)

    def log_mass(self, lower: Array, upper: Array) -> Array:
        first = np.clip(np.ceil(lower), 0, self.n_symbols)
        last = np.clip(np.floor(upper), -1, self.n_symbols - 1)
        m = np.arange(self.n_symbols)
        inside = (m >= first[..., None]) & (m <= last[..., None])
        return self.log_set(inside[:, 0, :])[:, :, None]

    def log_set(self, inside: NDArray[np.bool_]) -> Array:
        """(n, M) sets of symbols -> (n, K): log P(X in the set)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(inside.astype(np.float64) @ self.probs.T))

    def draw(self, states: IntArray, rng: np.random.Generator) -> Array:
        # Searching the cumulative rows for a uniform; the last positive symbol takes what rounding leaves over.
        cumulative = np.cumsum(self.probs, axis=1)
        u = rng.random(states.shape[0]) * cumulative[:, -1][states]
        drawn = np.zeros(states.shape[0])
        if self.n_symbols <= FEW:
            for passed in cumulative.T[:-1]:
                drawn += u >= passed[states]
        else:
            for s, row in enumerate(cumulative):
                mine = np.flatnonzero(states == s)
                drawn[mine] = np.searchsorted(row, u[mine], side="right")
        return drawn[:, None]

    def ranges(self) -> dict[str, str]:
        return {"probs": "rows"}

    def maximise(self, known: Weighted, fixed: frozenset[str] = frozenset()) -> Self:
        if "probs" in fixed:
            return self
        counts = np.zeros_like(self.probs)
        seen = known.seen[:, 0]
        at = symbols(known.x)[:, 0]
        for s in range(self.n_states):
            counts[s] = np.bincount(at, np.where(seen, known.weight[:, s], 0.0), minlength=self.n_symbols)
        inside = self._sets(known)
        if inside is not None:
            # Of a set each symbol is given its share by the law so far.
            rows = ~seen & ~inside.all(axis=1) & known.weight.any(axis=1)
            members = inside[rows].astype(np.float64)
            with np.errstate(divide="ignore", invalid="ignore"):
                share = known.weight[rows] / (members @ self.probs.T)
            counts += self.probs * (np.where(np.isfinite(share), share, 0.0).T @ members)
        total = counts.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            return type(self)(np.where(total > 0, counts / total, self.probs))

    def _sets(self, known: Weighted) -> NDArray[np.bool_] | None:
        """(n, M): sets of symbols, those of intervals included."""
        if known.bounded is None or known.lower is None or known.upper is None:
            return known.inside
        m = np.arange(self.n_symbols)
        between = (m >= known.lower[:, :1]) & (m <= known.upper[:, :1])
        return between if known.inside is None else known.inside & between

    def gradients(self, known: Weighted, items: Items) -> Gradients:
        """Of a set each symbol is given its share, as in `maximise`; the derivative is the count over the probability.

        Symbols that a state never shows stay so: 0.
        """
        k, m = self.probs.shape
        counts = np.zeros((items.count, k, m))
        seen = known.seen[:, 0]
        at = symbols(known.x)[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            over = np.where(self.probs > 0, 1.0 / self.probs, 0.0)
        for s in range(k):
            place = items.of[seen] * m + at[seen]
            weight = known.weight[seen, s]
            counts[:, s] = np.bincount(place, weight, minlength=items.count * m).reshape(items.count, m) * over[s]
        inside = self._sets(known)
        if inside is not None:
            rows = np.flatnonzero(~seen & ~inside.all(axis=1) & known.weight.any(axis=1))
            members = inside[rows].astype(np.float64)
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.where(known.weight[rows] > 0, known.weight[rows] / (members @ self.probs.T), 0.0)
            own = Items(items.of[rows], items.count)
            for s in range(k):
                counts[:, s] += own.sum(share[:, s, None] * members) * (self.probs[s] > 0)
        return {"probs": counts}

    def statistics(self) -> Statistics:
        return Statistics((self.name, self.n_symbols), self.probs, self._log_probs(), are_probabilities=True)

    def _log_probs(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.probs))


def symbols(x: Array) -> IntArray:
    """Symbols as indices; what is not seen points at 0 and is masked by the caller."""
    return np.where(np.isnan(x), 0, x).astype(np.int64)


def kl(p: Categorical, q: Categorical) -> Array:
    check_alphabets(p.n_symbols, q.n_symbols)
    return row_divergence(p.probs, q.probs)


def renyi(p: Categorical, q: Categorical, alpha: float) -> Array:
    check_alphabets(p.n_symbols, q.n_symbols)
    return row_renyi(p.probs, q.probs, alpha)


def ratio(p: Categorical, q: Categorical, x: Array) -> Array:
    check_alphabets(p.n_symbols, q.n_symbols)
    table = log_ratio(p.probs, q.probs)
    return np.where(np.isnan(x), 0.0, table[:, symbols(x)[:, 0]].T)


def tables(p: Categorical, q: Categorical) -> Tables:
    """Looked up symbol by symbol; what is not seen, or no symbol, is left to be weighed apart."""
    check_alphabets(p.n_symbols, q.n_symbols)
    of_p, of_q, between = (
        np.ascontiguousarray(each.T) for each in (p._log_probs(), q._log_probs(), log_ratio(p.probs, q.probs))
    )

    def seen(x: Array, with_q: bool) -> tuple[Array, Array | None, Array, bool]:
        column = x[:, 0]
        known = (column >= 0) & (column < len(of_p)) & (column == np.floor(column))
        at = np.where(known, column, 0.0).astype(np.int64)
        log_p, log_q, ratio = (np.where(known[:, None], table[at], np.nan) for table in (of_p, of_q, between))
        return log_p, log_q, ratio, not np.isfinite(log_p + log_q).all()

    return seen


def gaps(p: Categorical, q: Categorical) -> list[str | None]:
    missing = (p.probs > 0) & (q.probs == 0)
    return [f"symbol {int(np.argmax(row))}" if row.any() else None for row in missing]


def check_alphabets(p: int, q: int) -> None:
    """Symbols must mean the same for both: refuse different numbers of them."""
    if p != q:
        rule, remedy = (
            f"p has {counted(p, 'symbol')} and q has {q}",
            "give the smaller alphabet symbols of probability 0",
        )
        refuse(IncompatibleModels, "emission", rule, remedy=remedy)


register(Categorical, Categorical, FamilyPair(kl, renyi, ratio, gaps, tables=tables))
