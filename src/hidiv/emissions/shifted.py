"""Families of counts that start at a shift: formulas are written for counts from 0, and moved here.

A family derives from `Shifted`, takes `shift` in its constructor and calls `keep_shift`. The methods named in `MOVED`
are wrapped once, when the class is made, as `registry.GUARDS` are; a family without a shift runs as it is written. A
pair goes through `shifted_pair`: laws with one shift compare by the pair's formulas, others by sums over the counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from hidiv.emissions.family import Family, add_columns
from hidiv.emissions.numerics.adaptive_integrals import (
    FARTHEST,
    Function,
    Laws,
    Over,
    divergence,
    log_power,
    peak,
    total,
)
from hidiv.emissions.numerics.adaptive_integrals import renyi as renyi_sum
from hidiv.emissions.parameters import counts, wide
from hidiv.emissions.registry import FamilyPair
from hidiv.emissions.statistics import Statistics
from hidiv.errors import InvalidModel, OutOfRange, refuse
from hidiv.types import Array, IntArray

NOTHING = -150.0  # a log-probability that no longer shows


class Shifted(Family, Protocol):
    """A family whose laws may start at `shift` instead of 0; the shift is given, never fitted.

    `support` is what a family writes besides the methods of `Family`.
    """

    shift: Array  # whole numbers from 0 in the shape of the first parameter

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, move in MOVED.items():
            if name in vars(cls):
                setattr(cls, name, move(vars(cls)[name]))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self.parameters().items())})"

    def keep_shift(self, shift: ArrayLike, like: Array) -> None:
        """Read the shift: one number, (K,) or (K, F), spread over the shape of the parameter `like`."""
        given = counts("shift", shift, (0, 1, 2))
        if like.ndim == 2 and given.ndim == 1 and len(given) == len(like):
            given = given[:, None]
        try:
            spread = np.array(np.broadcast_to(given, like.shape))
        except ValueError:
            rule = f"must be one number, one a state or of the shape {like.shape} of the other parameters"
            refuse(InvalidModel, "shift", rule, np.shape(shift))
        spread.flags.writeable = False
        object.__setattr__(self, "shift", spread)

    def support(self) -> tuple[Array, Array]:
        """(K, F) twice: least and largest count of positive probability; between them there is no gap."""
        ...

    @property
    def starts_later(self) -> bool:
        """Whether any law starts above 0."""
        return bool(self.shift.any())

    def first_counts(self) -> Array:
        return wide(self.shift)

    def unshifted(self) -> Self:
        """The same laws, counted from 0."""
        return type(self)(**{key: value for key, value in self.parameters().items() if key != "shift"})

    def by_shift(self) -> Iterator[tuple[Array, IntArray, Self]]:
        """Each row (F,) of shifts that occurs, the states that have it, and their laws counted from 0."""
        rows, which = np.unique(wide(self.shift), axis=0, return_inverse=True)
        plain = self.unshifted()
        for i, row in enumerate(rows):
            states = np.flatnonzero(which.reshape(-1) == i)
            yield row, states, plain.take(states)


Method = Callable[..., Any]


def _moved(move: Callable[..., Any]) -> Callable[[Method], Method]:
    """A wrapper that leaves a family without a shift alone."""

    def wrapper(method: Method) -> Method:
        @wraps(method)
        def inner(self: Any, *args: Any) -> Any:
            return move(self, method, *args) if self.starts_later else method(self, *args)

        return inner

    return wrapper


def _parameters(family: Shifted, method: Method) -> dict[str, Any]:
    return {**method(family), "shift": family.shift}


def _ranges(family: Shifted, method: Method) -> dict[str, str]:
    return {**method(family), "shift": "fixed"}


def _log_density(family: Shifted, method: Method, x: Array) -> Array:
    value = np.empty((len(x), family.n_states, x.shape[1]))
    for row, states, plain in family.by_shift():
        at = x - row
        inside = np.where(at < 0, -np.inf, 0.0)[:, None, :]
        value[:, states] = method(plain, np.where(at < 0, 0.0, at)) + inside
    return value


def _powered(family: Any, method: Method, exponent: float) -> Any:
    plain = method(family.unshifted(), exponent)
    return None if plain is None else (type(family)(**plain[0].parameters(), shift=family.shift), plain[1])


def _log_mass(family: Shifted, method: Method, lower: Array, upper: Array) -> Array:
    value = np.empty((len(lower), family.n_states, lower.shape[1]))
    for row, states, plain in family.by_shift():
        value[:, states] = method(plain, lower - row, upper - row)
    return value


def _slopes(family: Shifted, method: Method, *known: Array) -> dict[str, Array]:
    """Derivatives at values, or at both ends of intervals, by parameter."""
    tables: dict[str, Array] = {}
    for row, states, plain in family.by_shift():
        moved = [each - row for each in known]
        moved = [np.maximum(moved[0], 0.0)] if len(moved) == 1 else moved
        for name, part in method(plain, *moved).items():
            table = tables.setdefault(name, np.zeros((len(known[0]), family.n_states, known[0].shape[1])))
            table[:, states] = np.where((known[-1] >= row)[:, None, :], part, 0.0)  # nothing is possible below it
    return tables


def _draw(family: Shifted, method: Method, states: IntArray, rng: np.random.Generator) -> Array:
    return np.asarray(method(family, states, rng) + wide(family.shift)[states])


def _later(family: Shifted, method: Method) -> Array:
    return np.asarray(method(family) + wide(family.shift))


def _support(family: Shifted, method: Method) -> tuple[Array, Array]:
    least, most = method(family)
    return least + wide(family.shift), most + wide(family.shift)


def _estimate(family: Any, method: Method, known: Any) -> Any:
    """The estimates of states with one shift from the counts beyond it; counts below it say nothing of the law."""
    estimated: dict[str, Array] = {}
    for row, states, plain in family.by_shift():
        x = np.where(known.x < row, np.nan, known.x - row)
        own = method(plain, replace(known, x=x, weight=known.weight[:, states]))
        for key, value in own.parameters().items():
            estimated.setdefault(key, np.empty((family.n_states, *value.shape[1:])))[states] = value
    return type(family)(**estimated, shift=family.shift)


def _statistics(family: Shifted, method: Method) -> Statistics | None:
    """Only laws with the same shifts make one exponential family: the shifts are in the key."""
    plain: Statistics | None = method(family)
    if plain is None:
        return None
    return plain._replace(key=(*plain.key, "shift", *wide(family.shift).ravel().tolist()))


_MOVES: dict[str, Callable[..., Any]] = {
    "parameters": _parameters,
    "ranges": _ranges,
    "log_slopes": _slopes,
    "mass_slopes": _slopes,
    "log_density": _log_density,
    "log_mass": _log_mass,
    "powered": _powered,
    "draw": _draw,
    "modes": _later,
    "last_counts": _later,
    "support": _support,
    "estimate": _estimate,
    "statistics": _statistics,
}
MOVED = {name: _moved(move) for name, move in _MOVES.items()}


# Two families.


def shifted_pair(how: FamilyPair) -> FamilyPair:
    """A pair written for counts from 0, for laws that start at their shifts."""

    def kl(p: Any, q: Any) -> Array:
        if np.array_equal(p.shift, q.shift):
            return how.kl(p, q)
        return _added(p, q, how.kl, _kl)

    def renyi(p: Any, q: Any, alpha: float) -> Array:
        if np.array_equal(p.shift, q.shift):
            return how.renyi(p, q, alpha)

        def apart(a: Any, b: Any) -> float:
            if alpha > 1 and a.last_counts() is None and how.renyi(a.unshifted(), b.unshifted(), alpha)[0] == np.inf:
                return math.inf  # a shift does not change how fast the terms decay
            return _renyi(a, b, alpha)

        return _added(p, q, lambda a, b: how.renyi(a, b, alpha), apart)

    def log_ratio(p: Any, q: Any, x: Array) -> Array:
        if not (p.starts_later or q.starts_later):
            return how.log_ratio(p, q, x)
        terms = np.empty((len(x), p.n_states, x.shape[1]))
        for column in range(x.shape[1]):
            a, b, at = p.select([column]), q.select([column]), x[:, [column]]
            shifts = np.hstack([wide(a.shift), wide(b.shift)])
            for pair in np.unique(shifts, axis=0):
                states = np.flatnonzero((shifts == pair).all(axis=1))
                first, second = a.take(states), b.take(states)
                if pair[0] != pair[1]:
                    # NaN, where both laws rule the count out, becomes 0 in `add_columns`.
                    terms[:, states, column] = (second.log_density(at) - first.log_density(at))[:, :, 0]
                    continue
                y = at - pair[0]
                ratio = how.log_ratio(first.unshifted(), second.unshifted(), np.maximum(y, 0.0))
                terms[:, states, column] = np.where(y < 0, np.nan, ratio)
        return add_columns(terms, x)

    return replace(how, kl=kl, renyi=renyi, log_ratio=log_ratio)


def _added(p: Any, q: Any, alike: Callable[[Any, Any], Array], apart: Callable[[Any, Any], float]) -> Array:
    """(K,): the sum over columns, by `alike` where both shifts are one and by `apart` for one law at a time else."""
    value = np.zeros(p.n_states)
    for column in range(p.n_features):
        a, b = p.select([column]), q.select([column])
        each = np.array(alike(a, b))
        for state in np.flatnonzero(wide(a.shift)[:, 0] != wide(b.shift)[:, 0]):
            each[state] = apart(a.take([state]), b.take([state]))
        value += each
    return value


def count_gaps(p: Any, q: Any) -> list[str | None]:
    """(K,): the first column where p reaches beyond q's counts, in words."""
    return [first_gap(*row) for row in zip(*p.support(), *q.support(), strict=True)]


