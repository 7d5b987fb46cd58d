"""The log-likelihoods of many complete observations of one tree, all at once."""

from __future__ import annotations

from math import inf

import numpy as np

from hidiv.errors import ImpossibleEvidence
from hidiv.inference.likelihood import log_likelihood
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.types import Array


def log_likelihoods(model: Model, x: Array, tree: Tree) -> Array:
    """(count,): log P(X = x[i]) of x (count, n) or (count, n, F), -inf where the model cannot produce it.

    The upward recursion (definitions (2.1)) with an axis for the draws, for Monte Carlo: a loop over the draws would
    take a thousand times as long.
    """
    count, n = x.shape[:2]
    with np.errstate(divide="ignore", invalid="ignore"):
        beliefs = _log_weights(model, x.reshape(count, n, -1), tree)
        peaks = beliefs.max(axis=1)
        beliefs = np.exp(beliefs - peaks[:, None])
        total = peaks.sum(axis=0)
        for u in range(n - 1, 0, -1):
            up = int(tree.parent[u])
            beliefs[up] *= model.transitions[_group(tree, u, len(model.transitions))] @ beliefs[u]
            largest = beliefs[up].max(axis=0)
            beliefs[up] /= largest
            total += np.log(largest)
        total += np.log(model.initial @ beliefs[0])
    # Whether a draw is impossible is decided on booleans, one by one, never by an underflow.
    for i in np.flatnonzero(~np.isfinite(total)):
        total[i] = _one(model, x[i], tree)
    return np.asarray(total)


def _log_weights(model: Model, x: Array, tree: Tree) -> Array:
    """(n, K, count): the log-probability of each observation in each state, the long axis last for speed."""
    count, n, columns = x.shape
    weights = np.zeros((n, model.n_states, count))
    for g, family in enumerate(model.emissions):
        nodes = np.arange(n) if len(model.emissions) == 1 else np.flatnonzero(tree.group == g)
        if nodes.size and family.n_features:
            rows = x[:, nodes].reshape(count * nodes.size, columns)
            weights[nodes] = family.log_prob(rows).reshape(count, nodes.size, -1).transpose(1, 2, 0)
    return weights


def _group(tree: Tree, u: int, groups: int) -> int:
    """The group whose transition leads to node u."""
    return 0 if groups == 1 or tree.group is None else int(tree.group[u])


def _one(model: Model, x: Array, tree: Tree) -> float:
    """The log-likelihood of one draw, -inf where it is impossible."""
    try:
        return log_likelihood(model, x, tree)
    except ImpossibleEvidence:
        return -inf
