"""A grid of filters of q with the states p can be in, and the recursions that run on it (definitions (5.5))."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidiv.divergences.observed.alphabets import FiniteChain
from hidiv.divergences.observed.budget import Effort
from hidiv.divergences.observed.interval import TINY, UNIT, NotApplicable
from hidiv.recursions.belief_grid import belief_grid
from hidiv.recursions.grid_sweeps import chance_sweeps, spread_sweeps, tangent_sweeps
from hidiv.types import Array, Flags

MEMORY = 6e8  # bytes of all tables of a grid
FINEST = 1 << 16  # cells of an edge; a short chain visits few filters however fine they are
_BATCH = 2e8  # operations of sweeps between two looks at what is left
FEWEST = 16  # sweeps without which a grid tells nothing
FIRST = 0.25  # share of the effort that the coarsest grid may take: it tells little if it cannot be made finer


def ticks(cells: int) -> Array:
    """(cells + 1,): from 0 to 1, closer near the ends, where filters of sharp or sticky chains are."""
    places = 0.5 - 0.5 * np.cos(np.pi * np.arange(cells + 1) / cells)
    places[0], places[-1] = 0.0, 1.0
    return places


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Points (G, K) with, after every symbol, the corners around the next filter: index, weights (G, M, K)."""

    p: FiniteChain
    q: FiniteChain
    points: Array
    index: NDArray[np.int32]
    weights: Array
    log_scale: Array
    excess: Array
    reached: Flags
    start_index: NDArray[np.int32]
    start_weights: Array
    start_excess: Array

    @classmethod
    def of(
        cls, p: FiniteChain, q: FiniteChain, start: Array, states: Flags, cells: int, effort: Effort,
        least: float, share: float = 1.0,
    ) -> Beliefs | None:  # fmt: skip
        """The grid closed under p's symbols from `start` (n, K), and the `states` (n, K_p) that p can be in there.

        least: operations of a point in the fewest sweeps that tell anything. None if the grid has more points than
        memory allows, or than a `share` of the effort allows to be made and swept; or cells finer than doubles tell
        apart.
        """
        if cells > FINEST:
            return None
        if p.n_states > 64:
            raise NotApplicable("p has more than 64 states")
        if (q.moves() & (q.steps() < TINY)).any():
            raise NotApplicable("q has probabilities too small for doubles")
        each = q.n_symbols * (q.n_states * 24.0 + 16.0) + p.n_states * (q.n_states + 4.0) * 24.0
        made = q.n_symbols * (300.0 + 10.0 * q.n_states**2)  # operations that a point takes
        allowed = min(MEMORY / each, share * effort.left / (made + least))
        in_time = effort.affordable() / made
        flags, limit = np.ascontiguousarray(states), int(max(min(allowed, in_time), 1000))
        tables = belief_grid(*p.laws(), *q.laws(), np.ascontiguousarray(start), flags, ticks(cells), limit)
        effort.spend(made * (limit if tables is None else len(tables[0])))
        if tables is None:
            effort.late = effort.late or in_time < max(allowed, 1000)
            return None
        return cls(p, q, *tables)

    @cached_property
    def nearest(self) -> Array:
        """(G, M, K): all weight on the corner that has most of it."""
        return _all_on_the_largest(self.weights)

    @cached_property
    def cost(self) -> Array:
        """(G, K_p): expected -log q(next symbol | point), moved up by the excess; +inf where q cannot emit it."""
        law = self.p.transition @ self.p.probabilities
        with np.errstate(invalid="ignore"):
            each = self.excess - self.log_scale
            infinite = np.isinf(each)
            finite = np.where(infinite, 0.0, each) @ law.T
            return np.where(infinite.astype(np.float64) @ law.T > 0, inf, finite)

    @property
    def counts(self) -> int:
        """Terms whose rounding adds up in one value of one sweep."""
        return 16 * (self.p.n_states + self.q.n_states + self.q.n_symbols) + 64


class Sweep(NamedTuple):
    """After some sweeps: least and largest change in the last one, allowance for its rounding."""

    least: float
    largest: float
    rounding: float


@dataclass(eq=False)
class SpreadBound:
    """Upper bounds: values (G, K_p) + level of what q costs from each point on, spread on the corners of cells."""

    grid: Beliefs
    weights: Array
    logarithmic: bool
    values: Array
    level: float = 0.0
    done: int = 0
    off: float = 0.0

    @classmethod
    def begin(cls, grid: Beliefs, nearest: bool, logarithmic: bool) -> SpreadBound:
        """Before the first sweep: no symbol is to come."""
        weights = grid.nearest if nearest else grid.weights
        return cls(grid, weights, logarithmic, np.zeros((len(grid.points), grid.p.n_states)))

    @property
    def operations(self) -> float:
        """Of one sweep."""
        return len(self.values) * spread_operations(self.grid.p, self.grid.q, self.logarithmic)

    def sweep(self, count: int) -> Sweep:
        """Values with `count` further symbols to come."""
        g = self.grid
        values, least, largest = spread_sweeps(
            *g.p.laws(), g.index, self.weights, g.cost, g.reached, self.values, count, self.logarithmic
        )
        return _moved(self, values, least, largest, count)


