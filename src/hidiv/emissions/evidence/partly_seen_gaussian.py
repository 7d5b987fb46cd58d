"""Normal laws with full covariances, partly seen, partly in intervals: ratio of weights, and KL of what stays hidden.

Columns are put in the order seen, bounded, free. In the coordinates in which q is standard normal p is M z + shift with
M lower triangular (`whiten`), so that conditional laws are blocks of M: nothing near-equal is subtracted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from hidiv.emissions.evidence.coordinates import Stretch
from hidiv.emissions.evidence.interval_points import IntervalPoints
from hidiv.emissions.evidence.intervals import means, stretch_points
from hidiv.emissions.evidence.log_ratios import (
    Bound,
    bounded_entries,
    columns_ratio,
    columns_residual,
    seen_ratio,
    settled,
)
from hidiv.emissions.numerics.covariances import NormalLaw, normal_laws, whiten
from hidiv.emissions.numerics.scales import ScaleRatio, scale_kl
from hidiv.emissions.numerics.standard_normal import normal_log_density, normal_log_mass
from hidiv.errors import InvalidEvidence, refuse
from hidiv.types import Array, Flags, IntArray


class Case(NamedTuple):
    """Rows of one pattern in one state, with p in q's coordinates; s and b columns are seen and bounded."""

    rows: IntArray
    order: IntArray  # (F,) columns: seen, bounded, free
    s: int
    b: int
    below: Array  # (F, F) M under its diagonal
    diagonal: ScaleRatio  # (F,) M_jj^2
    seen: Array  # (r, F): M z_p + shift with z_p of the seen columns, 0 elsewhere
    mean: Array  # (r, b) means of the bounded columns under p, given the seen ones
    std: Array  # (b,)


def _cases(p: Any, q: Any, x: Array, bounded: Flags) -> Iterator[tuple[int, Case]]:
    """Every state and pattern of knowledge."""
    seen = ~np.isnan(x)
    patterns, group = np.unique(np.hstack([seen, bounded]), axis=0, return_inverse=True)
    pairs = list(zip(normal_laws(p), normal_laws(q), strict=True))
    for index, pattern in enumerate(patterns):
        rows = np.flatnonzero(group.reshape(-1) == index)
        is_seen, is_bounded = np.split(pattern, 2)
        order = np.argsort(np.where(is_seen, 0, np.where(is_bounded, 1, 2)), kind="stable")
        s, b = int(is_seen.sum()), int(is_bounded.sum())
        for state, (law_p, law_q) in enumerate(pairs):
            known = x[np.ix_(rows, order[:s])]
            yield state, _case(_ordered(law_p, order), _ordered(law_q, order), rows, order, s, b, known)


def _ordered(law: NormalLaw, order: IntArray) -> NormalLaw:
    return NormalLaw(law.mean[order], law.cov[np.ix_(order, order)], law.low[order])


def _case(p: NormalLaw, q: NormalLaw, rows: IntArray, order: IntArray, s: int, b: int, x: Array) -> Case:
    w = whiten(p, q)
    factor = np.linalg.cholesky(p.cov)
    z = np.linalg.solve(factor[:s, :s], (x - p.mean[:s]).T).T if s else np.zeros((rows.size, 0))
    between = slice(s, s + b)
    for lower in (factor, w.factor):
        if np.tril(lower[between, between], -1).any():
            refuse(
                InvalidEvidence,
                f"lower[{int(rows[0])}]",
                "intervals on two correlated columns of a full covariance have no closed form",
                remedy="bound one column, or use a diagonal covariance",
            )
    return Case(
        rows, order, s, b, w.below, w.diagonal,
        z @ w.below[:, :s].T + w.shift, p.mean[between] + z @ factor[between, :s].T, np.diagonal(factor)[between],
    )  # fmt: skip


