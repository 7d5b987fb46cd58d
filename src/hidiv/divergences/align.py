"""The relabelling of q's states that brings it nearest to p: joint divergences depend on labels, this one does not."""

from __future__ import annotations

from dataclasses import dataclass
from math import isinf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.adapters.as_model import as_models
from hidiv.divergences.joint import check_joint, joint_of
from hidiv.divergences.relabelling_costs import Costs
from hidiv.divergences.relabelling_search import best_found, every_order
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.models.until_end import UntilEnd

Order = NDArray[np.int64]

EXHAUSTIVE = 8  # states; beyond it 9! orders and more are searched, not listed
COMPARED = 100  # orders alike up to rounding whose divergences are computed to choose among them
TIE = 1e-12  # relative difference of two divergences that count as equal


@dataclass(frozen=True)
class Alignment:
    """`permutation`: new state i of q is its old state permutation[i]; `value` is the joint divergence then.

    `gain`: how much smaller that is than as labelled; `optimal`: whether every order was tried; `ties`: how many
    other orders do as well (None where not every order was tried).
    """

    permutation: tuple[int, ...]
    value: float
    gain: float
    optimal: bool
    ties: int | None


def align(p: Any, q: Any, tree: Tree | int | UntilEnd) -> Alignment:
    """The order of q's states that minimises the joint divergence; value == joint_kl(p, q.relabel(permutation), tree).

    The joint divergence is linear in q's logarithms (definitions (3.6)), so an order is an assignment of states. Every
    order up to 8 states; beyond, quadratic assignment and pairwise exchanges, which may stop at a local minimum and
    says so in `optimal`. Among orders that do equally well the labels as they are come first. +inf where no order found
    makes the divergence finite.

    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.9], [0.6, 0.4]]))
    >>> hd.align(p, p.relabel([1, 0]), 10)
    Alignment(permutation=(1, 0), value=0.0, gain=6.6387..., optimal=True, ties=0)
    """
    p, q = as_models(p, q)
    on = check_joint(p, q, tree)
    labelled = joint_of(p, q, on).value
    costs = Costs.of(p, q, on)
    optimal = p.n_states <= EXHAUSTIVE
    orders = every_order(costs) if optimal else best_found(costs)[None, :]
    order, value, alike = _best(p, q, on, orders, labelled)
    gain = 0.0 if labelled == value else labelled - value
    return Alignment(tuple(int(i) for i in order), value, gain, optimal, alike - 1 if optimal else None)


def _best(p: Model, q: Model, tree: Tree | UntilEnd, orders: Order, labelled: float) -> tuple[Order, float, int]:
    """The first of the smallest, its divergence, and how many there are as small."""
    first = orders[0]
    if len(orders) > COMPARED:  # nothing tells them apart
        return first, joint_of(p, q.relabel(first), tree).value, len(orders)
    values = np.array([joint_of(p, q.relabel(order), tree).value for order in orders])
    least = float(values.min())
    if isinf(least):
        return first, least, len(orders)
    equal = values <= least * (1.0 + TIE)
    best = int(np.argmax(equal))
    return orders[best], float(values[best]), int(equal.sum())
