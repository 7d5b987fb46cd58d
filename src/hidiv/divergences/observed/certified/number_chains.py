"""Certified observed divergences and rates of two-state chains of normal numbers or counts (definitions (5.5), (5.6)).

For any V the rate of a cost lies between the smallest and the largest residual cost + L V - V: V is found by
collocation in the predicted log-odds of the filter, its residual is sampled with a proven quadrature error
(log_odds/number_rules.py) and, being analytic in a strip, bounded between the samples. On N nodes the residuals of
V_m = cost + L V_{m-1} are summed.

The predicted log-odds u are those of q's state before its observation is seen, so that a step is an observation and
then a transition, and u stays between the log-odds of q's transition rows whatever is seen. cost(s, u) =
KL(e_s || e'_r) - E[G], r the state of q nearest to s: the entropy of e_s is left out, which cancels in a divergence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hidiv.divergences.observed.certified.chains import recursed
from hidiv.divergences.observed.certified.joint_bound import cut_at_joint
from hidiv.divergences.observed.certified.log_odds.chebyshev import ellipse_parameter, slope_bound, values, zeros
from hidiv.divergences.observed.certified.log_odds.filter import LARGEST, SMALLEST, Domain, Filter
from hidiv.divergences.observed.certified.log_odds.number_rules import Rule, Turn, gain, has_rule, rule
from hidiv.divergences.observed.certified.log_odds.operator import OddsChart, Operator, level_free
from hidiv.divergences.observed.certified.rates import solved_rate
from hidiv.divergences.observed.certified.refining import bounded
from hidiv.divergences.observed.interval import UNIT, Interval, NotApplicable, difference, outward
from hidiv.divergences.observed.quadrature.two_state_chains import applies as fits
from hidiv.divergences.observed.quadrature.two_state_chains import doubled
from hidiv.divergences.observed.variational import emission_pairs
from hidiv.divergences.pair import closed
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget
    from hidiv.divergences.pair import Pair
    from hidiv.divergences.result import Divergence

METHOD = "residual of a value function in the log-odds of the filter, with a proven quadrature error"
ROOM = 1e-13  # relative error of divergences of emissions
_CELLS = 1 << 19  # numbers in one table of log-odds


def applies(pair: Pair) -> str | None:
    """One or two states in both models, the same laws at every node, one normal number or count to a node."""
    p, q = pair.p.emissions[0], pair.q.emissions[0]
    proven = has_rule(p, q) and closed(pair.p, pair.q)
    return fits(pair) or (None if proven else f"{p.name} and {q.name} observations have no proven quadrature")


def run(pair: Pair, budget: Budget) -> Divergence:
    """Bounds of D_X on a chain of known length, or of the rate of an endless one."""
    length = pair.tree.n_nodes if isinstance(pair.tree, Tree) else None
    cross, entropy = (_cross_entropy(pair.p, doubled(law), length) for law in (pair.q, pair.p))
    return bounded(cut_at_joint(pair, budget, difference(cross, entropy)), pair, budget)


def _cross_entropy(p: Model, q: Model, length: int | None) -> Interval:
    """-E_p log q of `length` numbers, or a step of an endless chain, less the entropies of p's emissions."""
    operator = NumberOperator(p, q)
    if length is None:
        return solved_rate(operator, METHOD)
    lower, upper, how = recursed(operator, length - 1, operator.at_start)
    return outward(lower, upper, how | {"method": METHOD})


class Seen(NamedTuple):
    """What a state of p shows: the state of q next to it, how the filter goes on, and the rule of its expectations."""

    nearest: int
    turn: Turn
    rule: Rule


