"""One step of the pair (state of p, filter of q) on polynomials in the log-odds, with the error of every evaluation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import pi

import numpy as np
from numpy.typing import NDArray

from hidiv.divergences.observed.certified.log_odds.chebyshev import (
    Sampling,
    ellipse_parameter,
    rounding,
    sampling,
    slope_bound,
    values,
    zeros,
)  # fmt: skip
from hidiv.divergences.observed.certified.log_odds.filter import Domain
from hidiv.divergences.observed.interval import UNIT, NotApplicable
from hidiv.types import Array

DEGREE_LIMIT = 20_000
_ANGLES = (0.15, 0.3, 0.45, 0.6, 0.7, 0.8, 0.88, 0.94)  # half-heights of the strip tried, in units of pi
_CELLS = 1 << 21  # numbers in one table of polynomials


@dataclass(frozen=True)
class OddsChart:
    """States of p whose filters share an interval of log-odds [middle - half, middle + half]."""

    states: NDArray[np.int64]
    middle: float
    half: float

    def t(self, points: Array) -> Array:
        """Log-odds of points in [-1, 1]."""
        return self.middle + self.half * points

    def rho(self, angle: float) -> float:
        """Of the Bernstein ellipse that reaches as high as the angle."""
        axis = angle / self.half
        return float((axis + np.sqrt(1.0 + axis * axis)) * (1.0 - 1e-12))

    def point_error(self) -> float:
        """Error of a point of [-1, 1] that came from an updated filter: log-odds are right to 20 + 4 |t| units."""
        return UNIT * ((24.0 + 8.0 * (abs(self.middle) + self.half)) / self.half + 4.0)


class Operator(ABC):
    """(cost + L V)(s, t) for V(s, .) given by Chebyshev series (K, n, B), B of them at a time (definitions (5.5)).

    cost(s, t) = -E[log q(x | t) | s]; L V = E[V(s', f_x(t)) | s]. What p shows is given by the classes that derive from
    this one: `SymbolOperator` below, `NumberOperator` in ../number_chains.py.
    """

    def __init__(self, moves: Array, domain: Domain) -> None:
        self.moves, self.filter = moves, domain.filter  # (K, K)
        self.leaving = moves * (1.0 - np.eye(len(moves)))  # (K, K)
        ends = np.stack([domain.lower, domain.upper], axis=1)
        kinds, member = np.unique(ends, axis=0, return_inverse=True)
        self.charts = [
            OddsChart(np.flatnonzero(member.ravel() == c), (a + b) / 2, (b - a) / 2 * (1 + 4 * UNIT))
            for c, (a, b) in enumerate(kinds.tolist())
        ]
        self.chart_of = member.ravel()

    @property
    def n_states(self) -> int:
        """States of p."""
        return len(self.moves)

    @abstractmethod
    def cost(self, chart: OddsChart, points: Array) -> Array:
        """(states of the chart, S)."""

    @abstractmethod
    def advanced(self, chart: OddsChart, points: Array, series: Array) -> Array:
        """(states of the chart, S, B): L V at points of a chart."""

    @abstractmethod
    def matrix(self, n: int) -> tuple[Array, Array]:
        """cost (K, n) at the n zeros of T_n, and L (K, n, K, n) from series to values there."""

    @abstractmethod
    def error(self, old: Array, new: Array) -> Array:
        """(K, B): bound of the error of cost + L old - new at a sample, rounding included; old, new (K, n, B)."""

    @abstractmethod
    def bounded(self, chart: OddsChart, angle: float, n: int) -> tuple[float, Array, Array]:
        """On the ellipse of a chart inside |Im t| <= angle < pi: rho, |cost| <= (states,), and growth (states, K, n).

        |cost + L V - V| <= cost + sum of growth |series|, up to a constant.
        """

    def residual(self, chart: OddsChart, points: Array, old: Array, new: Array) -> Array:
        """(states of the chart, S, B): cost + L old - new at points of a chart; old, new (K, n, B).

        Levels of the states, which are large where p seldom changes, are taken apart: they count by their differences.
        """
        residual = self.level_free_residual(chart, points, old, new)
        residual += self.level_changes(old, new)[0][chart.states, None, :]
        return residual

    def level_free_residual(self, chart: OddsChart, points: Array, old: Array, new: Array) -> Array:
        """The same without what the levels give."""
        residual = self.cost(chart, points)[:, :, None] + self.advanced(chart, points, level_free(old))
        residual -= np.matmul(values(points, new.shape[1]), level_free(new)[chart.states])
        return residual

    def level_changes(self, old: Array, new: Array) -> tuple[Array, Array]:
        """(K, B): what the levels give to cost + L old - new, and the sum of its terms without signs."""
        before, after = old[:, 0], new[:, 0]
        apart = before[None, :] - before[:, None]  # (K, K, B)
        stays = before - after
        total = np.einsum("st,stb->sb", self.leaving, apart) + stays
        return total, np.einsum("st,stb->sb", self.leaving, np.abs(apart)) + np.abs(stays)

    def _evaluated(self, series: Array) -> tuple[Array, Array]:
        """Size and error (K, B) of a series at a filter: its own rounding, and its slope times that of the point."""
        by_row = np.moveaxis(series, 1, -1)  # (K, B, n)
        points = np.array([self.charts[c].point_error() for c in self.chart_of])[:, None]
        slope = slope_bound(by_row)
        return np.abs(by_row).sum(axis=-1), rounding(by_row, slope) + points * slope

    def samplings(self, series: Array, tolerance: float) -> list[tuple[Sampling, Array, Array]]:
        """For every chart the strip that needs fewest samples to bound cost + L V - V' up to the tolerance."""
        n = series.shape[1]
        sizes = np.abs(series).max(axis=2)
        plans = []
        for chart in self.charts:
            best: tuple[Sampling, Array, Array] | None = None
            for part in _ANGLES:
                with np.errstate(over="ignore"):
                    rho, cost, growth = self.bounded(chart, min(part * pi, 4.0 * chart.half), n)
                    bound = float((cost + (growth * sizes).sum(axis=(1, 2))).max())
                if np.isfinite(bound):
                    tried = sampling(rho, bound, tolerance)
                    if best is None or tried.degree < best[0].degree:
                        best = tried, cost, growth
            if best is None or best[0].degree > DEGREE_LIMIT:
                raise NotApplicable("the filter varies too steeply to be sampled")
            plans.append(best)
        return plans

    def defects(self, old: Array, new: Array, constant: Array) -> tuple[Array, Array, dict[str, float]]:
        """lower, upper (K, B) of cost + L old - new - constant over all log-odds; old, new (K, n, B), constant (B,).

        Samples, what rounding may have done to them, and what may happen between them.
        """
        both = np.maximum(np.abs(level_free(old)), np.abs(level_free(new)))
        error = self.error(old, new) + 4.0 * UNIT * np.abs(constant)
        plans = self.samplings(both, max(1e-17, 0.1 * float(error.max())))
        lower, upper = np.zeros_like(error), np.zeros_like(error)
        most = 0.0
        for chart, (plan, cost, growth) in zip(self.charts, plans, strict=True):
            points = zeros(plan.samples)
            states = chart.states
            residual = self.residual(chart, points, old, new) - constant
            bound = cost[:, None] + np.tensordot(growth, both, axes=2)
            tail = plan.tail(bound)  # levels and constants are polynomials
            most = max(most, float(tail.max()))
            lower[states], upper[states] = plan.between(residual.min(axis=1), residual.max(axis=1), error[states], tail)
        counts = {
            "samples": float(max(plan.samples for plan, _, _ in plans)),
            "degree": float(max(plan.degree for plan, _, _ in plans)),
        }
        return lower, upper, counts | {"rounding": float(error.max()), "truncation": most}


class SymbolOperator(Operator):
    """The step of a finite alphabet; weights (M, K, K): p's steps, a transition and then a symbol."""

    def __init__(self, weights: Array, domain: Domain) -> None:
        super().__init__(weights.sum(axis=0), domain)
        self.weights = weights
        self.emitted = weights.sum(axis=2)  # (M, K)
        self.symbols = np.flatnonzero(self.emitted.any(axis=1)).tolist()
        self.log_sizes = self._log_sizes()

    def cost(self, chart: OddsChart, points: Array) -> Array:
        t = chart.t(points)
        total = np.zeros((len(chart.states), len(points)))
        for x in self.symbols:
            total -= self.emitted[x, chart.states, None] * self.filter.log_predictive(x, t)
        return total

    def advanced(self, chart: OddsChart, points: Array, series: Array) -> Array:
        n = series.shape[1]
        total = np.zeros((len(chart.states), len(points), series.shape[2]))
        size = max(1, _CELLS // n)
        for start in range(0, len(points), size):
            for table, flows, target in self._tables(chart, points[start : start + size], n):
                reached = np.tensordot(flows, series[target.states], axes=1)  # (states, n, B)
                total[:, start : start + size] += np.matmul(table, reached)
        return total

    def _tables(self, chart: OddsChart, points: Array, n: int) -> list[tuple[Array, Array, OddsChart]]:
        """For every symbol and chart it leads to: polynomials there (S, n), and p's weights (states, states there)."""
        t, tables = chart.t(points), []
        for x in self.symbols:
            after = self.filter.update(x, t)
            for target in self.charts:
                flows = self.weights[x][np.ix_(chart.states, target.states)]
                if not flows.any():
                    continue
                where = (after - target.middle) / target.half
                if np.abs(where).max() > 1.0 + 1e-9:
                    raise NotApplicable("a filter leaves its interval")
                tables.append((values(np.clip(where, -1.0, 1.0), n), flows, target))
        return tables

    def matrix(self, n: int) -> tuple[Array, Array]:
        points = zeros(n)
        cost, step = np.zeros((self.n_states, n)), np.zeros((self.n_states, n, self.n_states, n))
        for chart in self.charts:
            cost[chart.states] = self.cost(chart, points)
            for table, flows, target in self._tables(chart, points, n):
                for i, s in enumerate(chart.states):
                    for j, to in enumerate(target.states):
                        step[s, :, to, :] += flows[i, j] * table
        return cost, step

    def error(self, old: Array, new: Array) -> Array:
        several = self.weights.shape[0] * self.n_states + 8.0 * self.n_states + 4.0
        size, own = self._evaluated(level_free(old))
        new_size, new_own = (size, own) if new is old else self._evaluated(level_free(new))
        logs = self.emitted.T * (20.0 + (4.0 + several) * self.log_sizes)
        levels = self.level_changes(old, new)[1]
        spread = self.moves @ (own + UNIT * several * size)
        sums = logs.sum(axis=1)[:, None] + 4.0 * (size + new_size) + several * levels
        return np.asarray(spread + new_own + UNIT * sums)

    def _log_sizes(self) -> Array:
        """(K, M): the largest |log q(x | t)| on each state's interval, taken at one of its ends."""
        sizes = np.zeros((self.n_states, self.weights.shape[0]))
        for chart in self.charts:
            for x in self.symbols:
                sizes[chart.states, x] = np.abs(self.filter.log_predictive(x, chart.t(np.array([-1.0, 1.0])))).max()
        return sizes

    def bounded(self, chart: OddsChart, angle: float, n: int) -> tuple[float, Array, Array]:
        """With c = cos(angle/2), |m e^t + m'| lies between c and 1
        times its value at Re t for m, m' >= 0, so that |q(x | t)| is within a factor c of that at Re t, Re f_x(t)
        within -log c of f_x(Re t), |Im f_x(t)| <= angle, and both within steepness angle / c^2.
        """
        cosine = np.cos(angle / 2.0) * (1.0 - 1e-9)
        shift = -np.log(cosine)
        rho = chart.rho(angle)
        ends = chart.t(np.array([-1.0, 1.0]) * (rho + 1.0 / rho) / 2.0 * (1.0 + 1e-9))
        cost = np.zeros(len(chart.states))
        growth = np.zeros((len(chart.states), self.n_states, n))
        growth[np.arange(len(chart.states)), chart.states] += rho ** np.arange(n)
        for x in self.symbols:
            size = np.abs(self.filter.log_predictive(x, ends)).max() + shift
            cost += self.emitted[x, chart.states] * np.hypot(size, angle)
            after = self.filter.update(x, ends)
            steep = (self.filter.steepness(x) + 1e-9) * angle / cosine**2
            height = min(angle, steep)
            far_out = np.array([after.min(), after.max()]) + min(shift, steep) * np.array([-1.0, 1.0])
            for target in self.charts:
                flows = self.weights[x][np.ix_(chart.states, target.states)]
                if flows.any():
                    far = float(np.abs(far_out - target.middle).max()) / target.half * (1.0 + 1e-9)
                    reach = ellipse_parameter(far, height / target.half)
                    growth[:, target.states] += flows[:, :, None] * reach ** np.arange(n)
        return rho, cost, growth


def level_free(series: Array) -> Array:
    """Series (K, n, B) without their constant terms."""
    free = series.copy()
    free[:, 0] = 0.0
    return free
