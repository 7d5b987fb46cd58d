"""One good order of q's states for every pair, quickly: states matched by their emissions, no other orders tried.

Any order bounds the aligned and the observed divergence from above (definitions (5.1)); the order chosen here is
the one that pairs emissions best, weighted by p's expected visits.
"""

from __future__ import annotations

import numpy as np

from hidiv.comparison.pairwise.direct import direct_or_beyond
from hidiv.comparison.pairwise.operands import Operand, common_groups, family_of_group
from hidiv.types import Array, IntArray

PORTION = 1024  # pairs whose tables are held together


def assigned_joint(p: Operand, q: Operand, first: IntArray, second: IntArray) -> Array:
    """(n,): D of p[first[i]] from q[second[i]], q's states in the order that the emissions suggest.

    +inf where no double holds it, which is an upper bound too.
    """
    values = np.empty(len(first))
    for start in range(0, len(first), PORTION):
        some = slice(start, start + PORTION)
        relabelled = q.relabelled(second[some], _orders(p, q, first[some], second[some]))
        values[some] = direct_or_beyond(p, relabelled, first[some], np.arange(len(relabelled))).value
    return values


def _orders(p: Operand, q: Operand, first: IntArray, second: IntArray) -> IntArray:
    """(n, K): the cheapest assignment of q's states to p's, pair by pair."""
    from scipy.optimize import linear_sum_assignment

    assert p.expected is not None
    k = p.n_states
    of_p, of_q = np.indices((k, k))
    states = (first[:, None, None] * k + of_p).ravel(), (second[:, None, None] * k + of_q).ravel()
    visits = p.expected.states[first]
    groups = common_groups(p, q)[1]
    if groups == 1:
        visits = visits.sum(axis=1, keepdims=True)
    cost = np.zeros((len(first), k, k))
    for g in range(groups):
        a, b = family_of_group(p, g).take(states[0]), family_of_group(q, g).take(states[1])
        divergence = np.asarray(a.complete().kl(b.complete())).reshape(cost.shape)
        weight = np.broadcast_to(visits[:, g, :, None], cost.shape)
        with np.errstate(over="ignore"):
            cost += np.multiply(weight, divergence, out=np.zeros(cost.shape), where=weight > 0)  # no visit, no cost
    finite = np.isfinite(cost)
    most = np.where(finite, cost, 0.0).max(axis=(1, 2), keepdims=True)
    cost = np.where(finite, cost / np.where(most > 0, most, 1.0), 1.0 + k)  # worse than any finite assignment
    return np.array([linear_sum_assignment(one)[1] for one in cost], dtype=np.int64)
