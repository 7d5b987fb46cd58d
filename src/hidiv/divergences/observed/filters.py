"""The filters of many sequences at once: what each model thinks of the next state, given the past.

Arrays are (N, K, n): nodes of the chain, states, sequences.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

FAINT = 1e-250  # an observation whose rescaled weight is below this is weighed again in logarithms


class Filters(NamedTuple):
    """predicted (N, K, n): P(S_t | x_0..t-1); updated (N, K, n): P(S_t | x_0..t); log_prob (N, n): log P(x_t | past)."""

    predicted: Array
    updated: Array
    log_prob: Array


def run_filters(initial: Array, moves: Array, log_weight: Array) -> Filters:
    """Filters from initial (K,) or (K, n), moves (1, K, K) or (N, K, K), and log w_t(s) as log_weight (N, K, n).

    A sequence the model cannot produce has log_prob -inf where it fails, and its filter starts again there.
    """
    length, n_states, count = log_weight.shape
    scale = log_weight.max(axis=1)
    scale = np.where(np.isfinite(scale), scale, 0.0)
    weight = np.exp(log_weight - scale[:, None, :])
    predicted, total = np.empty_like(weight), np.empty((length, count))
    now = np.broadcast_to(initial.reshape(n_states, -1), (n_states, count))
    back = np.ascontiguousarray(moves.transpose(0, 2, 1))
    same = len(moves) == 1
    for t in range(length):
        predicted[t] = now
        mass = now * weight[t]
        sums = mass.sum(axis=0)
        if sums.min() < FAINT:
            mass, sums, scale[t] = _in_logs(now, log_weight[t], mass, sums, scale[t])
            weight[t] = np.divide(mass, now, out=np.zeros_like(mass), where=now > 0)
        total[t] = sums
        if t + 1 < length:
            now = back[0 if same else t + 1] @ mass
            now /= now.sum(axis=0)  # rather than by sums: rows sum to one only up to rounding
    updated = predicted * weight
    with np.errstate(divide="ignore", invalid="ignore"):
        updated /= total[:, None, :]
        return Filters(predicted, np.where(np.isnan(updated), 0.0, updated), np.log(total) + scale)


def _in_logs(now: Array, log_weight: Array, mass: Array, sums: Array, scale: Array) -> tuple[Array, Array, Array]:
    """The same masses, those that nearly vanished rescaled by their own largest term; impossible ones left at zero."""
    faint = sums < FAINT
    mass, sums, scale = mass.copy(), sums.copy(), scale.copy()
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(now[:, faint]) + log_weight[:, faint]
        top = logs.max(axis=0)
        found = np.where(np.isfinite(top), np.exp(logs - np.where(np.isfinite(top), top, 0.0)), 0.0)
    lost = ~np.isfinite(top)
    found[:, lost] = now[:, faint][:, lost]  # start again; the zero below says that the sequence is impossible
    mass[:, faint], scale[faint] = found, np.where(lost, 0.0, top)
    sums[faint] = np.where(lost, 0.0, found.sum(axis=0))
    return mass, sums, scale


def run_backward(moves: Array, filters: Filters) -> Array:
    """(N, K, n): P(S_t | x_0..N-1) from the filters, by the ratios of smoothed to predicted probabilities."""
    length = len(filters.updated)
    smoothed = filters.updated.copy()
    same = len(moves) == 1
    for t in range(length - 2, -1, -1):
        smoothed[t] *= moves[0 if same else t + 1] @ ratio(smoothed[t + 1], filters.predicted[t + 1])
    return smoothed


def ratio(smoothed: Array, predicted: Array) -> Array:
    """smoothed / predicted, 0 where nothing was predicted."""
    return np.divide(smoothed, predicted, out=np.zeros_like(smoothed), where=predicted > 0)


def carried_difference(initial: Array, moves: Array, changes: Array, filter_p: Filters, filter_q: Filters,
                       weight_q: Array, weight_apart: Array) -> tuple[Array, Array]:  # fmt: skip
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
