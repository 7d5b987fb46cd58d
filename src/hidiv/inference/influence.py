"""Which observations decide the hidden states (definitions (6.1))."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.adapters.as_model import as_model
from hidiv.inference.likelihood import refuse_impossible
from hidiv.inference.model_tables import tables_of
from hidiv.inference.weights import add_ends, allowed_states
from hidiv.recursions import node_influence as recursion


def influence(model: Any, evidence: Any, tree: Any = None) -> NDArray[np.float64]:
    """(n,): D( P(S | E) || P(S | E without X_j) ) for every node j, in nats; allowed states stay, never infinite.

    Definitions (6.1). Zero where nothing of X_j is known. All n cost one upward and one downward pass.

    >>> import hidiv as hd
    >>> two = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Bernoulli([0.1, 0.7]))
    >>> hd.influence(two, [0, 0, 1, 1]).round(3)
    array([0.146, 0.148, 0.354, 0.302])
    """
    model = as_model(model)
    # What tells the states apart is all that counts here, and may be little beside the weights themselves.
    tables, layout, rows = tables_of(model, evidence, tree, limit=0.0)
    unseen = np.zeros_like(tables.log_weight)
    allowed = allowed_states(model, rows)
    if allowed is not None:
        unseen = np.where(allowed, unseen, -np.inf)
    add_ends(unseen, rows, model)  # that a chain has ended stays known
    found, impossible = recursion.influence(tables, layout, unseen)
    if impossible is not None:
        refuse_impossible(model, impossible)
    return found