def _bounded_points(
    case: Case, column: int, lower: Array, upper: Array
) -> tuple[IntervalPoints, Array, Array, Stretch]:
    """One bounded column in p's standard coordinate; its points, both log-masses, and the stretch they are on."""
    j = case.s + column
    std, first, last = case.std[column], lower[case.rows, case.order[j]], upper[case.rows, case.order[j]]
    low, high, width = (first - case.mean[:, column]) / std, (last - case.mean[:, column]) / std, (last - first) / std
    excess, log = case.diagonal.excess[j], case.diagonal.log[j]
    wider = excess / (1.0 + np.sqrt(1.0 + excess))  # M_jj - 1
    shift = case.seen[:, j : j + 1]

    def ratio(z: Array) -> Array:
        apart = wider * z + shift  # z_q - z_p
        return np.asarray(0.5 * (log - apart * (2.0 * z + apart)))

    stretch = Stretch(normal_log_density, ratio, low, high, width, 0.0, 1.0, (), True)
    one = np.ones_like(low)
    log_p = normal_log_mass(low, high, 0.0 * one, one, width)
    m = 1.0 + wider
    log_q = normal_log_mass(m * low + shift[:, 0], m * high + shift[:, 0], 0.0 * one, one, m * width)
    return stretch_points([stretch]), log_p, log_q, stretch


def weight_ratio(p: Any, q: Any, x: Array, lower: Bound, upper: Bound, inside: Flags | None) -> Array:
    """(R, K): as `log_ratios.weight_ratio`, of two normal laws."""
    bounded = bounded_entries(x, lower, upper)
    if (p.cov is None and q.cov is None) or bounded is None or lower is None or upper is None:
        return columns_ratio(p, q, x, lower, upper, inside)
    value = seen_ratio(p, q, x) + interval_ratio(p, q, x, lower, upper, bounded)
    return settled(p, q, x, lower, upper, inside, value)


def residual(p: Any, q: Any, x: Array, lower: Bound, upper: Bound, inside: Flags | None) -> Array:
    """(R, K): as `log_ratios.residual`, of two normal laws."""
    if p.cov is None and q.cov is None:
        return columns_residual(p, q, x, lower, upper, inside)
    return hidden_divergence(p, q, x, lower, upper, bounded_entries(x, lower, upper))


def interval_ratio(p: Any, q: Any, x: Array, lower: Array, upper: Array, bounded: Flags) -> Array:
    """(R, K): what the intervals add to the log-ratio of the seen columns."""
    value = np.zeros((len(x), p.n_states))
    for state, case in _cases(p, q, x, bounded):
        for column in range(case.b):
            points, log_p, log_q, _ = _bounded_points(case, column, lower, upper)
            value[case.rows, state] += means(points, log_p, log_q).ratio
    return value


def hidden_divergence(
    p: Any, q: Any, x: Array, lower: Array | None, upper: Array | None, bounded: Flags | None
) -> Array:
    """(R, K): KL of the bounded columns given their intervals, and of the free ones given all others, mean over p."""
    value = np.zeros((len(x), p.n_states))
    for state, case in _cases(p, q, x, np.zeros(x.shape, dtype=np.bool_) if bounded is None else bounded):
        free = slice(case.s + case.b, None)
        shift = case.seen[:, free]
        total = np.zeros(case.rows.size)
        if lower is not None and upper is not None:
            for column in range(case.b):
                points, log_p, log_q, stretch = _bounded_points(case, column, lower, upper)
                total += means(points, log_p, log_q).kl
                if case.s + case.b < case.order.size:
                    mean, variance = moments(stretch)
                    slopes = case.below[free, case.s + column]
                    shift = shift + mean[:, None] * slopes
                    total += 0.5 * variance * (slopes @ slopes)
        spread = scale_kl(ScaleRatio(case.diagonal.excess[free], case.diagonal.log[free])).sum()
        spread += np.square(case.below[free, free]).sum()
        value[case.rows, state] = total + 0.5 * (spread + np.square(shift).sum(axis=1))
    return value


def moments(stretch: Stretch) -> tuple[Array, Array]:
    """Mean and variance of a stretch's coordinate under p given the interval: it takes the place of log q/p."""
    points = stretch_points([stretch._replace(ratio=lambda z: z)])
    weight = np.exp(points.log_weight - points.log_weight.max(axis=1, keepdims=True))
    weight = weight / weight.sum(axis=1, keepdims=True)
    mean = (weight * points.step).sum(axis=1)
    return points.base + mean, (weight * np.square(points.step - mean[:, None])).sum(axis=1)
