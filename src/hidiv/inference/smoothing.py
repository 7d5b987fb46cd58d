"""The hidden states given the evidence: marginals of nodes and of parent-child pairs, and their entropies."""

from __future__ import annotations

from typing import Any, NamedTuple

from hidiv.adapters.as_model import as_model
from hidiv.inference.likelihood import refuse_impossible, representable
from hidiv.inference.model_tables import tables_of
from hidiv.recursions import downward
from hidiv.types import Array
from hidiv.values import hashable, same


class Smoothed(NamedTuple):
    """marginals (n, K) = P(S_u | E); pairs (n, K, K) = P(S_parent, S_u | E) as (parent, own), row 0 zeros."""

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
    """Laws of every node (n, K) and of every edge (n, K, K) given the evidence, from the messages of definitions (2.1).

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
    found = downward.smooth(tables, layout)
    if found.impossible is not None:
        refuse_impossible(model, found.impossible)
    assert found.pairs is not None
    return Smoothed(found.marginals, found.pairs, representable(found.log_likelihood))


def entropy_profile(model: Any, evidence: Any, tree: Any = None) -> Array:
    """(n,): H(S_u | S_parent, E), which sums to the entropy of the states given the evidence (definitions (2.5)).

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
