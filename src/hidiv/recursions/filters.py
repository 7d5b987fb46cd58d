"""The filters of many sequences at once: the law of the next state under each model, given the past.

Arrays are (N, K, n): nodes of the chain, states, sequences.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hidiv.types import Array

FAINT = 1e-250  # observations whose rescaled weight falls below this are weighed again in logarithms


class Weights(NamedTuple):
    """value (N, K, n): e_t(s, x_t) exp(-scale), scale (N, n) or None for 0; the largest state is about 1.

    log (N, K, n): log e_t(s, x_t), where the weights come from logarithms: those keep what underflows in `value`.
    """

    value: Array
    scale: Array | None
    log: Array | None = None

    def logs(self) -> Array:
        """(N, K, n): log e_t(s, x_t)."""
        if self.log is not None:
            return self.log
        with np.errstate(divide="ignore"):
            logs = np.log(self.value)
        return logs if self.scale is None else logs + self.scale[:, None, :]


class Filters(NamedTuple):
    """predicted (N, K, n): P(S_t | x_0..t-1); updated (N, K, n): P(S_t | x_0..t); log_prob (N, n): of x_t."""

    predicted: Array
    updated: Array
    log_prob: Array


def run_both(initial: Sequence[Array], moves: Sequence[Array], weights: Sequence[Weights]) -> list[Filters]:
    """Filters of several models along the same sequences, in one loop: for each initial, moves and weights.

    initial (K,), or (K, n) where every sequence has its own; moves (1, K, K) or (N, K, K). A sequence that a model
    cannot produce has log_prob -inf at the node where it fails.
    """
    sizes = [w.value.shape[1] for w in weights]
    length, _, count = weights[0].value.shape
    ends = np.cumsum([0, *sizes])
    weight = weights[0].value if len(weights) == 1 else np.concatenate([w.value for w in weights], axis=1)
    predicted, mass = np.empty_like(weight), np.empty_like(weight)
    # One product gives the next filters and, by rows of ones, what each of their entries has to be divided by.
    states = int(ends[-1])
    step = np.zeros((max(len(m) for m in moves), 2 * states, states))
    for i, move in enumerate(moves):
        mine = slice(ends[i], ends[i + 1])
        step[:, mine, mine] = move.transpose(0, 2, 1)
        step[:, states + ends[i] : states + ends[i + 1], mine] = 1.0
        predicted[0, mine] = initial[i].reshape(sizes[i], -1)
    ahead = np.empty((length, 2 * states, count))
    over, under = ahead[:, :states], ahead[:, states:]
    steps = [step[0]] * length if len(step) == 1 else [*step[1:], step[-1]]
    with np.errstate(divide="ignore", invalid="ignore"):
        for t in range(length - 1):
            np.multiply(predicted[t], weight[t], out=mass[t])
            np.matmul(steps[t], mass[t], out=ahead[t])
            np.divide(over[t], under[t], out=predicted[t + 1])
        np.multiply(predicted[-1], weight[-1], out=mass[-1])
        np.matmul(steps[-1], mass[-1], out=ahead[-1])
        if not under.min() >= FAINT:
            return [_in_logs(*each) for each in zip(initial, moves, weights, strict=True)]
        mass /= under
        log_prob = np.log(under[:, ends[:-1]])
    return [
        Filters(
            predicted[:, ends[i] : ends[i + 1]],
            mass[:, ends[i] : ends[i + 1]],
            log_prob[:, i] if w.scale is None else log_prob[:, i] + w.scale,
        )
        for i, w in enumerate(weights)
    ]


def _in_logs(initial: Array, moves: Array, weights: Weights) -> Filters:
    """The filters of one model in logarithms, every node rescaled by the largest term that has any mass."""
    logs = weights.logs()
    length, n_states, count = logs.shape
    predicted, updated, log_prob = np.empty_like(logs), np.empty_like(logs), np.empty((length, count))
    now = np.broadcast_to(initial.reshape(n_states, -1), (n_states, count))
    with np.errstate(divide="ignore", invalid="ignore"):
        for t in range(length):
            predicted[t] = now
            terms = np.log(now) + logs[t]
            top = terms.max(axis=0)
            lost = ~np.isfinite(top)
            mass = np.where(lost, now, np.exp(terms - np.where(lost, 0.0, top)))
            sums = mass.sum(axis=0)
            updated[t] = mass / sums
            log_prob[t] = np.where(lost, -np.inf, np.log(sums) + top)
            if t + 1 < length:
                now = moves[0 if len(moves) == 1 else t + 1].T @ updated[t]
                now = now / now.sum(axis=0)
    return Filters(predicted, updated, log_prob)


def run_backward(moves: Array, filters: Filters) -> tuple[Array, Array]:
    """(N, K, n), (N, K, n): P(S_t | x_0..N-1), and its ratio to what was predicted, 0 where nothing was."""
    smoothed = filters.updated.copy()
    ratio = np.zeros_like(smoothed)
    same, positive = len(moves) == 1, bool(filters.predicted.min() > 0)
    for t in range(len(smoothed) - 1, -1, -1):
        if positive:
            np.divide(smoothed[t], filters.predicted[t], out=ratio[t])
        else:
            np.divide(smoothed[t], filters.predicted[t], out=ratio[t], where=filters.predicted[t] > 0)
        if t > 0:
            smoothed[t - 1] *= moves[0 if same else t] @ ratio[t]
    return smoothed, ratio


def carried_difference(
    initial: Array, moves: Array, changes: Array, filter_p: Filters, weight_q: Array, weight_apart: Array
) -> tuple[Array, Array]:
    """q - p of the predicted and of the updated filters, without cancellation: (N, K, n) each.

    initial (K,) and changes (1 or N, K, K) are q - p of the laws, moves those of q; weight_q and weight_apart (N, K, n)
    are w_q and w_q - w_p divided by q(x_t | past).
    """
    length, n_states, count = weight_q.shape
    predicted, updated = np.empty_like(weight_q), np.empty_like(weight_q)
    now = np.broadcast_to(initial[:, None], (n_states, count))
    same = len(moves) == 1
    for t in range(length):
        predicted[t] = now
        change = now * weight_q[t] + filter_p.predicted[t] * weight_apart[t]
        updated[t] = change - filter_p.updated[t] * change.sum(axis=0)
        if t + 1 < length:
            g = 0 if same else t + 1
            now = moves[g].T @ updated[t] + changes[g].T @ filter_p.updated[t]
    return predicted, updated
