"""Symbols that a state of p seldom shows: how often they are drawn, and what one of them adds to log p/q.

Where the next observation is averaged their cost is in the average. Where log p/q of what was drawn is summed, a symbol
that p shows once in ten thousand nodes and q hardly ever may be most of the divergence, and no draw may show it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hidiv.divergences.observed.alphabets import family_symbols
from hidiv.divergences.observed.sampled.draws import nodes_of
from hidiv.emissions.family import Family
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.types import Array, IntArray

RARE = 0.01  # probability in its state below which a symbol is rare
MOST = 745.0  # nats of an observation: beyond, probabilities are zero
LISTED = 1024  # rare symbols at most; where there are more, those that add most are counted


class RareSymbols(NamedTuple):
    """E symbols, each of a state, column and emission group; expected numbers in a draw, and nats that one adds."""

    groups: int
    group: IntArray
    column: IntArray
    state: IntArray
    symbol: IntArray
    means: Array
    costs: Array

    def counts(self, tree: Tree, states: IntArray, x: Array) -> Array:
        """(n, E): how often each is among states (n, N) and observations (n, N, F)."""
        out = np.zeros((len(states), len(self.group)))
        for g, column in dict.fromkeys(zip(self.group.tolist(), self.column.tolist(), strict=True)):
            nodes = nodes_of(tree, g, self.groups)
            at, shown = states[:, nodes], x[:, nodes, column]
            for e in np.flatnonzero((self.group == g) & (self.column == column)).tolist():
                out[:, e] = ((shown == self.symbol[e]) & (at == self.state[e])).sum(axis=1)
        return out


def rare_symbols(p: Model, q: Model, tree: Tree, laws: Array) -> RareSymbols:
    """Those that states of p seldom show and q still less, unless it moves to another state and back for them.

    laws (N, K): of p's states.
    """
    aside = _aside(q, tree)
    found: list[tuple[int, int, int, int, float, float]] = []
    groups = max(len(p.emissions), len(q.emissions))
    for g in range(groups):
        nodes = nodes_of(tree, g, groups)
        one, two = (m.emissions[min(g, len(m.emissions) - 1)] for m in (p, q))
        visits = laws[nodes].sum(axis=0)
        for column in range(min(one.n_features, two.n_features) if nodes.size else 0):
            tables = [_column(family, column) for family in (one, two)]
            if tables[0] is None or tables[1] is None or tables[0].shape[1] != tables[1].shape[1]:
                continue
            with np.errstate(divide="ignore", invalid="ignore"):
                logs, near = np.log(tables[1]), (np.sqrt(tables[0]) @ np.sqrt(tables[1]).T).argmax(axis=1)
                shown = (logs + aside[near][:, :, None]).max(axis=1)
                costs = np.minimum(np.log(tables[0]) - shown, MOST)
            for s, m in zip(*np.nonzero((tables[0] > 0) & (tables[0] <= RARE) & (costs > 0)), strict=True):
                found.append((g, column, int(s), int(m), float(visits[s] * tables[0][s, m]), float(costs[s, m])))
    found.sort(key=lambda each: -each[4] * each[5] ** 2)
    listed = found[:LISTED]
    group, at, state, symbol = (np.array([each[i] for each in listed], dtype=np.int64) for i in range(4))
    numbers, nats = (np.array([each[i] for each in listed], dtype=np.float64) for i in (4, 5))
    return RareSymbols(groups, group, at, state, symbol, numbers, nats)


def _aside(q: Model, tree: Tree) -> Array:
    """(L, L): log-probability that q is in another state at one node and stays in the first one at all its neighbours,
    where these are most; 0 for the state itself."""
    neighbours = 2 if tree.is_chain else int(np.bincount(tree.parent[1:], minlength=1).max()) + 1
    with np.errstate(divide="ignore"):
        moves = np.log(np.nan_to_num(np.asarray(q.transitions))).max(axis=0)
    out = np.asarray(moves + (neighbours - 1) * moves.T)
    np.fill_diagonal(out, 0.0)
    return out


def _column(family: Family, column: int) -> Array | None:
    """(K, M): the probabilities of the symbols of a column; None where it has none."""
    if family.column_spaces()[column].n_symbols is None:
        return None
    alone = family if family.n_features == 1 else family.select([column])
    return None if alone.alphabet() is None else family_symbols(alone)
