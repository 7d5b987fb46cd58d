"""Log-likelihoods of the same draws under many models of one shape, in one pass over the nodes."""

from __future__ import annotations

from math import inf

import numpy as np

from hidiv.comparison.collection.collection import Collection
from hidiv.errors import ImpossibleEvidence
from hidiv.inference.likelihood import log_likelihood
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.types import Array, IntArray

CELLS = 1 << 20  # numbers of the messages of one pass


def stacked_likelihoods(models: Collection, x: Array, tree: Tree) -> Array:
    """(M, count): log P(X = x[i]) under every model, x (count, n) or (count, n, F); -inf where it is impossible.

    The upward recursion (definitions (2.1)) scaled at every node, the models of a portion and all draws side by side.
    """
    count, n = x.shape[:2]
    portion = max(1, CELLS // (n * models.n_states * count))
    table = np.empty((len(models), count))
    for start in range(0, len(models), portion):
        some = np.arange(start, min(start + portion, len(models)))
        table[some] = _portion(models, some, x.reshape(count, n, -1), tree)
    # Whether a draw is impossible is decided on booleans, one by one, never by an underflow.
    for i in np.flatnonzero(~np.isfinite(table).all(axis=1)):
        model = models[int(i)]
        for j in np.flatnonzero(~np.isfinite(table[i])):
            table[i, j] = _one(model, x[j], tree)
    return table


def _portion(models: Collection, which: IntArray, x: Array, tree: Tree) -> Array:
    """(m, count): the scaled upward pass for the models `which`; not finite where it underflows or is impossible."""
    n, transitions = x.shape[1], models.transitions[which]
    initial = models.initial[which][:, None, :]
    by_group = transitions.shape[1] > 1 and tree.group is not None
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        messages = _log_weights(models, which, x, tree)
        peaks = messages.max(axis=2, keepdims=True)
        messages = np.exp(messages - peaks)
        total = peaks.sum(axis=0)[:, 0]
        parents = tree.parent
        for u in range(n - 1, 0, -1):
            up = int(parents[u])
            g = int(tree.group[u]) if by_group and tree.group is not None else 0
            parent = messages[up]
            parent *= transitions[:, g] @ messages[u]
            largest = parent.max(axis=1, keepdims=True)
            parent /= largest
            total += np.log(largest[:, 0])
        return np.asarray(total + np.log((initial @ messages[0])[:, 0]))


def _log_weights(models: Collection, which: IntArray, x: Array, tree: Tree) -> Array:
    """(n, m, K, count): log-probability of each observation in each state of each model."""
    count, n, columns = x.shape
    m, k = len(which), models.n_states
    states = (which[:, None] * k + np.arange(k)).ravel()
    weights = np.zeros((n, m, k, count))
    for g, stacked in enumerate(models.emissions):
        nodes = np.arange(n) if len(models.emissions) == 1 else np.flatnonzero(tree.group == g)
        if nodes.size and stacked.n_features:
            family = stacked if m == len(models) else stacked.take(states)
            rows = x[:, nodes].reshape(count * nodes.size, columns)
            logs = family.log_prob(rows).reshape(count, nodes.size, m, k)
            weights[nodes] = logs.transpose(1, 2, 3, 0)
    return weights


def _one(model: Model, x: Array, tree: Tree) -> float:
    try:
        return log_likelihood(model, x, tree)
    except ImpossibleEvidence:
        return -inf
