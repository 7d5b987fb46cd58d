"""One step ahead of the filters: KL( p(X_t | past) || q(X_t | past) ), and functions of the filters after X_t.

Arrays are (T, K, n): nodes, states, sequences; at the points of a node (T, J, n).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidiv.recursions.terms import h
from hidiv.types import Array

NEAR = 0.05  # relative differences below this are summed to second order, without cancellation
FEW = 6  # the number of free filter probabilities for which products of three are worth their cost
FAINT = 1e-300  # probabilities whose inverses are no doubles are looked at one by one
DELICATE = 1e-7  # divergences of one step below this are summed from second-order terms
CELLS = 1 << 13  # numbers handled at once: a few arrays of it stay in the cache


class ObservationPoints(NamedTuple):
    """p (K, J): probabilities or densities; log_q (L, J); weight (J,); apart (K, J): q - p, where states are shared.

    q_scaled = exp(log_q - scale), scale (J,): the largest of q's states is 1 at each point, however far out.
    `symbols`: the points are all there is, and an observation is the index of its point.
    """

    p: Array
    q: Array
    log_q: Array
    q_scaled: Array
    scale: Array
    weight: Array
    apart: Array | None
    symbols: bool


class Past(NamedTuple):
    """Filters before and after x_t: p_before, p_after (T, K, n), those of q (T, L, n), and q - p if it is carried."""

    p_before: Array
    p_after: Array
    q_before: Array
    q_after: Array
    apart_before: Array | None = None
    apart_after: Array | None = None

    def rows(self, start: int, stop: int) -> Past:
        """The nodes start..stop-1."""
        return Past(*(None if part is None else part[start:stop] for part in self))  # type: ignore[arg-type]

    def nodes(self, at: NDArray[np.int64]) -> Past:
        """The nodes with the given numbers."""
        return Past(*(None if part is None else part[at] for part in self))  # type: ignore[arg-type]


class Step(NamedTuple):
    """divergence (T, n), and mean-zero increments of functions of the filters after x_t: linear ones and the divergence
    of the step after (D, T, n), quadratic ones, cubic ones."""

    divergence: Array
    linear: Array
    quadratic: Array
    cubic: Array


class Wanted(NamedTuple):
    """Which increments: products of two (and of three, where they are few), and `following` for the step after."""

    products: bool = True
    following: Following | None = None
    cubes: bool = True


class Following(NamedTuple):
    """p (K, J), q (L, J): probabilities of the symbol after next given the state at a node."""

    p: Array
    q: Array


def steps_ahead(points: ObservationPoints, past: Past, wanted: Wanted) -> Iterator[tuple[int, Step]]:
    """Block after block of nodes, with the number of the block's first node."""
    length, _, count = past.p_before.shape
    size = max(1, CELLS // (len(points.weight) * count))
    for start in range(0, length, size):
        yield start, step_ahead(points, past.rows(start, start + size), wanted)


@np.errstate(divide="ignore", invalid="ignore", over="ignore")  # a control that is not finite is left out later
def step_ahead(points: ObservationPoints, past: Past, wanted: Wanted) -> Step:
    """The divergence of the two predictive laws, and functions of the filters after x_t less their expectations."""
    if past.apart_before is not None and points.apart is not None:
        return close_step(points, past, wanted)
    at_p, at_q = points.p.T @ past.p_before, points.q_scaled.T @ past.q_before
    weight = points.weight[:, None]
    over_p, over_q = 1.0 / at_p, 1.0 / at_q
    ratio = at_p * over_q  # times exp(-scale)
    divergence = (weight * at_p * (np.log(ratio) - points.scale[:, None])).sum(axis=1)
    if not (at_p.min() > FAINT and at_q.min() > FAINT and divergence.min() > DELICATE):
        over_p, over_q = _zero_if_infinite(over_p), _zero_if_infinite(over_q)
        ratio = at_p * over_q
        divergence = (weight * _terms(points, past, at_p, at_q, None)).sum(axis=1)
    # E[b(k) b'(l)] = b(k) b'(l) sum_j weight e(k, j) e'(l, j) p_j / (norm_j norm'_j): products with fixed tables.
    p_before, q_before = past.p_before[:, :-1], past.q_before[:, :-1]
    p, q = points.p[:-1], points.q_scaled[:-1]
    linear = [past.p_after[:, :-1] - p_before, past.q_after[:, :-1] - q_before * ((q * points.weight) @ ratio)]
    if wanted.following is not None:
        mean = np.zeros_like(divergence)
        for j in range(len(points.weight)):
            law_p = past.p_before * points.p[:, j][:, None] * over_p[:, j][:, None]
            law_q = past.q_before * points.q_scaled[:, j][:, None] * over_q[:, j][:, None]
            mean += at_p[:, j] * _next_divergence(wanted.following, law_p, law_q)
        linear.append((_next_divergence(wanted.following, past.p_after, past.q_after) - mean)[:, None])
    products: list[Array] = []
    cubes: list[Array] = []
    if wanted.products:
        before, after = (p_before, q_before), (past.p_after[:, :-1], past.q_after[:, :-1])
        places = [(0, k) for k in range(len(p))] + [(1, k) for k in range(len(q))]
        means = (
            _products(p, p, points.weight) @ over_p,
            _products(q, p, points.weight) @ over_q,
            _products(q, q, points.weight) @ (ratio * over_q),
        )
        for a, (one, k) in enumerate(places):
            for two, m in places[: a + 1]:
                mean = means[one + two][:, k * (len(p), len(q))[two] + m]
                products.append(after[one][:, k] * after[two][:, m] - mean * before[one][:, k] * before[two][:, m])
        if wanted.cubes and len(places) <= FEW:
            ahead = [p_before[:, None, k] * p[k][:, None] * over_p for k in range(len(p))]
            ahead += [q_before[:, None, k] * q[k][:, None] * over_q for k in range(len(q))]
            cubes = _cubes(ahead, [*np.moveaxis(after[0], 1, 0), *np.moveaxis(after[1], 1, 0)], weight * at_p)
    first = np.concatenate(linear, axis=1).transpose(1, 0, 2)
    return Step(divergence, first, *(_stacked(parts, divergence) for parts in (products, cubes)))


def _next_divergence(following: Following, p: Array, q: Array) -> Array:
    """(T, n): the divergence one step later, given filters p (T, K, n) and q (T, L, n).

    Infinite terms count 0: any function of the filters serves as a control.
    """
    at_p, at_q = following.p.T @ p, following.q.T @ q
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = at_p * np.log(at_p / at_q)
    if not np.isfinite(terms).all():
        terms = np.where(np.isfinite(terms), terms, 0.0)
    return np.asarray(terms.sum(axis=1))


def _cubes(ahead: list[Array], after: list[Array], mass: Array) -> list[Array]:
    """The products of three filter probabilities, less their expectations."""
    cubes = []
    for a in range(len(ahead)):
        for b in range(a + 1):
            weighted, now = mass * ahead[a] * ahead[b], after[a] * after[b]
            cubes += [now * after[c] - (weighted * ahead[c]).sum(axis=1) for c in range(b + 1)]
    return cubes


def _products(one: Array, two: Array, weight: Array) -> Array:
    """(K L, J): weight e(k, j) e'(l, j)."""
    return np.asarray((weight * one[:, None, :] * two[None, :, :]).reshape(-1, len(weight)))


def close_step(points: ObservationPoints, past: Past, wanted: Wanted) -> Step:
    """The same for close models: the second filter enters by its difference from the first, which keeps the digits."""
    assert past.apart_before is not None
    assert past.apart_after is not None
    assert points.apart is not None
    at_p, at_q = points.p.T @ past.p_before, points.q_scaled.T @ past.q_before
    near = points.q.T @ past.apart_before + points.apart.T @ past.p_before
    weight = points.weight[:, None]
    divergence = (weight * _terms(points, past, at_p, at_q, near)).sum(axis=1)
    with np.errstate(divide="ignore"):
        over_p, over_q = _zero_if_infinite(1.0 / at_p), _zero_if_infinite(1.0 / (at_q * np.exp(points.scale[:, None])))
    ahead: list[Array] = []
    after: list[Array] = []
    for k in range(len(points.p) - 1):
        ahead.append(past.p_before[:, None, k] * points.p[k][:, None] * over_p)
        after.append(past.p_after[:, k])
    for k in range(len(points.q) - 1):
        grown = past.apart_before[:, None, k] * points.q[k][:, None]
        grown = grown + past.p_before[:, None, k] * points.apart[k][:, None]
        ahead.append((grown - ahead[k] * near) * over_q)
        after.append(past.apart_after[:, k])
    mass = weight * at_p
    linear, products = [], []
    for a, one in enumerate(ahead):
        weighted = mass * one
        linear.append(after[a] - weighted.sum(axis=1))
        if wanted.products:
            products += [after[a] * after[b] - (weighted * ahead[b]).sum(axis=1) for b in range(a + 1)]
    return Step(divergence, *(_stacked(parts, divergence) for parts in (linear, products, [])))


def _terms(points: ObservationPoints, past: Past, at_p: Array, at_q: Array, near: Array | None) -> Array:
    """(T, J, n): p h((q - p)/p), the terms of the divergence, all non-negative; `near` is q - p where it is carried."""
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


def _in_logs(points: ObservationPoints, before: Array, lost: NDArray[np.bool_]) -> Array:
    """log q(x_j | past) where all its terms are below the least double."""
    t, j, i = np.nonzero(lost)
    with np.errstate(divide="ignore"):
        return np.asarray(np.logaddexp.reduce(np.log(before[t, :, i]) + points.log_q[:, j].T, axis=1))


def _zero_if_infinite(values: Array) -> Array:
    """values, 0 where they are not finite."""
    return np.where(np.isfinite(values), values, 0.0)


def _stacked(parts: list[Array], like: Array) -> Array:
    """(P, T, n): the parts (T, n) as one array, shaped like `like` where there are none."""
    return np.stack(parts) if parts else np.zeros((0, *like.shape))
