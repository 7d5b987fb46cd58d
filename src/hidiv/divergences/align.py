"""The relabelling of q's states that brings it nearest to p: joint divergences depend on labels, this one does not."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.adapters.as_model import as_models
from hidiv.divergences.joint import check_joint, joint_kl
from hidiv.divergences.visits import expected_visits
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.models.until_end import UntilEnd

Array = NDArray[np.float64]
Order = NDArray[np.int64]

EXHAUSTIVE = 8  # states; beyond it 9! orders and more are searched, not listed
CHUNK = 4096  # orders weighed at once
FORBIDDEN = 1e200  # a finite stand-in for infinity that sums and compares
TIE = 1e-12  # relative difference of two values that count as equal


@dataclass(frozen=True, eq=False)
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

    Every order up to 8 states; beyond, quadratic assignment and pairwise exchanges, which may stop at a local minimum.

    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.9], [0.6, 0.4]]))
    >>> hd.align(p, p.relabel([1, 0]), 10).permutation
    (1, 0)
    """
    p, q = as_models(p, q)
    on = check_joint(p, q, tree)
    costs = _Costs.of(p, q, on)
    if p.n_states <= EXHAUSTIVE:
        order, ties = _every_order(costs)
    else:
        order, ties = _search(costs), None
    value = joint_kl(p, q.relabel(order), on).value
    labelled = joint_kl(p, q, on).value
    gain = 0.0 if labelled == value else labelled - value
    return Alignment(tuple(int(i) for i in order), value, gain, ties is not None, ties)


@dataclass(frozen=True, eq=False)
class _Costs:
    """D(p || q in an order) up to a constant: linear at (s, order s) plus, by group, weights x logs(order, order)."""

    linear: Array  # (K, K)
    weights: Array  # (G, K, K) expected transitions of p
    logs: Array  # (G or 1, K, K) -log transition of q, FORBIDDEN for zeros

    @classmethod
    def of(cls, p: Model, q: Model, tree: Tree | UntilEnd) -> _Costs:
        groups = max(len(p.transitions), len(q.transitions)), max(len(p.emissions), len(q.emissions))
        visits = expected_visits(p, tree, *groups)
        linear = np.zeros((p.n_states, p.n_states))
        left, right = (grid.ravel() for grid in np.indices(linear.shape))
        for g in range(groups[1]):
            a, b = (model.emissions[min(g, len(model.emissions) - 1)] for model in (p, q))
            table = np.minimum(a.take(left).kl(b.take(right)).reshape(linear.shape), FORBIDDEN)
            linear += _times(visits.states[g][:, None], table)
        linear += _times(visits.root * p.initial[:, None], _minus_log(q.initial)[None, :])
        if p.end is not None and q.end is not None:
            linear += _times((visits.rows[0] * p.end)[:, None], _minus_log(q.end)[None, :])
        return cls(linear, visits.rows[:, :, None] * p.transitions, _minus_log(q.transitions))

    def __call__(self, orders: Order) -> Array:
        """(n,) costs of orders (n, K)."""
        n_states = len(self.linear)
        total = self.linear[np.arange(n_states), orders].sum(axis=1)
        for g in range(max(len(self.weights), len(self.logs))):
            weights, logs = (table[g if len(table) > 1 else 0] for table in (self.weights, self.logs))
            total += _times(weights, logs[orders[:, :, None], orders[:, None, :]]).sum(axis=(1, 2))
        return np.asarray(total)


def _minus_log(probabilities: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.minimum(-np.log(probabilities), FORBIDDEN)


def _times(weights: Array, costs: Array) -> Array:
    """Products in which what is forbidden costs the same however small its weight, and nothing without one."""
    return np.where((costs >= FORBIDDEN) & (weights > 0), FORBIDDEN, weights * costs)


def _every_order(costs: _Costs) -> tuple[Order, int]:
    """The best of all orders, the first among equals, and how many others equal it."""
    orders = np.array(list(permutations(range(len(costs.linear)))))
    values = np.concatenate([costs(orders[start : start + CHUNK]) for start in range(0, len(orders), CHUNK)])
    equal = values <= values.min() + TIE * abs(values.min())
    return orders[np.argmax(equal)], int(equal.sum()) - 1


def _search(costs: _Costs) -> Order:
    """The best of several starts, each improved by exchanging two states until that no longer helps."""
    from scipy.optimize import linear_sum_assignment, quadratic_assignment

    weights = costs.weights.sum(axis=0)
    logs = np.minimum(costs.logs.mean(axis=0), 1e3)  # a start, not a value: zeros only have to look bad
    starts = [np.arange(len(weights)), linear_sum_assignment(costs.linear)[1]]
    starts += [
        quadratic_assignment(weights, logs, options={"rng": np.random.default_rng(seed), "P0": "randomized"})["col_ind"]
        for seed in range(4)
    ]
    improved = [_exchange(costs, np.asarray(start, dtype=np.int64)) for start in starts]
    return min(improved, key=lambda pair: pair[1])[0]


def _exchange(costs: _Costs, order: Order) -> tuple[Order, float]:
    """Exchanges of two states, the best of all pairs each time."""
    k = len(order)
    pairs = np.array([(i, j) for i in range(k) for j in range(i + 1, k)])
    value = float(costs(order[None, :])[0])
    while True:
        neighbours = np.tile(order, (len(pairs), 1))
        rows = np.arange(len(pairs))
        neighbours[rows, pairs[:, 0]], neighbours[rows, pairs[:, 1]] = order[pairs[:, 1]], order[pairs[:, 0]]
        values = costs(neighbours)
        best = int(np.argmin(values))
        if not values[best] < value - TIE * abs(value):
            return order, value
        order, value = neighbours[best], float(values[best])
