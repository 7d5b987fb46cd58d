"""What each order of q's states costs: how many terms of the joint divergence are infinite, and the rest of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hidiv.divergences.joint.local_terms import NEVER, first_places, with_end
from hidiv.divergences.joint.visits import visits_of
from hidiv.divergences.pair import Pair, of_models
from hidiv.models.model import by_group
from hidiv.types import Array, Flags, IntArray

CHUNK = 1 << 18  # probabilities weighed at once


class OrderCosts(NamedTuple):
    """What each of n orders costs: (n,) each."""

    infinite: Array  # how many terms of the joint divergence are infinite where p has mass
    finite: Array  # the sum of the other terms, per node
    rounding: Array  # the sum of the absolute values behind `finite`, which its rounding is relative to

    @property
    def keys(self) -> list[tuple[float, float]]:
        """What orders are ranked by: fewest infinite terms, then the smallest rest."""
        return list(zip(self.infinite.tolist(), self.finite.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Assignment:
    """A quadratic assignment: sum_s linear(s, o_s) + sum_g sum_rs weights_g(r, s) costs_g(o_r, o_s) for an order o."""

    linear: Array  # (K, K)
    weights: Array  # (G, K, K)
    costs: Array  # (G, K, K)

    def exchanges(self, order: IntArray) -> Array:
        """(K, K): by how much exchanging two states of an order changes the sum; symmetric, zero diagonal."""
        by_place = self.linear[:, order]  # (i, j): state i paired with the state that j is paired with now
        now = np.diagonal(by_place)
        added = by_place + by_place.T - now[:, None] - now[None, :]
        for w, costs in zip(self.weights, self.costs, strict=True):
            c = costs[np.ix_(order, order)]
            for weight, cost in ((w, c), (w.T, c.T)):  # rows, then columns
                rows = weight @ cost.T
                moved = rows - np.diagonal(rows)[:, None]  # row i with the costs of row j
                # The entries of the two exchanged states change in both rows and columns at once.
                d, e = np.diagonal(cost), np.diagonal(weight)
                moved -= e[:, None] * (cost.T - d[:, None]) + weight * (d[None, :] - cost)
                added += moved + moved.T
            d, e = np.diagonal(c), np.diagonal(w)
            added += (e[:, None] - e[None, :]) * (d[None, :] - d[:, None]) + (w - w.T) * (c.T - c)
        return added


@dataclass(frozen=True, eq=False)
class RowCosts:
    """Rows of p against rows of q, whose states are reordered; each row is one term of the divergence.

    R is K, or 1 for the initial law. `weights` (R, M) are the probabilities of p times the expected visits of the row;
    `used` is True where they are positive, underflow aside. `costs` (R, M) are -log q, with 0 where q has no mass, and
    `zero` is True there. A column after the K states is the end, which keeps its place.
    """

    weights: Array
    own: Array  # (R,): sum of weights times log p
    used: Flags
    costs: Array
    zero: Flags

    @classmethod
    def between(cls, p: Array, q: Array, visits: Array, reached: Flags) -> RowCosts:
        """The rows p and q (R, M), the expected visits of each row (R,), and whether p reaches it (R,)."""
        logs_p, logs_q = (np.log(np.where(law > 0, law, 1.0)) for law in (p, q))
        weights = visits[:, None] * p
        return cls(weights, (weights * logs_p).sum(axis=1), reached[:, None] & (p > 0), -logs_q, q <= 0)

    def of_orders(self, orders: IntArray) -> OrderCosts:
        """The costs of (n, K) orders."""
        columns = np.broadcast_to(np.arange(self.weights.shape[1]), (len(orders), self.weights.shape[1])).copy()
        columns[:, : orders.shape[1]] = orders
        rows = orders if len(self.costs) > 1 else np.zeros((len(orders), 1), dtype=np.int64)
        at = rows[:, :, None], columns[:, None, :]
        sums = np.einsum("rs,nrs->nr", self.weights, self.costs[at])
        endless = (self.used & self.zero[at]).any(axis=2) if self.zero.any() else np.zeros(sums.shape, dtype=np.bool_)
        finite = np.where(endless, 0.0, sums + self.own)
        rounding = np.where(endless, 0.0, sums + np.abs(self.own))
        return OrderCosts(endless.sum(axis=1).astype(np.float64), finite.sum(axis=1), rounding.sum(axis=1))

    def least(self, n_states: int) -> Array:
        """(K, K): no order that pairs state s of p with state t of q makes the term of row s cheaper; the initial law's
        term has its exact share.

        Of a row, the state itself and the end keep their places; the other probabilities of p are paired with those of
        q as is cheapest, the largest with the largest (Gilmore and Lawler).
        """
        if len(self.costs) == 1:
            share = self.own[0] / n_states
            return np.asarray(self.weights[0][:, None] * self.costs[0][None, :] + share)
        kept = np.einsum("s,t->st", np.diagonal(self.weights), np.diagonal(self.costs))
        kept += self.weights[:, n_states:] @ self.costs[:, n_states:].T
        others = ~np.eye(n_states, dtype=np.bool_)
        weights, costs = (
            np.sort(table[:, :n_states][others].reshape(n_states, -1), axis=1) for table in (self.weights, self.costs)
        )
        return np.asarray(np.maximum(kept + weights @ costs[:, ::-1].T + self.own[:, None], 0.0))


@dataclass(frozen=True, eq=False)
class Costs:
    """What orders are ranked by, term by term, and two quadratic assignments that exchanges of states improve.

    `finite` adds up the terms that have mass under q. `infinite` counts the probabilities that q lacks, which only
    stands for the number of infinite terms: a row that lacks two is one infinite term, and no quadratic form counts so.
    """

    emissions: Array  # (K, K): what the emission of state s of p adds when paired with state t of q, if finite
    endless: Array  # (K, K): in how many groups it is infinite
    rows: tuple[RowCosts, ...]  # the initial law, then the transitions by group

    @classmethod
    def of(cls, pair: Pair) -> Costs:
        """The costs of every order of q's states against p as it is."""
        p, q = pair.p, pair.q
        tables = pair.once(emission_table)
        visits = pair.once(visits_of)
        places = first_places(p, pair.tree, len(visits.rows), len(tables))
        emissions, endless = np.zeros((2, p.n_states, p.n_states))
        for g, table in enumerate(tables):
            emissions += visits.states[g][:, None] * np.where(np.isinf(table), 0.0, table)
            endless += np.isinf(table) & (places.states[g] < NEVER)[:, None]
        # Where q starts as p does in every order, the uniform law adds the same to each.
        start = np.full_like(q.initial, 1.0 / q.n_states) if pair.initial is False else q.initial
        initial = RowCosts.between(p.initial[None, :], start[None, :], np.array([visits.root]), np.array([True]))
        left, right = (by_group(with_end(model), len(visits.rows)) for model in (p, q))
        rows = tuple(
            RowCosts.between(a, b, weight, when < NEVER)
            for a, b, weight, when in zip(left, right, visits.rows, places.rows, strict=True)
        )
        return cls(emissions, endless, (initial, *rows))

    @cached_property
    def finite(self) -> Assignment:
        """The finite costs."""
        initial, *groups = self.rows
        n_states, linear = len(self.emissions), self.emissions + initial.weights[0][:, None] * initial.costs
        for group in groups:
            for end in range(n_states, group.weights.shape[1]):  # the end goes with the state alone
                linear = linear + group.weights[:, end, None] * group.costs[None, :, end]
        weights, costs = (np.stack([getattr(g, name)[:, :n_states] for g in groups]) for name in ("weights", "costs"))
        return Assignment(linear, weights, costs)

    @cached_property
    def infinite(self) -> Assignment:
        """The numbers of probabilities that q lacks."""
        initial, *groups = self.rows
        n_states, linear = len(self.endless), self.endless + (initial.used[0][:, None] & initial.zero)
        for group in groups:
            for end in range(n_states, group.weights.shape[1]):
                linear = linear + (group.used[:, end, None] & group.zero[None, :, end])
        used, zero = (
            np.stack([getattr(g, n)[:, :n_states] for g in groups]).astype(np.float64) for n in ("used", "zero")
        )
        return Assignment(linear, used, zero)

    def least(self) -> Array:
        """(K, K): what pairing state s of p with state t of q adds at least, where no term is infinite.

        No such order o costs less than the sum of entries (s, o_s), rounding aside.
        """
        return np.asarray(self.emissions + sum(rows.least(len(self.emissions)) for rows in self.rows))

    def of_orders(self, orders: IntArray) -> OrderCosts:
        """The costs of (n, K) orders."""
        size = max(1, CHUNK // orders.shape[1] ** 2)
        chunks = [self._chunk(orders[i : i + size]) for i in range(0, len(orders), size)]
        return OrderCosts(*(np.concatenate(columns) for columns in zip(*chunks, strict=True)))

    def _chunk(self, orders: IntArray) -> OrderCosts:
        """The costs of as many orders as fit in memory."""
        paired = np.arange(len(self.emissions)), orders
        emissions = self.emissions[paired].sum(axis=1)
        parts = [OrderCosts(self.endless[paired].sum(axis=1), emissions, emissions)]
        parts += [rows.of_orders(orders) for rows in self.rows]
        return OrderCosts(*(np.sum(columns, axis=0) for columns in zip(*parts, strict=True)))


@of_models
def emission_table(pair: Pair) -> list[Array]:
    """(K, K) by group: KL of every emission of p from every emission of q, the component of a mixture included."""
    left, right = (grid.ravel() for grid in np.indices((pair.p.n_states, pair.q.n_states)))
    shape = pair.p.n_states, pair.q.n_states
    return [a.take(left).complete().kl(b.take(right).complete()).reshape(shape) for a, b in pair.families()]
