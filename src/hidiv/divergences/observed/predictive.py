"""One step ahead of the filters: KL( p(X_t | past) || q(X_t | past) ), and functions of the filters after X_t less their mean.

Arrays are (T, K, n): nodes, states, sequences; at the points of a node (T, J, n).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidiv.divergences.observed.points import Points
from hidiv.recursions.terms import h

Array = NDArray[np.float64]

NEAR = 0.05  # relative differences below this are summed to second order, without cancellation
CELLS = 1 << 17  # numbers handled at once: a few arrays of it stay in the cache


class Past(NamedTuple):
    """Filters before and after x_t: p_before, p_after (T, K, n), those of q (T, L, n), and q - p where it is carried."""

    p_before: Array
    p_after: Array
    q_before: Array
    q_after: Array
    apart_before: Array | None = None
    apart_after: Array | None = None

    def rows(self, start: int, stop: int) -> Past:
        """Some of the nodes."""
        return Past(*(None if part is None else part[start:stop] for part in self))  # type: ignore[arg-type]


class Step(NamedTuple):
    """divergence (T, n), and mean-zero increments: linear ones (D, T, n), quadratic ones (D (D + 1) / 2, T, n)."""

    divergence: Array
    linear: Array
    quadratic: Array


def steps_ahead(points: Points, past: Past, quadratic: bool) -> Iterator[tuple[int, Step]]:
    """Block after block of nodes, with the number of the block's first node."""
    length, _, count = past.p_before.shape
    size = max(1, CELLS // (len(points.weight) * count))
    for start in range(0, length, size):
        yield start, step_ahead(points, past.rows(start, start + size), quadratic)


def step_ahead(points: Points, past: Past, quadratic: bool) -> Step:
    """The divergence of the two predictive laws, and what the filters after x_t exceed their expectation by.

    The second filter enters by its difference from the first where that is carried: close models then keep digits.
    """
    at_p = points.p.T @ past.p_before
    at_q = points.q_scaled.T @ past.q_before
    near = None
    if past.apart_before is not None and points.apart is not None:
        near = points.q.T @ past.apart_before + points.apart.T @ past.p_before
    weight = points.weight[:, None]
    divergence = (weight * _terms(points, past, at_p, at_q, near)).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        over_p, over_q = _over(at_p), _over(at_q)
    mass = weight * at_p
    ahead = [past.p_before[:, None, k] * points.p[k][:, None] * over_p for k in range(len(points.p) - 1)]
    after = [past.p_after[:, k] for k in range(len(points.p) - 1)]
    known: list[Array | None] = [past.p_before[:, k] for k in range(len(points.p) - 1)]
    for k in range(len(points.q) - 1):
        if near is not None and past.apart_before is not None and past.apart_after is not None:
            assert points.apart is not None
            grown = past.apart_before[:, None, k] * points.q[k][:, None] + past.p_before[:, None, k] * points.apart[k][:, None]
            ahead.append((grown - ahead[k] * near) * over_q)
            after.append(past.apart_after[:, k])
        else:
            ahead.append(past.q_before[:, None, k] * points.q_scaled[k][:, None] * over_q)
            after.append(past.q_after[:, k])
        known.append(None)
    linear, products = [], []
    for a in range(len(ahead)):
        weighted = mass * ahead[a]
        mean = known[a]
        linear.append(after[a] - (weighted.sum(axis=1) if mean is None else mean))
        if quadratic:
            products += [after[a] * after[b] - (weighted * ahead[b]).sum(axis=1) for b in range(a + 1)]
    return Step(divergence, _stacked(linear, divergence), _stacked(products, divergence))


def _terms(points: Points, past: Past, at_p: Array, at_q: Array, near: Array | None) -> Array:
    """(T, J, n): p h((q - p)/p), the terms of the divergence; all non-negative, +inf nowhere: q has p's support."""
    scale = points.scale[:, None]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_q = np.log(at_q) + scale
        lost = (at_q == 0) & (at_p > 0)
        if lost.any():
            log_q[lost] = _in_logs(points, past.q_before, lost)
        real_q = at_q * np.exp(scale)
        apart = real_q - at_p if near is None else near
        change = apart / at_p
        terms = at_p * (np.log(at_p) - log_q) + apart
        small = np.abs(change) < NEAR
        if small.any():
            terms[small] = at_p[small] * h(change[small])
    return np.where(at_p > 0, terms, real_q)


def _in_logs(points: Points, before: Array, lost: NDArray[np.bool_]) -> Array:
    """log q(x_j | past) where all its terms are below the least double."""
    t, j, i = np.nonzero(lost)
    with np.errstate(divide="ignore"):
        return np.asarray(np.logaddexp.reduce(np.log(before[t, :, i]) + points.log_q[:, j].T, axis=1))


def _over(values: Array) -> Array:
    """1 / values, 0 at their zeros."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def _stacked(parts: list[Array], like: Array) -> Array:
    return np.stack(parts) if parts else np.zeros((0, *like.shape))
