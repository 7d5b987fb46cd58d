"""Draws of chains from p: one-step divergences summed, with controls of known mean (definitions (5.4) and (5.8))."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hidiv.divergences.observed.alphabets import family_symbols
from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.observed.quadrature.observation_points import points
from hidiv.divergences.observed.quadrature.panels import QUICK
from hidiv.divergences.observed.sampled.controls import ROUNDING, ChainCounts, counts_of, laws_of
from hidiv.divergences.observed.sampled.draws import UNHELD, Drawn, Fitted, weigh, weigh_ratio
from hidiv.divergences.observed.sampled.estimate_words import PREDICTIONS
from hidiv.divergences.observed.sampled.events import Events, events_of
from hidiv.divergences.observed.sampled.rare_moves import Likely, drawn_of, weighted
from hidiv.divergences.observed.sampled.standard_errors import emissions_apart
from hidiv.divergences.observed.support.any_family import log_weights
from hidiv.emissions.family import Family
from hidiv.errors import OutOfRange, refuse
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.chain_sums import chain_sums, node_sums
from hidiv.recursions.filters import Filters, Weights, carried_difference, run_both
from hidiv.recursions.predictive import Following, ObservationPoints, Past, Wanted
from hidiv.recursions.value_function import drawn_points, fitted_values, functions
from hidiv.types import Array, IntArray

Value = tuple[Array, IntArray]  # coefficients, and which of them a node has (recursions/value_function.py)
CLOSE = 1e-4  # parameters this near: the difference of the filters is carried, not taken
FEW_SYMBOLS = 8
NEAREST = 2  # states of q whose log-ratios with a state of p are used while draws are few
LONG = 1 << 20  # points of all nodes of a portion from which on it is shared by threads
FEW_STATES = 6  # free filter probabilities up to which counts and products are worth their cost beside a fitted value
SPREAD, FITTED = 6, 500  # nodes that a value function is fitted to: so many a coefficient, and at least so many
FEW_BOTH = 12  # states of both models that are few
FEWEST_FITTED, MOST_FITTED = 256, 2048  # sequences they are taken from
MOST_WORK = 1 << 19  # points times coefficients of a value function
CLEAR = 1e-9  # relative rounding of a bound that need not be sharp
MANY_POINTS, RATIO = 256, 0.15  # points of a sum over an observation that are many; work of a log-ratio beside it
LAST = 8  # nodes at the end that have coefficients of their own


class ValueFit(NamedTuple):
    """A fitted function of both filters, whether it replaces the dearer controls, the work of a draw with it over that
    of one without, and how many draws it was fitted to."""

    value: Value
    lean: bool
    dear: float
    drawn: int


@dataclass(frozen=True, eq=False)
class ChainPair:
    """p and q on a chain; `spaces` the points of each pair of emission groups, `space_of` (N,) which one a node has."""

    p: Model
    q: Model
    tree: Tree
    spaces: tuple[ObservationPoints, ...]
    space_of: IntArray
    averaged: bool = True  # over the next observation; else log p/q of what was drawn is summed

    @classmethod
    def by_ratio(cls, p: Model, q: Model, tree: Tree) -> ChainPair:
        """For observations that are no sum over points, and one law at every node: log p/q, with counts."""
        one, two = np.ones((p.n_states, 1)), np.ones((q.n_states, 1))
        nothing = ObservationPoints(one, two, np.log(two), two, np.zeros(1), np.ones(1), None, False)
        return cls(p, q, tree, (nothing,), np.zeros(tree.n_nodes, dtype=np.int64), False)

    @classmethod
    def of(cls, p: Model, q: Model, tree: Tree) -> ChainPair:
        """NotApplicable on other trees, and where an expectation over a node's observation is no sum over points."""
        if not tree.is_chain:
            raise NotApplicable("the tree is no chain")
        if len(p.emissions) == len(q.emissions) == 1:
            space = points(p.emissions[0], q.emissions[0], QUICK)
            return cls(p, q, tree, (space,), np.zeros(tree.n_nodes, dtype=np.int64))
        group = np.asarray(tree.group)
        at_p, at_q = (np.minimum(group, len(m.emissions) - 1) for m in (p, q))
        pairs, space_of = np.unique(np.stack([at_p, at_q], axis=1), axis=0, return_inverse=True)
        spaces = tuple(points(p.emissions[a], q.emissions[b], QUICK) for a, b in pairs.tolist())
        return cls(p, q, tree, spaces, np.asarray(space_of).ravel())

    @cached_property
    def moves(self) -> tuple[Array, Array]:
        """(1, K, K) or (N, K, K): transitions of p and of q, by node where they differ."""
        return moves_of(self.p, self.tree), moves_of(self.q, self.tree)

    @cached_property
    def close(self) -> bool:
        """Whether q is near p, state by state."""
        if self.p.n_states != self.q.n_states:
            return False
        apart = [self.q.initial - self.p.initial, self.moves[1] - self.moves[0]]
        apart += [np.ones(1) if s.apart is None else np.abs(s.apart) @ s.weight for s in self.spaces]
        return all(float(np.abs(a).max()) <= CLOSE for a in apart)

    @cached_property
    def following(self) -> Following | None:
        """Where the step after next is cheap to look at: few symbols, the same laws at every node."""
        space, (move_p, move_q) = self.spaces[0], self.moves
        if (
            self.close
            or len(self.spaces) > 1
            or self.p.n_states + self.q.n_states < 5
            or not space.symbols
            or len(space.weight) > FEW_SYMBOLS
        ):
            return None
        if len(move_p) > 1 or len(move_q) > 1:
            return None
        return Following(move_p[0] @ space.p, move_q[0] @ space.q)

    @cached_property
    def counts(self) -> ChainCounts:
        """Posterior counts of p and their means."""
        return counts_of(self.p, self.q, self.tree, self.spaces, self.space_of, self.moves[0], self.laws)

    def past(self, x: Array) -> tuple[Past, Filters, Filters, Weights, Weights]:
        """Filters along x (n, N, F), and the weights of the observations under p and q."""
        weights_p, weights_q = weigh(self.p, self.tree, x), weigh(self.q, self.tree, x)
        moves_p, moves_q = self.moves
        one, two = run_both((self.p.initial, self.q.initial), self.moves, (weights_p, weights_q))
        apart: tuple[Array, Array] | tuple[None, None] = (None, None)
        if self.close:
            log_p, log_q, given = weights_p.logs(), weights_q.logs(), two.log_prob[:, None, :]
            with np.errstate(invalid="ignore", over="ignore"):
                weight_q = np.exp(log_q - given)
                change = np.exp(log_p - given) * np.expm1(weigh_ratio(self.p, self.q, self.tree, x))
            change = np.where(log_p > -np.inf, change, weight_q)
            start, changes = self.q.initial - self.p.initial, moves_q - moves_p
            apart = carried_difference(start, moves_q, changes, one, weight_q, change)
        return Past(one.predicted, one.updated, two.predicted, two.updated, *apart), one, two, weights_p, weights_q

    def draw(
        self, size: int, rng: np.random.Generator, lean: bool = False, likely: Likely | None = None,
        value: Value | None = None,
    ) -> Drawn:  # fmt: skip
        """`size` sequences of p: the log-ratio, the sum of one-step divergences, and the controls.

        lean: without those that take longest, products of filter probabilities. value: a function of both filters whose
        surprises are the first control; where there are many states it takes the place of counts and products. likely:
        half of the sequences are drawn from its model, with weights.
        """
        states, x = drawn_of(self.p, self.tree, size, rng, likely)
        drawn = self.along(states, x, lean, value)
        return drawn if likely is None else weighted(drawn, self.p, likely, self.tree, states, x)

    def along(self, states: IntArray, x: Array, lean: bool = False, value: Value | None = None) -> Drawn:
        """What sequences with these states (n, N) and observations (n, N, F) give."""
        events = self.events.counts(states, x)
        lean = lean or not self.averaged
        drawn = self._by_kernel(x, events, lean, value) if self.is_plain else None
        return self._by_node(x, events, lean) if drawn is None else drawn

    def scored(self, states: IntArray, x: Array, visits: Array | None = None) -> Drawn:
        """What sequences of p that were drawn for several q give, with few controls: linear ones, and visits.

        The visits (n, K) come last; they are those of p alone, and may be given. Not finite where probabilities are
        too small for it.
        """
        events = self.events.counts(states, x)
        drawn = self._by_kernel(x, events, True, None, False, visits)
        if drawn is not None:
            return drawn
        lost = np.full(len(x), np.nan)
        return Drawn(lost, lost, np.zeros((len(x), 0)), events)

    def fitted(self, rng: np.random.Generator) -> Fitted | None:
        """Draws with a value function fitted to others; None without."""
        fit = self.fit(rng)
        if fit is None:
            return None
        return Fitted(
            lambda size, rng, likely=None: self.draw(size, rng, fit.lean, likely, fit.value), fit.dear, fit.drawn
        )

    def fit(self, rng: np.random.Generator, steps: int | None = None) -> ValueFit | None:
        """A value function fitted to draws, half of them of a model where little is rare; None without.

        steps: of the draws, where fewer than the tree has will do; what is fitted are those of the second half.
        """
        length, both = self.tree.n_nodes, self.p.n_states + self.q.n_states
        drawn = self.tree if steps is None else Tree.chain(min(steps, length))
        first = 0 if steps is None else drawn.n_nodes // 2
        if (
            not (self.is_plain and self.averaged)
            or length < 3
            or len(self.spaces[0].weight) * functions(both) > MOST_WORK
        ):
            return None
        wanted = max(SPREAD * functions(both), FITTED)
        # Of many states some are rare, and a fit that has seen them in few sequences does harm.
        fewest = FEWEST_FITTED if both <= FEW_BOTH else 4 * FEWEST_FITTED
        size = min(max(fewest, -(-2 * wanted // (drawn.n_nodes - 1 - first))), MOST_FITTED)
        _, x = drawn_of(self.p, drawn, size, rng, Likely(_flattened(self.p)))
        if self.is_finite:
            row_of = symbol_of(self.p.emissions[0], x).T
            weights = [Weights(np.ascontiguousarray(t[row_of].transpose(0, 2, 1)), None) for t in self.symbol_rows]
        else:
            weights = [weigh(model, drawn, x) for model in (self.p, self.q)]
        one, two = run_both((self.p.initial, self.q.initial), self.moves, weights)
        past = Past(*(law[first:] for law in (one.predicted, one.updated, two.predicted, two.updated)))
        fitted = fitted_values(self.point_tables, drawn_points(past, wanted, rng), length)
        if fitted is None:
            return None
        j, free = len(self.spaces[0].weight), both - 2
        own = j * (2.0 * both + 15.0) + self.p.n_states**2 + self.q.n_states**2
        dear = 1.0 + j * (both * (both + 5) / 2.0) / own + (0.2 * free if free <= FEW_STATES else 0.0)
        return ValueFit(fitted, free > FEW_STATES, dear, size)

    @property
    def dear(self) -> float:
        """The work of a draw with all controls, over that of one without the dearer ones."""
        if not self.averaged:
            return 1.0
        each = 0.2 if len(self.spaces[0].weight) < MANY_POINTS else 0.45  # measured
        return 1.0 + each * (self.p.n_states + self.q.n_states - 2)

    @property
    def plainer(self) -> ChainPair | None:
        """The same by log p/q of what was drawn, where an average over the next observation takes much longer."""
        many = self.averaged and not self.is_finite and len(self.spaces[0].weight) >= MANY_POINTS
        is_one_law = len(self.spaces) == self.p.n_groups == self.q.n_groups == 1
        return ChainPair.by_ratio(self.p, self.q, self.tree) if many and is_one_law and not self.close else None

    @property
    def base(self) -> str:
        """In words, what is averaged."""
        return f"{PREDICTIONS}, summed over the steps" if self.averaged else "log p(x)/q(x)"

    @cached_property
    def events(self) -> Events:
        """The first states, transitions and, where nothing is averaged, rare symbols that are counted."""
        late = LAST if self.averaged and self.tree.n_nodes >= 2 * LAST else 0
        return events_of(self.p, self.q, self.tree, self.laws, self.moves[0], self.averaged, self.apart, late)

    @cached_property
    def apart(self) -> Array | None:
        """(G or 1, K, L): divergences of p's emissions from q's; None where there is no formula for them."""
        return emissions_apart(self.p, self.q)

    @cached_property
    def below_joint(self) -> float:
        """A number that the joint divergence is not below in any order of q's states; 0 where it would take long.

        Each state of p is paired with the state of q that is best for it, whatever the others are paired with, and the
        largest probability of its row with the largest of q's.
        """
        if not self.is_plain or self.apart is None or self.p.n_states != self.q.n_states:
            return 0.0
        row_p, row_q = (np.sort(moves[0], axis=1) for moves in self.moves)
        if row_q.min() == 0.0 or not np.isfinite(self.apart).all():
            return 0.0
        own = np.where(row_p > 0, row_p * np.log(np.where(row_p > 0, row_p, 1.0)), 0.0).sum(axis=1)
        rows = np.maximum(own[:, None] - row_p @ np.log(row_q).T, 0.0)
        shown, last = self.laws.sum(axis=0), self.laws[-1]
        each = shown[:, None] * self.apart[0] + (shown - last)[:, None] * rows
        return float(each.min(axis=1).sum()) * (1.0 - CLEAR)

    @cached_property
    def laws(self) -> Array:
        """(N, K): of p's states."""
        return laws_of(self.p, self.moves[0], self.tree.n_nodes)

    @cached_property
    def is_plain(self) -> bool:
        """Whether the laws are the same at every node, and not so close that differences must be carried."""
        alike = len(self.spaces) == 1 and len(self.moves[0]) == len(self.moves[1]) == 1
        return alike and not self.close and len(self.spaces[0].weight) > 0

    def _by_node(self, x: Array, events: Array, lean: bool) -> Drawn:
        """The sums node by node, for any laws; close models carry the difference of their filters."""
        past, one, two, weights_p, weights_q = self.past(x)
        if not self.averaged:
            ratio = _held_sum(one.log_prob - two.log_prob)
            return Drawn(ratio, ratio, np.zeros((len(x), 0)), events)
        wanted = Wanted(not lean, None if lean else self.following)
        base, sums = node_sums(self.spaces, self.space_of, past, wanted, LAST)
        plain = _held_sum(one.log_prob - two.log_prob)
        counted = self.counts.along(one, x, weights_p, weights_q)
        return Drawn(plain, base, np.concatenate([*sums[:2], counted, *sums[2:]]).T, events)

    def _by_kernel(
        self, x: Array, events: Array, lean: bool, value: Value | None, shown: bool = True, visits: Array | None = None
    ) -> Drawn | None:
        """All sums in one go; None where probabilities are too small for it.

        shown: with counts of pairs of states and of what they show; else of visits, which may be given.
        """
        space, models = self.spaces[0], (self.p, self.q)
        counts = visits is None and (value is None or not lean)
        counted = counts and shown and bool(self.counts.emissions)
        shift: Array | float = 0.0
        if self.is_finite:
            row_of = symbol_of(self.p.emissions[0], x)
            tables = self.symbol_rows
            logs = self.symbol_logs if counted and not space.symbols else None
        else:
            row_of = np.arange(x.shape[0] * x.shape[1]).reshape(x.shape[:2])
            rows = [_weight_rows(model.emissions[0], x) for model in models]
            scales = [_held_sum(each.scale.reshape(row_of.shape).T) for each in rows]
            shift = scales[0] - scales[1]
            tables = [each.value for each in rows]
            logs = (rows[0].logs, rows[1].logs) if counted else None
        following = None if lean or self.following is None else (self.following.p, self.following.q)
        laws = [(m.initial, m.transitions[0], table) for m, table in zip(models, tables, strict=True)]
        symbols = space.symbols and counted
        # Portions run side by side already; threads of its own are for what takes longer than to start them.
        threads = 1 if row_of.size * len(space.weight) < LONG else 0
        p, q = laws
        sums = chain_sums(
            p, q, row_of, self.point_tables, following, logs, symbols, not lean, LAST, threads, value, counts
        )
        if sums is None:
            return None
        controls = sums[:, 2:]
        if not self.averaged:  # the filter of q has no known expectation
            free, own = self.p.n_states + self.q.n_states - 2, self.p.n_states - 1
            controls = np.delete(controls, np.r_[own:free, free + own : 2 * free], axis=1)
        # Fitted to other draws, so that nothing is lost by taking it out whole.
        base = sums[:, 1] if value is None else sums[:, 1] - sums[:, 2]
        base = base if self.averaged else sums[:, 0] + shift
        if visits is not None:
            controls = np.concatenate([controls, visits], axis=1)
        if not counts:
            return Drawn(sums[:, 0] + shift, base, controls, events)
        means = self.counts.means() if shown else np.append(self.counts.initial, self.counts.pairs)
        others = self.q.n_states - 1 + (following is not None) if self.averaged else 0
        first = (value is not None) + 2 * (self.p.n_states - 1 + others)
        mine = controls[:, first : first + len(means)]
        mine -= means
        if not shown:
            visits = mine[:, self.p.n_states :].reshape(len(mine), self.p.n_states, -1).sum(axis=1)
            controls = np.concatenate([controls[:, :first], visits], axis=1)
        if logs is not None:  # two laws that are one: what is left of their log-ratio is noise
            apart = self.counts.emissions[0][2].ravel()
            mine[:, len(means) - len(apart) :][:, apart < ROUNDING * self.tree.n_nodes] = 0.0
            if not self.averaged:
                each = mine[:, len(means) - len(apart) :].reshape(len(mine), *self.fitting.shape)
                fitting, near = np.einsum("nsr,sr->ns", each, self.fitting), self.nearest
                alone = each[:, np.arange(len(near))[:, None], near].reshape(len(each), -1)
                controls = np.concatenate([fitting, alone, controls], axis=1)
        return Drawn(sums[:, 0] + shift, base, controls, events)

    @cached_property
    def fitting(self) -> Array:
        """(K, L): which states of q explain those of p, where log p/q is summed and divergences of emissions are known.

        Log-ratios of emissions weighted by it, one for each state of p, are controls that few draws suffice for.
        """
        visits = self.laws.sum(axis=0)[:, None]
        apart = self.counts.emissions[0][2] / np.where(visits > 0, visits, 1.0)
        weight = np.exp(apart.min(axis=1, keepdims=True) - apart)
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))

    @cached_property
    def nearest(self) -> IntArray:
        """(K, 2): the states of q that are nearest to each of p; one where q has one. Log-ratios against each of them
        alone follow those of `fitting`."""
        return np.argsort(self.counts.emissions[0][2], axis=1, kind="stable")[:, :NEAREST]

    @cached_property
    def leading(self) -> int:
        """How many of the first controls do while draws are few: those of `fitting`, `nearest`, and the linear ones; 0
        for all."""
        if self.averaged or not self.counts.emissions:
            return 0
        return self.p.n_states + self.nearest.size + 2 * (self.p.n_states - 1)

    @cached_property
    def is_finite(self) -> bool:
        """Whether an observation is one of finitely many: a symbol, or a combination of the symbols of its columns."""
        return all(m.emissions[0].alphabet() is not None for m in (self.p, self.q))

    @cached_property
    def symbol_logs(self) -> tuple[Array, Array]:
        """Logarithms of `symbol_rows`."""
        with np.errstate(divide="ignore"):
            return np.log(self.symbol_rows[0]), np.log(self.symbol_rows[1])

    @cached_property
    def symbol_rows(self) -> list[Array]:
        """(M, K) for p and (M, L) for q: the probabilities of each symbol."""
        return [np.ascontiguousarray(family_symbols(m.emissions[0]).T) for m in (self.p, self.q)]

    @cached_property
    def point_tables(self) -> tuple[Array, Array, Array, Array]:
        """The points as the kernel reads them."""
        space = self.spaces[0]
        return (np.ascontiguousarray(space.p), np.ascontiguousarray(space.q_scaled), space.scale, space.weight)


def symbol_of(family: Family, x: Array) -> IntArray:
    """(n, N): the number of each observation of x (n, N, F) among the rows of the family's alphabet."""
    sizes = [space.n_symbols for space in family.column_spaces()]
    number = np.zeros(x.shape[:2], dtype=np.int64)
    for column, size in enumerate(sizes):
        assert size is not None
        number = number * size + x[:, :, column].astype(np.int64)
    return number


class _WeightRows(NamedTuple):
    """value (R, K): weights of R observations, the largest of each one; scale (R,): its logarithm; logs (R, K)."""

    value: Array
    scale: Array
    logs: Array


def _weight_rows(family: Family, x: Array) -> _WeightRows:
    """Of the observations x (n, N, F), one after the other."""
    logs = log_weights(family, x[:, :, : family.n_features].reshape(-1, family.n_features))
    top = logs.max(axis=1)
    scale = np.where(np.isfinite(top), top, 0.0)
    return _WeightRows(np.exp(logs - scale[:, None]), scale, logs)


def _flattened(p: Model) -> Model:
    """p with rare first states and moves less rare: where a fit has seen few of them it may be far off."""
    first, moves = np.sqrt(p.initial), np.sqrt(p.transitions[0])
    return Model(first / first.sum(), moves / moves.sum(axis=1, keepdims=True), p.emissions[0])


def moves_of(model: Model, tree: Tree) -> Array:
    """(1, K, K), or (N, K, K) for a model whose transitions have groups."""
    return model.transitions if len(model.transitions) == 1 else model.transitions[tree.group]


def _held_sum(logs: Array) -> Array:
    """(n,): sums of logs (N, n) over the nodes; refused where no double holds one whose terms are all finite."""
    with np.errstate(over="ignore"):
        total = np.asarray(logs.sum(axis=0))
    if (np.isinf(total) & np.isfinite(logs).all(axis=0)).any():
        refuse(OutOfRange, "q", UNHELD)
    return total
