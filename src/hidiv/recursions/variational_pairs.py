"""The variational recursion of the observed divergence for many pairs at once (definitions (5.7)).

V(a, b) = KL(e_p(a) || e_q(b)) + sum over children M(a, b),
M(a, b) = own(a) - sum_a' T_p(a, a') log sum_b' T_q(b, b') exp(-V(a', b')), own(a) = the same sum of p against itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidiv.recursions.kernels import kernel
from hidiv.recursions.subtrees import Structure, Subtrees, structure
from hidiv.types import Array, IntArray

SETTLED = 1e-14  # change of a turn's gain below which every further turn of a long chain adds the same
EPS = float(np.finfo(np.float64).eps)


class Own(NamedTuple):
    """Each model compared with itself: the terms own(a) turn by turn, and that of the root."""

    start: IntArray  # (C + 1,): where the turns of each kind of subtree begin
    terms: Array  # (m, turns, K); turns after the listed ones equal the last
    root: Array  # (m,)


def own_terms(kinds: Subtrees, initial: Array, transition: Array, emission: Array) -> Own:
    """p against itself: initial (m, K), transition (m, G, K, K), emission (m, G', K, K) its KL of states."""
    groups, start, child, count, repeat = structure(kinds)
    messages: list[Array] = []
    terms: list[Array] = []
    begins = [0]
    for c, group in enumerate(groups):
        rows, local = _of(transition, group), _of(emission, group)
        inside = range(start[c], start[c + 1])
        value = local + sum((count[i] * messages[child[i]] for i in inside), np.zeros_like(local))
        if c == len(groups) - 1:
            root = mixed(initial[:, None, :], initial[:, None, :], value)[:, 0, 0]
            return Own(np.array(begins), np.stack(terms or [np.zeros_like(initial)], axis=1), root)
        message, diagonal = _against_itself(rows, value)
        terms.append(-diagonal)
        gain = np.full_like(message, np.inf)
        for _ in range(1, repeat[c]):
            before, message_before = terms[-1], message
            message, diagonal = _against_itself(rows, local + count[start[c]] * message)
            terms.append(-diagonal)
            gain, gain_before = gained(message, message_before), gain
            if is_settled(gain, gain_before, message).all() and (np.abs(terms[-1] - before) <= SETTLED).all():
                break
        messages.append(message)
        begins.append(len(terms))
    raise AssertionError("a tree has a root")


def _of(table: Array, group: int) -> Array:
    """(m, ...): the group's part of a table (m, G, ...), or the only one."""
    return np.asarray(table[:, min(group, table.shape[1] - 1)])


def _against_itself(rows: Array, value: Array) -> tuple[Array, Array]:
    """Messages (m, K, K) less their diagonal, and the diagonal (m, K)."""
    both = mixed(rows, rows, value)
    diagonal = np.diagonal(both, axis1=-2, axis2=-1)
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(both), np.inf, both - diagonal[..., None]), diagonal


def gained(now: Array, before: Array) -> Array:
    """now - before, 0 where both are infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(now == before, 0.0, now - before)


def is_settled(gain: Array, before: Array, message: Array) -> NDArray[np.bool_]:
    """(...): whether the gains (..., K, K') of two turns are the same up to rounding."""
    with np.errstate(invalid="ignore"):
        size = np.where(np.isinf(message), 0.0, np.abs(message))
        close = np.abs(gain - before) <= SETTLED * (1.0 + np.abs(gain)) + 4.0 * EPS * size
    return np.asarray((close | (gain == before)).all(axis=(-2, -1)))


def mixed(rows_p: Array, rows_q: Array, v: Array) -> Array:
    """(..., A, B): -sum_a' rows_p(a, a') log sum_b' rows_q(b, b') exp(-v(a', b')); infinite where it has mass."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # (..., B, a'): the lowest of v among the states q's row can reach, and what the others add to it.
        reached = np.where(rows_q[..., :, None, :] > 0, v[..., None, :, :], np.inf)
        least = reached.min(axis=-1)
        shift = np.where(np.isfinite(least), least, 0.0)
        weights = rows_q[..., :, None, :] * np.exp(shift[..., None] - reached)
        inner = shift - np.log(weights.sum(axis=-1))
        terms = rows_p[..., :, None, :] * inner[..., None, :, :]
    return np.asarray(np.where(rows_p[..., :, None, :] > 0, terms, 0.0).sum(axis=-1))


@kernel
def variational_pairs(
    kinds: Structure,
    own: tuple[IntArray, Array, Array],
    p: tuple[Array, Array],
    q: tuple[Array, Array],
    emission: Array,
    threads: int = 0,
) -> Array:
    """(m, n): the approximation for every p with every q.

    kinds: `structure`; own: `Own` of p; p: initial (m, K), transition (m, G, K, K); q: initial (K', n), transition
    (G', K', K', n); emission (G'', m, K, K', n), KL of p's states from q's. G is one or covers every group of `kinds`.
    """
    groups, start, child, count, repeat = kinds
    own_start, own_terms_of, own_root = own
    (initial_p, transition_p), (initial_q, transition_q) = p, q
    # q's models along the second axis, states last.
    stacked_q = np.moveaxis(transition_q, -1, 1)[:, None]  # (G', 1, n, K', K')
    local_of = np.moveaxis(emission, -1, 2)  # (G'', m, n, K, K')
    messages: list[Array] = []
    for c, group in enumerate(groups):
        rows_p = _of(transition_p, group)[:, None]
        rows_q = stacked_q[min(group, len(stacked_q) - 1)]
        local = local_of[min(group, len(local_of) - 1)]
        inside = range(start[c], start[c + 1])
        value = local + sum((count[i] * messages[child[i]] for i in inside), np.zeros_like(local))
        if c == len(groups) - 1:
            at_root = mixed(initial_p[:, None, None, :], initial_q.T[None, :, None, :], value)
            return np.asarray(at_root[..., 0, 0] - own_root[:, None])
        turns = own_terms_of[:, own_start[c] : own_start[c + 1]]
        message = mixed(rows_p, rows_q, value) + turns[:, 0, None, :, None]
        gain, left = np.full_like(message, np.inf), np.full(message.shape[:2], repeat[c] - 1)
        while left.any():
            turn = min(int(repeat[c] - left.max()), turns.shape[1] - 1)
            new = mixed(rows_p, rows_q, local + count[start[c]] * message) + turns[:, turn, None, :, None]
            new_gain = gained(new, message)
            done = (left > 0) & (turn == turns.shape[1] - 1) & is_settled(new_gain, gain, new)
            going = (left > 0)[..., None, None]
            message = np.where(going, new, message)
            gain = np.where(going, new_gain, gain)
            left = np.maximum(left - 1, 0)
            if count[start[c]] == 1.0:
                rest = np.where(done, left, 0)[..., None, None]
                message = np.where(rest > 0, message + rest * gain, message)
                left = np.where(done, 0, left)
        messages.append(message)
    raise AssertionError("a tree has a root")
