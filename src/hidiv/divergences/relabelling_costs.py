"""What each order of q's states costs: the joint divergence up to a constant, and how many places it makes infinite."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hidiv.divergences.places import NEVER, first_places
from hidiv.divergences.visits import expected_visits
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.models.until_end import UntilEnd

Array = NDArray[np.float64]
Order = NDArray[np.int64]
CHUNK = 4096  # orders weighed at once


@dataclass(frozen=True, eq=False)
class Assignment:
    """A quadratic assignment: sum_s linear(s, o_s) + sum_g sum_rs weights_g(r, s) costs_g(o_r, o_s) for an order o."""

    linear: Array  # (K, K)
    weights: Array  # (G, K, K)
    costs: Array  # (G, K, K)

    def of_orders(self, orders: Order) -> Array:
        """(n,) for orders (n, K)."""
        parts = [self._chunk(orders[i : i + CHUNK]) for i in range(0, len(orders), CHUNK)]
        return np.concatenate(parts)

    def _chunk(self, orders: Order) -> Array:
        total = self.linear[np.arange(len(self.linear)), orders].sum(axis=1)
        for weights, costs in zip(self.weights, self.costs, strict=True):
            total += np.einsum("rs,nrs->n", weights, costs[orders[:, :, None], orders[:, None, :]])
        return np.asarray(total)

    def exchanges(self, order: Order) -> Array:
        """(K, K): what exchanging two states of an order adds, for every pair; symmetric, zero diagonal."""
        by_place = self.linear[:, order]  # (i, j): state i served by what serves j now
        now = np.diagonal(by_place)
        added = by_place + by_place.T - now[:, None] - now[None, :]
        for w, costs in zip(self.weights, self.costs, strict=True):
            c = costs[np.ix_(order, order)]
            for weight, cost in ((w, c), (w.T, c.T)):  # rows, then columns
                rows = weight @ cost.T
                moved = rows - np.diagonal(rows)[:, None]  # all of row i seen as row j
                # The exchanged pair itself is seen in both places at once.
                d, e = np.diagonal(cost), np.diagonal(weight)
                moved -= e[:, None] * (cost.T - d[:, None]) + weight * (d[None, :] - cost)
                added += moved + moved.T
            d, e = np.diagonal(c), np.diagonal(w)
            added += (e[:, None] - e[None, :]) * (d[None, :] - d[:, None]) + (w - w.T) * (c.T - c)
        return added


@dataclass(frozen=True, eq=False)
class Costs:
    """Finite costs, and counts of places that are infinite; fewer of these goes first."""

    finite: Assignment
    infinite: Assignment

    @classmethod
    def of(cls, p: Model, q: Model, tree: Tree | UntilEnd) -> Costs:
        """The costs of every order of q's states against p as it is."""
        groups = max(len(p.transitions), len(q.transitions)), max(len(p.emissions), len(q.emissions))
        visits, places = expected_visits(p, tree, *groups), first_places(p, tree, *groups)
        linear, endless = np.zeros((2, p.n_states, p.n_states))

        def add(weights: Array, costs: Array, reached: NDArray[np.bool_]) -> None:
            nonlocal linear, endless
            linear = linear + weights * np.where(np.isinf(costs), 0.0, costs)
            endless = endless + (np.isinf(costs) & reached)

        for g, table in enumerate(_emissions(p, q, groups[1])):
            add(visits.states[g][:, None], table, (places.states[g] < NEVER)[:, None])
        initial = p.initial[:, None]
        add(visits.root * initial, _minus_log(q.initial)[None, :], initial > 0)
        rows = places.rows < NEVER
        if p.end is not None and q.end is not None:
            end = p.end[:, None]
            add(visits.rows[0][:, None] * end, _minus_log(q.end)[None, :], rows[0][:, None] & (end > 0))
        weights = visits.rows[:, :, None] * p.transitions
        used = rows[:, :, None] & (p.transitions > 0)
        logs = _minus_log(q.transitions)
        costs, zero = (np.broadcast_to(a, weights.shape) for a in (np.where(np.isinf(logs), 0.0, logs), np.isinf(logs)))
        return cls(
            Assignment(linear, weights, costs),
            Assignment(endless, used.astype(np.float64), zero.astype(np.float64)),
        )

    def of_orders(self, orders: Order) -> tuple[Array, Array]:
        """(n,) infinite places and (n,) finite costs."""
        return np.round(self.infinite.of_orders(orders)), self.finite.of_orders(orders)


def _emissions(p: Model, q: Model, groups: int) -> list[Array]:
    """(K, K) by group: KL of every emission of p from every emission of q."""
    left, right = (grid.ravel() for grid in np.indices((p.n_states, q.n_states)))
    tables = []
    for g in range(groups):
        a, b = (model.emissions[min(g, len(model.emissions) - 1)] for model in (p, q))
        tables.append(a.take(left).kl(b.take(right)).reshape(p.n_states, q.n_states))
    return tables


def _minus_log(probabilities: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(probabilities))
