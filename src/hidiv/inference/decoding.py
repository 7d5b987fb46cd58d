"""The single most probable hidden configuration."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.adapters.as_model import as_model
from hidiv.inference.likelihood import refuse_impossible, representable
from hidiv.inference.model_tables import tables_of
from hidiv.recursions import viterbi as recursion


def viterbi(model: Any, evidence: Any, tree: Any = None) -> tuple[NDArray[np.int64], float]:
    """(states (n,), log P(states, E)): the most probable states (definitions (2.6)); of equal ones the lowest.

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
