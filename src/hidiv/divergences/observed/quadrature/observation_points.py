"""The observations of one node as points with weights: symbols, counts, or nodes of a quadrature.

With them an expectation given the past is a sum: E_p[f(X) | past] = sum_j weight_j p(x_j | past) f(x_j).
"""

from __future__ import annotations

import numpy as np

from hidiv.divergences.observed.alphabets import family_symbols, has_symbols
from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.observed.quadrature.panels import COVERED, FINE, Fineness, panel_rule, tail_points
from hidiv.divergences.observed.support.any_family import log_weights
from hidiv.divergences.pair import columns
from hidiv.emissions.families.categorical import check_alphabets
from hidiv.emissions.family import Family
from hidiv.emissions.registry import comparable
from hidiv.emissions.sample_space import Kind
from hidiv.recursions.predictive import ObservationPoints
from hidiv.types import Array

MOST_POINTS = 4096


def points(p: Family, q: Family, fineness: Fineness = FINE) -> ObservationPoints:
    """ObservationPoints for a pair of families; NotApplicable for vectors of continuous numbers."""
    if p.n_features != q.n_features:
        raise NotApplicable("the observations have different numbers of columns")
    try:
        tables = family_symbols(p), family_symbols(q)
    except NotApplicable:
        x, weight = _numbers(p, q, fineness)
    else:
        check_alphabets(tables[0].shape[1], tables[1].shape[1])
        apart = tables[1] - tables[0] if p.n_states == q.n_states else None
        return _points(tables[0], tables[1], np.ones(tables[0].shape[1]), apart, has_symbols(p))
    log_p, log_q = (log_weights(f, x[:, None]).T for f in (p, q))
    space = _points(np.exp(log_p), np.exp(log_q), weight, differences(p, q, x[:, None]), False, log_q)
    missing = max(float(np.abs(table @ weight - 1.0).max()) for table in (space.p, space.q))
    if not missing <= COVERED:
        raise NotApplicable(f"the points miss {missing:.1g} of the mass")
    return space


def _points(
    p: Array, q: Array, weight: Array, apart: Array | None, symbols: bool, log_q: Array | None = None
) -> ObservationPoints:
    """ObservationPoints with q's logarithms, and q rescaled to a largest of one at every point."""
    with np.errstate(divide="ignore"):
        logs = np.log(q) if log_q is None else log_q
    top = logs.max(axis=0)
    scale = np.where(np.isfinite(top), top, 0.0)
    return ObservationPoints(p, q, logs, np.exp(logs - scale), scale, weight, apart, symbols)


def _numbers(p: Family, q: Family, fineness: Fineness) -> tuple[Array, Array]:
    """ObservationPoints and weights for scalar counts and scalar continuous observations."""
    if not p.n_features == q.n_features == 1 or Kind.VECTOR in (p.space.kind, q.space.kind):
        raise NotApplicable("an integral over several columns is no sum over few points")
    counts = tuple(columns(family) == ["counts"] for family in (p, q))
    if counts[0] != counts[1] or has_symbols(p) or has_symbols(q):
        raise NotApplicable(f"{p.name} and {q.name} observations are not of one kind")
    if all(counts):
        last = max(float(tail_points(family)[1].max()) for family in (p, q))
        x, weight = np.arange(min(last, MOST_POINTS) + 1.0), np.ones(int(min(last, MOST_POINTS)) + 1)
    else:
        x, weight = panel_rule(p, q, fineness)
    if len(x) > MOST_POINTS:
        raise NotApplicable("the observations need too many points")
    return x, weight


def differences(p: Family, q: Family, x: Array) -> Array | None:
    """(K, n): q(x) - p(x) state by state without cancellation; None where states are not shared or laws not close."""
    if p.n_states != q.n_states or not comparable(p, q):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        changes = np.exp(log_weights(p, x)) * np.expm1(p.log_ratio(q, x))
    return np.asarray(changes.T) if np.isfinite(changes).all() else None
