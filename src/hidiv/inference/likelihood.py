"""The log-likelihood of evidence, and of many complete observations of one tree at once."""

from __future__ import annotations

from math import inf, isfinite
from typing import Any, NamedTuple, NoReturn

import numpy as np

from hidiv.adapters.as_model import as_model
from hidiv.errors import ImpossibleEvidence, InvalidEvidence, refuse, sentence
from hidiv.inference.long_chains import log_likelihood_of_long_chain
from hidiv.inference.model_tables import tables_of
from hidiv.inference.rows import evidence_and_tree
from hidiv.inference.weights import check_end
from hidiv.models.model import Model, check_groups
from hidiv.models.tree import Tree
from hidiv.recursions import upward
from hidiv.types import Array


def log_likelihood(model: Any, evidence: Any, tree: Any = None) -> float:
    """Compute the log-probability of the evidence.

    Parameters
    ----------
    model : Model or object of a supported library
        Whatever `hd.as_model` takes.
    evidence : Evidence, array-like, DataFrame or list of text
        What is known of the nodes; NaN is not seen. See `hd.Evidence`.
    tree : Tree or int, optional
        The tree of the nodes, or the length of a chain. By default the chain as long as the evidence.

    Returns
    -------
    float
        log P(E); of continuous values the logarithm of their density.

    Raises
    ------
    InvalidEvidence
        Where the evidence does not fit the model or the tree.
    IncompatibleModels
        Where the model's groups or end probabilities do not fit the tree.
    ImpossibleEvidence
        Where the model gives the evidence probability 0; the message names the node.

    Notes
    -----
    Definitions (2.4), by one upward pass.

    Examples
    --------
    >>> import hidiv as hd
    >>> coin = hd.Model([1.0], [[1.0]], hd.Bernoulli([0.25]))
    >>> round(hd.log_likelihood(coin, [0, 0, 1]), 9)
    -1.961658506
    """
    model = as_model(model)
    known, place = evidence_and_tree(evidence, tree)
    check_groups(model, place, "model")
    check_end(model, place)
    streamed = log_likelihood_of_long_chain(model, known, place)
    if streamed is not None:
        return representable(streamed)
    tables, layout, _ = tables_of(model, known, place, accurate=False)
    value, impossible = upward.log_likelihood(tables, layout)
    if impossible is not None:
        refuse_impossible(model, impossible)
    return representable(value)


def representable(log_probability: float) -> float:
    """The log-probability of possible evidence, refused where it is below the smallest double."""
    if not isfinite(log_probability):
        refuse(
            InvalidEvidence,
            "evidence",
            "its log-probability is below -1.8e308, the lowest number there is",
            log_probability,  # should it ever be NaN, the sentence shows it
            remedy="rescale the values and the model",
        )
    return log_probability


def refuse_impossible(model: Model, node: int, who: str = "", place: str = "") -> NoReturn:
    """Raise ImpossibleEvidence with the model and the node at which the upward pass first fails."""
    raise ImpossibleEvidence(
        sentence(
            f"{place}, node {node}" if place else f"node {node}",
            f"{who or model.title} gives the evidence of this subtree probability 0",
            remedy="check the values there and below, or fill the zeros of the model with hd.smoothed(model, weight)",
        )
    )


def log_likelihoods(model: Model, x: Array, tree: Tree) -> Array:
    """(count,): log P(X = x[i]) of x (count, n) or (count, n, F), -inf where the model cannot produce it.

    The upward recursion (definitions (2.1)) with an axis for the draws, for Monte Carlo: a loop over the draws would
    take a thousand times as long.
    """
    return from_weights(model, tree, node_weights(model, x, tree), x)


class NodeWeights(NamedTuple):
    """logs (n, K, count): log-probabilities of observations in each state; peaks (n, count): the largest of them;
    shares (n, K, count): probabilities over the largest."""

    logs: Array
    peaks: Array
    shares: Array


def node_weights(model: Model, x: Array, tree: Tree) -> NodeWeights:
    """Of x (count, n) or (count, n, F)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = _log_weights(model, x.reshape(*x.shape[:2], -1), tree)
        peaks = logs.max(axis=1)
        return NodeWeights(logs, peaks, np.exp(logs - peaks[:, None]))


def from_weights(model: Model, tree: Tree, weights: NodeWeights, x: Array) -> Array:
    """`log_likelihoods` of x from its weights, whose shares are overwritten."""
    beliefs = weights.shares
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        total = weights.peaks.sum(axis=0)
        for u in range(len(beliefs) - 1, 0, -1):
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
