"""Joint divergences of listed pairs, each summed from its own rows and states: accurate however close the models.

`direct_joint` compares the states as they are labelled, `assigned_joint` with q's states matched by their emissions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hidiv.comparison.pairwise.operands import Operand, common_groups, family_of_group
from hidiv.emissions.family import Family
from hidiv.recursions.terms import row_divergence
from hidiv.types import Array, IntArray

CELLS = 1 << 20  # numbers of one part handled at once
PORTION = 1024  # pairs whose tables are held together


def direct_joint(p: Operand, q: Operand, first: IntArray, second: IntArray) -> Array:
    """(n,): D of p[first[i]] from q[second[i]] (definitions (3.6)); +inf where p reaches what q lacks."""
    size = max(1, CELLS // (p.n_states * p.n_states * max(common_groups(p, q))))
    parts = [
        _portion(p, q, first[start : start + size], second[start : start + size])
        for start in range(0, len(first), size)
    ]
    return np.concatenate(parts) if parts else np.zeros(0)


def _portion(p: Operand, q: Operand, first: IntArray, second: IntArray) -> Array:
    """(n,): the divergences of pairs few enough to hold their tables at once."""
    assert p.expected is not None
    weights = p.expected
    value = weights.root * row_divergence(p.initial[first], q.initial[second])
    rows = row_divergence(p.rows[first], q.rows[second])
    present = (p.has_transition[first] & q.has_transition[second])[:, :, None]
    value = value + _weighted(weights.rows[first], weights.rows_reached[first], np.where(present, rows, 0.0))
    states = np.stack(
        [
            family_pairs(family_of_group(p, g), family_of_group(q, g), p.n_states, first, second)
            for g in range(common_groups(p, q)[1])
        ],
        axis=1,
    )
    return np.asarray(value + _weighted(weights.states[first], weights.states_reached[first], states))


def family_pairs(p: Family, q: Family, n_states: int, first: IntArray, second: IntArray) -> Array:
    """(n, K): KL of every state of p's model first[i] from the same state of q's model second[i].

    The component of a mixture is compared as part of the hidden state.
    """
    own = np.arange(n_states)
    a, b = ((which[:, None] * n_states + own).ravel() for which in (first, second))
    whole_p, whole_q = p.take(a).complete(), q.take(b).complete()
    return np.asarray(whole_p.kl(whole_q)).reshape(len(first), n_states)


def _weighted(visits: Array, reached: NDArray[np.bool_], local: Array) -> Array:
    """(n,): sum of visits times divergences; one group stands for all, and states that are not reached count 0."""
    if local.shape[1] == 1 and visits.shape[1] > 1:
        visits, reached = visits.sum(axis=1, keepdims=True), np.asarray(reached.any(axis=1, keepdims=True))
    infinite = np.isinf(local)
    finite = (visits * np.where(infinite, 0.0, local)).sum(axis=(1, 2))
    return np.where((infinite & reached).any(axis=(1, 2)), np.inf, finite)


def assigned_joint(p: Operand, q: Operand, first: IntArray, second: IntArray) -> Array:
    """(n,): D of p[first[i]] from q[second[i]], q's states in the order that the emissions suggest."""
    values = np.empty(len(first))
    for start in range(0, len(first), PORTION):
        some = slice(start, start + PORTION)
        relabelled = q.relabelled(second[some], _orders(p, q, first[some], second[some]))
        values[some] = direct_joint(p, relabelled, first[some], np.arange(len(relabelled)))
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
        cost += np.multiply(weight, divergence, out=np.zeros(cost.shape), where=weight > 0)  # no visit, no cost
    finite = np.isfinite(cost)
    top = 1.0 + k * np.where(finite, cost, 0.0).max(axis=(1, 2), keepdims=True)  # worse than any finite assignment
    cost = np.where(finite, cost, top)
    return np.array([linear_sum_assignment(one)[1] for one in cost], dtype=np.int64)
