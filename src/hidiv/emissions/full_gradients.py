"""Derivatives in the mean and covariance of normal laws with full covariances, summed over weighted observations."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidiv.emissions.gradients import Items, extrapolated
from hidiv.emissions.numerics.covariances import log_weight, patterns
from hidiv.emissions.parameters import wide
from hidiv.emissions.weighted import Weighted
from hidiv.types import Array


def full_gradients(family: Any, known: Weighted, items: Items) -> dict[str, Array]:
    """Of mean (m, K, F) and cov (m, K, F, F): with r = S^-1 (x - mean) of the seen columns, r and (r r' - S^-1) / 2.

    A row with an interval takes differences of its log-weight.
    """
    mean, cov = wide(family.mean), np.asarray(family.cov)
    (n, f), k = known.x.shape, len(mean)
    by_mean, by_cov = np.zeros((n, k, f)), np.zeros((n, k, f, f))
    bounded = np.zeros((n, f), dtype=np.bool_) if known.bounded is None else known.bounded
    for rows, (s, b) in patterns(known.seen, bounded):
        if b.any():
            lower, upper = (np.asarray(end)[rows] for end in (known.lower, known.upper))
            by_mean[rows], by_cov[rows] = _differences(family, known.x[rows], lower, upper)
            continue
        if not s.any():
            continue
        for state in range(k):
            inverse = np.linalg.inv(cov[state][np.ix_(s, s)])
            inverse = 0.5 * (inverse + inverse.T)
            r = (known.x[np.ix_(rows, s)] - mean[state][s]) @ inverse
            columns = np.flatnonzero(s)
            by_mean[rows[:, None], state, columns] = r
            at = (rows[:, None, None], state, columns[:, None], columns)
            by_cov[at] = 0.5 * (r[:, :, None] * r[:, None, :] - inverse)
    weight = known.weight[:, :, None]
    return {
        "mean": items.sum(np.where(weight > 0, weight * by_mean, 0.0)),
        "cov": items.sum(np.where(weight[..., None] > 0, weight[..., None] * by_cov, 0.0)),
    }


def _differences(family: Any, x: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """(n, K, F) and (n, K, F, F): derivatives of the log-weight in mean and cov by extrapolated differences."""
    mean, cov = wide(family.mean), np.asarray(family.cov)
    std = np.sqrt(np.diagonal(cov, axis1=1, axis2=2))
    least = np.linalg.eigvalsh(cov / (std[:, :, None] * std[:, None, :]))[:, 0]  # of the correlations
    n, (k, f) = len(x), mean.shape
    by_mean, by_cov = np.zeros((n, k, f)), np.zeros((n, k, f, f))
    for i in range(f):
        at = np.eye(f)[i]

        def by_location(h: Array, at: Array = at) -> Array:
            return log_weight(mean + h[:, None] * at, cov, x, lower, upper)

        by_mean[:, :, i] = extrapolated(by_location, 0.2 * std[:, i])
        for j in range(i + 1):
            both = np.zeros((f, f))
            both[i, j] = both[j, i] = 1.0

            def by_spread(h: Array, both: Array = both) -> Array:
                return log_weight(mean, cov + h[:, None, None] * both, x, lower, upper)

            slope = extrapolated(by_spread, 0.2 * least * std[:, i] * std[:, j])
            by_cov[:, :, i, j] = by_cov[:, :, j, i] = slope if i == j else 0.5 * slope
    return by_mean, by_cov
