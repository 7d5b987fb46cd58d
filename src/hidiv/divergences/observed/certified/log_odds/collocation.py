"""Certified cross-entropy rates against a two-state chain, in the log-odds of its filter (definitions (5.6))."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidiv.divergences.observed.alphabets import FiniteChain
from hidiv.divergences.observed.certified.log_odds.chebyshev import values, zeros
from hidiv.divergences.observed.certified.log_odds.filter import domain
from hidiv.divergences.observed.certified.log_odds.operator import Operator, SymbolOperator
from hidiv.divergences.observed.interval import Interval, NotApplicable, outward
from hidiv.types import Array

UNKNOWNS = 2400  # at most this many in the linear system
_NODES = (10, 16, 24, 36, 54, 80, 120, 180, 270, 400, 600)


def collocated_rate(p: FiniteChain, q: FiniteChain) -> Interval:
    """lim -E_p log q(x_1..N) / N for an irreducible p (any number of states) and a two-state q.

    Any phi(s, t) bounds it by the smallest and the largest cost + L phi - phi over all (s, t) in a closed set; phi is
    found by collocation, the bounds are sampled and hold between the samples too. NotApplicable where zeros of q
    leave no finite interval of log-odds.
    """
    weights = p.steps()
    return solved_rate(SymbolOperator(weights, domain(weights, q)), "collocation in the log-odds of the filter")


def solved_rate(operator: Operator, method: str) -> Interval:
    """The rate of an operator's cost between the smallest and the largest residual of a phi found by collocation."""
    series, nodes = _solution(operator)
    charts = operator.charts
    lower, upper, counts = operator.defects(series[:, :, None], series[:, :, None], np.zeros(1))
    how: dict[str, Any] = {
        "method": method, "nodes": nodes,
        "samples": int(counts["samples"]), "degree": int(counts["degree"]),
        "rounding": counts["rounding"], "truncation": counts["truncation"],
        "log_odds": [min(c.middle - c.half for c in charts), max(c.middle + c.half for c in charts)],
        "margin": list(operator.filter.margin),
    }  # fmt: skip
    return outward(float(lower.min()), float(upper.max()), how)


def _solution(operator: Operator) -> tuple[Array, int]:
    """Series (K, n) of a phi with a nearly constant residual, and the number of nodes it was found with."""
    best: tuple[float, Array, int] | None = None
    failures = 0
    for n in _NODES:
        if n * operator.n_states > UNKNOWNS and best is not None:
            break
        series = _collocated(operator, n)
        if series is None:
            continue
        series = _levelled(operator, series)
        ends = _residual(operator, series)
        left = float(ends[:, 1].max() - ends[:, 0].min()) / 2
        if best is None or left < 0.5 * best[0]:
            failures = 0
        else:
            failures += 1
        if best is None or left < best[0]:
            best = left, series, n
        column = series[:, :, None]
        if left <= float(operator.error(column, column).max()) or (failures >= 2 and best[0] < 1e-9):
            break
    if best is None:
        raise NotApplicable("the collocation equations are singular")
    return _shortened(best[1]), best[2]


def _collocated(operator: Operator, n: int) -> Array | None:
    """Series (K, n) of phi with phi - L phi + rate = cost at the nodes, level zero on average."""
    k = operator.n_states
    cost, step = operator.matrix(n)
    system = np.zeros((k * n + 1, k * n + 1))
    system[:-1, :-1] = -step.reshape(k * n, k * n)
    table = values(zeros(n), n)
    for s in range(k):
        system[s * n : (s + 1) * n, s * n : (s + 1) * n] += table
        # A level counts by its differences from the others; 1 - P(s, s) would lose them where p seldom changes.
        system[s * n : (s + 1) * n, : k * n : n] = np.diag(operator.leaving.sum(axis=1))[s] - operator.leaving[s]
    system[:-1, -1] = 1.0
    system[-1, : k * n : n] = 1.0
    try:
        solution = np.linalg.solve(system, np.append(cost.ravel(), 0.0))
    except np.linalg.LinAlgError:
        return None
    series = solution[:-1].reshape(k, n)
    return series if np.isfinite(series).all() else None


def _residual(operator: Operator, series: Array) -> Array:
    """(K, 2): the smallest and the largest cost + L phi - phi for each state of p, at points between the nodes."""
    points = zeros(2 * series.shape[1] + 1)
    column = series[:, :, None]
    ends = np.zeros((operator.n_states, 2))
    for chart in operator.charts:
        residual = operator.residual(chart, points, column, column)[:, :, 0]
        ends[chart.states] = np.stack([residual.min(axis=1), residual.max(axis=1)], axis=1)
    return ends


def _levelled(operator: Operator, series: Array) -> Array:
    """phi with the levels of its states corrected: the large system has them only up to its own rounding."""
    k = operator.n_states
    system = np.ones((k + 1, k + 1))
    system[:k, :k] = np.diag(operator.leaving.sum(axis=1)) - operator.leaving
    system[k, k] = 0.0
    corrected = series.copy()
    for _ in range(2):
        middle = _residual(operator, corrected).mean(axis=1)
        try:
            corrected[:, 0] += np.linalg.solve(system, np.append(middle, 0.0))[:k]
        except np.linalg.LinAlgError:
            return series
    return corrected


def _shortened(series: Array) -> Array:
    """Without the last coefficients, which are noise: any phi gives bounds, a shorter one grows less outside."""
    size = np.abs(series).sum(axis=1).max()
    rest = np.abs(series).sum(axis=0)[::-1].cumsum()[::-1]
    keep = max(1, int((rest > 2e-17 * size).sum()))
    return series[:, :keep]
