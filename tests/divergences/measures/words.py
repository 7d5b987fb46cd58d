"""Plain loops over words and state paths, and small models, for tests of measures."""

from __future__ import annotations

import itertools

import numpy as np

import hidiv as hd


def random_model(rng, k, symbols=3, zeros=0.0):
    """A model of symbols, some of its probabilities 0."""

    def rows(*shape):
        table = rng.dirichlet(np.ones(shape[-1]), shape[:-1] or None)
        table = np.where(rng.random(table.shape) < zeros, 0.0, table)
        table = np.where(table.sum(axis=-1, keepdims=True) == 0, 1.0, table)
        return table / table.sum(axis=-1, keepdims=True)

    return hd.Model(rows(k), rows(k, k), hd.Categorical(rows(k, symbols)))


def powers(model, tree, beta=1.0):
    """Every word -> the sum over state paths of p(word, path)^beta."""
    parent = tree.parent
    probs, steps = model.emissions[0].probs, model.transitions[0]
    found = {}
    for word in itertools.product(range(probs.shape[1]), repeat=len(parent)):
        total = 0.0
        for path in itertools.product(range(model.n_states), repeat=len(parent)):
            mass = model.initial[path[0]] * probs[path[0], word[0]]
            for u in range(1, len(parent)):
                mass *= steps[path[parent[u]], path[u]] * probs[path[u], word[u]]
            total += mass**beta
        found[word] = total
    return np.array(list(found.values()))


def close_model(rng, model, size):
    """The same with every probability changed a little, states in another order."""

    def moved(rows):
        changed = rows * (1.0 + size * rng.uniform(-1.0, 1.0, rows.shape))
        return changed / changed.sum(axis=-1, keepdims=True)

    other = hd.Model(moved(model.initial), moved(model.transitions[0]), hd.Categorical(moved(model.emissions[0].probs)))
    return other.relabel(rng.permutation(model.n_states))
