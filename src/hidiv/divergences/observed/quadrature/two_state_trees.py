"""Deterministic observed divergences for small trees with two states and one number to a node, by quadrature.

The log-odds of a message from a child to its parent are bounded, and so are those of all children together. Of their
law under p only expectations of smooth functions are needed, so that it is kept as weights at Chebyshev nodes. The
error is what refining changes, as for chains.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hidiv.divergences.observed.certified.log_odds.chebyshev import coefficients, zeros
from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.observed.quadrature.observation_points import points
from hidiv.divergences.observed.quadrature.panels import FINE, QUICK, Fineness
from hidiv.divergences.observed.quadrature.two_state_chains import approximated, doubled, refine
from hidiv.models.tree import Tree
from hidiv.recursions.predictive import ObservationPoints
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget
    from hidiv.divergences.pair import Pair
    from hidiv.divergences.result import Divergence
    from hidiv.models.model import Model

LARGEST = 5000  # nodes
KINDS = 40  # different subtrees
SETTLED = 1e-6  # relative error that is sure to mean convergence; of sticky trees a change may be small by chance
SAME = 1e-11  # change, relative to the cross-entropy, from which on nothing is refined


def applies(pair: Pair) -> str | None:
    """One or two states in both models, one number or count to a node, a tree that is not large."""
    if any(model.n_states > 2 or model.n_features != 1 for model in (pair.p, pair.q)):
        return "quadrature needs one or two states and one number to a node"
    assert isinstance(pair.tree, Tree)
    return f"quadrature needs a tree of at most {LARGEST} nodes" if pair.tree.n_nodes > LARGEST else None


def run(pair: Pair, budget: Budget) -> Divergence:
    """D_X of a tree; NotApplicable for close models, where the error exceeds rtol times the value."""
    tree = pair.tree
    assert isinstance(tree, Tree)

    def at(nodes: int, fineness: Fineness) -> tuple[float, float, int]:
        cross, most = _cross_entropy(pair.p, pair.q, tree, nodes, fineness)
        own, _ = _cross_entropy(pair.p, pair.p, tree, nodes, fineness)
        return cross - own, cross, most

    refined = refine(at, SAME, (QUICK, FINE))
    if not refined.error <= min(budget.rtol, SETTLED) * abs(refined.value):
        raise NotApplicable(f"refining the quadrature still changes it by {refined.error:.1g}")
    return approximated(refined, pair)


class WeightedOdds(NamedTuple):
    """Log-odds of q's messages from below: (m,), and by p's state, (K, m), their weights; (K,) -E log of the rest."""

    odds: Array
    weights: Array
    cost: Array
    ends: tuple[float, float]


def _cross_entropy(p: Model, q: Model, tree: Tree, nodes: int, fineness: Fineness) -> tuple[float, int]:
    """-E_p log q(X), and the points of an observation; subtrees that are alike are done once."""
    q = doubled(q)

    @cache
    def space(of_p: int, of_q: int) -> ObservationPoints:
        rule = points(p.emissions[of_p], q.emissions[of_q], fineness)
        if ((rule.p.max(axis=0) > 0) & ~np.isfinite(rule.log_q).all(axis=0)).any():
            raise NotApplicable("q cannot have some of the values of p")
        return rule

    def of(count: int, group: int) -> int:
        return group if count > 1 else 0

    messages: list[WeightedOdds] = []
    kinds: dict[tuple[int, tuple[int, ...]], int] = {}
    children: list[list[int]] = [[] for _ in range(tree.n_nodes)]
    groups = np.zeros(tree.n_nodes, dtype=int) if tree.group is None else tree.group
    for u in reversed(range(tree.n_nodes)):
        group, below = int(groups[u]), tuple(sorted(children[u]))
        kind = kinds.setdefault((group, below), len(kinds))
        if kind > KINDS:
            raise NotApplicable(f"the tree has more than {KINDS} different subtrees")
        if kind == len(messages) or u == 0:
            here = space(of(len(p.emissions), group), of(len(q.emissions), group))
            under = _together([messages[k] for k in below], p.n_states, nodes)
            if u == 0:
                logs = _observed(under, here, q.initial[None])[0]
                expected = -np.einsum("km,kj,mj->k", under.weights, _law(here), logs, optimize=True)
                return float(p.initial @ (expected + under.cost)), len(here.weight)
            into_p = p.transitions[of(len(p.transitions), group)]
            into_q = q.transitions[of(len(q.transitions), group)]
            messages.append(_message(under, here, into_p, into_q, nodes))
        children[int(tree.parent[u])].append(kind)
    raise AssertionError("a tree has a root")


def _law(space: ObservationPoints) -> Array:
    """(K, J): probabilities of the points by p's state."""
    return np.asarray(space.p * space.weight)


