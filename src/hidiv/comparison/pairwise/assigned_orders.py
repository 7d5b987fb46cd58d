"""One good order of q's states for every pair, quickly: states matched by their emissions, no other orders tried.

Any order bounds the aligned and the observed divergence from above (definitions (5.1)); the order found here is
the one that pairs emissions best, weighted by how often p is in each state.
"""

from __future__ import annotations

import numpy as np

from hidiv.comparison.pairwise.direct import direct_joint
from hidiv.comparison.pairwise.operands import Side, common_groups, family_of_group
from hidiv.types import Array, IntArray

AT_ONCE = 1024  # pairs whose tables are held together


def assigned_joint(p: Side, q: Side, first: IntArray, second: IntArray) -> Array:
    """(n,): D of p[first[i]] from q[second[i]], its states in the order that the emissions suggest."""
    portions = [slice(i, i + AT_ONCE) for i in range(0, len(first), AT_ONCE)]
    orders = np.concatenate([_orders(p, q, first[some], second[some]) for some in portions])
    value = np.empty(len(first))
    for order in np.unique(orders, axis=0):
        same = np.flatnonzero((orders == order).all(axis=1))
        value[same] = direct_joint(p, q.relabel(order), first[same], second[same])
    return value


def _orders(p: Side, q: Side, first: IntArray, second: IntArray) -> IntArray:
    """(n, K): the cheapest assignment of q's states to p's, pair by pair."""
    from scipy.optimize import linear_sum_assignment

    assert p.expected is not None
    k = p.n_states
    own, other = np.indices((k, k))
    states = (first[:, None, None] * k + own).ravel(), (second[:, None, None] * k + other).ravel()
    visits = p.expected.states[first]
    groups = common_groups(p, q)[1]
    if groups == 1:
        visits = visits.sum(axis=1, keepdims=True)
    cost = np.zeros((len(first), k, k))
    for g in range(groups):
        a, b = family_of_group(p, g).take(states[0]), family_of_group(q, g).take(states[1])
        apart = np.asarray(a.complete().kl(b.complete())).reshape(cost.shape)
        weight = np.broadcast_to(visits[:, g, :, None], cost.shape)
        cost += np.multiply(weight, apart, out=np.zeros(cost.shape), where=weight > 0)  # no visit, no cost
    finite = np.isfinite(cost)
    top = 1.0 + k * np.where(finite, cost, 0.0).max(axis=(1, 2), keepdims=True)  # worse than any finite places together
    cost = np.where(finite, cost, top)
    return np.array([linear_sum_assignment(one)[1] for one in cost], dtype=np.int64)
