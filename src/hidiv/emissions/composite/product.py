"""Several families side by side: independent groups of columns, one hidden state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import is_, itemgetter
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from hidiv.emissions.family import Family
from hidiv.emissions.gradients import Gradients, Items
from hidiv.emissions.parameters import outer_rows
from hidiv.emissions.registry import FamilyPair, Tables, kl_bounds, pair, register
from hidiv.emissions.sample_space import VECTOR, SampleSpace
from hidiv.emissions.statistics import Statistics, sizes_of
from hidiv.emissions.weighted import Weighted
from hidiv.errors import IncompatibleModels, InvalidEvidence, InvalidModel, counted, refuse
from hidiv.types import Array, Flags, IntArray


@dataclass(frozen=True, eq=False)
class Product(Family):
    """Several families side by side: independent groups of columns, one hidden state.

    Parameters
    ----------
    families : sequence of Family
        Their columns follow each other in this order; every family has the same states.

    Raises
    ------
    InvalidModel
        If a member is no family, or has other states than the first.

    Notes
    -----
    e_s(x) of definitions (1.1) is the product of those of the families. Families of symbols together are a finite
    alphabet of up to 4,096 combinations.

    Examples
    --------
    >>> from hidiv.emissions.families.gaussian import Gaussian
    >>> one = Gaussian([0.0], std=[1.0])
    >>> float(Product([one, one]).kl(Product([one, Gaussian([1.0], std=[1.0])]))[0])
    0.5
    """

    name: ClassVar[str] = "product"
    needs: ClassVar[str] = "its families"
    template: ClassVar[str] = "hd.Product([hd.Gaussian([0.0], std=[1.0]), hd.Poisson([1.0])])"
    nested: ClassVar[str | None] = "families"
    families: tuple[Family, ...]

    def __init__(self, families: Sequence[Family]) -> None:
        members = tuple(families) if isinstance(families, Iterable) else ()
        if not members:
            refuse(InvalidModel, "families", "must be a non-empty list of families", families)
        for i, member in enumerate(members):
            if not isinstance(getattr(member, "n_states", None), int):
                refuse(InvalidModel, f"families[{i}]", "must be an emission family", type(member).__name__)
            states = members[0].n_states
            if member.n_states != states:
                refuse(
                    InvalidModel,
                    f"families[{i}]",
                    f"must have the {counted(states, 'state')} of the first",
                    member.n_states,
                )
        object.__setattr__(self, "families", members)

    @cached_property
    def n_states(self) -> int:
        return self.families[0].n_states

    @property
    def n_features(self) -> int:
        return sum(member.n_features for member in self.families)

    @property
    def is_scalar(self) -> bool:
        return False

    def parameters(self) -> dict[str, Any]:
        return {"families": list(self.families)}

    def members(self) -> tuple[Family, ...]:
        return self.families

    @property
    def space(self) -> SampleSpace:
        return VECTOR

    def column_spaces(self) -> tuple[SampleSpace, ...]:
        return tuple(space for member in self.families for space in member.column_spaces())

    def symbol_table(self) -> Array:
        return outer_rows([member.symbol_table() for member in self.families if member.n_features])

    def log_seen(self, x: Array) -> Array:
        return _added(member.log_seen(columns) for member, (columns,) in self.split(x))

    def ranges(self) -> dict[str, str]:
        return {"families": "fixed"}

    def heap_coordinates(self, x: Array, fixed: frozenset[str] = frozenset()) -> Array:
        return np.hstack([member.heap_coordinates(columns, fixed) for member, (columns,) in self.split(x)])

    def is_narrow(self, least: Array) -> Flags:
        each = [member.is_narrow(mine[0]) for member, (mine,) in self.split(least[None, :]) if member.n_features]
        return np.asarray(np.any(each, axis=0)) if each else np.zeros(self.n_states, dtype=np.bool_)

    def take(self, states: ArrayLike) -> Self:
        return type(self)([member.take(states) for member in self.families])

    @property
    def density_adds_up(self) -> bool:
        return all(member.density_adds_up for member in self.families)

    def select(self, columns: ArrayLike) -> Self:
        """The product of the families of these columns, in their order; neighbours of one family stay together."""
        own = [(i, f) for i, member in enumerate(self.families) for f in range(member.n_features)]
        runs = groupby((own[column] for column in np.asarray(columns).tolist()), key=itemgetter(0))
        return type(self)([self.families[i].select([f for _, f in run]) for i, run in runs])

    def split(self, *arrays: Array) -> list[tuple[Family, list[Array]]]:
        """Each family with its own columns of every array (n, F)."""
        ends = np.cumsum([member.n_features for member in self.families])
        parts = [np.split(array, ends[:-1], axis=1) for array in arrays]
        return [(member, [part[i] for part in parts]) for i, member in enumerate(self.families)]

    def check(self, x: Array) -> None:
        first = 0
        for member, (columns,) in self.split(x):
            try:
                member.check(columns)
            except InvalidEvidence as error:
                raise InvalidEvidence(f"columns from {first} on, {error}") from None
            first += member.n_features

    def log_density(self, x: Array) -> Array:
        return np.concatenate([member.log_density(columns) for member, (columns,) in self.split(x)], axis=2)

    def log_mass(self, lower: Array, upper: Array) -> Array:
        return np.concatenate([member.log_mass(low, high) for member, (low, high) in self.split(lower, upper)], axis=2)

    def log_weight(self, x: Array, lower: Array | None = None, upper: Array | None = None) -> Array:
        self.check(x)
        if lower is None or upper is None:
            return _added(member.log_weight(columns) for member, (columns,) in self.split(x))
        return _added(member.log_weight(*columns) for member, columns in self.split(x, lower, upper))

    def draw(self, states: IntArray, rng: np.random.Generator) -> Array:
        return np.hstack([member.draw(states, rng) for member in self.families])

    def complete(self) -> Any:
        each = [member.complete() for member in self.families]
        return self if all(map(is_, each, self.families)) else type(self)(each)

    def maximise(self, known: Weighted, fixed: frozenset[str] = frozenset()) -> Self:
        maximised, first = [], 0
        for member in self.families:
            maximised.append(member.maximise(known.of_columns(slice(first, first + member.n_features)), fixed))
            first += member.n_features
        return type(self)(maximised)

    def gradients(self, known: Weighted, items: Items) -> Gradients:
        each, first = [], 0
        for member in self.families:
            each.append(member.gradients(known.of_columns(slice(first, first + member.n_features)), items))
            first += member.n_features
        return {"families": each}

    def statistics(self) -> Statistics | None:
        """Every family's own, side by side; None as soon as one has none."""
        each = [member.statistics() for member in self.families]
        known = [s for s in each if s is not None]
        if len(known) < len(each):
            return None
        return Statistics(
            (self.name, *(s.key for s in known)),
            np.hstack([s.expected for s in known]),
            np.hstack([s.natural for s in known]),
            None if all(s.size is None for s in known) else np.hstack([sizes_of(s) for s in known]),
        )


