"""Deterministic observed divergences for two-state chains of scalar numbers and counts, by quadrature.

The predicted log-odds u of a two-state filter stay in a bounded interval whatever is observed. The value function
V(s, u), s the state of p, is a polynomial in u, and expectations over the next observation are sums over the points of
a quadrature. The error is what refining both changes: good to ten digits as a rule, but no bound.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hidiv.divergences.observed.certified.log_odds.chebyshev import values, zeros
from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.observed.quadrature.observation_points import points
from hidiv.divergences.observed.quadrature.panels import FINE, Fineness
from hidiv.divergences.result import Divergence
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.predictive import ObservationPoints
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget
    from hidiv.divergences.pair import Pair

FINER = Fineness(1e-15, 4.0, 1e-20)
NODES = (12, 18, 27, 40, 60, 90)
FLAT = 1e-14  # change of the increments of a step from which on they are taken to be constant
SAME = 1e-14  # relative change that rounding explains


def applies(pair: Pair) -> str | None:
    """One or two states in both models, the same laws at every node, one number or count to a node."""
    for model in (pair.p, pair.q):
        if model.n_states > 2 or model.n_groups > 1 or model.n_features != 1:
            return "quadrature needs one or two states and one number to a node"
    return None


def run(pair: Pair, budget: Budget) -> Divergence:
    """D_X of a chain of known length, or the rate of an endless one.

    NotApplicable for close models, where the error exceeds rtol times the value.
    """
    tree = pair.tree
    if tree is None:
        refined = _refined(pair.p, pair.q, lambda filters, p: filters.rate(p))
    else:
        assert isinstance(tree, Tree)
        refined = _refined(pair.p, pair.q, lambda filters, p: filters.total(p, tree.n_nodes))
    if not refined.error <= budget.rtol * abs(refined.value):
        raise NotApplicable(f"refining the quadrature still changes it by {refined.error:.1g}")
    return approximated(refined, pair)


def approximated(refined: Refined, pair: Pair) -> Divergence:
    """The value with what refining changes: an approximation, since that is no bound."""
    subject, per = pair.subject_and_unit()
    note = (
        f"quadrature with {refined.points} points and {refined.nodes} nodes, no draws; refining changes it by "
        f"{refined.error:.1g}, which is not a bound"
    )
    ends = refined.value - refined.error, refined.value + refined.error
    return Divergence(
        refined.value, "observed", "approximation", *ends, error=refined.error, per=per, notes=[note], subject=subject
    )


class Refined(NamedTuple):
    """A value, what refinement changed of it, and how fine it was."""

    value: float
    error: float
    nodes: int
    points: int


def refine(
    at: Callable[[int, Fineness], tuple[float, float, int]],
    same: float = SAME,
    fineness: tuple[Fineness, Fineness] = (FINE, FINER),
) -> Refined:
    """Nodes added until that changes less than `same`, then a finer quadrature.

    `at` gives the divergence, the cross-entropy it was the difference of, and the number of points.
    """
    before = np.inf
    for nodes in NODES:
        value, cross, _ = at(nodes, fineness[0])
        rounding = same * (1.0 + abs(cross))
        change = abs(value - before)
        if change <= rounding:
            break
        before = value
    finer, _, most = at(nodes, fineness[1])
    return Refined(value, float(change + abs(finer - value) + rounding), nodes, most)


def _refined(p: Model, q: Model, of: Callable[[Collocation, Model], float]) -> Refined:
    """Cross-entropy minus entropy, refined."""
    spaces = cache(lambda fineness: _spaces(p, q, fineness))

    def at(nodes: int, fineness: Fineness) -> tuple[float, float, int]:
        cross = of(Collocation(doubled(q), spaces(fineness)[0], nodes), p)
        return (
            cross - of(Collocation(doubled(p), spaces(fineness)[1], nodes), p),
            cross,
            len(spaces(fineness)[0].weight),
        )

    return refine(at)


def _spaces(p: Model, q: Model, fineness: Fineness) -> tuple[ObservationPoints, ObservationPoints]:
    """ObservationPoints for what p shows, weighed by q and by p itself."""
    cross, own = (points(p.emissions[0], doubled(m).emissions[0], fineness) for m in (q, p))
    for space in (cross, own):
        if ((space.p.max(axis=0) > 0) & ~np.isfinite(space.log_q).all(axis=0)).any():
            raise NotApplicable("q cannot have some of the values of p")
    return cross, own


def doubled(model: Model) -> Model:
    """A single state written as two equal ones."""
    if model.n_states == 2:
        return model
    return Model([0.5, 0.5], np.full((2, 2), 0.5), model.emissions[0].take([0, 0]))


class Collocation:
    """The filter of a two-state q at Chebyshev nodes of its predicted log-odds."""

    def __init__(self, q: Model, space: ObservationPoints, nodes: int) -> None:
        move = np.asarray(q.transitions[0])
        if not (move > 0).all():
            raise NotApplicable("transitions of probability zero let the log-odds grow without bound")
        ends = np.sort(np.log(move[:, 0]) - np.log(move[:, 1]))
        self.q, self.space, self.move = q, space, move
        self.middle, self.half = float(ends.mean()), float(np.diff(ends)[0]) / 2
        self.nodes = nodes if self.half > 0 else 1
        odds = self.middle + self.half * zeros(self.nodes)
        with np.errstate(over="ignore"):
            laws = np.stack([1.0 / (1.0 + np.exp(-odds)), 1.0 / (1.0 + np.exp(odds))])
        self.cost, self.ahead = self._step(laws)

    def _step(self, law: Array) -> tuple[Array, Array]:
        """From predicted laws (2, n): -log q(x_j), and the next predicted log-odds in [-1, 1]; (n, J) both."""
        at = law.T @ self.space.q_scaled
        if not (at > 0).all():
            raise NotApplicable("some densities of q are too small to be told from zero")
        after = law[0][:, None] * self.space.q_scaled[0] / at
        rest = law[1][:, None] * self.space.q_scaled[1] / at
        odds = np.log(after * self.move[0, 0] + rest * self.move[1, 0])
        odds -= np.log(after * self.move[0, 1] + rest * self.move[1, 1])
        scaled = (odds - self.middle) / self.half if self.half > 0 else np.zeros_like(odds)
        return -np.log(at) - self.space.scale, np.clip(scaled, -1.0, 1.0)

    def _operator(self, p: Model, cost: Array, ahead: Array) -> tuple[Array, Array]:
        """(K, n) expected cost, and (K, n, m): expected T_k of the next log-odds, by state of p and law."""
        weight = self.space.p * self.space.weight  # (K, J)
        basis = values(ahead, self.nodes)
        return weight @ cost.T, np.einsum("sj,njk->snk", weight, basis, optimize=True)

    def rate(self, p: Model) -> float:
        """Cross-entropy rate of p against q: the constant of V + rate = cost + E V(next)."""
        cost, basis = self._operator(p, self.cost, self.ahead)
        states, n, m = basis.shape
        move = np.asarray(p.transitions[0])
        system = np.zeros((states * n + 1, states * m + 1))
        here = values(zeros(n), m)
        for s in range(states):
            for r in range(states):
                block = (here if r == s else 0.0) - move[s, r] * basis[s]
                system[s * n : (s + 1) * n, r * m : (r + 1) * m] = block
        system[:-1, -1] = 1.0
        system[-1, 0:-1:m] = 1.0
        try:
            return float(np.linalg.solve(system, np.append(cost.ravel(), 0.0))[-1])
        except np.linalg.LinAlgError:
            raise NotApplicable("the collocation equations are singular") from None

    def total(self, p: Model, length: int) -> float:
        """Cross-entropy of `length` observations: V_1 = cost, V_m = cost + E V_{m-1}(next), the first step apart."""
        first_cost, first = self._operator(p, *self._step(self.q.initial[:, None]))
        value = float(p.initial @ first_cost[:, 0])
        if length == 1:
            return value
        cost, basis = self._operator(p, self.cost, self.ahead)
        move = np.asarray(p.transitions[0])
        fit = np.linalg.inv(values(zeros(self.nodes), self.nodes))
        series = cost @ fit.T  # (K, m)
        grown = 0.0
        for done in range(2, length):
            level = float(series[0, 0])
            series[:, 0] -= level  # kept apart: its growth would cost digits
            following = (cost + np.einsum("snk,sk->sn", basis, move @ series)) @ fit.T
            grown += level
            flat = following - series
            flat[:, 0] -= flat[0, 0]
            if np.abs(flat).max() < FLAT:  # from here on every step adds the same
                grown += (length - 1 - done) * float(following[0, 0] - series[0, 0])
                series = following
                break
            series = following
        return value + float(p.initial @ np.einsum("snk,sk->sn", first, move @ series)[:, 0]) + grown
