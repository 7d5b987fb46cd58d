"""Controls of trees that take no messages: what nodes and edges show, and what drawn states do, less its mean
(definitions (5.8)).

Any function of one observation, summed over the nodes, has a mean that follows from its K expectations given a state;
so has the product of two such functions at the ends of an edge, since observations are independent given their states.
Functions are the log-ratio of what p and q show anywhere in the tree, and how likely each state is that shows it; with
few symbols, whether it is this symbol. They cost about as much as the likelihoods, whose weights they share.

Where an expectation over one observation is no sum over points, as with vectors, the states of a draw are counted
instead: how often each transition was drawn has a known mean, and so has log p_a/q_r of what state a showed, by the
divergence of p_a from q_r. Where observations tell the states apart that is nearly as good as posterior counts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.observed.quadrature.observation_points import points
from hidiv.divergences.observed.quadrature.panels import QUICK
from hidiv.divergences.observed.sampled.controls import emission_means
from hidiv.inference.likelihood import NodeWeights
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.predictive import ObservationPoints
from hidiv.types import Array, Flags, IntArray

MOST = 12  # functions whose products over edges are taken
CELLS = 1 << 20  # products of a block of edges
OFTEN = 0.5  # expected number in a draw of events that are counted: rarer ones tell little


class EdgeControls(NamedTuple):
    """law_p (K,), law_q (L,): the states of a node anywhere in the tree; symbols: how many where they are few, else 0.

    node_means (D,) and edge_means (C, C) of the sums over all nodes and edges.
    """

    parent: IntArray
    law_p: Array
    law_q: Array
    symbols: int
    node_means: Array
    edge_means: Array

    def along(self, x: Array, weights_p: NodeWeights, weights_q: NodeWeights) -> Array:
        """(n, D + C C) of x (n, N, F) with its weights under p and q."""
        if self.symbols:
            return self._counted(x[:, :, 0].astype(np.int64))
        units = weights_p.peaks - weights_q.peaks
        values = functions(self.law_p, self.law_q, weights_p.shares, weights_q.shares, units)
        edges, count = len(self.edge_means), len(x)
        some = values[:, :edges]
        sums = np.zeros((edges, edges, count))
        block = max(1, CELLS // (edges * count))
        for first in range(1, len(values), block):
            nodes = slice(first, first + block)
            sums += np.einsum("uan,ubn->abn", some[self.parent[nodes]], some[nodes])
        over_nodes = values.sum(axis=0) - self.node_means[:, None]
        over_edges = (sums - self.edge_means[:, :, None]).reshape(-1, count)
        return np.ascontiguousarray(np.concatenate([over_nodes, over_edges]).T)

    def _counted(self, x: IntArray) -> Array:
        """How often each symbol is shown, and each below each."""
        count, width = len(x), self.symbols
        at = np.arange(count)[:, None]
        single = np.bincount((x + at * width).ravel(), minlength=count * width).reshape(count, width)
        if x.shape[1] == 1:
            return np.asarray(single - self.node_means)
        code = x[:, self.parent[1:]] * width + x[:, 1:] + at * width**2
        pairs = np.bincount(code.ravel(), minlength=count * width**2).reshape(count, -1)
        return np.concatenate([single - self.node_means, pairs - self.edge_means.ravel()], axis=1)


def functions(law_p: Array, law_q: Array, at_p: Array, at_q: Array, units: Array) -> Array:
    """(N, D, n): log-ratio of what p and q show in these laws, the posterior of p's states, and of q's, less the last.

    Weights (N, K, n) and (N, L, n) are in units whose log-ratios (N, n) are given.
    """
    k, others = len(law_p) - 1, len(law_q) - 1
    out = np.empty((len(at_p), 1 + k + others, at_p.shape[2]))
    with np.errstate(divide="ignore", invalid="ignore"):
        total_p, total_q = np.einsum("k,ukn->un", law_p, at_p), np.einsum("k,ukn->un", law_q, at_q)
        out[:, 0] = np.log(total_p / total_q) + units
        np.multiply(at_p[:, :k], law_p[:k, None] / total_p[:, None], out=out[:, 1 : 1 + k])
        np.multiply(at_q[:, :others], law_q[:others, None] / total_q[:, None], out=out[:, 1 + k :])
    return out


def edge_controls(p: Model, q: Model, tree: Tree, laws: tuple[Array, Array], pairs: Array) -> EdgeControls | None:
    """laws (N, K) and (N, L) of the states of p and q; pairs (K, K): how often p's transitions are expected.

    None where nodes show different things or an expectation over one of them is no sum over points.
    """
    if not len(p.emissions) == len(q.emissions) == 1 or not p.emissions[0].n_features:
        return None
    try:
        space = points(p.emissions[0], q.emissions[0], QUICK)
    except NotApplicable:
        return None
    visits, law_p, law_q = laws[0].sum(axis=0), laws[0].mean(axis=0), laws[1].mean(axis=0)
    symbols = space.p.shape[1] if space.symbols and space.p.shape[1] <= MOST else 0
    means = space.p if symbols else _expectations(space, law_p, law_q)
    if not np.isfinite(means).all():
        return None
    some = means if symbols else means[:, : min(p.n_states, MOST)]
    return EdgeControls(tree.parent, law_p, law_q, symbols, visits @ means, some.T @ pairs @ some)


def _expectations(space: ObservationPoints, law_p: Array, law_q: Array) -> Array:
    """(K, D): of the functions, given each state of p."""
    values = functions(law_p, law_q, space.p[None], space.q_scaled[None], -space.scale[None])[0]
    mass = space.p * space.weight
    shown = (mass > 0).any(axis=0)
    return np.asarray(mass[:, shown] @ values[:, shown].T)


class StateControls(NamedTuple):
    """apart (K, L): divergences of p's laws from q's, None without; visits (K,); events (E,): means of those drawn."""

    apart: Array | None
    visits: Array
    events: Array

    def along(self, states: IntArray, events: Array, logs_p: Array, logs_q: Array) -> Array:
        """(n, F) of states (n, N), the events drawn (n, E) and log-weights (N, K, n), (N, L, n) of what they show."""
        often = self.events >= OFTEN
        counted = events[:, often] - self.events[often]
        if self.apart is None:
            return np.asarray(counted)
        kept = self.visits >= OFTEN
        return np.concatenate([self._shown(states, logs_p, logs_q, self.apart, kept), counted], axis=1)

    def _shown(self, states: IntArray, logs_p: Array, logs_q: Array, apart: Array, kept: Flags) -> Array:
        """(n, 1 + K L): log p_a/q_r summed over the nodes in state a, first over all nodes with the nearest r."""
        count, (k, others) = len(states), apart.shape
        own = np.take_along_axis(logs_p, states.T[:, None, :], axis=1)[:, 0]
        code = (np.arange(count) * k + states.T).ravel()
        with np.errstate(invalid="ignore"):
            sums = [np.bincount(code, (own - logs_q[:, r]).ravel(), minlength=count * k) for r in range(others)]
            off = np.stack(sums, axis=1).reshape(count, k, others) - self.visits[:, None] * apart
        nearest = np.take_along_axis(off, apart.argmin(axis=1)[None, :, None], axis=2)[:, :, 0].sum(axis=1)
        return np.concatenate([nearest[:, None], off[:, kept].reshape(count, -1)], axis=1)


def state_controls(p: Model, q: Model, visits: Array, events: Array) -> StateControls:
    """visits (K,) of p's states and events (E,) in a draw, expected."""
    apart = None
    if len(p.emissions) == len(q.emissions) == 1 and p.emissions[0].n_features:
        apart = None if p.emissions[0].space.n_symbols else emission_means(p.emissions[0], q.emissions[0])
    return StateControls(apart, visits, events)
