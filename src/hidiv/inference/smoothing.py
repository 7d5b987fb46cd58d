"""The hidden states given the evidence: marginals of nodes and of parent-child pairs, and their entropies."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidiv.adapters.as_model import as_model
from hidiv.inference.likelihood import refuse_impossible
from hidiv.inference.weights import tables_of
from hidiv.recursions import downward

Array = NDArray[np.float64]


class Smoothed(NamedTuple):
    """marginals (n, K) = P(S_u | E); pairs (n, K, K) = P(S_parent, S_u | E) as (parent, own), row 0 zeros."""

    marginals: Array
    pairs: Array
    log_likelihood: float


def smooth(model: Any, evidence: Any, tree: Any = None) -> Smoothed:
    """Posterior laws of every node and of every edge, one upward and one downward pass."""
    model = as_model(model)
    tables, layout, _ = tables_of(model, evidence, tree)
    found = downward.smooth(tables, layout)
    if found.impossible is not None:
        refuse_impossible(model, found.impossible)
    assert found.pairs is not None
    return Smoothed(found.marginals, found.pairs, found.log_likelihood)


def entropy_profile(model: Any, evidence: Any, tree: Any = None) -> Array:
    """(n,): H(S_u | S_parent, E), which sums to the entropy of the hidden states given the evidence."""
    model = as_model(model)
    tables, layout, _ = tables_of(model, evidence, tree)
    profile, impossible = downward.entropy_profile(tables, layout)
    if impossible is not None:
        refuse_impossible(model, impossible)
    return profile
