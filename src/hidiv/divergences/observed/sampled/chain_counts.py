"""Posterior counts of p along chains, less their means: controls for any numbers of states."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hidiv.divergences.observed.sampled.tree_counts import ROUNDING, emission_means
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.filters import Filters, Weights, run_backward
from hidiv.recursions.levels import level_laws
from hidiv.recursions.predictive import ObservationPoints
from hidiv.types import Array, IntArray


class ChainCounts(NamedTuple):
    """What is needed to count: transitions of p, the first law, expected pairs (K, K), and by kind of node its nodes
    and expected emission counts, (K, M) of symbols or (K, L) of log p_s/q_r."""

    moves: Array
    initial: Array
    pairs: Array
    emissions: list[tuple[IntArray, bool, Array]]

    def means(self) -> Array:
        """(F,): of the counts, in their order, on a chain with one kind of nodes."""
        return np.concatenate([self.initial, self.pairs.ravel(), *(means.ravel() for _, _, means in self.emissions)])

    def along(self, filters: Filters, x: Array, weights_p: Weights, weights_q: Weights) -> Array:
        """(F, n): expected counts given x (n, N, F), less their means."""
        smoothed, into = run_backward(self.moves, filters)
        states, count = len(self.initial), len(x)
        out = [smoothed[0] - self.initial[:, None]]
        if len(smoothed) > 1:
            pairs = np.empty((states, states, count))
            same = len(self.moves) == 1
            for r in range(states):
                for s in range(states):
                    terms = filters.updated[:-1, r] * into[1:, s]
                    by = self.moves[:1, r, s] if same else self.moves[1:, r, s]
                    pairs[r, s] = by[0] * terms.sum(axis=0) if same else by @ terms
            out.append((pairs - self.pairs[:, :, None]).reshape(states * states, count))
        for nodes, symbols, means in self.emissions:
            at = smoothed if len(nodes) == len(smoothed) else smoothed[nodes]
            shown = np.empty((*means.shape, count))
            if symbols:
                seen = x[:, nodes, 0].T
                for m in range(means.shape[1]):
                    here = seen == m
                    for k in range(states):
                        shown[k, m] = (at[:, k] * here).sum(axis=0)
            else:
                log_p, log_q = weights_p.logs(), weights_q.logs()
                for r in range(means.shape[1]):
                    shown[:, r] = np.where(at > 0, at * (log_p[nodes] - log_q[nodes, r][:, None, :]), 0.0).sum(axis=0)
            if not symbols:
                shown[means < ROUNDING * len(nodes)] = (
                    0.0  # the two laws are one, what is left of their log-ratio is noise
                )
            out.append((shown - means[:, :, None]).reshape(-1, count))
        return np.concatenate(out)


def counts_of(
    p: Model, q: Model, tree: Tree, spaces: tuple[ObservationPoints, ...], space_of: IntArray, moves: Array
) -> ChainCounts:
    """Means of all counts, from the laws of p's states node by node."""
    length = len(space_of)
    if len(moves) == 1:
        laws = level_laws(p.initial, moves[0], length)
    else:
        laws = np.empty((length, p.n_states))
        laws[0] = p.initial
        for t in range(1, length):
            laws[t] = laws[t - 1] @ moves[t]
    if len(moves) == 1:
        pairs = laws[:-1].sum(axis=0)[:, None] * moves[0]
    else:
        pairs = (laws[:-1, :, None] * moves[1:]).sum(axis=0)
    emissions = []
    group = np.zeros(length, dtype=np.int64) if tree.group is None else np.asarray(tree.group)
    for kind, space in enumerate(spaces):
        nodes = np.flatnonzero(space_of == kind)
        at = int(group[nodes[0]])
        means = emission_means(*(m.emissions[min(at, len(m.emissions) - 1)] for m in (p, q)))
        if means is not None:
            emissions.append((nodes, space.symbols, laws[nodes].sum(axis=0)[:, None] * means))
    return ChainCounts(moves, p.initial, pairs, emissions)
