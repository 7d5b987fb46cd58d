"""How probable the evidence is under a model."""

from __future__ import annotations

from math import isfinite
from typing import Any, NoReturn

from hidiv.adapters.as_model import as_model
from hidiv.errors import ImpossibleEvidence, InvalidEvidence, refuse, sentence
from hidiv.inference.model_tables import tables_of
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
    tables, layout, _ = tables_of(model, evidence, tree, accurate=False)
    value, impossible = upward.log_likelihood(tables, layout)
    if impossible is not None:
        refuse_impossible(model, impossible)
    return representable(value)


def representable(log_probability: float) -> float:
    """A log-probability of possible evidence, refused where it is too low for a number."""
    if not isfinite(log_probability):
        refuse(
            InvalidEvidence,
            "evidence",
            "its log-probability is below -1.8e308, the lowest number there is",
            remedy="rescale the values and the model",
        )
    return log_probability


def refuse_impossible(model: Model, node: int, who: str = "", place: str = "") -> NoReturn:
    """Say which model cannot produce the evidence, and where it first fails going upward."""
    raise ImpossibleEvidence(
        sentence(
            f"{place}, node {node}" if place else f"node {node}",
            f"{who or model.title} gives the evidence of this subtree probability 0",
            remedy="check the values there and below, or fill the zeros of the model with hd.smoothed(model, weight)",
        )
    )
