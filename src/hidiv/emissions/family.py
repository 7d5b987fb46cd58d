"""What an emission family is: K laws, one a hidden state, of an observation with F columns."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hidiv.emissions.guarded import GUARDS, refuse_range
from hidiv.emissions.registry import pair
from hidiv.emissions.weighted import Weighted
from hidiv.errors import InvalidEvidence, refuse
from hidiv.types import Array, IntArray
from hidiv.values import hashable, restore, same


class Statistics(NamedTuple):
    """KL(p || q) = sum over D of expected_p (natural_p - natural_q), for any two families with equal keys."""

    key: tuple[object, ...]
    expected: Array  # (K, D) mean sufficient statistics, a last column of ones
    natural: Array  # (K, D) natural parameters, a last column of minus the log-normaliser; may hold -inf
    size: Array | None = None  # (K, D) sizes of the terms that `expected` is summed from, where these cancel


def sizes_of(statistics: Statistics) -> Array:
    """(K, D): what the roundings of the mean statistics are in proportion to."""
    expected = np.abs(statistics.expected)
    return expected if statistics.size is None else np.maximum(expected, statistics.size)


class Family(Protocol):
    """K laws of an observation; the first block is what a family writes, the rest it is given.

    Parameters are read-only arrays whose first axis is the state. An observation is a row of `n_features` numbers
    (symbols and counts are whole numbers); a scalar family also takes and gives plain vectors.
    """

    name: ClassVar[str]  # the name in files: the class name in lower case with underscores

    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments, enough to rebuild the family bit for bit."""
        ...

    def check(self, x: Array) -> None:
        """Refuse values (n, F) outside the sample space, naming the first; NaN (not seen) is let through."""
        ...

    def log_density(self, x: Array) -> Array:
        """(n, F) -> (n, K, F): log-probability of each column; columns are independent given the state."""
        ...

    def log_mass(self, lower: Array, upper: Array) -> Array:
        """(n, F), (n, F) -> (n, K, F): log P(lower <= X <= upper) of each column, from log tails."""
        ...

    def draw(self, states: IntArray, rng: np.random.Generator) -> Array:
        """(n,) states -> (n, F) observations."""
        ...

    def statistics(self) -> Statistics | None:
        """Expected sufficient statistics and natural parameters; None for a family that has none."""
        ...

    # What every family is given.

    def __eq__(self, other: object) -> bool:
        return same(self.parameters(), other.parameters()) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.name, hashable(self.parameters())))

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore(self, state)

    def __init_subclass__(cls, **options: Any) -> None:
        """What a family writes is guarded at the limits of the doubles."""
        super().__init_subclass__(**options)
        for name, guard in GUARDS.items():
            if name in vars(cls):
                setattr(cls, name, guard(vars(cls)[name]))

    @property
    def n_states(self) -> int:
        """Number of hidden states K: the first axis of every parameter."""
        return len(self._first_parameter)

    @property
    def n_features(self) -> int:
        """Columns of an observation: the second axis of the first parameter, one for a vector of parameters."""
        return 1 if self.is_scalar else int(self._first_parameter.shape[1])

    @property
    def is_scalar(self) -> bool:
        """Whether a sample is a vector (n,) rather than (n, F)."""
        return self._first_parameter.ndim == 1

    @property
    def _first_parameter(self) -> Array:
        return np.asarray(next(iter(self.parameters().values())))

    def take(self, states: ArrayLike) -> Self:
        """The family whose state i is state states[i] of this one."""
        index = np.asarray(states)
        return type(self)(**{key: value[index] for key, value in self.parameters().items()})

    def select(self, columns: ArrayLike) -> Self:
        """The family of some of the columns; a family of one column is returned as it is."""
        if self.n_features <= 1:
            return self
        index = np.asarray(columns)
        return type(self)(**{key: value[:, index] for key, value in self.parameters().items()})

    def log_prob(self, x: ArrayLike) -> Array:
        """(n, K): log-probability (density) of each observation in each state; NaN entries are marginalised."""
        return self.log_weight(columns(x, self))

    def log_weight(self, x: Array, lower: Array | None = None, upper: Array | None = None) -> Array:
        """(n, K): log w_u(s) of definitions (1.2); where x (n, F) is NaN the interval counts, infinite = open."""
        self.check(x)
        seen = ~np.isnan(x)
        terms = np.where(seen[:, None, :], self.log_density(x), 0.0)
        if lower is not None and upper is not None:
            bounded = ~seen & ((lower > -np.inf) | (upper < np.inf))
            rows = np.flatnonzero(bounded.any(axis=1))
            if rows.size:  # masses cost far more than densities
                masses = self.log_mass(lower[rows], upper[rows])
                terms[rows] = np.where(bounded[rows][:, None, :], masses, terms[rows])
        with np.errstate(invalid="ignore"):
            total = np.asarray(terms.sum(axis=2), dtype=np.float64)
        if np.isnan(total).any():
            refuse_range(self, "density")
        return total

    def sample(self, states: ArrayLike, rng: np.random.Generator) -> Array:
        """One observation for each state in `states`: (n,) for a scalar family, else (n, F)."""
        drawn = self.draw(np.asarray(states, dtype=np.int64), rng)
        return drawn[:, 0] if self.is_scalar else drawn

    def ranges(self) -> dict[str, str]:
        """What each parameter may be, for fitting: positive, length or rate (positive, in the unit of x or of 1/x),
        real (in the unit of x), unit (0 to 1), or fixed."""
        return dict.fromkeys(self.parameters(), "positive")

    def estimate(self, known: Weighted) -> Self | None:
        """The maximum of `maximise` from seen values alone, where it has a form of its own; None where it has not.

        States without weight keep their law.
        """
        return None

    def maximise(self, known: Weighted, fixed: frozenset[str] = frozenset()) -> Self:
        """The family with a larger sum over u of weight[u, s] log w_u(s) in every state, never a smaller one.

        The maximum itself where it has a closed form, else a safeguarded step towards it; parameters named in `fixed`
        stay as they are.
        """
        if not fixed and known.bounded is None:
            found = self.estimate(known)
            if found is not None:
                return found
        from hidiv.emissions.numerics.climbing import climb_family

        return cast(Self, climb_family(self, known, fixed))

    def kl(self, other: Family) -> Array:
        """(K,): KL of each state's law from the same state's law in `other`; +inf where support is missing."""
        return pair(self, other).kl(self, other)

    def renyi(self, other: Family, alpha: float) -> Array:
        """(K,): Renyi divergence of order alpha, log of the integral of p^alpha q^(1-alpha) over (alpha - 1)."""
        return pair(self, other).renyi(self, other, alpha)

    def complete(self) -> Any:
        """The law with all that it hides besides the state: what a joint divergence compares; often itself."""
        return self

    def log_ratio(self, other: Family, x: ArrayLike) -> Array:
        """(n, K): log other(x)/self(x), accurate when the two nearly agree; NaN entries are marginalised."""
        return pair(self, other).log_ratio(self, other, columns(x, self))

    def gaps(self, other: Family) -> list[str | None]:
        """(K,): where this law has mass and the other none, in words; None where nowhere."""
        return pair(self, other).gaps(self, other)


