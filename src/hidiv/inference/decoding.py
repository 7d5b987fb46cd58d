"""Decoding: the most probable hidden states."""

from __future__ import annotations

from typing import Any

from hidiv.adapters.as_model import as_model
from hidiv.inference.likelihood import refuse_impossible, representable
from hidiv.inference.model_tables import tables_of
from hidiv.recursions import viterbi as recursion
from hidiv.types import IntArray


def viterbi(model: Any, evidence: Any, tree: Any = None) -> tuple[IntArray, float]:
    """Find the most probable hidden states given the evidence.

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
    states : ndarray of shape (n,)
        The most probable states; of equally probable ones the lowest numbers.
    log_probability : float
        log P(states, evidence).

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
    The maximum of definitions (2.6), in one upward and one downward pass.

    References
    ----------
    A. J. Viterbi, Error bounds for convolutional codes and an asymptotically optimum decoding algorithm, IEEE
    Transactions on Information Theory 13 (1967), 260-269.

    Examples
    --------
    >>> import hidiv as hd
    >>> two = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Bernoulli([0.1, 0.7]))
    >>> states, log_probability = hd.viterbi(two, [0, 0, 1, 1])
    >>> states.tolist(), round(log_probability, 6)
    ([0, 0, 1, 1], -4.248307)
    """
    model = as_model(model)
    tables, layout, _ = tables_of(model, evidence, tree)
    states, log_probability, impossible = recursion.viterbi(tables, layout)
    if impossible is not None:
        refuse_impossible(model, impossible)
    return states, representable(log_probability)