def first_gap(low_p: Array, high_p: Array, low_q: Array, high_q: Array) -> str | None:
    """(F,) each: the first column where p reaches beyond q's counts, in words."""
    for column in range(low_p.size):
        where = f" in column {column}" if low_p.size > 1 else ""
        if high_p[column] > high_q[column]:
            return f"counts above {high_q[column]:.0f}{where}"
        if low_p[column] < low_q[column]:
            return f"counts below {low_q[column]:.0f}{where}"
    return None


# One law and another of a different shift: no closed form, sums over the counts.


def _kl(p: Any, q: Any) -> float:
    """KL of one law of one column from another; +inf where p has counts that q lacks."""
    if count_gaps(p, q)[0] is not None:
        return math.inf
    laws = _laws(p, q)
    return divergence(laws, _over(p, q, [laws.log_p, laws.log_q]))


def _renyi(p: Any, q: Any, alpha: float) -> float:
    """Renyi divergence of one law of one column from another; +inf where the supports ask for it."""
    if alpha > 1 and count_gaps(p, q)[0] is not None:
        return math.inf
    laws = _laws(p, q)
    (low_p, high_p), (low_q, high_q) = p.support(), q.support()
    low, high = max(float(low_p[0, 0]), float(low_q[0, 0])), min(float(high_p[0, 0]), float(high_q[0, 0]), FARTHEST)
    if low > high:
        return math.inf  # no count in common
    reach = low + np.minimum(np.append(0.0, 2.0 ** np.arange(math.log2(FARTHEST) + 1)), high - low)
    modes = [np.clip(float(law.modes()[0, 0]), low, high) for law in (p, q)]

    def log_terms(x: Array) -> Array:
        return log_power(laws, alpha, x)

    edges = np.unique(np.append(reach, modes))
    top = peak(log_terms, edges) if len(edges) > 1 else None
    height = float(log_terms(edges)[0]) if top is None else top.height
    over = _over(p, q, [laws.log_p, laws.log_q, lambda x: log_terms(x) - height], [] if top is None else [int(top.at)])
    return renyi_sum(laws, alpha, over, height)


