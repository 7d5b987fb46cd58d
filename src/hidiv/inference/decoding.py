"""The single most probable hidden configuration."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.adapters.as_model import as_model
from hidiv.inference.likelihood import refuse_impossible
from hidiv.inference.weights import tables_of
from hidiv.recursions import viterbi as recursion


def viterbi(model: Any, evidence: Any, tree: Any = None) -> tuple[NDArray[np.int64], float]:
    """(states (n,), log P(states, E)); among equally probable ones the lowest states win."""
    model = as_model(model)
    tables, layout, _ = tables_of(model, evidence, tree)
    states, log_probability, impossible = recursion.viterbi(tables, layout)
    if impossible is not None:
        refuse_impossible(model, impossible)
    return states, log_probability
