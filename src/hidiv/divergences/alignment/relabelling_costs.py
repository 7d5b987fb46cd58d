"""What each order of q's states costs: how many terms of the joint divergence are infinite, and the rest of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hidiv.divergences.joint.local_terms import with_end
from hidiv.divergences.joint.places import NEVER, first_places
from hidiv.divergences.joint.visits import by_group, expected_visits
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.models.until_end import UntilEnd
from hidiv.types import Array, Flags, IntArray

CHUNK = 1 << 18  # probabilities weighed at once


class Weighed(NamedTuple):
    """Orders by what they cost: (n,) each."""

    infinite: Array  # terms of the joint divergence that are infinite where p comes by
    finite: Array  # the other terms together, per node
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
class Rows:
    """Laws of p, each against a row of q in the order of the states: one term of the divergence each.

    R is K, or 1 for the initial law. `weights` (R, M) is what p puts where, times how often it comes by; `used` says
    where that is anything, however little. `costs` (R, M) are -log q, 0 where q has no mass, and `zero` says where. A
    column after the K states is the end, which keeps its place.
    """

    weights: Array
    own: Array  # (R,): sum of weights times log p
    used: Flags
    costs: Array
    zero: Flags

    @classmethod
    def between(cls, p: Array, q: Array, visits: Array, reached: Flags) -> Rows:
        """Rows p against rows q, (R, M) both; visits and whether p comes by, (R,)."""
        logs_p, logs_q = (np.log(np.where(law > 0, law, 1.0)) for law in (p, q))
        weights = visits[:, None] * p
        return cls(weights, (weights * logs_p).sum(axis=1), reached[:, None] & (p > 0), -logs_q, q <= 0)

    def of_orders(self, orders: IntArray) -> Weighed:
        """Of (n, K) orders."""
        columns = np.broadcast_to(np.arange(self.weights.shape[1]), (len(orders), self.weights.shape[1])).copy()
        columns[:, : orders.shape[1]] = orders
        rows = orders if len(self.costs) > 1 else np.zeros((len(orders), 1), dtype=np.int64)
        at = rows[:, :, None], columns[:, None, :]
        sums = np.einsum("rs,nrs->nr", self.weights, self.costs[at])
        endless = (self.used & self.zero[at]).any(axis=2) if self.zero.any() else np.zeros(sums.shape, dtype=np.bool_)
        finite = np.where(endless, 0.0, sums + self.own)
        rounding = np.where(endless, 0.0, sums + np.abs(self.own))
        return Weighed(endless.sum(axis=1).astype(np.float64), finite.sum(axis=1), rounding.sum(axis=1))


@dataclass(frozen=True, eq=False)
class Costs:
    """What orders are ranked by, term by term, and two quadratic assignments that exchanges of states improve.

    `finite` adds up what q gives mass, `infinite` counts the probabilities it does not: a row with two of them is one
    infinite term, which no quadratic form can say.
    """

    emissions: Array  # (K, K): what state s of p adds where state t of q serves it, infinite groups left out
    endless: Array  # (K, K): how many groups are infinite then
    rows: tuple[Rows, ...]
    finite: Assignment
    infinite: Assignment

    @classmethod
    def of(cls, p: Model, q: Model, tree: Tree | UntilEnd) -> Costs:
        """The costs of every order of q's states against p as it is."""
        groups = max(len(p.transitions), len(q.transitions)), max(len(p.emissions), len(q.emissions))
        visits, places = expected_visits(p, tree, *groups), first_places(p, tree, *groups)
        emissions, endless = np.zeros((2, p.n_states, p.n_states))
        for g, table in enumerate(_emissions(p, q, groups[1])):
            emissions += visits.states[g][:, None] * np.where(np.isinf(table), 0.0, table)
            endless += np.isinf(table) & (places.states[g] < NEVER)[:, None]
        initial = Rows.between(p.initial[None, :], q.initial[None, :], np.array([visits.root]), np.array([True]))
        left, right = (by_group(with_end(model), groups[0]) for model in (p, q))
        rows = tuple(
            Rows.between(a, b, weight, when < NEVER)
            for a, b, weight, when in zip(left, right, visits.rows, places.rows, strict=True)
        )
        return cls(emissions, endless, (initial, *rows), *_assignments(p.n_states, emissions, endless, initial, rows))

    def of_orders(self, orders: IntArray) -> Weighed:
        """Of (n, K) orders."""
        size = max(1, CHUNK // orders.shape[1] ** 2)
        chunks = [self._chunk(orders[i : i + size]) for i in range(0, len(orders), size)]
        return Weighed(*(np.concatenate(columns) for columns in zip(*chunks, strict=True)))

    def _chunk(self, orders: IntArray) -> Weighed:
        served = np.arange(len(self.emissions)), orders
        emissions = self.emissions[served].sum(axis=1)
        parts = [Weighed(self.endless[served].sum(axis=1), emissions, emissions)]
        parts += [rows.of_orders(orders) for rows in self.rows]
        return Weighed(*(np.sum(columns, axis=0) for columns in zip(*parts, strict=True)))


def _assignments(
    n_states: int, emissions: Array, endless: Array, initial: Rows, rows: tuple[Rows, ...]
) -> tuple[Assignment, Assignment]:
    """The finite costs and the numbers of probabilities that q lacks, as quadratic assignments."""
    finite = emissions + initial.weights[0][:, None] * initial.costs
    lacking = endless + (initial.used[0][:, None] & initial.zero)
    for group in rows:
        for end in range(n_states, group.weights.shape[1]):  # a last column is served by the state alone
            finite = finite + group.weights[:, end, None] * group.costs[None, :, end]
            lacking = lacking + (group.used[:, end, None] & group.zero[None, :, end])
    square = np.s_[:, :n_states]
    return (
        Assignment(finite, *(np.stack([getattr(g, name)[square] for g in rows]) for name in ("weights", "costs"))),
        Assignment(
            lacking,
            *(np.stack([getattr(g, name)[square].astype(np.float64) for g in rows]) for name in ("used", "zero")),
        ),
    )


def _emissions(p: Model, q: Model, groups: int) -> list[Array]:
    """(K, K) by group: KL of every emission of p from every emission of q."""
    left, right = (grid.ravel() for grid in np.indices((p.n_states, q.n_states)))
    tables = []
    for g in range(groups):
        a, b = (model.emissions[min(g, len(model.emissions) - 1)] for model in (p, q))
        tables.append(a.take(left).complete().kl(b.take(right).complete()).reshape(p.n_states, q.n_states))
    return tables
