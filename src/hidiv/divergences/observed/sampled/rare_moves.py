"""Importance sampling: half of the draws are of a chain in which rare moves are likely, and weights undo that.

With a share a of draws of the other law p', p is averaged by weights w = p / ((1 - a) p + a p') of what was drawn,
which are at most 1 / (1 - a): means stay what they are, and no draw can spoil them. The laws differ in first states
and transitions alone, so that w follows from how often these were drawn.
"""

from __future__ import annotations

import numpy as np

from hidiv.divergences.observed.sampled.draws import Drawn
from hidiv.inference.sampling import draw_states
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.types import Array, IntArray

RARE = 0.1  # expected number in a draw below which an event is rare
SELDOM = 1.0  # visits, in a draw, of a state that is seldom entered: its cost is that of the whole stay
WORTH = 0.02  # of the squares that all rare events add: what one of them adds that is worth the trouble
OFTEN = 1.0  # expected number, in a draw, of all rare events that are made likely
ROOM = 0.5  # share of a law that they may take


def with_rare_moves(p: Model, means: Array, costs: Array) -> Model | None:
    """p with the rare first states and transitions made likely that may add most to the variance; None without any.

    means (K + K K,): expected numbers in a draw; costs: nats that one more may add.
    """
    if len(p.transitions) > 1:
        return None
    states = p.n_states
    visits = means.reshape(1 + states, states).sum(axis=0)
    stays = np.minimum(1.0 / np.maximum(1.0 - np.diagonal(p.transitions[0]), 1e-3), max(float(visits.sum()), 1.0))
    costs = costs * np.tile(np.where(visits < SELDOM, stays, 1.0), 1 + states)
    rare = (means > 0) & (means < RARE) & (costs > 0)
    rare[states:].reshape(states, states)[np.diag_indices(states)] = False
    added = np.where(rare, means * costs**2, 0.0)
    rare &= added > WORTH * added.sum()
    if not rare.any():
        return None
    wanted = np.where(rare, np.sqrt(added), 0.0)
    wanted *= OFTEN / wanted.sum()
    times = np.where(rare, np.maximum(wanted / np.where(rare, means, 1.0), 1.0), 1.0)
    first = _raised(p.initial[None, :], times[None, :states])[0]
    moves = _raised(p.transitions[0], times[states:].reshape(states, states))
    return Model(first, moves, list(p.emissions))


def _raised(laws: Array, times: Array) -> Array:
    """Laws (n, K) with some probabilities multiplied, together at most ROOM unless they were more before."""
    raised = times > 1.0
    before = np.where(raised, laws, 0.0)
    after = before * times
    total = after.sum(axis=1, keepdims=True)
    after *= np.minimum(1.0, np.maximum(ROOM, before.sum(axis=1, keepdims=True)) / np.where(total > 0, total, 1.0))
    rest = np.where(raised, 0.0, laws)
    left = rest.sum(axis=1, keepdims=True)
    after = np.where(left > 0, after, before)
    scale = (1.0 - after.sum(axis=1, keepdims=True)) / np.where(left > 0, left, 1.0)
    return np.asarray(after + np.where(left > 0, scale, 1.0) * rest)


def mixed_states(p: Model, likely: Model, tree: Tree, size: int, rng: np.random.Generator) -> IntArray:
    """(n, N): states of `likely` and of p in turn."""
    states = np.empty((size, tree.n_nodes), dtype=np.int64)
    states[1::2] = draw_states(likely, tree, size // 2, rng) if size > 1 else 0
    states[0::2] = draw_states(p, tree, size - size // 2, rng)
    return states


def weighted(drawn: Drawn, p: Model, likely: Model) -> Drawn:
    """What mixed states gave, with their weights; the weights themselves, whose mean is one, are a control more."""
    before, after = (np.concatenate([m.initial, m.transitions[0].ravel()]) for m in (p, likely))
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.where(before > 0, np.log(after) - np.log(before), 0.0)
    share = (len(drawn.base) // 2) / len(drawn.base)
    weight = 1.0 / ((1.0 - share) + share * np.exp(np.minimum(drawn.events @ change, 700.0)))
    by_draw = weight[:, None]
    controls = np.concatenate([by_draw * drawn.controls, by_draw - 1.0], axis=1)
    return Drawn(weight * drawn.plain, weight * drawn.base, controls, by_draw * drawn.events)
