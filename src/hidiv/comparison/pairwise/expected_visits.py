"""Expected visits of many models of one shape on one tree, together where a closed form allows it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidiv.comparison.collection.collection import Collection, title
from hidiv.comparison.pairwise.operands import ExpectedVisits
from hidiv.divergences.joint.kl import too_large
from hidiv.divergences.joint.local_terms import NEVER, first_places
from hidiv.divergences.joint.visits import expected_visits, tree_size
from hidiv.errors import InvalidModel
from hidiv.models.tree import Tree
from hidiv.models.until_end import UntilEnd
from hidiv.recursions.levels import level_laws
from hidiv.recursions.powers import after, mean_law
from hidiv.recursions.state_laws import downward
from hidiv.types import Array


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
    if isinstance(tree, Tree) and np.isinf(tree_size(tree)):
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
            rows = (tree_size(tree) - 1.0) * mean
        return rows[:, None, :], (models.initial + after(rows, transition))[:, None, :]
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
    support = np.concatenate([(models.initial > 0), (models.transitions > 0).reshape(len(models), -1)], axis=1)
    if (support == support[0]).all():
        first, which = np.zeros(1, dtype=np.int64), np.zeros(len(models), dtype=np.int64)
    else:
        packed = np.packbits(support, axis=1)
        _, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    places = [first_places(_hidden_chain(models, i), tree, *groups) for i in first]  # type: ignore[arg-type]  # all it reads of a model
    rows, states = np.stack([each.rows < NEVER for each in places]), np.stack([each.states < NEVER for each in places])
    return rows[which.ravel()], states[which.ravel()]
