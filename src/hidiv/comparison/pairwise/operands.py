"""Models of one shape as one operand of a block of pairs: their parameters, and the expected visits of p."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hidiv.comparison.collection.collection import Collection
from hidiv.emissions.family import Family
from hidiv.types import Array, Flags, IntArray


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


def common_groups(p: Operand, q: Operand) -> tuple[int, int]:
    """Numbers of groups of rows and of families when p and q are compared: one only where both have one."""
    return max(p.rows.shape[1], q.rows.shape[1]), max(len(p.families), len(q.families))


def family_of_group(models: Operand, g: int) -> Family:
    """The family that group g uses."""
    return models.families[min(g, len(models.families) - 1)]
