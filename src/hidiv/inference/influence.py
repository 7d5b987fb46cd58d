"""The influence of each observation on the hidden states (definitions (6.1))."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidiv.adapters.as_model import as_model
from hidiv.inference.likelihood import refuse_impossible
from hidiv.inference.model_tables import tables_of
from hidiv.inference.weights import add_ends, allowed_states
from hidiv.recursions import node_influence as recursion
from hidiv.types import Array


def influence(model: Any, evidence: Any, tree: Any = None) -> Array:
    """Measure how much each observation decides the hidden states.

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
        D( P(S | E) || P(S | E without X_j) ) for every node j, in nats; finite, and 0 where nothing of X_j is known.
        The allowed states of a node stay known.

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
    Definitions (6.1). All n values take one upward and one downward pass.

    Examples
    --------
    >>> import hidiv as hd
    >>> two = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Bernoulli([0.1, 0.7]))
    >>> hd.influence(two, [0, 0, 1, 1]).round(3)
    array([0.146, 0.148, 0.354, 0.302])
    """
    model = as_model(model)
    # Only differences between states matter here, and they may be small compared with the weights themselves.
    tables, layout, rows = tables_of(model, evidence, tree, limit=0.0)
    unseen = np.zeros_like(tables.log_weight)
    allowed = allowed_states(model, rows)
    if allowed is not None:
        unseen = np.where(allowed, unseen, -np.inf)
    add_ends(unseen, rows, model)  # the end of a chain stays known
    values, impossible = recursion.influence(tables, layout, unseen)
    if impossible is not None:
        refuse_impossible(model, impossible)
    return values