def columns(x: ArrayLike, family: Family) -> Array:
    """Observations as (n, F) floats; a vector is taken as one column."""
    values = (
        np.ma.filled(np.ma.asarray(x).astype(np.float64), np.nan)
        if isinstance(x, np.ma.MaskedArray)
        else np.asarray(x, dtype=np.float64)
    )
    if values.ndim == 1 and family.n_features == 1:
        values = values[:, None]
    if values.ndim != 2 or values.shape[1] != family.n_features:
        refuse(
            InvalidEvidence, "x", f"must have shape (n, {family.n_features}) for {family.name} emissions", values.shape
        )
    return values


def check_whole(x: Array, family: str, highest: float = np.inf) -> None:
    """Refuse anything but whole numbers 0..highest (NaN passes): symbols and counts."""
    with np.errstate(invalid="ignore"):
        bad = ~np.isnan(x) & ((x != np.floor(x)) | (x < 0) | (x > highest) | np.isinf(x))
    if bad.any():
        node, column = (int(i) for i in np.argwhere(bad)[0])
        top = "" if highest == np.inf else f" to {highest:.0f}"
        refuse(
            InvalidEvidence,
            f"x[{node}]" + (f"[{column}]" if x.shape[1] > 1 else ""),
            f"{family} observations are whole numbers from 0{top}",
            float(x[node, column]),
        )


def check_between(x: Array, family: str, low: float, high: float = np.inf) -> None:
    """Refuse values outside [low, high] and infinite ones (NaN passes)."""
    with np.errstate(invalid="ignore"):
        bad = ~np.isnan(x) & ((x < low) | (x > high) | np.isinf(x))
    if bad.any():
        node, column = (int(i) for i in np.argwhere(bad)[0])
        span = (
            "finite"
            if low == -np.inf
            else f"at least {low:g} and finite"
            if high == np.inf
            else f"between {low:g} and {high:g}"
        )
        refuse(
            InvalidEvidence,
            f"x[{node}]" + (f"[{column}]" if x.shape[1] > 1 else ""),
            f"{family} observations are {span}",
            float(x[node, column]),
        )


def check_density(x: Array, infinite: NDArray[np.bool_], family: str) -> None:
    """Refuse values where a density is infinite: no weight for a recursion."""
    if infinite.any():
        node, column = (int(i) for i in np.argwhere(infinite)[0])
        refuse(
            InvalidEvidence,
            f"x[{node}]" + (f"[{column}]" if x.shape[1] > 1 else ""),
            f"{family} laws with a shape below 1 have an infinite density there",
            float(x[node, column]),
            "give the interval it was rounded from",
        )


def add_columns(terms: Array, x: Array) -> Array:
    """(n, K, F) log-ratios of columns -> (n, K), leaving out what is not seen; 0 where both laws rule the row out."""
    seen = np.where(np.isnan(x)[:, None, :], 0.0, terms)
    with np.errstate(invalid="ignore"):
        total = np.asarray(seen.sum(axis=2))
    return np.where(np.isnan(total), 0.0, total)