def _observed(below: WeightedOdds, space: ObservationPoints, rows: Array) -> Array:
    """(R, m, J): log-density of what is observed here and below, given each row over q's states."""
    top = np.maximum(below.odds, 0.0)
    ratio = np.exp(np.stack([-top, below.odds - top]))  # (2, m)
    inside = np.einsum("rs,sm,sj->rmj", rows, ratio, space.q_scaled, optimize=True)
    if not (inside > 0).all():
        raise NotApplicable("some densities of q are too small to be told from zero")
    return np.asarray(np.log(inside) + top[:, None] + space.scale)


def _message(below: WeightedOdds, space: ObservationPoints, into_p: Array, into_q: Array, nodes: int) -> WeightedOdds:
    """From the children of a node and its observation to its message, by the state of p in its parent."""
    if not (into_q > 0).all():
        raise NotApplicable("transitions of probability zero let the log-odds grow without bound")
    logs = _observed(below, space, into_q)
    weights = below.weights[:, :, None] * _law(space)[:, None]  # (K, m, J)
    low, high = np.sort(np.log(into_q[1]) - np.log(into_q[0]))
    cost = below.cost - np.einsum("kmj,mj->k", weights, logs[0])
    odds, spread = _spread((logs[1] - logs[0]).ravel(), weights.reshape(len(weights), -1), (low, high), nodes)
    return WeightedOdds(odds, into_p @ spread, into_p @ cost, (float(low), float(high)))


def _together(children: list[WeightedOdds], states: int, nodes: int) -> WeightedOdds:
    """The messages of all children of a node: independent given its state."""
    sums = WeightedOdds(np.zeros(1), np.ones((states, 1)), np.zeros(states), (0.0, 0.0))
    for child in children:
        ends = sums.ends[0] + child.ends[0], sums.ends[1] + child.ends[1]
        pairs = sums.weights[:, :, None] * child.weights[:, None]
        added = (sums.odds[:, None] + child.odds).ravel()
        odds, weights = _spread(added, pairs.reshape(states, -1), ends, nodes)
        sums = WeightedOdds(odds, weights, sums.cost + child.cost, ends)
    return sums


def _spread(odds: Array, weights: Array, ends: tuple[float, float], nodes: int) -> tuple[Array, Array]:
    """Weighted points as weights at Chebyshev nodes between the ends: expectations of polynomials stay."""
    middle, half = (ends[0] + ends[1]) / 2, (ends[1] - ends[0]) / 2
    if half == 0:
        return np.full(1, middle), weights.sum(axis=1, keepdims=True)
    scaled = np.clip((odds - middle) / half, -1.0, 1.0)
    before, now = np.ones_like(scaled), scaled
    moments = np.empty((len(weights), nodes))
    moments[:, 0] = weights.sum(axis=1)
    for k in range(1, nodes):  # T_k, one after the other: all at once would not fit into the cache
        moments[:, k] = weights @ now
        before, now = now, 2 * scaled * now - before
    return middle + half * zeros(nodes), moments @ coefficients(nodes)