def _added(arrays: Iterable[Array]) -> Array:
    return np.asarray(sum(arrays))


def _together(p: Product, q: Product) -> list[tuple[FamilyPair, Any, Any]]:
    """How each family of p compares with the one in the same place in q."""
    widths_p, widths_q = ([member.n_features for member in side.families] for side in (p, q))
    if widths_p != widths_q:
        rule = f"the families of p have {widths_p} columns and those of q have {widths_q}"
        refuse(IncompatibleModels, "emission", rule, remedy="list them in the same order")
    return [(pair(a, b), a, b) for a, b in zip(p.families, q.families, strict=True)]


def kl(p: Product, q: Product) -> Array:
    return _added(how.kl(a, b) for how, a, b in _together(p, q))


def renyi(p: Product, q: Product, alpha: float) -> Array:
    return _added(how.renyi(a, b, alpha) for how, a, b in _together(p, q))


def log_ratio(p: Product, q: Product, x: Array) -> Array:
    together = _together(p, q)
    return _added(how.log_ratio(a, b, part[0]) for (how, a, b), (_, part) in zip(together, p.split(x), strict=True))


def tables(p: Product, q: Product) -> Tables:
    """Sums of the families' own; rows that are not wholly seen are left to be weighed apart."""
    from hidiv.emissions.evidence.log_ratios import PairWeights

    each = [PairWeights(a, b) for _, a, b in _together(p, q) if a.n_features]

    def seen(x: Array, with_q: bool) -> tuple[Array, Array | None, Array, bool]:
        parts = [columns for member, (columns,) in p.split(x) if member.n_features]
        log_p, log_q, ratio = (
            _added(table) for table in zip(*(weigh(part) for weigh, part in zip(each, parts, strict=True)), strict=True)
        )
        missing = np.isnan(x).any(axis=1)
        if missing.any():
            ratio[missing] = np.nan
        return log_p, log_q, ratio, not bool(all((np.abs(table) <= 1e300).all() for table in (log_p, log_q, ratio)))

    return seen


def gaps(p: Product, q: Product) -> list[str | None]:
    """The first family that has one."""
    each = [how.gaps(a, b) for how, a, b in _together(p, q)]
    return [
        next((f"{gap} of family {i}" for i, gap in enumerate(state) if gap is not None), None)
        for state in zip(*each, strict=True)
    ]


def bounds(p: Product, q: Product) -> tuple[Array, Array]:
    """Sums of the families' own."""
    each = [kl_bounds(a, b) for _, a, b in _together(p, q)]
    return _added(lower for lower, _ in each), _added(upper for _, upper in each)


def weight_ratio(
    p: Product, q: Product, x: Array, lower: Array | None, upper: Array | None, inside: Flags | None
) -> Array:
    from hidiv.emissions.evidence.log_ratios import added, settled, weight_ratio

    value = added(weight_ratio(*part) for part in _known(p, q, x, lower, upper))
    return settled(p, q, x, lower, upper, inside, value)


def residual(p: Product, q: Product, x: Array, lower: Array | None, upper: Array | None, inside: Flags | None) -> Array:
    from hidiv.emissions.evidence.log_ratios import added, residual, where_possible

    value = added(residual(*part) for part in _known(p, q, x, lower, upper))
    return where_possible(p, x, lower, upper, inside, value)


def _known(p: Product, q: Product, x: Array, lower: Array | None, upper: Array | None) -> Iterator[tuple[Any, ...]]:
    """The families of two products side by side, with what is known of their own columns."""
    tables = (x,) if lower is None or upper is None else (x, lower, upper)
    for (a, columns), b in zip(p.split(*tables), q.families, strict=True):
        yield a, b, *columns


register(Product, Product, FamilyPair(kl, renyi, log_ratio, gaps, None, weight_ratio, residual, bounds, tables))
