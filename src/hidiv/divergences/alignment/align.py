"""The relabelling of q's states that brings it nearest to p: joint divergences depend on labels, this one does not."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from hidiv.adapters.as_model import as_models
from hidiv.divergences.alignment.relabelling_costs import Costs
from hidiv.divergences.alignment.relabelling_search import best_found, every_order
from hidiv.divergences.joint.kl import check_joint, joint_of
from hidiv.divergences.result import Divergence
from hidiv.errors import OutOfRange
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.models.until_end import UntilEnd
from hidiv.types import IntArray

EXHAUSTIVE = 8  # states; beyond it 9! orders and more are searched, not listed
COMPARED = 100  # orders alike up to rounding whose divergences are computed to choose among them
TIE = 1e-12  # relative difference of two divergences that count as equal


@dataclass(frozen=True)
class Alignment:
    """`permutation`: new state i of q is its old state permutation[i]; `value` is the joint divergence then.

    `gain`: how much smaller that is than as labelled, 0 where both are infinite; `optimal`: whether every order was
    tried; `ties`: how many other orders do as well (None where not every order was tried). `infinite` counts the terms
    (the initial law, transition rows, emission states) that are infinite all the same, `labelled_infinite` those that
    are as labelled, and `finite` is what the other terms add up to: `value` where no term is infinite.
    """

    permutation: tuple[int, ...]
    value: float
    gain: float
    optimal: bool
    ties: int | None
    infinite: int
    labelled_infinite: int
    finite: float

    @property
    def as_labelled(self) -> bool:
        """Whether the labels as they are do as well as any order tried."""
        return self.permutation == tuple(range(len(self.permutation)))


def align(p: Any, q: Any, tree: Tree | int | UntilEnd) -> Alignment:
    """The order of q's states that minimises the joint divergence; value == joint_kl(p, q.relabel(permutation), tree).

    The joint divergence is linear in q's logarithms (definitions (3.6)), so an order is an assignment of states. Where
    no order makes it finite, the order with the fewest infinite terms is the best, and among those the one whose other
    terms add up to least. Every order up to 8 states; beyond, quadratic assignment and pairwise exchanges, which may
    stop at a local minimum and says so in `optimal`. Among orders that do equally well the labels as they are come
    first.

    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.9], [0.6, 0.4]]))
    >>> found = hd.align(p, p.relabel([1, 0]), 10)
    >>> found.permutation, found.value, round(found.gain, 4), found.optimal, found.ties, found.infinite
    ((1, 0), 0.0, 6.6388, True, 0, 0)
    """
    p, q = as_models(p, q)
    on = check_joint(p, q, tree)
    costs = Costs.of(p, q, on)
    optimal = p.n_states <= EXHAUSTIVE
    orders = every_order(costs) if optimal else best_found(costs)
    order, alike = _best(p, q, on, orders)
    labelled, found = joint_of(p, q, on), joint_of(p, q.relabel(order), on)
    gain = 0.0 if labelled.value == found.value else labelled.value - found.value
    return Alignment(
        tuple(int(i) for i in order), found.value, gain, optimal, alike - 1 if optimal else None,
        len(found.infinite), len(labelled.infinite), _finite(found),
    )  # fmt: skip


def _best(p: Model, q: Model, tree: Tree | UntilEnd, orders: IntArray) -> tuple[IntArray, int]:
    """The first of the best, and how many there are as good."""
    if len(orders) > COMPARED:  # nothing tells them apart
        return orders[0], len(orders)
    found = [joint_of(p, q.relabel(order), tree, per_node=True) for order in orders]
    infinite, finite = np.array([len(one.infinite) for one in found]), np.array([_finite(one) for one in found])
    fewest = infinite == infinite.min()
    equal = fewest & (finite <= finite[fewest].min() * (1.0 + TIE))
    return orders[int(np.argmax(equal))], int(equal.sum())


def _finite(found: Divergence) -> float:
    """The terms of a joint divergence that are finite, together; +inf where no double holds them."""
    if not found.infinite:
        return found.value
    try:
        parts = found.parts
    except OutOfRange:
        return inf
    assert parts is not None
    terms = np.concatenate([[parts.initial], parts.rows.ravel(), parts.states.ravel()])
    return float(terms[np.isfinite(terms)].sum())
