"""Joint divergences of listed pairs, each summed from its own rows and states: accurate however close the models.

`direct_joint` compares the states as they are labelled, `assigned_joint` with q's states matched by their emissions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidiv.comparison.pairwise.operands import Operand, common_groups, family_of_group
from hidiv.emissions.family import Family
from hidiv.errors import OutOfRange, counted, refuse
from hidiv.recursions.terms import row_divergence
from hidiv.types import Array, IntArray

CELLS = 1 << 20  # numbers of one part handled at once
PORTION = 1024  # pairs whose tables are held together


class PairValues(NamedTuple):
    """Divergences of listed pairs: (n,) each."""

    value: Array  # +inf where p reaches what q lacks, and where no double holds the value
    beyond: NDArray[np.bool_]  # True where the divergence is finite and no double holds it


def direct_joint(p: Operand, q: Operand, first: IntArray, second: IntArray) -> Array:
    """(n,): D of p[first[i]] from q[second[i]] (definitions (3.6)); +inf where p reaches what q lacks.

    A finite value that no double holds is refused, as it is for two models alone.
    """
    pairs = direct_or_beyond(p, q, first, second)
    refuse_beyond(pairs.beyond)
    return pairs.value


def refuse_beyond(beyond: NDArray[np.bool_]) -> None:
    """Refuse pairs whose divergence is finite and no double holds."""
    if beyond.any():
        rule = f"the joint divergence of {counted(int(beyond.sum()), 'pair')} of models is finite but beyond the range"
        refuse(OutOfRange, "value", f"{rule} of doubles", remedy="rescale the observations, or use a smaller tree")


def direct_or_beyond(p: Operand, q: Operand, first: IntArray, second: IntArray) -> PairValues:
    """The same without a refusal."""
    size = max(1, CELLS // (p.n_states * p.n_states * max(common_groups(p, q))))
    parts = [
        _portion(p, q, first[start : start + size], second[start : start + size])
        for start in range(0, len(first), size)
    ]
    if not parts:
        return PairValues(np.zeros(0), np.zeros(0, dtype=np.bool_))
    return PairValues(*(np.concatenate(tables) for tables in zip(*parts, strict=True)))


def _portion(p: Operand, q: Operand, first: IntArray, second: IntArray) -> PairValues:
    """The divergences of pairs few enough to hold their tables at once."""
    assert p.expected is not None
    weights = p.expected
    initial = row_divergence(p.initial[first], q.initial[second])
    rows = row_divergence(p.rows[first], q.rows[second])
    present = (p.has_transition[first] & q.has_transition[second])[:, :, None]
    each = [
        family_pairs(family_of_group(p, g), family_of_group(q, g), p.n_states, first, second)
        for g in range(common_groups(p, q)[1])
    ]
    states, large = (np.stack(tables, axis=1) for tables in zip(*each, strict=True))
    by_rows, lacks_rows = _weighted(weights.rows[first], weights.rows_reached[first], np.where(present, rows, 0.0))
    by_states, lacks_states = _weighted(
        weights.states[first], weights.states_reached[first], states, np.isinf(states) & ~large
    )
    lacks = np.isinf(initial) | lacks_rows | lacks_states
    with np.errstate(over="ignore"):
        value = np.where(lacks, np.inf, weights.root * initial + by_rows + by_states)
    return PairValues(value, np.isinf(value) & ~lacks)


def family_pairs(
    p: Family, q: Family, n_states: int, first: IntArray, second: IntArray
) -> tuple[Array, NDArray[np.bool_]]:
    """(n, K): KL of every state of p's model first[i] from the same state of q's model second[i].

    The second table is True where a value is finite and no double holds it. The component of a mixture is compared as
    part of the hidden state.
    """
    own = np.arange(n_states)
    a, b = ((which[:, None] * n_states + own).ravel() for which in (first, second))
    whole_p, whole_q = p.take(a).complete(), q.take(b).complete()
    value = np.asarray(whole_p.kl(whole_q))
    large = np.zeros(value.shape, dtype=np.bool_)
    infinite = np.flatnonzero(np.isinf(value))
    if infinite.size:
        large[infinite] = [gap is None for gap in whole_p.take(infinite).gaps(whole_q.take(infinite))]
    return value.reshape(len(first), n_states), large.reshape(len(first), n_states)


def _weighted(
    visits: Array, reached: NDArray[np.bool_], local: Array, lacking: NDArray[np.bool_] | None = None
) -> tuple[Array, NDArray[np.bool_]]:
    """(n,) each: the sum of visits times divergences, and whether p reaches a place that q lacks.

    One group stands for all, and places that are not reached count 0. lacking: where q lacks mass, if not every
    infinite divergence says so.
    """
    if local.shape[1] == 1 and visits.shape[1] > 1:
        visits, reached = visits.sum(axis=1, keepdims=True), np.asarray(reached.any(axis=1, keepdims=True))
    lacking = np.isinf(local) if lacking is None else lacking
    with np.errstate(over="ignore", invalid="ignore"):
        terms = visits * np.where(lacking, 0.0, local)
        total = np.where(reached, terms, 0.0).sum(axis=(1, 2))
    return np.where(np.isnan(total), np.inf, total), np.asarray((lacking & reached).any(axis=(1, 2)))


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
