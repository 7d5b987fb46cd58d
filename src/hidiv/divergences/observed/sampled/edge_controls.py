"""What nodes and edges of a tree show, less its mean: controls that take no messages (definitions (5.8)).

Any function of one observation, summed over the nodes, has a mean that follows from its K expectations given a state;
so has the product of two such functions at the ends of an edge, since observations are independent given their states.
Functions are the log-ratio of what p and q show anywhere in the tree, and how likely each state is that shows it; with
few symbols, whether it is this symbol. They cost about as much as the likelihoods, whose weights they share.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.observed.quadrature.observation_points import points
from hidiv.divergences.observed.quadrature.panels import QUICK
from hidiv.inference.likelihood import NodeWeights
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.predictive import ObservationPoints
from hidiv.types import Array, IntArray

MOST = 12  # functions whose products over edges are taken
CELLS = 1 << 20  # products of a block of edges


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


def controls_on(p: Model, q: Model, tree: Tree, laws: tuple[Array, Array], pairs: Array) -> EdgeControls | None:
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
