"""What a mixture is: weights and components, densities, masses, draws, and the component given an observation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hidiv.emissions.families.categorical import Categorical
from hidiv.emissions.family import Family, check_whole, redone
from hidiv.emissions.parameters import distributions
from hidiv.emissions.registry import comparable
from hidiv.emissions.sample_space import Kind, SampleSpace
from hidiv.errors import IncompatibleModels, InvalidModel, counted, refuse
from hidiv.recursions.mixture_rows import mixture_table
from hidiv.types import Array, Flags, IntArray

NEAR_ONE = 1e-3  # of a log-mass


@dataclass(frozen=True, eq=False)
class MixtureLaw(Family):
    """The laws of a mixture; how two of them compare and how one is fitted is in `mixture.Mixture`."""

    weights: Array
    components: tuple[Family, ...]

    def __init__(self, weights: ArrayLike, components: Sequence[Family]) -> None:
        table = distributions("weights", weights, (2,))
        members = tuple(components) if isinstance(components, Iterable) else ()
        if len(members) != table.shape[1]:
            rule = f"must be a list of {counted(table.shape[1], 'family', 'families')}, one a column of weights"
            refuse(InvalidModel, "components", rule, len(members) or components)
        for i, member in enumerate(members):
            place = f"components[{i}]"
            if not isinstance(getattr(member, "n_states", None), int):
                refuse(InvalidModel, place, "must be an emission family", type(member).__name__)
            if member.n_states != len(table):
                refuse(
                    InvalidModel,
                    place,
                    f"must have {counted(len(table), 'state')}, one a row of weights",
                    member.n_states,
                )
            if member.n_features != members[0].n_features:
                rule = f"must have the columns of the first, {members[0].n_features}"
                refuse(InvalidModel, place, rule, member.n_features)
            if isinstance(member, MixtureLaw):
                refuse(InvalidModel, place, "must not be a mixture itself", remedy="list its components instead")
            if str(member.space) != str(members[0].space):
                rule = f"must be {members[0].space} like the first"
                refuse(InvalidModel, place, rule, f"{member.name}, which is {member.space}")
        object.__setattr__(self, "weights", table)
        object.__setattr__(self, "components", members)

    @property
    def n_features(self) -> int:
        return self.components[0].n_features

    @property
    def is_scalar(self) -> bool:
        return all(member.is_scalar for member in self.components)

    def parameters(self) -> dict[str, Any]:
        return {"weights": self.weights, "components": list(self.components)}

    def members(self) -> tuple[Family, ...]:
        return self.components

    @property
    def space(self) -> SampleSpace:
        """That of the components, which are alike; of counts that with the largest one."""
        return _widest(member.space for member in self.components)

    def column_spaces(self) -> tuple[SampleSpace, ...]:
        return tuple(map(_widest, zip(*(member.column_spaces() for member in self.components), strict=True)))

    def symbol_table(self) -> Array:
        tables = np.stack([member.symbol_table() for member in self.components])
        return np.asarray(np.einsum("kc,ckm->km", self.weights, tables))

    def log_seen(self, x: Array) -> Array:
        return self.log_weight(x)

    @property
    def density_adds_up(self) -> bool:
        return False

    @cached_property
    def kl_is_integral(self) -> bool:
        return True

    def ranges(self) -> dict[str, str]:
        return {"weights": "rows", "components": "fixed"}

    def heap_coordinates(self, x: Array, fixed: frozenset[str] = frozenset()) -> Array:
        return self.components[0].heap_coordinates(x, fixed)

    def is_narrow(self, least: Array) -> Flags:
        return np.asarray(np.any([member.is_narrow(least) for member in self.components], axis=0))

    def embed(self, other: Any) -> Any:
        """A family that compares with every component, as a mixture of it alone."""
        if not all(comparable(member, other) for member in self.components):
            return None
        return type(self)(np.ones((other.n_states, 1)), [other])

    def take(self, states: ArrayLike) -> Self:
        index = np.asarray(states)
        return type(self)(self.weights[index], [member.take(index) for member in self.components])

    def select(self, columns: ArrayLike) -> Self:
        return type(self)(self.weights, [member.select(columns) for member in self.components])

    def moved(self, by: float) -> Self | None:
        members = [member.moved(by) for member in self.components]
        moved = [member for member in members if member is not None]
        return type(self)(self.weights, moved) if len(moved) == len(members) else None

    def check(self, x: Array) -> None:
        if self.space.is_counts:  # a count that some component takes is no error
            check_whole(x, self.name, self.space.most)
            return
        for member in self.components:
            member.check(x)

    def log_density(self, x: Array) -> Array:
        """(n, K, F): of each column on its own; columns of a mixture are not independent."""
        return self._mixed([member.log_density(x) for member in self.components], self._log_weights[:, None])

    def log_mass(self, lower: Array, upper: Array) -> Array:
        """(n, K, F): of each column on its own."""
        each = [member.log_mass(lower, upper) for member in self.components]
        return self._near_one(self._mixed(each, self._log_weights[:, None]), each, self.weights[:, None])

    def log_weight(self, x: Array, lower: Array | None = None, upper: Array | None = None) -> Array:
        self.check(x)
        each = [np.ascontiguousarray(_log_weight(member, x, lower, upper)) for member in self.components]
        value, odd = mixture_table(each, np.ascontiguousarray(self._log_weights.T))
        if odd:
            value = redone(value, lambda *terms: self._mixed(list(terms), self._log_weights), *each)
        if lower is not None:
            value = self._near_one(value, each, self.weights)
        # Where nothing is known weights sum to one, whatever rounding says.
        nothing = nothing_known(x, lower, upper)
        return np.where(nothing[:, None], 0.0, value) if nothing.any() else value

    @property
    def n_symbols(self) -> int:
        """Of mixtures of symbols."""
        return self.as_symbols().n_symbols

    def log_set(self, inside: NDArray[np.bool_]) -> Array:
        """(n, M) sets of symbols -> (n, K): log P(X in the set), of mixtures of symbols."""
        return self.as_symbols().log_set(inside)

    def as_symbols(self) -> Categorical:
        """The law of the symbols alone; refused for components that show anything else."""
        return Categorical(np.einsum("kc,ckm->km", self.weights, self._symbol_tables()))

    def marked_symbols(self) -> Categorical:
        """The law of component and symbol together, component after component."""
        return Categorical(np.concatenate(list(self.weights.T[:, :, None] * self._symbol_tables()), axis=1))

    def _symbol_tables(self) -> Array:
        """(C, K, M)."""
        members: list[Any] = list(self.components)
        if any(member.space.kind is not Kind.SYMBOLS for member in members):
            refuse(IncompatibleModels, "emission", "a mixture of symbols needs categorical components")
        if len({member.n_symbols for member in members}) > 1:
            refuse(IncompatibleModels, "emission", "the components of a mixture of symbols need the same alphabet")
        return np.stack([member.symbol_table() for member in members])

    def component_logs(self, x: Array) -> Array:
        """(n, K, C): log of the weight of a component times its density at x."""
        return np.stack([_log_weight(member, x, None, None) for member in self.components], axis=2) + self._log_weights

    def component_laws(
        self,
        x: Array,
        lower: Array | None = None,
        upper: Array | None = None,
        inside: NDArray[np.bool_] | None = None,
    ) -> Array:
        """(n, K, C): P(component | state, what is known); the weights where a state rules the knowledge out."""
        each = [_log_weight(member, x, lower, upper) for member in self.components]
        terms = np.stack(each, axis=2) + self._log_weights
        if inside is not None:
            members: list[Any] = list(self.components)
            restricted = ~np.asarray(inside.all(axis=1))[:, None, None]
            terms = terms + np.where(restricted, np.stack([member.log_set(inside) for member in members], axis=2), 0.0)
        top = terms.max(axis=2, keepdims=True)
        share = np.exp(terms - np.where(np.isfinite(top), top, 0.0))
        total = share.sum(axis=2, keepdims=True)
        return np.where(total > 0, share / np.where(total > 0, total, 1.0), self.weights)

    @property
    def _log_weights(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.weights)

    def _near_one(self, value: Array, terms: list[Array], weights: Array) -> Array:
        """Logs of masses near one from what the components leave out, which the masses themselves round."""
        near = np.abs(value) < NEAR_ONE
        if not near.any():
            return value
        with np.errstate(over="ignore", invalid="ignore"):
            less = (np.expm1(np.stack(terms, axis=-1)) * weights).sum(axis=-1)
            return np.where(near & np.isfinite(less), np.log1p(np.maximum(less, -0.5)), value)

    def _mixed(self, terms: list[Array], log_weights: Array) -> Array:
        """log sum_c exp(log weight + term) over arrays (n, K, ...) of the components."""
        every = np.stack(terms, axis=-1) + log_weights
        top = every.max(axis=-1, keepdims=True)
        shift = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.exp(every - shift).sum(axis=-1)) + shift[..., 0])

    def draw(self, states: IntArray, rng: np.random.Generator) -> Array:
        ends = np.cumsum(self.weights, axis=1)[states]
        chosen = (ends <= (rng.random(len(states)) * ends[:, -1])[:, None]).sum(axis=1)
        x = np.empty((len(states), self.n_features))
        for c, member in enumerate(self.components):
            x[chosen == c] = member.draw(states[chosen == c], rng)
        return x

    def statistics(self) -> None:
        """A mixture has none."""


def _log_weight(member: Family, x: Array, lower: Array | None, upper: Array | None) -> Array:
    """(n, K): the component's own, -inf for counts beyond it that others may take."""
    highest = member.space.most if member.space.is_counts else np.inf
    beyond = np.asarray((x > highest).any(axis=1))
    if not beyond.any():
        return member.log_weight(x, lower, upper)
    terms = member.log_weight(np.where(x > highest, 0.0, x), lower, upper)
    return np.where(beyond[:, None], -np.inf, terms)


def _widest(spaces: Iterable[SampleSpace]) -> SampleSpace:
    """The space that holds the values of all, which differ in their largest count at most."""
    return max(spaces, key=lambda space: (space.most, space.kind is Kind.COUNTS))


def nothing_known(x: Array, lower: Array | None, upper: Array | None) -> NDArray[np.bool_]:
    """(n,): rows of which no entry is seen or bounded."""
    known = ~np.isnan(x)
    if lower is not None and upper is not None:
        known |= (lower > -np.inf) | (upper < np.inf)
    return np.asarray(~known.any(axis=1))
