"""What an emission family is: K laws, one a hidden state, of an observation with F columns."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hidiv.arguments import observations
from hidiv.emissions.evidence.count_tables import by_count, occurring
from hidiv.emissions.gradients import Gradients, Items, by_column
from hidiv.emissions.registry import GUARDS, pair, refuse_range
from hidiv.emissions.sample_space import Kind, SampleSpace
from hidiv.emissions.statistics import Statistics
from hidiv.emissions.weighted import Weighted, log_size
from hidiv.errors import InvalidEvidence, InvalidModel, refuse
from hidiv.recursions.count_rows import CountTables
from hidiv.recursions.curve_rows import CurveLaws, CurvePair, curve_table
from hidiv.recursions.normal_rows import NormalLaws
from hidiv.types import Array, Flags, IntArray
from hidiv.values import hashable, restore, same

LARGEST = float(np.finfo(np.float64).max)
MOST_SYMBOLS = 4096  # of several columns together: more are not listed
ABSORBING = {"unit": (0.0, 1.0), "positive": (0.0,), "rate": (0.0,), "length": (0.0,)}  # values a climb never leaves


class Family(Protocol):
    """K laws of an observation; the first block is what a family writes, the rest it is given.

    Parameters are read-only arrays whose first axis is the state. An observation is a row of `n_features` numbers
    (symbols and counts are whole numbers); a scalar family also takes and gives plain vectors.
    """

    name: ClassVar[str]  # the name in files: the class name in lower case with underscores
    laws_independent: ClassVar[bool] = False  # whether no law is a sum of other laws of the family, for `equivalent`
    start: ClassVar[dict[str, float]] = {}  # parameters of every state and column that a fit by name begins with
    needs: ClassVar[str] = "parameters to begin with"  # what a fit by name lacks where there is no `start`
    template: ClassVar[str] = ""  # an example of a family to give instead
    logarithms: ClassVar[type[Any] | None] = None  # the family of log x, which has the same parameters
    nested: ClassVar[str | None] = None  # the parameter that lists the families this one is made of

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

    @property
    def space(self) -> SampleSpace:
        """What a column holds; `sample_space.VECTOR` where columns differ or belong together."""
        ...

    # What every family is given.

    def __eq__(self, other: object) -> bool:
        return same(self.parameters(), other.parameters()) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.name, hashable(self.parameters())))

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore(self, state)

    def __init_subclass__(cls, **options: Any) -> None:
        """Wrap the methods named in `registry.GUARDS` that a family writes, once, when its class is made.

        At the limits of the doubles formulas overflow: a value without NaN comes out, or one sentence that refuses. It
        is done here so that no family can forget it, and so that a family is written as plain formulas.
        """
        super().__init_subclass__(**options)
        for name, guard in GUARDS.items():
            if name in vars(cls):
                setattr(cls, name, guard(vars(cls)[name]))

    @cached_property
    def n_states(self) -> int:
        """Number of hidden states K: the first axis of every parameter."""
        return len(self._first_parameter)

    @cached_property
    def n_features(self) -> int:
        """Columns of an observation: the second axis of the first parameter, one for a vector of parameters."""
        return 1 if self.is_scalar else int(self._first_parameter.shape[1])

    @cached_property
    def is_scalar(self) -> bool:
        """Whether a sample is a vector (n,) rather than (n, F)."""
        return self._first_parameter.ndim == 1

    @property
    def _first_parameter(self) -> Array:
        return np.asarray(next(iter(self.parameters().values())))

    @property
    def normal_laws(self) -> NormalLaws | None:
        """The laws as a kernel reads them that weighs rows on its own; None for families that are not normal."""
        return None

    @property
    def curve_laws(self) -> CurveLaws | None:
        """The laws as the kernel of curve_rows.py reads them; None for families that it has no curve for."""
        return None

    def count_tables(self, x: Array) -> CountTables | None:
        """The log-weights of the counts that occur in x (n, F), for a kernel that looks them up; None for others."""
        counts = occurring(x) if self.space.is_counts and self.density_adds_up else None
        if counts is None:
            return None
        table = counts.table(lambda f, numbers: self.select([f]).log_weight(numbers))
        return None if table is None else (np.ascontiguousarray(x), counts.places, table, None)

    def members(self) -> tuple[Family, ...]:
        """The families this one is made of; none unless it is a product or a mixture."""
        return ()

    def column_spaces(self) -> tuple[SampleSpace, ...]:
        """What each of the F columns holds."""
        return (self.space,) * self.n_features

    def alphabet(self) -> Array | None:
        """(M, F): all observations there are, where every column holds symbols; the last column changes fastest.

        None for other observations, and for more than MOST_SYMBOLS combinations of several columns.
        """
        sizes = [space.n_symbols for space in self.column_spaces()]
        known = [size for size in sizes if size is not None]
        if not sizes or len(known) < len(sizes) or (len(sizes) > 1 and math.prod(known) > MOST_SYMBOLS):
            return None
        return np.indices(known).reshape(len(known), -1).T.astype(np.float64)

    def symbol_table(self) -> Array:
        """(K, M): probabilities of the rows of `alphabet`, which must not be None."""
        rows = self.alphabet()
        assert rows is not None
        return np.ascontiguousarray(np.exp(self.log_weight(rows)).T)

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
        laws = self.curve_laws
        if laws is None:
            return self._by_columns(x, lower, upper)
        value, odd = curve_table(np.ascontiguousarray(x), laws)
        if not odd:
            return value
        self.check(x)
        return redone(value, self._by_columns, x, lower, upper)

    def _by_columns(self, x: Array, lower: Array | None, upper: Array | None) -> Array:
        """`log_weight` column by column; entries may be missing, in an interval, or at an end of the range."""
        self.check(x)
        if lower is None and self.space.is_counts:
            looked_up = by_count(x, lambda f, counts: self.select([f]).log_density(counts)[:, :, 0])
            if looked_up is not None:
                return looked_up
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

    def log_seen(self, x: Array) -> Array:
        """(n, K): `log_weight` of rows that are wholly seen and were checked before, as in every step of a fit."""
        if self.curve_laws is not None:
            return self.log_weight(x)
        each = self.log_density(x)
        return np.asarray(each[:, :, 0] if each.shape[2] == 1 else each.sum(axis=2))

    def sample(self, states: ArrayLike, rng: np.random.Generator) -> Array:
        """One observation for each state in `states`: (n,) for a scalar family, else (n, F)."""
        given = np.asarray(states)
        named = given.dtype.kind in "iuf" and ((given >= 0) & (given < self.n_states) & (given % 1 == 0)).all()
        if not named or given.ndim != 1:
            refuse(InvalidEvidence, "states", f"must be a list of whole numbers from 0 to {self.n_states - 1}", states)
        drawn = self.draw(given.astype(np.int64), rng)
        return drawn[:, 0] if self.is_scalar else drawn

    def ranges(self) -> dict[str, str]:
        """What each parameter may be, for fitting.

        positive; length, rate or area (positive, in the unit of x, 1/x or x^2); real or number (any number, in the unit
        of x or in none); unit (0 to 1); rows (that sum to one) or covariance, for which `maximise` has a step of its
        own; fixed.
        """
        return dict.fromkeys(self.parameters(), "positive")

    @property
    def density_adds_up(self) -> bool:
        """Whether columns are independent given the state, so that the log-density of a row is a sum over them."""
        return True

    def n_free(self, fixed: frozenset[str] = frozenset(), zeros_stay: bool = False) -> int:
        """How many numbers of all states are free in a fit.

        zeros_stay: probabilities that are 0 where a climb began stay 0, and are not counted.
        """
        ranges, total = self.ranges(), 0
        for name, value in self.parameters().items():
            kind = ranges.get(name, "positive")
            if name in fixed or kind == "fixed":
                continue
            if kind == "rows":
                total += free_entries(value, zeros_stay)
            elif kind == "covariance":
                total += value.shape[0] * value.shape[1] * (value.shape[1] + 1) // 2
            else:
                held = np.isin(value, ABSORBING.get(kind, ())).sum() if zeros_stay else 0
                total += int(value.size - held)
        return total + sum(member.n_free(fixed, zeros_stay) for member in self.members())

    @classmethod
    def begin(cls, n_states: int, x: Array | None, n_symbols: int) -> Self:
        """The family a fit by name begins with.

        x (n, F): the values, None without any; n_symbols: how many symbols the evidence names, 0 for none.
        """
        if not cls.start:
            remedy = f"give a template, for example {cls.template}" if cls.template else "give a family as a template"
            refuse(InvalidModel, "emission", f"{cls.name} needs {cls.needs}", remedy=remedy)
        if x is None:
            rule = f"{cls.name} cannot be fitted to evidence without values"
            refuse(InvalidModel, "emission", rule, remedy="use silent")
        shape = (n_states,) if x.shape[1] == 1 else (n_states, x.shape[1])
        return cls(**{key: np.full(shape, value) for key, value in cls.start.items()})

    def heap_coordinates(self, x: Array, fixed: frozenset[str] = frozenset()) -> Array:
        """(n, F) -> (n, F'): coordinates in which observations of one state lie together, to start a fit."""
        kind = self.space.kind
        if kind is Kind.POSITIVE:
            return log_size(x)
        if kind is Kind.ANGLE:
            return np.hstack([np.cos(x), np.sin(x)])
        if kind is Kind.COUNTS and self.space.most == np.inf:
            return np.sqrt(np.maximum(x, 0.0))
        return x

    def is_narrow(self, least: Array) -> Flags:
        """(F,) -> (K,): states that a fit has shrunk to the least spread of a column, for families that can shrink."""
        return np.zeros(self.n_states, dtype=np.bool_)

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
        if fixed.isdisjoint(self.parameters()) and known.bounded is None:
            estimated = self.estimate(known)
            if estimated is not None:
                return estimated
        from hidiv.emissions.numerics.climbing import climb_family

        return cast(Self, climb_family(self, known, fixed))

    def log_slopes(self, x: Array) -> dict[str, Array]:
        """(n, F) -> (n, K, F) by parameter: derivatives of `log_density`; 0 where a climb never leaves the value.

        Parameters that are left out are taken by differences.
        """
        return {}

    def mass_slopes(self, lower: Array, upper: Array) -> dict[str, Array]:
        """(n, F), (n, F) -> (n, K, F): derivatives of `log_mass`, of the parameters for which they are closed."""
        return {}

    def gradients(self, known: Weighted, items: Items) -> Gradients:
        """By parameter (m, *its shape): the sums over every item's rows of weight[u, s] times d log w_u(s).

        Derivatives are those in each entry, all others held, rows that sum to one and symmetric matrices included.
        """
        return by_column(self, known, items)

    @cached_property
    def kl_is_integral(self) -> bool:
        """Whether `kl` takes an integral rather than a formula."""
        return False

    def kinks(self) -> Array:
        """(K, n): where the density of a law of one column bends."""
        return np.zeros((self.n_states, 0))

    def moved(self, by: float) -> Self | None:
        """The laws of x - by; None for families without a location."""
        return None

    def modes(self) -> Array:
        """(K, F): a most probable count of each column, of counts with one peak; by bisection unless known better."""
        low, high = np.zeros((2, self.n_states, self.n_features))
        high += min(self.space.most, 2.0**52)
        while (high > low).any():
            middle = np.floor(0.5 * (low + high))
            here, next_ = (np.einsum("kkf->kf", self.log_density(np.asarray(at))) for at in (middle, middle + 1.0))
            above = np.einsum("kkf->kf", self.log_mass(middle + 1.0, np.full_like(middle, np.inf)))
            rises = (next_ > here) | ((here == -np.inf) & (above > -np.inf))
            low, high = np.where(rises, middle + 1.0, low), np.where(rises, high, middle)
        return low

    def first_counts(self) -> Array:
        """(K, F): the least count of each law, of laws of counts."""
        return np.zeros((self.n_states, self.n_features))

    def support(self) -> tuple[Array, Array] | None:
        """(K, F) twice: least and largest count of positive probability, with no gap between; None unless known."""
        return None

    def last_counts(self) -> Array | None:
        """(K, F): the largest count of each law, for laws of a number of trials; None for others."""
        return None

    def embed(self, other: Any) -> Any:
        """`other` as a family of this kind, to compare the two; None where that makes no sense."""
        return None

    def kl(self, other: Family) -> Array:
        """(K,): KL of each state's law from the same state's law in `other`; +inf where support is missing."""
        return pair(self, other).kl(self, other)

    def renyi(self, other: Family, alpha: float) -> Array:
        """(K,): Renyi divergence of order alpha, log of the integral of p^alpha q^(1-alpha) over (alpha - 1)."""
        return pair(self, other).renyi(self, other, alpha)

    def powered(self, exponent: float) -> tuple[Self, Array] | None:
        """The laws proportional to e^exponent, and (K,) logs of the integrals they were divided by.

        None where such laws are not of this family, or have no formula.
        """
        return None

    def complete(self) -> Any:
        """The law with all that it hides besides the state: what a joint divergence compares; often itself."""
        return self

    def log_ratio(self, other: Family, x: ArrayLike) -> Array:
        """(n, K): log other(x)/self(x), accurate when the two nearly agree; NaN entries are marginalised."""
        return pair(self, other).log_ratio(self, other, columns(x, self))

    def gaps(self, other: Family) -> list[str | None]:
        """(K,): where this law has mass and the other none, in words; None where nowhere."""
        return pair(self, other).gaps(self, other)


def free_entries(rows: Array, zeros_stay: bool) -> int:
    """How many entries of rows that sum to one are free."""
    entries = int(np.count_nonzero(rows)) if zeros_stay else int(rows.size)
    return entries - int(np.prod(rows.shape[:-1]))


def columns(x: ArrayLike, family: Family) -> Array:
    """Observations as (n, F) floats; a vector is taken as one column."""
    values = x if type(x) is np.ndarray and x.dtype == np.float64 else observations("x", x)  # long ones are not copied
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
    if x.size and max(low, -LARGEST) <= x.min() and x.max() <= min(high, LARGEST):  # as a rule: nothing is missing
        return
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


def redone(table: Array, slow: Callable[..., Array], *known: Array | None) -> Array:
    """The table (n, K) with the rows that hold a number that is none or infinite by `slow`, from those of `known`."""
    rows = np.flatnonzero(~(np.abs(table) <= 1e300).all(axis=1))
    if rows.size:
        try:
            table[rows] = slow(*(None if each is None else each[rows] for each in known))
        except InvalidEvidence:  # whose message is to name the row among all of them
            slow(*known)
            raise
    return table


def ratio_of_rows(tables: CurvePair, slow: Callable[[Array], Array], x: Array) -> Array:
    """(n, K): log q/p by the kernel, and by `slow` where a row is missing, or at an end of the range."""
    _, _, ratio, odd = tables(x, False)
    return redone(ratio, slow, x) if odd else ratio


def add_columns(terms: Array, x: Array) -> Array:
    """(n, K, F) log-ratios of columns -> (n, K), leaving out what is not seen; 0 where both laws rule the row out."""
    seen = np.where(np.isnan(x)[:, None, :], 0.0, terms)
    with np.errstate(invalid="ignore"):
        total = np.asarray(seen.sum(axis=2))
    return np.where(np.isnan(total), 0.0, total)