def _laws(p: Any, q: Any) -> Laws:
    """Both laws and their ratio at any point, between counts too, where rules for sums look."""

    def log(law: Any) -> Function:
        def each(x: Array) -> Array:
            with np.errstate(all="ignore"):
                value = np.asarray(law.log_density(np.ravel(x)[:, None])).reshape(np.shape(x))
            return np.where(np.isnan(value), -np.inf, value)

        return each

    log_p, log_q = log(p), log(q)

    def ratio(x: Array) -> Array:
        a, b = log_p(x), log_q(x)
        with np.errstate(invalid="ignore"):
            return np.where(a == b, 0.0, b - a)

    return Laws(log_p, log_q, ratio)


def _over(p: Any, q: Any, logs: list[Function], centres: list[int] | None = None) -> Over:
    """The sum over all counts on which any of `logs` shows, cut where a law begins, peaks and ends."""
    cuts = [int(law.modes()[0, 0]) for law in (p, q) if law.modes()[0, 0] < FARTHEST] + (centres or [])
    cuts += [int(law.first_counts()[0, 0]) for law in (p, q)]
    ends = [law.last_counts() for law in (p, q)]
    if ends[0] is not None and ends[1] is not None:
        last = [float(end[0, 0]) for end in ends]
        cuts += [int(end) + 1 for end in last]
        return lambda f: total(f, cuts, max(last))
    at = max(cuts) + 2.0 ** np.arange(math.log2(FARTHEST))
    beyond = np.all([f(at) < NOTHING for f in logs], axis=0)
    if not beyond.any():
        rule = "laws of different shifts are summed over counts up to 2^52"
        refuse(OutOfRange, "emission", rule, remedy="give both the same shift, or count in larger units")
    return lambda f: total(f, cuts, float(at[np.argmax(beyond)]))
