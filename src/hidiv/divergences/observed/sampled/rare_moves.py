"""Importance sampling: half of the draws are of a model in which rare events are likely, and weights undo that.

With a share a of draws of the other law p', p is averaged by weights w = p / ((1 - a) p + a p') of what was drawn,
which are at most 1 / (1 - a): means stay what they are, and no draw can spoil them. The laws differ in first states,
transitions and symbols, so that w follows from the states and observations that were drawn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hidiv.divergences.observed.sampled.draws import Drawn, nodes_of
from hidiv.divergences.observed.sampled.rare_symbols import RareSymbols
from hidiv.divergences.observed.support.any_family import log_weights
from hidiv.emissions.families.bernoulli import Bernoulli
from hidiv.emissions.families.categorical import Categorical
from hidiv.emissions.family import Family
from hidiv.inference.sampling import draw_observations, draw_states
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.types import Array, Flags, IntArray

RARE = 0.1  # expected number in a draw below which an event is rare
SELDOM = 1.0  # visits, in a draw, of a state that is seldom entered: its cost is that of the whole stay
WORTH = 0.02  # of the squares that all rare events add: what one of them adds that is worth the trouble
OFTEN = 1.0  # expected number, in a draw, of all rare events that are made likely
ROOM = 0.5  # share of a law that they may take


class Likely(NamedTuple):
    """The model in which rare events are likely, and the number that draws are about.

    What a draw differs from that number by is weighted, not the draw itself: weights, whose mean is one, then add
    little to the spread.
    """

    model: Model
    about: float = 0.0
    symbols_alone: bool = False  # first states and transitions are those of p


def with_rare_moves(p: Model, means: Array, costs: Array, symbols: RareSymbols | None = None) -> Likely | None:
    """p with the rare first states, transitions and symbols made likely that may add most to the variance, if any.

    means (K + G K K + E,): expected numbers in a draw; costs: nats that one more may add; the last E are the symbols.
    """
    states, groups = p.n_states, len(p.transitions)
    moves = states * (1 + groups * states)
    if len(means) != moves + (0 if symbols is None else len(symbols.means)):
        return None
    visits = means[:moves].reshape(-1, states).sum(axis=0)
    stay = np.diagonal(p.transitions, axis1=1, axis2=2).max(axis=0)
    stays = np.minimum(1.0 / np.maximum(1.0 - stay, 1e-3), max(float(visits.sum()), 1.0))
    costs = costs.copy()
    costs[:moves] *= np.tile(np.where(visits < SELDOM, stays, 1.0), 1 + groups * states)
    rare = (means > 0) & (means < RARE) & (costs > 0)
    rare[states:moves].reshape(groups, states, states)[:, np.arange(states), np.arange(states)] = False
    added = np.where(rare, means * costs**2, 0.0)
    rare &= added > WORTH * added.sum()
    if not rare.any():
        return None
    wanted = np.where(rare, np.sqrt(added), 0.0)
    wanted *= OFTEN / wanted.sum()
    times = np.where(rare, np.maximum(wanted / np.where(rare, means, 1.0), 1.0), 1.0)
    first = _raised(p.initial[None, :], times[None, :states])[0]
    raised = _raised(p.transitions.reshape(-1, states), times[states:moves].reshape(-1, states))
    emissions = list(p.emissions)
    if symbols is not None:
        for g in range(len(emissions)):
            mine = np.asarray((symbols.group == g) | (len(emissions) == 1))
            emissions[g] = _with_symbols(emissions[g], symbols, mine, times[moves:])
    changed = raised.reshape(p.transitions.shape)
    rows: list[Array | None] = [each if known else None for each, known in zip(changed, p.has_transition, strict=True)]
    other = Model(first, rows if groups > 1 else changed[0], emissions if len(emissions) > 1 else emissions[0])
    return Likely(other, symbols_alone=not rare[:moves].any())


def _with_symbols(family: Family, symbols: RareSymbols, mine: Flags, times: Array) -> Family:
    """The family with some symbols made likely; itself where none is, or where its columns are no lists of symbols."""
    raised = np.flatnonzero(mine & (times > 1.0))
    if not raised.size or not isinstance(family, Categorical | Bernoulli):
        return family
    state, column, symbol = symbols.state[raised], symbols.column[raised], symbols.symbol[raised]
    if isinstance(family, Categorical):
        more = np.ones_like(family.probs)
        np.maximum.at(more, (state, symbol), times[raised])
        return Categorical(_raised(family.probs, more))
    ones = family.probs if family.probs.ndim == 2 else family.probs[:, None]
    both = np.stack([1.0 - ones, ones], axis=2)
    more = np.ones_like(both)
    np.maximum.at(more, (state, column, symbol), times[raised])
    after = _raised(both.reshape(-1, 2), more.reshape(-1, 2))[:, 1]
    return Bernoulli(after.reshape(family.probs.shape))


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


def drawn_of(
    p: Model, tree: Tree, size: int, rng: np.random.Generator, likely: Likely | None = None
) -> tuple[IntArray, Array]:
    """States (n, N) and observations (n, N, F) of p, or of p and the likely model in turn."""
    if likely is None:
        states = draw_states(p, tree, size, rng)
        return states, draw_observations(p, tree, states, rng).reshape(size, tree.n_nodes, -1)
    states = np.empty((size, tree.n_nodes), dtype=np.int64)
    x = np.empty((size, tree.n_nodes, p.n_features))
    for start, model in ((1, likely.model), (0, p)):
        if size > start:
            own = draw_states(model, tree, (size - start + 1) // 2, rng)
            states[start::2] = own
            x[start::2] = draw_observations(model, tree, own, rng).reshape(len(own), tree.n_nodes, -1)
    return states, x


def weighted(drawn: Drawn, p: Model, likely: Likely, tree: Tree, states: IntArray, x: Array) -> Drawn:
    """What mixed states gave, with their weights; the weights themselves, whose mean is one, are a control more."""
    share = (len(drawn.base) // 2) / len(drawn.base)
    change = _log_change(p, likely.model, tree, states, x)
    weight = 1.0 / ((1.0 - share) + share * np.exp(np.minimum(change, 700.0)))
    by_draw, about = weight[:, None], likely.about
    controls = np.concatenate([by_draw * drawn.controls, by_draw - 1.0], axis=1)
    plain, base = (about + weight * (part - about) for part in (drawn.plain, drawn.base))
    return Drawn(plain, base, controls, by_draw * drawn.events)


def _log_change(p: Model, other: Model, tree: Tree, states: IntArray, x: Array) -> Array:
    """(n,): log p'/p of states and observations that p may have drawn."""
    total = _log_ratio(p.initial, other.initial)[states[:, 0]]
    moves = _log_ratio(p.transitions, other.transitions)
    for g, table in enumerate(moves):
        nodes = nodes_of(tree, g, len(moves))
        nodes = nodes[nodes > 0]
        total = total + table[states[:, tree.parent[nodes]], states[:, nodes]].sum(axis=1)
    for g, (one, two) in enumerate(zip(p.emissions, other.emissions, strict=True)):
        if two is not one:
            nodes = nodes_of(tree, g, len(p.emissions))
            own, rows = states[:, nodes].ravel(), x[:, nodes].reshape(-1, x.shape[2])
            at = np.arange(len(own)), own
            apart = log_weights(two, rows)[at] - log_weights(one, rows)[at]
            total = total + apart.reshape(len(states), -1).sum(axis=1)
    return np.asarray(total)


def _log_ratio(before: Array, after: Array) -> Array:
    """log after/before, 0 where before is 0: such moves are never drawn."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(before > 0, np.log(after) - np.log(before), 0.0)
