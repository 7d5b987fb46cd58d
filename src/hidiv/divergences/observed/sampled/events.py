"""Events that are counted in draws: first states, transitions, rare symbols; their means, and what one more may add."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hidiv.divergences.observed.sampled.rare_moves import Likely, with_rare_moves
from hidiv.divergences.observed.sampled.rare_symbols import RareSymbols, rare_symbols
from hidiv.divergences.observed.sampled.standard_errors import drawn_counts, event_costs
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.types import Array, IntArray

COUNTED = 4096  # transitions of all groups that are counted one by one; more are counted over all groups


class Events(NamedTuple):
    """means (E,): expected numbers in a draw; costs (E,): nats that one more may add.

    `groups` (N,) where transitions are counted by group; `symbols` where log p/q of what was drawn is summed; `late`:
    nodes at the end whose states are counted once more, since controls there have coefficients of their own.
    """

    p: Model
    tree: Tree
    groups: IntArray | None
    symbols: RareSymbols | None
    means: Array
    costs: Array
    late: int = 0

    def counts(self, states: IntArray, x: Array) -> Array:
        """(n, E): how often each is in states (n, N) and observations (n, N, F)."""
        parent = None if self.tree.is_chain else self.tree.parent
        moves = drawn_counts(states, parent, self.p.n_states, self.groups)
        if self.late:
            shown = [(states[:, -self.late :] == s).sum(axis=1) for s in range(self.p.n_states)]
            moves = np.concatenate([moves, np.stack(shown, axis=1)], axis=1)
        if self.symbols is None or not len(self.symbols.means):
            return moves
        return np.concatenate([moves, self.symbols.counts(self.tree, states, x)], axis=1)

    @property
    def expected(self) -> tuple[Array, Array]:
        """Means and costs."""
        return self.means, self.costs

    def likely(self) -> Likely | None:
        """p with the rarest of them made likely, where that may help."""
        own = len(self.means) - (self.p.n_states if self.late else 0)
        return with_rare_moves(self.p, self.means[:own], self.costs[:own], self.symbols)


def events_of(
    p: Model, q: Model, tree: Tree, laws: Array, moves: Array, averaged: bool, apart: Array | None = None, late: int = 0
) -> Events:
    """laws (N, K): of p's states; moves (1, K, K) or (N, K, K); averaged: over the next observation; apart: divergences
    of the emissions, where they are known already; late: nodes at the end of a chain that are counted once more."""
    several = len(p.transitions) > 1
    by_group = several and p.transitions.size <= COUNTED
    groups = np.asarray(tree.group) if by_group else None
    above = laws[:-1] if tree.is_chain else laws[tree.parent[1:]]
    if len(moves) == 1:
        pairs = above.sum(axis=0)[:, None] * moves[0]
    elif groups is None:
        pairs = np.einsum("ur,urs->rs", above, moves[1:])
    else:
        pairs = np.zeros(p.transitions.shape)
        np.add.at(pairs, groups[1:], above[:, :, None] * moves[1:])
    symbols = None if averaged else rare_symbols(p, q, tree, laws)
    means, costs = np.concatenate([laws[0], pairs.ravel()]), event_costs(p, q, not averaged, apart)
    if by_group:
        costs = np.concatenate([costs[: p.n_states], np.tile(costs[p.n_states :], len(p.transitions))])
    if late:
        means, costs = np.concatenate([means, laws[-late:].sum(axis=0)]), np.concatenate([costs, costs[: p.n_states]])
    if symbols is not None:
        means, costs = np.concatenate([means, symbols.means]), np.concatenate([costs, symbols.costs])
    return Events(p, tree, groups, symbols, means, costs, late)
