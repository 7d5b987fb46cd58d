"""Models with some states of a larger one merged, cheapest merges first: where a reduction starts.

Merging two states costs, per step and at most, how far their laws and their rows lie from the averages that replace
them, weighted by how often the states are visited. This bounds the observed divergence from above.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hidiv.divergences.equivalence.blocks import lumped
from hidiv.emissions.family import Family
from hidiv.emissions.weighted import Weighted, spread
from hidiv.models.model import Model
from hidiv.recursions.terms import row_divergence
from hidiv.types import Array, IntArray

DRAWS = 400  # from the law of each state, where its observations cannot be listed
STEPS = 8  # of a family's own maximisation, which is the maximum itself where that has a formula
LEAST = 1e-12  # visits of a state that is hardly ever visited

Blocks = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class Points:
    """What the states of one family show: points, and the weight of each in the law of each state."""

    family: Family
    x: Array  # (n, F)
    weight: Array  # (n, K): columns sum to one
    own: Array  # (K,): expected log-density of a state's law under itself

    @classmethod
    def of(cls, family: Family, rng: np.random.Generator) -> Points:
        """All symbols with their probabilities, or draws from every state."""
        k = family.n_states
        x = family.alphabet()
        if not family.n_features:
            x, weight = np.zeros((1, 0)), np.ones((1, k))
        elif x is not None:
            weight = family.symbol_table().T
        else:
            states = np.repeat(np.arange(k), DRAWS)
            x, weight = family.draw(states, rng), np.eye(k)[states] / DRAWS
        return cls(family, x, weight, _expected(family, x, weight))

    def merged(self, share: Array) -> Family:
        """The family whose state b is nearest to the average of the laws in shares (K, B)."""
        start = self.family.take(np.argmax(share, axis=0))
        if not self.family.n_features:
            return start
        known = Weighted(self.x, self.weight @ share, scale=spread(self.x))
        for _ in range(STEPS):
            following = start.maximise(known)
            if following == start:
                break
            start = following
        return start

    def loss(self, share: Array) -> Array:
        """(B,): sum over s of share(s, b) D(e_s || the law that replaces block b)."""
        if not self.family.n_features:
            return np.zeros(share.shape[1])
        common = _expected(self.merged(share), self.x, self.weight @ share)
        return np.asarray(np.maximum(self.own @ share - common, 0.0))


def _expected(family: Family, x: Array, weight: Array) -> Array:
    """(K,): sum over points of weight times the log-density in the same state."""
    if not family.n_features:
        return np.zeros(family.n_states)
    logs = family.log_weight(x)
    return np.asarray(np.where(weight > 0, weight * np.where(weight > 0, logs, 0.0), 0.0).sum(axis=0))


def merge_path(
    model: Model, visits: Array, fewest: int, rng: np.random.Generator, noise: float = 0.0
) -> dict[int, Blocks]:
    """The blocks of states by their number, from all states to `fewest`, each time by the cheapest merge.

    visits (K,): how often each state is visited. noise: the standard deviation of the logarithm of a factor that costs
    are multiplied by, for other paths than the cheapest.
    """
    weights = np.maximum(visits, LEAST)
    shown = [Points.of(family, rng) for family in model.emissions]
    blocks: list[tuple[int, ...]] = [(s,) for s in range(model.n_states)]
    path = {len(blocks): tuple(blocks)}
    while len(blocks) > fewest:
        first, second = np.triu_indices(len(blocks), 1)
        costs = _costs(model, weights, shown, blocks, first, second)
        best = int(np.argmin((costs + LEAST) * np.exp(noise * rng.normal(size=len(costs)))))
        i, j = int(first[best]), int(second[best])
        joined = tuple(sorted(blocks[i] + blocks[j]))
        blocks = sorted([b for n, b in enumerate(blocks) if n not in (i, j)] + [joined])
        path[len(blocks)] = tuple(blocks)
    return path


def _costs(
    model: Model,
    weights: Array,
    shown: list[Points],
    blocks: list[tuple[int, ...]],
    first: IntArray,
    second: IntArray,
) -> Array:
    """What joining each pair of blocks adds to the bound, per step."""
    member = np.zeros((model.n_states, len(blocks)))
    for b, block in enumerate(blocks):
        member[list(block), b] = 1.0
    share = member * weights[:, None]
    pairs = share[:, first] + share[:, second]
    total = np.zeros(len(first))
    for each in shown:
        now = each.loss(_normed(share)) * share.sum(axis=0)
        total += (each.loss(_normed(pairs)) * pairs.sum(axis=0) - now[first] - now[second]) / len(shown)
    mass = share.sum(axis=0)
    for t in model.transitions[model.has_transition]:
        rows = _normed(share).T @ t @ member
        total += _row_costs(rows, mass, first, second) / int(model.has_transition.sum())
    if model.end is not None:
        total += _end_costs(_normed(share).T @ model.end, mass, first, second)
    return total


def _normed(share: Array) -> Array:
    return np.asarray(share / share.sum(axis=0))


def _row_costs(rows: Array, mass: Array, first: IntArray, second: IntArray) -> Array:
    """(P,): how far the rows of two blocks lie from their average, once the two are one column."""
    costs = np.zeros(len(first))
    for n, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        both = rows[[i, j]].copy()
        both[:, i] += both[:, j]
        both = np.delete(both, j, axis=1)
        weight = mass[[i, j]]
        average = weight @ both / weight.sum()
        costs[n] = weight @ row_divergence(both, np.broadcast_to(average, both.shape))
    return costs


def _end_costs(end: Array, mass: Array, first: IntArray, second: IntArray) -> Array:
    """(P,): the same for the probabilities of ending."""
    costs = np.zeros(len(first))
    for n, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        weight, both = mass[[i, j]], np.stack([end[[i, j]], 1.0 - end[[i, j]]], axis=1)
        average = weight @ both / weight.sum()
        costs[n] = weight @ row_divergence(both, np.broadcast_to(average, both.shape))
    return costs


def merged_model(model: Model, blocks: Blocks, visits: Array, rng: np.random.Generator) -> Model:
    """The model whose states are blocks of states: rows and laws averaged as often as states are visited."""
    weights = np.maximum(visits, LEAST)
    member = np.zeros((model.n_states, len(blocks)))
    for b, block in enumerate(blocks):
        member[list(block), b] = 1.0
    share = _normed(member * weights[:, None])
    return lumped(model, member, share, [Points.of(family, rng).merged(share) for family in model.emissions])


def blended(model: Model, other: Model, weight: float) -> Model:
    """A model with probabilities moved a little towards those of another with the same states, so that none is 0."""

    def moved(one: Array, two: Array) -> Array:
        return (1.0 - weight) * one + weight * two

    transitions = [
        moved(a, b) if present else None
        for a, b, present in zip(model.transitions, other.transitions, model.has_transition, strict=True)
    ]
    return Model(
        moved(model.initial, other.initial), transitions,
        [_blended_family(a, b, weight) for a, b in zip(model.emissions, other.emissions, strict=True)],
        name=model.name, state_names=model.state_names,
        end=None if model.end is None or other.end is None else moved(model.end, other.end),
        symbol_names=model.symbol_names, column_names=model.column_names,
    )  # fmt: skip


def _blended_family(family: Family, other: Family, weight: float) -> Family:
    """Probabilities of symbols, bits and components moved towards another's; all other parameters as they are."""
    ranges, theirs = family.ranges(), other.parameters()
    parameters = {
        key: (1.0 - weight) * value + weight * theirs[key] if ranges.get(key) in ("rows", "unit") else value
        for key, value in family.parameters().items()
    }
    if family.nested is not None:
        inner = [_blended_family(a, b, weight) for a, b in zip(family.members(), other.members(), strict=True)]
        parameters[family.nested] = inner
    return type(family)(**parameters)
