"""The log-likelihood of evidence."""

from __future__ import annotations

from math import isfinite
from typing import Any, NoReturn

from hidiv.adapters.as_model import as_model
from hidiv.errors import ImpossibleEvidence, InvalidEvidence, refuse, sentence
from hidiv.inference.model_tables import tables_of
from hidiv.models.model import Model
from hidiv.recursions import upward


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
    tables, layout, _ = tables_of(model, evidence, tree, accurate=False)
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
