"""What rare states of p may add that were drawn too seldom: how often each is drawn has a known mean."""

from __future__ import annotations

import numpy as np

from hidiv.divergences.comparable import closed
from hidiv.divergences.observed.alphabets import by_formula
from hidiv.divergences.observed.log_weights import log_weights
from hidiv.divergences.observed.sampled.cross_fitting import FAIR
from hidiv.divergences.observed.variational import emission_pairs
from hidiv.models.model import Model
from hidiv.types import Array, IntArray

DOUBTFUL = 3.0  # standard errors that the number of rare events may be off
FEW = 20  # events that are rare
DRAWN = 64  # observations of a state, where its divergence has no formula
MOST = 745.0  # nats of an observation: beyond, probabilities are zero


def drawn_counts(states: IntArray, parent: IntArray | None, n_states: int) -> Array:
    """(n, K + K K): the first state of draws (n, N), and how often each state follows each; without parent on a chain.

    The drawn states are counted, not their posteriors, which are never exactly zero.
    """
    count = len(states)
    above = states[:, :-1] if parent is None else states[:, parent[1:]]
    code = n_states + above * n_states + states[:, 1:]
    width = n_states * (n_states + 1)
    code = np.concatenate([states[:, :1], code], axis=1) + width * np.arange(count)[:, None]
    return np.bincount(code.ravel(), minlength=count * width).reshape(count, width).astype(np.float64)


def missed(counts: Array, means: Array, costs: Array, steps: int = 1) -> float:
    """What a draw lacks on average, at most: counts (n, E) of events, their means, and what one more may add.

    Events that never happened, or far less often than they should have, among these draws; the counts may be means
    over `steps`.
    """
    n = len(counts)
    if not n or not counts.size:
        return 0.0
    drawn = counts.mean(axis=0)
    off = np.abs(drawn - means)
    allowed = np.where(drawn * n * steps < FEW, DOUBTFUL, FAIR) * np.sqrt(counts.var(axis=0) / n)
    doubtful = off > allowed + 1e-9 * means
    return float(off[doubtful] @ costs[doubtful])


def event_costs(p: Model, q: Model, jumps: bool) -> Array:
    """(K + K K,): nats that one more first state or transition of p may add to a draw: what its state shows, in the
    state of q that fits best, and where no step is averaged beforehand what q's transitions cost (`jumps`)."""
    visits = visit_costs(p, q)
    if jumps:
        parts = np.concatenate([np.ravel(q.initial), np.ravel(q.transitions)])
        visits = visits - np.log(parts[parts > 0].min())
    return np.tile(visits, 1 + p.n_states)


def visit_costs(p: Model, q: Model) -> Array:
    """(K,): nats by which an observation of each state of p tells p from q, q in the state that fits best."""
    if closed(p, q) and by_formula(p, q):
        costs = emission_pairs(p, q).min(axis=2)
    else:
        groups = range(max(len(p.emissions), len(q.emissions)))
        costs = np.stack([_drawn(p, q, min(g, len(p.emissions) - 1), min(g, len(q.emissions) - 1)) for g in groups])
    return np.asarray(np.minimum(np.nan_to_num(costs, nan=MOST, posinf=MOST), MOST).max(axis=0))


def _drawn(p: Model, q: Model, at_p: int, at_q: int) -> Array:
    """The same by a few observations of each state, always the same ones."""
    one, two, states = p.emissions[at_p], q.emissions[at_q], np.repeat(np.arange(p.n_states), DRAWN)
    if not one.n_features:
        return np.zeros(p.n_states)
    x = one.draw(states, np.random.default_rng(0))
    with np.errstate(invalid="ignore"):
        own = log_weights(one, x)[np.arange(len(x)), states] - log_weights(two, x).max(axis=1)
    own = np.minimum(np.nan_to_num(own, nan=MOST, posinf=MOST, neginf=0.0), MOST)
    return np.asarray(np.maximum(own.reshape(p.n_states, DRAWN).mean(axis=1), 0.0))
