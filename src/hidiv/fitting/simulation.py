"""Evidence drawn from a model in the shape of other evidence, for a parametric bootstrap."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidiv.fitting.evidence_forest import EvidenceForest
from hidiv.inference.sampling import sample
from hidiv.models.evidence import Evidence
from hidiv.models.model import Model
from hidiv.models.until_end import UNTIL_END
from hidiv.recursions.levels import by_level, levels
from hidiv.types import Array, Flags, IntArray


def redrawn(model: Model, forest: EvidenceForest, rng: np.random.Generator) -> EvidenceForest:
    """A forest of the same trees with observations drawn from the model; chains that end are drawn with their lengths.

    Entries that were not seen stay unseen. Where an interval, a set of symbols or a set of states was given, a draw
    that lies inside is known by it, and a draw outside is seen: known bounds are kept, new ones are not made up.
    """
    if model.end is not None:
        drawn = [sample(model, UNTIL_END, seed=rng) for _ in range(forest.n_trees)]
        start = np.concatenate([[0], np.cumsum([len(states) for states, _ in drawn])]).astype(np.int64)
        x = np.concatenate([np.reshape(x, (len(states), -1)) for states, x in drawn])
        return EvidenceForest(start, None, None, _values(x))
    states = _states(model, forest, rng)
    x = np.full((forest.n_nodes, model.n_features), np.nan)
    for g, family in enumerate(model.emissions):
        alone = len(model.emissions) == 1 or forest.group is None
        nodes = np.arange(forest.n_nodes) if alone else np.flatnonzero(forest.group == g)
        if nodes.size and family.n_features:
            x[nodes] = family.draw(states[nodes], rng)
    return EvidenceForest(forest.start, forest.parent, forest.group, _hidden(forest.evidence, x, states, model))


def _states(model: Model, forest: EvidenceForest, rng: np.random.Generator) -> IntArray:
    """(N,): hidden states of all trees, drawn level by level."""
    n, k = forest.n_nodes, model.n_states
    up = np.arange(-1, n - 1) if forest.parent is None else forest.parent.copy()
    up[forest.roots] = -1
    transition_of = np.zeros(n, dtype=np.int64) if len(model.transitions) == 1 or forest.group is None else forest.group
    first, rows = np.cumsum(model.initial), np.cumsum(model.transitions, axis=2)
    uniform, states = rng.random(n), np.zeros(n, dtype=np.int64)
    lines = by_level(levels(np.append(-1, up + 1))[1:] - 1)
    states[lines[0]] = np.searchsorted(first, uniform[lines[0]] * first[-1], side="right")
    for nodes in lines[1:]:
        law = rows[transition_of[nodes], states[up[nodes]]]
        states[nodes] = (uniform[nodes, None] * law[:, -1:] >= law).sum(axis=1)
    return np.minimum(states, k - 1)


def _values(x: Array) -> Evidence:
    """Evidence with all values seen; missing nodes for a silent model."""
    if x.shape[1]:
        return Evidence(x)
    return Evidence(missing=np.ones(len(x), dtype=np.bool_))


def _hidden(old: Evidence, x: Array, states: IntArray, model: Model) -> Evidence:
    """The drawn values (n, F) and states (n,) as far as evidence like `old` shows them."""
    allowed = old.allowed
    if old.state_sets:
        allowed = np.ones((len(x), model.n_states), dtype=np.bool_)
        for node, members in old.state_sets.items():
            allowed[node] = np.isin(np.arange(model.n_states), members)
    if allowed is not None:
        outside = ~allowed[np.arange(len(x)), states]
        allowed = np.where(outside[:, None], np.eye(model.n_states, dtype=np.bool_)[states], allowed)
    if not x.shape[1]:
        return Evidence(allowed=allowed) if allowed is not None else _values(x)
    unseen = np.isnan(old.x) if old.x.shape == x.shape else np.ones(x.shape, dtype=np.bool_)
    lower = upper = symbols = None
    hide = unseen
    if old.lower is not None and old.upper is not None:
        bounded = unseen & ((old.lower > -np.inf) | (old.upper < np.inf))
        inside = bounded & (x >= old.lower) & (x <= old.upper)
        hide = (unseen & ~bounded) | inside
        lower, upper = np.where(inside, old.lower, -np.inf), np.where(inside, old.upper, np.inf)
    sets = _sets(old, model, len(x))
    if sets is not None:
        restricted = ~sets.all(axis=1)
        within = restricted & sets[np.arange(len(x)), np.nan_to_num(x[:, 0]).astype(np.int64)]
        hide = hide & ~(restricted & ~within)[:, None]
        symbols = np.where(within[:, None], sets, True)
    shown: dict[str, Any] = {"lower": lower, "upper": upper, "symbols": symbols, "allowed": allowed}
    return Evidence(np.where(hide, np.nan, x), **{key: value for key, value in shown.items() if value is not None})


def _sets(old: Evidence, model: Model, n: int) -> Flags | None:
    """(n, M): the sets of symbols as a table, whichever way they were given; None without."""
    if old.symbols is not None:
        return old.symbols
    if not old.symbol_sets:
        return None
    table = np.ones((n, model.emissions[0].parameters()["probs"].shape[1]), dtype=np.bool_)
    for node, members in old.symbol_sets.items():
        table[node] = np.isin(np.arange(table.shape[1]), members)
    return table
