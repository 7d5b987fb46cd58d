"""How probable the evidence is under a model."""

from __future__ import annotations

from typing import Any, NoReturn

from hidiv.adapters.as_model import as_model
from hidiv.errors import ImpossibleEvidence, sentence
from hidiv.inference.weights import tables_of
from hidiv.models.model import Model
from hidiv.recursions import upward


def log_likelihood(model: Any, evidence: Any, tree: Any = None) -> float:
    """log P(E) (definitions (2.4)): a density where values are continuous; impossible evidence is an error that names
    the node.

    >>> import hidiv as hd
    >>> coin = hd.Model([1.0], [[1.0]], hd.Bernoulli([0.25]))
    >>> round(hd.log_likelihood(coin, [0, 0, 1]), 9)
    -1.961658506
    """
    model = as_model(model)
    tables, layout, _ = tables_of(model, evidence, tree)
    value, impossible = upward.log_likelihood(tables, layout)
    if impossible is not None:
        refuse_impossible(model, impossible)
    return value


def refuse_impossible(model: Model, node: int, who: str = "", place: str = "") -> NoReturn:
    """Say which model cannot produce the evidence, and where it first fails going upward."""
    raise ImpossibleEvidence(
        sentence(
            f"{place}, node {node}" if place else f"node {node}",
            f"{who or model.title} gives the evidence of this subtree probability 0",
            remedy="check the values there and below, or fill the zeros of the model with hd.smoothed(model, weight)",
        )
    )
