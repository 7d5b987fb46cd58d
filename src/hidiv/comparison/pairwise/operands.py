"""Models of one shape as one operand of a block of pairs: their parameters, and the expected visits of p on a tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hidiv.comparison.collection.by_shape import ModelsByShape
from hidiv.comparison.collection.collection import Collection, title
from hidiv.divergences.joint.kl import too_large
from hidiv.divergences.joint.local_terms import NEVER, first_places
from hidiv.divergences.joint.visits import expected_visits
from hidiv.emissions.family import Family
from hidiv.errors import InvalidModel
from hidiv.models.tree import Tree
from hidiv.models.until_end import UntilEnd
from hidiv.recursions.levels import level_laws
from hidiv.recursions.powers import mean_law
from hidiv.recursions.state_laws import downward
from hidiv.types import Array, Flags, IntArray

TABLE_BYTES = 1 << 26  # of a table of all states of some p and all states of q


class ExpectedVisits(NamedTuple):
    """Expected visits of m models on a tree, by group where any model has groups, and which states are reached."""

    root: float  # weight of the root: 1 unless levels have weights
    rows: Array  # (m, G or 1, K): visits by the parent's state
    states: Array  # (m, G or 1, K): visits by the own state
    rows_reached: Flags  # the same shapes: decided on supports, never by an underflow
    states_reached: Flags

    def take(self, index: IntArray) -> ExpectedVisits:
        """The visits of some of the models."""
        tables = self.rows[index], self.states[index], self.rows_reached[index], self.states_reached[index]
        return ExpectedVisits(self.root, *tables)


@dataclass(frozen=True, eq=False)
class Operand:
    """m models that share a shape; `expected` is needed where they are p."""

    initial: Array  # (m, K)
    rows: Array  # (m, G, K, K), the end probability as a last column where there is one
    has_transition: Flags  # (m, G)
    families: tuple[Family, ...]  # one a group, of m K states
    expected: ExpectedVisits | None = None

    def __len__(self) -> int:
        return len(self.initial)

    @property
    def n_states(self) -> int:
        """Hidden states of each model."""
        return int(self.initial.shape[1])

    def take(self, which: IntArray | slice) -> Operand:
        """Some of the models."""
        index = np.arange(len(self))[which]
        states = (index[:, None] * self.n_states + np.arange(self.n_states)).ravel()
        expected = self.expected
        return Operand(
            self.initial[index],
            self.rows[index],
            self.has_transition[index],
            tuple(family.take(states) for family in self.families),
            None if expected is None else expected.take(index),
        )

    def relabelled(self, which: IntArray, orders: IntArray) -> Operand:
        """Models `which` (n,), new state j of the i-th its old state orders[i, j] (n, K); q alone, without visits."""
        k = self.n_states
        at = which[:, None]
        rows = np.take_along_axis(self.rows[which], orders[:, None, :, None], axis=2)
        rows = np.take_along_axis(rows, _columns(orders, rows), axis=3)
        states = (at * k + orders).ravel()
        families = tuple(family.take(states) for family in self.families)
        return Operand(self.initial[at, orders], rows, self.has_transition[which], families)


def _columns(orders: IntArray, rows: Array) -> IntArray:
    """(n, 1, 1, width): the orders as columns of the rows, where an end probability stays last."""
    n, k = orders.shape
    columns = np.concatenate([orders, np.broadcast_to(np.arange(k, rows.shape[3]), (n, rows.shape[3] - k))], axis=1)
    return columns[:, None, None, :]


def operand_of(models: Collection, expected: ExpectedVisits | None = None, n_groups: int | None = None) -> Operand:
    """The operand of a collection, with the groups that the tree uses."""
    rows, has_transition = models.transitions[:, :n_groups], models.has_transition[:, :n_groups]
    if models.end is not None:
        rows = np.concatenate([rows, models.end[:, None, :, None]], axis=3)
    return Operand(models.initial, rows, has_transition, models.emissions[:n_groups], expected)


def joint_operands(
    left: ModelsByShape, right: ModelsByShape, tree: Tree | UntilEnd, level_weights: Array | None = None
) -> tuple[list[Operand], list[Operand]]:
    """Every shape group of p with its expected visits, and every one of q; by group where any model has groups."""
    everyone = [group.models for group in (*left.groups, *right.groups)]
    n_groups = tree.n_groups if isinstance(tree, Tree) else None
    groups = (
        n_groups or 1 if any(m.transitions.shape[1] > 1 for m in everyone) else 1,
        n_groups or 1 if any(len(m.emissions) > 1 for m in everyone) else 1,
    )
    ps = [
        operand_of(group.models, expected_of(group.models, tree, groups, level_weights), n_groups)
        for group in left.groups
    ]
    return ps, ps if right is left else [operand_of(group.models, None, n_groups) for group in right.groups]


def common_groups(p: Operand, q: Operand) -> tuple[int, int]:
    """Numbers of groups of rows and of families when p and q are compared: one only where both have one."""
    return max(p.rows.shape[1], q.rows.shape[1]), max(len(p.families), len(q.families))


def family_of_group(models: Operand, g: int) -> Family:
    """The family that group g uses."""
    return models.families[min(g, len(models.families) - 1)]


class Emitting(Protocol):
    """What `by_states` reads of models of one shape."""

    @property
    def initial(self) -> Array:
        """(m, K)."""

    @property
    def families(self) -> tuple[Family, ...]:
        """One a group, of m K states."""


def models_at_once(p: Emitting, q: Emitting) -> int:
    """Of how many p a table of `by_states` may be made at once."""
    groups = max(len(p.families), len(q.families))
    return int(max(1, TABLE_BYTES // (8 * groups * p.initial.shape[1] * q.initial.size)))


def by_states(p: Emitting, q: Emitting, fill: Callable[[Family, Family, Array], None]) -> Array:
    """(G, m, K, K', n): a number for every state of p and every state of q, the models of q last, as kernels want them.

    fill(a, b, out) writes those of two families, one of each side, into out (m K, K' n).
    """
    (m, k), (n, width) = p.initial.shape, q.initial.shape
    groups = max(len(p.families), len(q.families))
    table = np.empty((groups, m, k, width, n))
    models_last = np.arange(n * width).reshape(n, width).T.ravel()
    for g in range(groups):
        a, b = (models.families[min(g, len(models.families) - 1)] for models in (p, q))
        fill(a, b.take(models_last), table[g].reshape(m * k, width * n))
    return table


class _HiddenChain(NamedTuple):
    """The parameters of one model that its visits depend on."""

    initial: Array
    transitions: Array
    end: Array | None

    @property
    def n_states(self) -> int:
        return int(self.initial.shape[0])


def expected_of(
    models: Collection, tree: Tree | UntilEnd, groups: tuple[int, int], level_weights: Array | None = None
) -> ExpectedVisits:
    """Visits of rows and states, each in one group or in the groups of the tree as `groups` says.

    `level_weights` (depth,) replace the numbers of nodes of the levels.
    """
    if isinstance(tree, Tree) and np.isinf(tree.size):
        too_large()
    if level_weights is not None:
        assert isinstance(tree, Tree)
        rows, states = _weighted_levels(models, tree, groups, level_weights)
        root = float(level_weights[0])
    else:
        rows, states = _visits(models, tree, groups)
        root = 1.0
    reached = _reached(models, tree, groups)
    return ExpectedVisits(root, rows, states, *reached)


def _hidden_chain(models: Collection, i: int) -> _HiddenChain:
    return _HiddenChain(models.initial[i], models.transitions[i], None if models.end is None else models.end[i])


def _visits(models: Collection, tree: Tree | UntilEnd, groups: tuple[int, int]) -> tuple[Array, Array]:
    """(m, G or 1, K) numbers of visits by parent's and by own state."""
    closed = isinstance(tree, Tree) and (tree.children is not None or tree.is_chain)
    if groups == (1, 1) and closed and isinstance(tree, Tree):
        transition = models.transitions[:, 0]
        rows = np.zeros_like(models.initial)
        if tree.depth > 1:
            mean = mean_law(models.initial, transition, tree.children or 1, tree.depth - 1)
            rows = (tree.size - 1.0) * mean
        return rows[:, None, :], (models.initial + np.einsum("mr,mrs->ms", rows, transition))[:, None, :]
    each_model = []
    for i in range(len(models)):
        try:
            visits = expected_visits(_hidden_chain(models, i), tree, *groups)  # type: ignore[arg-type]  # all it reads of a model
        except InvalidModel as error:
            raise InvalidModel(f"{title(i, models.names[i])}: {error}") from None
        rows, states = (
            visits.n_nodes * (table[:count] if count > 1 else table)  # groups no node is in come last, if at all
            for table, count in zip((visits.rows, visits.states), groups, strict=True)
        )
        each_model.append((rows, states))
    return np.stack([rows for rows, _ in each_model]), np.stack([states for _, states in each_model])


def _weighted_levels(models: Collection, tree: Tree, groups: tuple[int, int], weights: Array) -> tuple[Array, Array]:
    """The same visits when level l counts weights[l] in total instead of its number of nodes."""
    each_model = [_one_weighted(_hidden_chain(models, i), tree, groups, weights) for i in range(len(models))]
    return np.stack([rows for rows, _ in each_model]), np.stack([states for _, states in each_model])


def _one_weighted(hidden: _HiddenChain, tree: Tree, groups: tuple[int, int], weights: Array) -> tuple[Array, Array]:
    depth, k = tree.depth, hidden.n_states
    if len(hidden.transitions) == 1:
        by_level = level_laws(hidden.initial, hidden.transitions[0], depth)
    elif tree.kind == "regular":
        by_level = np.empty((depth, k))
        by_level[0] = hidden.initial
        for level in range(1, depth):
            by_level[level] = by_level[level - 1] @ hidden.transitions[level]
    if groups == (1, 1) or tree.kind == "regular":
        rows = np.concatenate([np.zeros((1, k)), weights[1:, None] * by_level[:-1]])
        states = weights[:, None] * by_level
    else:
        assert tree.group is not None
        own = tree.group if len(hidden.transitions) > 1 else np.zeros_like(tree.group)
        each = downward(hidden.initial, tree.parent, own, hidden.transitions)
        share = (weights / tree.level_counts())[tree.level][:, None]
        n_groups = int(tree.group.max()) + 1
        rows, states = np.zeros((n_groups, k)), np.zeros((n_groups, k))
        np.add.at(rows, tree.group[1:], (share * each[tree.parent])[1:])
        np.add.at(states, tree.group, share * each)
    rows, states = (
        table if count > 1 else table.sum(axis=0, keepdims=True)
        for table, count in zip((rows, states), groups, strict=True)
    )
    return rows, states


def _reached(
    models: Collection, tree: Tree | UntilEnd, groups: tuple[int, int]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(m, G or 1, K): which rows and states each model reaches; models with the same support are computed once."""
    if groups == (1, 1) and models.initial.all() and models.transitions.all():
        everywhere = np.ones((len(models), 1, models.n_states), dtype=np.bool_)
        return (everywhere if isinstance(tree, UntilEnd) or tree.depth > 1 else ~everywhere), everywhere
    support = np.concatenate([(models.initial > 0), (models.transitions > 0).reshape(len(models), -1)], axis=1)
    if (support == support[0]).all():
        first, which = np.zeros(1, dtype=np.int64), np.zeros(len(models), dtype=np.int64)
    else:
        packed = np.packbits(support, axis=1)
        _, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    places = [first_places(_hidden_chain(models, i), tree, *groups) for i in first]  # type: ignore[arg-type]  # all it reads of a model
    rows, states = np.stack([each.rows < NEVER for each in places]), np.stack([each.states < NEVER for each in places])
    return rows[which.ravel()], states[which.ravel()]
