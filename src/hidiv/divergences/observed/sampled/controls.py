"""Posterior counts of p on trees and along chains, less their means: the control variates (definitions (5.8))."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hidiv.divergences.observed.alphabets import family_symbols, has_symbols
from hidiv.divergences.observed.sampled.draws import nodes_of
from hidiv.divergences.observed.support.any_family import log_weights
from hidiv.emissions.family import Family
from hidiv.emissions.registry import has_kl
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.filters import Filters, Weights, run_backward
from hidiv.recursions.levels import level_laws
from hidiv.recursions.predictive import ObservationPoints
from hidiv.types import Array, IntArray

LARGEST = 1e140  # a control whose square no double holds is of no use
ROUNDING = 1e-20  # divergences of two laws below this are of one law: what is left of their log-ratio is noise


class Shown(NamedTuple):
    """What the nodes of an emission group are counted by: symbols, or log p_s/q_r; means (K, M) or (K, L)."""

    nodes: IntArray
    p: Family
    q: Family
    symbols: bool
    means: Array


class TreeCounts(NamedTuple):
    """parent (N,), transitions by node and their groups, laws of p's states (N, K), means of what is counted."""

    tree: Tree
    levels: list[IntArray]
    moves: Array
    group: IntArray
    laws: Array
    shown: list[Shown]

    def along(self, own: Array, x: Array) -> Array:
        """(n, F): expected counts given x, less their means: over all nodes, by group, and pairs of symbols."""
        count, _, states = own.shape
        posterior = np.empty_like(own)
        root = own[:, 0] * self.laws[0]
        posterior[:, 0] = root / root.sum(axis=1, keepdims=True)
        groups = int(self.group.max()) + 1
        pairs = np.zeros((groups, count, states, states))
        means = np.zeros((groups, states, states))
        for nodes in self.levels[1:]:
            parent = self.tree.parent[nodes]
            with np.errstate(divide="ignore", invalid="ignore"):
                top = own[:, nodes].max(axis=2, keepdims=True)
                raw = np.einsum("nus,urs->nur", own[:, nodes] / top, self.moves[nodes])
                share = np.where(raw > 0, posterior[:, parent] / raw, 0.0)
            both = share[:, :, :, None] * self.moves[nodes] * (own[:, nodes] / top)[:, :, None, :]
            posterior[:, nodes] = both.sum(axis=2)
            expected = self.laws[parent][:, :, None] * self.moves[nodes]
            for g in np.unique(self.group[nodes]).tolist():
                mine = self.group[nodes] == g
                pairs[g] += both[:, mine].sum(axis=1)
                means[g] += expected[mine].sum(axis=0)
        flat = (pairs - means[:, None]).transpose(1, 0, 2, 3).reshape(count, groups, -1)
        seen = [self._emissions(shown, posterior, x) for shown in self.shown]
        alike = len({(s.symbols, s.means.shape) for s in self.shown}) == 1
        out = [posterior[:, 0] - self.laws[0], flat.sum(axis=1)]
        if alike and len(seen) > 1:
            out.append(np.sum(seen, axis=0))
        out.extend(seen)
        if groups > 1:
            out.append(flat.reshape(count, -1))
        return np.concatenate([*out, *self._pairs(x)], axis=1)

    def _emissions(self, shown: Shown, posterior: Array, x: Array) -> Array:
        """(n, K M): counts of symbols by state, or posterior means of log p_s/q_r."""
        at, values = posterior[:, shown.nodes], x[:, shown.nodes]
        if shown.symbols:
            width = shown.means.shape[1]
            counts = np.stack([np.einsum("nus,nu->ns", at, values[:, :, 0] == m) for m in range(width)], axis=2)
        else:
            rows = values.reshape(-1, values.shape[2])
            logs = [log_weights(f, rows[:, : f.n_features]).reshape(*at.shape[:2], -1) for f in (shown.p, shown.q)]
            counts = np.einsum("nus,nus->ns", at, logs[0])[:, :, None] - np.einsum("nus,nur->nsr", at, logs[1])
            counts[:, shown.means < ROUNDING * len(shown.nodes)] = 0.0
        return (counts - shown.means).reshape(len(x), -1)

    def _pairs(self, x: Array) -> list[Array]:
        """(n, M^2): how often a symbol stands above another, where all observations are symbols of one alphabet."""
        if len(self.shown) != 1 or not self.shown[0].symbols or self.tree.n_nodes == 1:
            return []
        table = family_symbols(self.shown[0].p)
        width, edges = table.shape[1], self.tree.parent[1:]
        code = (x[:, edges, 0] * width + x[:, 1:, 0]).astype(np.int64)
        code += np.arange(len(x))[:, None] * width**2
        pairs = np.bincount(code.ravel(), minlength=len(x) * width**2).reshape(len(x), -1)
        law = (self.laws[edges][:, :, None] * self.moves[1:]).sum(axis=0)
        return [pairs - (table.T @ law @ table).ravel()]


def state_laws(model: Model, tree: Tree, moves: Array, levels: list[IntArray]) -> Array:
    """(N, K): of the states, root first."""
    laws = np.empty((tree.n_nodes, model.n_states))
    laws[0] = model.initial
    for nodes in levels[1:]:
        laws[nodes] = np.einsum("ur,urs->us", laws[tree.parent[nodes]], moves[nodes])
    return laws


def counts_on(p: Model, q: Model, tree: Tree, moves: Array, levels: list[IntArray], laws: Array) -> TreeCounts:
    """Means from the laws (N, K) of p's states."""
    shown = []
    groups = max(len(p.emissions), len(q.emissions))
    for g in range(groups):
        nodes = nodes_of(tree, g, groups)
        one, two = (m.emissions[min(g, len(m.emissions) - 1)] for m in (p, q))
        if nodes.size and one.n_features:
            means = emission_means(one, two)
            if means is not None:
                visits = laws[nodes].sum(axis=0)[:, None]
                shown.append(Shown(nodes, one, two, has_symbols(one), visits * means))
    group = np.zeros(tree.n_nodes, dtype=np.int64)
    if len(p.transitions) > 1:
        assert tree.group is not None
        group = np.asarray(tree.group)
    return TreeCounts(tree, levels, moves, group, laws, shown)


def emission_means(p: Family, q: Family) -> Array | None:
    """(K, M) probabilities of symbols, or (K, L) divergences of all states of p from all of q; None without."""
    if has_symbols(p):
        return family_symbols(p)
    if not has_kl(p, q) or p.kl_is_integral or q.kl_is_integral:
        return None
    left, right = (grid.ravel() for grid in np.indices((p.n_states, q.n_states)))
    divergences = p.take(left).kl(q.take(right)).reshape(p.n_states, q.n_states)
    return divergences if (divergences < LARGEST).all() else None


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
    p: Model, q: Model, tree: Tree, spaces: tuple[ObservationPoints, ...], space_of: IntArray, moves: Array, laws: Array
) -> ChainCounts:
    """Means of all counts, from the laws (N, K) of p's states."""
    length = len(space_of)
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


def laws_of(p: Model, moves: Array, length: int) -> Array:
    """(N, K): of p's states along a chain."""
    if len(moves) == 1:
        return level_laws(p.initial, moves[0], length)
    laws = np.empty((length, p.n_states))
    laws[0] = p.initial
    for t in range(1, length):
        laws[t] = laws[t - 1] @ moves[t]
    return laws
