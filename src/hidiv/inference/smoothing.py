"""Smoothing: the laws of nodes and of parent-child pairs given the evidence, and their entropies."""

from __future__ import annotations

from typing import Any, NamedTuple

from hidiv.adapters.as_model import as_model
from hidiv.inference.likelihood import refuse_impossible, representable
from hidiv.inference.model_tables import tables_of
from hidiv.recursions import downward
from hidiv.types import Array
from hidiv.values import hashable, same


class Smoothed(NamedTuple):
    """Laws of the hidden states given the evidence; returned by `hd.smooth`.

    Attributes
    ----------
    marginals : ndarray of shape (n, K)
        P(S_u | E) for every node u.
    pairs : ndarray of shape (n, K, K)
        P(S_parent, S_u | E), indexed by the parent's state and the node's own; zeros for the root.
    log_likelihood : float
        log P(E).

    Examples
    --------
    >>> import hidiv as hd
    >>> two = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Bernoulli([0.1, 0.7]))
    >>> marginals, pairs, log_likelihood = hd.smooth(two, [0, 0, 1, 1])
    >>> bool(abs(pairs[1].sum(axis=0) - marginals[1]).max() < 1e-15)
    True
    """

    marginals: Array
    pairs: Array
    log_likelihood: float

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Smoothed) and same(tuple(self), tuple(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(hashable(tuple(self)))


def smooth(model: Any, evidence: Any, tree: Any = None) -> Smoothed:
    """Compute the laws of the hidden states given the evidence.

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
    Smoothed
        The marginal laws of nodes, those of parent-child pairs, and the log-likelihood.

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
    From the upward and downward messages of definitions (2.1).

    Examples
    --------
    >>> import hidiv as hd
    >>> two = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Bernoulli([0.1, 0.7]))
    >>> hd.smooth(two, [0, 0, 1, 1]).marginals.round(3)
    array([[0.648, 0.352],
           [0.57 , 0.43 ],
           [0.153, 0.847],
           [0.116, 0.884]])
    """
    model = as_model(model)
    tables, layout, _ = tables_of(model, evidence, tree)
    sweep = downward.smooth(tables, layout)
    if sweep.impossible is not None:
        refuse_impossible(model, sweep.impossible)
    assert sweep.pairs is not None
    return Smoothed(sweep.marginals, sweep.pairs, representable(sweep.log_likelihood))


def entropy_profile(model: Any, evidence: Any, tree: Any = None) -> Array:
    """Compute the entropy of each hidden state given its parent's state and the evidence.

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
    ndarray of shape (n,)
        H(S_u | S_parent, E) in nats, which sums to the entropy of all states given the evidence.

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
    Definitions (2.5).

    Examples
    --------
    >>> import hidiv as hd
    >>> two = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Bernoulli([0.1, 0.7]))
    >>> hd.entropy_profile(two, [0, 0, 1, 1]).round(3)
    array([0.649, 0.43 , 0.351, 0.232])
    """
    model = as_model(model)
    tables, layout, _ = tables_of(model, evidence, tree)
    profile, impossible = downward.entropy_profile(tables, layout)
    if impossible is not None:
        refuse_impossible(model, impossible)
    return profile