@dataclass(eq=False)
class TangentBound:
    """Lower bounds: values (G, K_p) + level - log(b . slopes (G, K_p, K)), for every filter b."""

    grid: Beliefs
    weights: Array
    values: Array
    slopes: Array
    level: float = 0.0
    done: int = 0
    off: float = 0.0

    @classmethod
    def begin(cls, grid: Beliefs, nearest: bool) -> TangentBound:
        """Before the first sweep: no symbol is to come."""
        shape = len(grid.points), grid.p.n_states
        weights = grid.nearest if nearest else grid.weights
        return cls(grid, weights, np.zeros(shape), np.ones((*shape, grid.q.n_states)))

    @property
    def operations(self) -> float:
        """Of one sweep."""
        return len(self.values) * tangent_operations(self.grid.p, self.grid.q)

    def sweep(self, count: int) -> Sweep:
        """Values with `count` further symbols to come."""
        g = self.grid
        values, self.slopes, least = tangent_sweeps(
            *g.p.laws(), *g.q.laws(), g.points, g.index, self.weights, g.reached, self.values, self.slopes, count
        )
        return _moved(self, values, least, inf, count)


@dataclass(eq=False)
class ChanceBound:
    """Lower bounds of the entropy to come of the grid's own chain: values (G,) + level, linear between corners."""

    grid: Beliefs
    chance: Array
    cost: Array
    values: Array
    level: float = 0.0
    done: int = 0
    off: float = 0.0

    @classmethod
    def begin(cls, grid: Beliefs) -> ChanceBound:
        """Before the first sweep: no symbol is to come."""
        chance = np.exp(grid.log_scale) * (grid.weights.sum(axis=2) > 0)
        with np.errstate(invalid="ignore"):
            cost = -np.where(chance > 0, chance * grid.log_scale, 0.0).sum(axis=1)
        return cls(grid, chance, cost, np.zeros(len(grid.points)))

    @property
    def operations(self) -> float:
        """Of one sweep."""
        return len(self.values) * chance_operations(self.grid.q)

    def sweep(self, count: int) -> Sweep:
        """Values with `count` further symbols to come."""
        g = self.grid
        values, least, largest = chance_sweeps(g.index, g.weights, self.chance, self.cost, self.values, count)
        return _moved(self, values, least, largest, count, self.excess(values))

    def excess(self, values: Array) -> float:
        """What rounding of the cells may take: a little of the mass is anywhere between the pure states."""
        return float((self.chance * self.grid.excess).sum(axis=1).max() * np.ptp(values))


def spread_operations(p: FiniteChain, q: FiniteChain, logarithmic: bool) -> float:
    """Of a point in one sweep of a SpreadBound."""
    each = q.n_states * p.n_states + (10.0 * p.n_states if logarithmic else 0.0) + 4.0
    return q.n_symbols * each + p.n_states**2


def tangent_operations(p: FiniteChain, q: FiniteChain) -> float:
    """Of a point in one sweep of a TangentBound."""
    return 2.0 * (q.n_symbols * p.n_states * q.n_states * (q.n_states + 10.0) + p.n_states**3)


def chance_operations(q: FiniteChain) -> float:
    """Of a point in one sweep of a ChanceBound."""
    return 2.0 * q.n_symbols * q.n_states


def _moved(
    recursion: SpreadBound | TangentBound | ChanceBound,
    values: Array,
    least: float,
    largest: float,
    count: int,
    more: float = 0.0,
) -> Sweep:
    """New values without their level, and the rounding of all sweeps so far."""
    finite = values[np.isfinite(values)]
    before = recursion.values[np.isfinite(recursion.values)]
    size = max(float(np.abs(finite).max(initial=0.0)), float(np.abs(before).max(initial=0.0)))
    cost = recursion.grid.log_scale[np.isfinite(recursion.grid.log_scale)]
    rounding = UNIT * recursion.grid.counts * (1.0 + size + float(np.abs(cost).max(initial=0.0))) + more
    level = float(finite.min(initial=inf)) if len(finite) else 0.0
    recursion.values = values - level
    recursion.level += level
    recursion.done += count
    recursion.off += count * rounding + 2.0 * UNIT * abs(recursion.level)
    return Sweep(least, largest, rounding)


def swept(recursion: SpreadBound | TangentBound | ChanceBound, steps: int, effort: Effort, flat: float) -> Sweep:
    """`steps` sweeps, fewer once the change is the same everywhere up to `flat`, or the effort is spent.

    A change is known to be flat only where its least and largest are both known: else all sweeps are done.
    """
    count, last = 1, Sweep(-inf, inf, 0.0)
    while recursion.done < steps:
        done = min(count, steps - recursion.done)
        last = recursion.sweep(done)
        effort.spend(done * recursion.operations)
        if last.largest - last.least <= flat + 2.0 * last.rounding or effort.over():
            break
        count = int(min(max(_BATCH / recursion.operations, 1), 2 * count, 64))
    return last


def _all_on_the_largest(weights: Array) -> Array:
    """One where the last axis is largest, the first of equals, and zero elsewhere; rows of zeros stay."""
    best = weights.argmax(axis=-1)[..., None]
    chosen = np.zeros_like(weights)
    np.put_along_axis(chosen, best, (np.take_along_axis(weights, best, axis=-1) > 0).astype(np.float64), axis=-1)
    return chosen
