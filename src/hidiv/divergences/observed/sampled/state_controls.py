"""What drawn states and their observations add up to, less its mean: controls where an expectation over one observation
is no sum over points, as with vectors (definitions (5.8)).

The states of a draw are known: how often each transition was drawn has a known mean, and so has log p_a/q_r of what
state a showed, by the divergence of p_a from q_r. Where observations tell the states apart that is nearly as good as
posterior counts, and takes no messages.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hidiv.divergences.observed.sampled.controls import emission_means
from hidiv.models.model import Model
from hidiv.types import Array, Flags, IntArray

OFTEN = 0.5  # expected number in a draw of events that are counted: rarer ones tell little


class StateControls(NamedTuple):
    """apart (K, L): divergences of p's laws from q's, None without; visits (K,); events (E,): means of those drawn."""

    apart: Array | None
    visits: Array
    events: Array

    def along(self, states: IntArray, events: Array, logs_p: Array, logs_q: Array) -> Array:
        """(n, F) of states (n, N), the events drawn (n, E) and log-weights (N, K, n), (N, L, n) of what they show."""
        often = self.events >= OFTEN
        counted = events[:, often] - self.events[often]
        if self.apart is None:
            return np.asarray(counted)
        kept = self.visits >= OFTEN
        return np.concatenate([self._shown(states, logs_p, logs_q, self.apart, kept), counted], axis=1)

    def _shown(self, states: IntArray, logs_p: Array, logs_q: Array, apart: Array, kept: Flags) -> Array:
        """(n, 1 + K L): log p_a/q_r summed over the nodes in state a, first over all nodes with the nearest r."""
        count, (k, others) = len(states), apart.shape
        own = np.take_along_axis(logs_p, states.T[:, None, :], axis=1)[:, 0]
        code = (np.arange(count) * k + states.T).ravel()
        with np.errstate(invalid="ignore"):
            sums = [np.bincount(code, (own - logs_q[:, r]).ravel(), minlength=count * k) for r in range(others)]
            off = np.stack(sums, axis=1).reshape(count, k, others) - self.visits[:, None] * apart
        nearest = np.take_along_axis(off, apart.argmin(axis=1)[None, :, None], axis=2)[:, :, 0].sum(axis=1)
        return np.concatenate([nearest[:, None], off[:, kept].reshape(count, -1)], axis=1)


def controls_of(p: Model, q: Model, visits: Array, events: Array) -> StateControls:
    """visits (K,) of p's states and events (E,) in a draw, expected."""
    apart = None
    if len(p.emissions) == len(q.emissions) == 1 and p.emissions[0].n_features:
        apart = None if p.emissions[0].space.n_symbols else emission_means(p.emissions[0], q.emissions[0])
    return StateControls(apart, visits, events)