class NumberOperator(Operator):
    """The step of a two-state q with positive transitions, both models with normal laws or counts."""

    def __init__(self, p: Model, q: Model) -> None:
        move = np.asarray(q.transitions[0])
        if not (move > 0).all():
            raise NotApplicable("transitions of probability zero let the log-odds grow without bound")
        self.low, self.high = Turn(move, 0.0, 0.0).ends
        if max(abs(self.low), abs(self.high)) > LARGEST:
            raise NotApplicable("q has transitions too small for doubles")
        room = 1e-12 * (1.0 + abs(self.low) + abs(self.high)) + max(0.0, SMALLEST - 0.5 * (self.high - self.low))
        ends = [np.full(p.n_states, end) for end in (self.low - room, self.high + room)]
        super().__init__(np.asarray(p.transitions[0]), Domain(Filter(np.zeros((0, 2, 2))), ends[0], ends[1]))
        self.p, self.q = p, q
        self.chart = self.charts[0]
        self.apart = emission_pairs(p, q)[0]  # (K, 2)
        if not np.isfinite(self.apart.min(axis=1)).all():
            raise NotApplicable("q cannot have some of the values of p")
        self.seen = self._seen(float(ends[0][0]), float(ends[1][0]))
        self._tables: dict[tuple[int, int], Array] = {}

    def _seen(self, low: float, high: float) -> list[Seen]:
        """Rules that hold for log-odds between low and high."""
        move, rules = np.asarray(self.q.transitions[0]), []
        for s, apart in enumerate(self.apart):
            nearest = int(apart.argmin())
            turn = Turn(move, low, high) if nearest == 1 else Turn(move[::-1], -high, -low)
            law = rule(self.p.emissions[0], s, self.q.emissions[0], nearest, turn, self.chart.half)
            rules.append(Seen(nearest, turn, law))
        return rules

    def _gained(self, seen: Seen, odds: Array) -> Array:
        """(S,): E[G] at log-odds (S,)."""
        w = odds if seen.nearest == 1 else -odds
        return np.asarray(gain(w[:, None], seen.rule.ratio) @ seen.rule.weight)

    def _ahead(self, seen: Seen, odds: Array, n: int) -> Array:
        """(S, n): E[T_k] of the next log-odds, by the recurrence of T_k."""
        w = odds if seen.nearest == 1 else -odds
        out = np.empty((len(odds), n))
        size = max(1, _CELLS // len(seen.rule.weight))
        for start in range(0, len(odds), size):
            part = slice(start, start + size)
            x = (seen.turn.ahead(w[part, None] + seen.rule.ratio) - self.chart.middle) / self.chart.half
            x = np.clip(x, -1.0, 1.0)
            before, now = np.ones_like(x), x
            twice = x + x
            for k in range(n):
                out[part, k] = before @ seen.rule.weight
                before, now = now, twice * now - before
        return out

    def cost(self, chart: OddsChart, points: Array) -> Array:
        odds = chart.t(points)
        return np.stack([self.apart[s, seen.nearest] - self._gained(seen, odds) for s, seen in enumerate(self.seen)])

    def table(self, points: Array, n: int) -> Array:
        """(K, S, n): E[T_k] at the zeros of T_S; kept, since the same samples serve many series."""
        key = len(points), n
        if key not in self._tables:
            self._tables[key] = np.stack([self._ahead(seen, self.chart.t(points), n) for seen in self.seen])
        return self._tables[key]

    def advanced(self, chart: OddsChart, points: Array, series: Array) -> Array:
        reached = np.tensordot(self.moves, series, axes=1)  # (K, n, B)
        return np.asarray(np.matmul(self.table(points, series.shape[1]), reached))

    def matrix(self, n: int) -> tuple[Array, Array]:
        points = zeros(n)
        return self.cost(self.chart, points), np.einsum("st,sik->sitk", self.moves, self.table(points, n))

    def error(self, old: Array, new: Array) -> Array:
        size, own = self._evaluated(level_free(old))
        new_size, new_own = (size, own) if new is old else self._evaluated(level_free(new))
        levels = self.level_changes(old, new)[1]
        cost, ahead = self.missed(self.seen, old)
        several = 8.0 * self.n_states + 16.0
        return np.asarray(cost + ahead + self.moves @ own + new_own + UNIT * (4.0 * new_size + several * levels))

    def missed(self, seen: list[Seen], series: Array) -> tuple[Array, Array]:
        """(K, 1), (K, B): errors of cost and of L V, quadrature and rounding, but that of the points of V."""
        by_row = np.abs(np.moveaxis(level_free(series), 1, -1))  # (K, B, n)
        n = by_row.shape[-1]
        recurrence = UNIT * 3.0 * (np.arange(n) + 1.0) ** 2 + 8.0 * UNIT * self.n_states
        slopes = slope_bound(np.moveaxis(level_free(series), 1, -1)) / self.chart.half
        cost, ahead = [], []
        for s, (nearest, _, found) in enumerate(seen):
            if n > len(found.spread):
                raise NotApplicable("the value function needs too many coefficients")
            with np.errstate(over="ignore", invalid="ignore"):
                terms = np.where(by_row > 0, by_row * (found.spread[:n] + recurrence), 0.0).sum(axis=-1)
            ahead.append(self.moves[s] @ (terms + found.slope * slopes))
            cost.append([found.cost + (ROOM + 8.0 * UNIT) * self.apart[s, nearest]])
        return np.array(cost), np.stack(ahead)

    def bounded(self, chart: OddsChart, angle: float, n: int) -> tuple[float, Array, Array]:
        """As for symbols, whatever x: |G| <= |ell| / cos(angle/2), and the next log-odds within those of the rows."""
        cosine = np.cos(angle / 2.0) * (1.0 - 1e-9)
        rho = chart.rho(angle)
        steep = self.seen[0].turn.steepness * angle / cosine**2
        out = min(-np.log(cosine), steep)
        far = max(abs(self.low - out - chart.middle), abs(self.high + out - chart.middle)) / chart.half * (1.0 + 1e-9)
        powers = np.arange(n)
        growth = self.moves[:, :, None] * ellipse_parameter(far, min(angle, steep) / chart.half) ** powers
        growth[np.arange(self.n_states), np.arange(self.n_states)] += rho**powers
        return rho, np.array([seen.rule.size for seen in self.seen]) / cosine, growth

    def at_start(self, series: Array, level: Array, sign: float) -> float:
        """The first observation, seen from q's initial law, and V(s', .) + level(s') after it, moved outward."""
        with np.errstate(divide="ignore"):
            odds = float(np.log(self.q.initial[0]) - np.log(self.q.initial[1]))
        flat = level_free(series[:, :, None])
        n = series.shape[1]
        own = self._evaluated(flat)[1][:, 0]
        if np.isfinite(odds):
            rules = self._seen(odds, odds)
            at = np.array([odds])
            cost = np.array([self.apart[s, r.nearest] - self._gained(r, at)[0] for s, r in enumerate(rules)])
            ahead = np.stack([self._ahead(r, at, n)[0] for r in rules])
            missed, spread = (part[:, 0] for part in self.missed(rules, series[:, :, None]))
        else:
            first = 0 if odds > 0 else 1
            row = self.q.transitions[0][first]
            point = (float(np.log(row[0]) - np.log(row[1])) - self.chart.middle) / self.chart.half
            cost, missed = self.apart[:, first], ROOM * self.apart[:, first]
            ahead, spread = values(np.full(self.n_states, np.clip(point, -1.0, 1.0)), n), np.zeros(self.n_states)
        levels = level + series[:, 0]
        after = np.einsum("sk,sk->s", ahead, self.moves @ flat[:, :, 0]) + self.moves @ levels
        off = missed + spread + self.moves @ own + 64.0 * UNIT * (1.0 + np.abs(cost) + np.abs(levels).max())
        reached = self.p.initial > 0
        start = self.p.initial[reached]
        return float(start @ (cost + after + sign * off)[reached])
