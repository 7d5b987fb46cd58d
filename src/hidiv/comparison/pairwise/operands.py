"""Models of one shape as one side of a block of pairs: their laws, and how often each of them comes by where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hidiv.comparison.collection.collection import Collection
from hidiv.emissions.family import Family
from hidiv.types import Array, Flags, IntArray


class Expected(NamedTuple):
    """Expected visits of m models on a tree, by group where any model has groups, and what they reach at all."""

    root: float  # weight of the root: 1 unless levels are weighted otherwise
    rows: Array  # (m, G or 1, K): the parent's state
    states: Array  # (m, G or 1, K): the own state
    rows_reached: Flags  # the same shapes: decided on supports, never by an underflow
    states_reached: Flags

    def take(self, index: IntArray) -> Expected:
        """Those of some of the models."""
        tables = self.rows[index], self.states[index], self.rows_reached[index], self.states_reached[index]
        return Expected(self.root, *tables)


@dataclass(frozen=True, eq=False)
class Side:
    """m models that share a shape; `expected` on the side of p."""

    initial: Array  # (m, K)
    rows: Array  # (m, G, K, K), the end probability as a last column where there is one
    has_transition: Flags  # (m, G)
    families: tuple[Family, ...]  # one a group, of m K states
    expected: Expected | None = None

    def __len__(self) -> int:
        return len(self.initial)

    @property
    def n_states(self) -> int:
        """Hidden states of each model."""
        return int(self.initial.shape[1])

    def take(self, which: IntArray | slice) -> Side:
        """Some of the models."""
        index = np.arange(len(self))[which]
        states = (index[:, None] * self.n_states + np.arange(self.n_states)).ravel()
        expected = self.expected
        return Side(
            self.initial[index],
            self.rows[index],
            self.has_transition[index],
            tuple(family.take(states) for family in self.families),
            None if expected is None else expected.take(index),
        )

    def relabel(self, order: IntArray) -> Side:
        """The same models, new state i the old state order[i]; without expected visits, so on the side of q."""
        inner = np.ix_(order, order)
        rows = self.rows.copy()
        k = self.n_states
        rows[..., :k] = self.rows[..., inner[0], inner[1]]
        if rows.shape[3] > k:
            rows[..., k] = self.rows[..., order, k]
        states = (np.arange(len(self))[:, None] * k + order).ravel()
        return Side(
            self.initial[:, order], rows, self.has_transition, tuple(family.take(states) for family in self.families)
        )


def side_of(models: Collection, expected: Expected | None = None, n_groups: int | None = None) -> Side:
    """A whole collection; of its groups those the tree uses."""
    rows, has_transition = models.transitions[:, :n_groups], models.has_transition[:, :n_groups]
    if models.end is not None:
        rows = np.concatenate([rows, models.end[:, None, :, None]], axis=3)
    return Side(models.initial, rows, has_transition, models.emissions[:n_groups], expected)


def common_groups(p: Side, q: Side) -> tuple[int, int]:
    """Numbers of groups of rows and of families when p and q are compared: one only where both have one."""
    return max(p.rows.shape[1], q.rows.shape[1]), max(len(p.families), len(q.families))


def family_of_group(side: Side, g: int) -> Family:
    """The family group g uses."""
    return side.families[min(g, len(side.families) - 1)]
