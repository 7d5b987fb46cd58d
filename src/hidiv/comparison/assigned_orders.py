"""One good order of q's states for every pair, quickly: states matched by their emissions, no other orders tried.

Any order bounds the aligned and the observed divergence from above (definitions, section 5); the order found here is
the one that pairs emissions best, weighted by how often p is in each state.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hidiv.comparison.direct import direct_joint
from hidiv.comparison.sides import Side, common_groups, family_of_group
from hidiv.comparison.state_tables import fill_complete_table

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]


def assigned_joint(p: Side, q: Side, first: IntArray, second: IntArray) -> Array:
    """(n,): D of p[first[i]] from q[second[i]], its states in the order that the emissions suggest."""
    orders = np.array([_order(p, q, int(i), int(j)) for i, j in zip(first, second, strict=True)])
    value = np.empty(len(first))
    for order in np.unique(orders, axis=0):
        same = np.flatnonzero((orders == order).all(axis=1))
        value[same] = direct_joint(p, q.relabel(order), first[same], second[same])
    return value


def _order(p: Side, q: Side, i: int, j: int) -> IntArray:
    from scipy.optimize import linear_sum_assignment

    assert p.expected is not None
    k = p.n_states
    groups = common_groups(p, q)[1]
    own, other = i * k + np.arange(k), j * k + np.arange(k)
    cost = np.zeros((k, k))
    for g in range(groups):
        visits = p.expected.states[i, g] if p.expected.states.shape[1] > g else p.expected.states[i].sum(axis=0)
        table = np.empty((k, k))
        fill_complete_table(family_of_group(p, g).take(own), family_of_group(q, g).take(other), table)
        cost += visits[:, None] * table
    finite = cost[np.isfinite(cost)]
    top = 1.0 + k * float(finite.max(initial=1.0))  # one infinite place is worse than any finite ones
    return np.asarray(linear_sum_assignment(np.where(np.isfinite(cost), cost, top))[1], dtype=np.int64)
