"""The joint product kernel of many pairs of models on one tree, in logarithms (definitions (10.1)).

V(a, b) = log Phi(a, b) + sum over children M(a, b), M(a, b) = log sum over a', b' of A(a, a') B(b, b') e^V(a', b'),
A and B the powers of the transitions; the value is the same sum over the powers of the initial laws.
"""

from __future__ import annotations

import numpy as np

from hidiv.recursions.kernels import kernel
from hidiv.recursions.subtrees import Structure
from hidiv.types import Array

SETTLED = 16.0 * float(np.finfo(np.float64).eps)  # of a message relative to its largest: no longer changing
FAINT = 1e-280  # sums below may have lost the term that matters


@kernel
def product_pairs(
    kinds: Structure, p: tuple[Array, Array], q: tuple[Array, Array], log_phi: Array, threads: int = 0
) -> Array:
    """(m, n): log of the product kernel of every p with every q; -inf where they have no word in common.

    kinds: `subtrees.structure`; p: powers of initial (m, K) and transition (m, G, K, K); q: the same, models
    last, (K', n) and (G', K', K', n); log_phi (G'', m, K, K', n). G is one or covers every group of `kinds`. A message
    of a long chain is kept relative to its largest, and once it no longer changes every turn adds the same: with
    e^lo V <= LV <= e^hi V that holds for all later turns (Collatz and Wielandt).
    """
    del threads
    groups, start, child, count, repeat = kinds
    (initial_p, transition_p), (initial_q, transition_q) = p, q
    stacked_q = np.moveaxis(transition_q, -1, 1)[:, None]  # (G', 1, n, K', K')
    local_of = np.moveaxis(log_phi, -1, 2)  # (G'', m, n, K, K')
    messages: list[tuple[Array, Array]] = []  # relative to the largest (m, n, K, K'), and the largest (m, n)
    for c, group in enumerate(groups):
        rows_p = transition_p[:, min(group, transition_p.shape[1] - 1)][:, None]
        rows_q = stacked_q[min(group, len(stacked_q) - 1)]
        local = local_of[min(group, len(local_of) - 1)]
        value, scale = local, np.zeros(local.shape[:2])
        for i in range(start[c], start[c + 1]):
            relative, largest = messages[child[i]]
            value, scale = value + count[i] * relative, scale + count[i] * largest
        if c == len(groups) - 1:
            at_root = log_mixed(initial_p[:, None, None, :], initial_q.T[None, :, None, :], value)
            return np.asarray(at_root[..., 0, 0] + scale)
        message, scale = _relative(log_mixed(rows_p, rows_q, value), scale)
        left = np.full(scale.shape, repeat[c] - 1)
        while left.any():
            new, gain = _relative(log_mixed(rows_p, rows_q, local + count[start[c]] * message), 0.0 * scale)
            with np.errstate(invalid="ignore"):
                change = np.where(new == message, 0.0, np.abs(new - message))
                bound = SETTLED * (1.0 + np.where(np.isfinite(new), np.abs(new), 0.0))
            still = (change <= bound).all(axis=(-2, -1)) & (count[start[c]] == 1.0)
            going = left > 0
            message = np.where(going[..., None, None], new, message)
            turns = np.where(still, left, 1)
            with np.errstate(over="ignore", invalid="ignore"):  # logs of trees too large for doubles
                grown = count[start[c]] * scale + gain if count[start[c]] != 1.0 else scale + turns * gain
            scale = np.where(going, grown, scale)
            left = np.where(going & ~still, left - 1, 0)
        messages.append((message, scale))
    raise AssertionError("a tree has a root")


def _relative(message: Array, scale: Array) -> tuple[Array, Array]:
    """A message relative to its largest entry, and that with the scale; -inf where nothing is possible."""
    top = message.max(axis=(-2, -1))
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(invalid="ignore"):
        return message - shift[..., None, None], scale + shift


def log_mixed(rows_p: Array, rows_q: Array, v: Array) -> Array:
    """(..., A, B): log of sum over a', b' of rows_p(a, a') rows_q(b, b') e^v(a', b')."""
    top = v.max(axis=(-2, -1), keepdims=True)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        sums = rows_p @ np.exp(v - shift) @ np.swapaxes(rows_q, -1, -2)
        value = np.log(sums) + shift
        lost = sums < FAINT
        if lost.any():  # nothing at all, or an underflow of all that a row reaches
            logs = [np.broadcast_to(np.log(rows), (*v.shape[:-2], *rows.shape[-2:])) for rows in (rows_p, rows_q)]
            for at in zip(*np.nonzero(lost), strict=True):
                *pair, a, b = at
                terms = logs[0][(*pair, a)][:, None] + logs[1][(*pair, b)] + v[tuple(pair)]
                value[at] = np.logaddexp.reduce(terms, axis=None)
    return np.asarray(value)
