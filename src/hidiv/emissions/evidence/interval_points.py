"""A law given an interval as weighted points; of counts, few of them one by one and many by rules for sums."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from hidiv.emissions.numerics.adaptive_integrals import FARTHEST, count_rule
from hidiv.emissions.registry import pair
from hidiv.types import Array, Flags

DEEP = 64.0  # e^-64 of the peak: p is cut there
EVERY = 32  # counts next to the peak that are taken one by one


class IntervalPoints(NamedTuple):
    """p given the interval as weighted points; log q/p is base + step."""

    log_weight: Array  # (U, m) log of p over its peak, times the rule's weight; -inf where there is no point
    base: Array  # (U,) log q/p at the peak
    step: Array  # (U, m)
    log_outside: Array | float = -np.inf  # (U,) log of q's mass in the interval beyond p's support, over p's mass
    lost: Flags | bool = False  # (U,) p has mass in the interval beyond q's support, though perhaps at no point


def count_points(p: Any, q: Any, lower: Array, upper: Array, log_mass: Array) -> IntervalPoints:
    """IntervalPoints of p on [lower, upper] (U,), laws of one state and one column; log_mass (U,) is p's."""
    how = pair(p, q)

    def log_p(k: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(p.log_density(k.reshape(-1, 1)).reshape(k.shape))

    def ratio(k: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(how.log_ratio(p, q, k.reshape(-1, 1)).reshape(k.shape))

    least, most = support(p)
    low, high = np.maximum(np.ceil(lower), least), np.minimum(np.floor(upper), most)
    start = np.clip(p.modes()[0, 0], low, high)
    left = np.minimum(start - low, fall(log_p, start, -1.0))
    right = np.minimum(high - start, fall(log_p, start, 1.0))
    # Next to the ends of p's support, k^a of a negative binomial law say is no polynomial over a long block.
    bent = low - least < left, most - high < right
    offsets, sizes = _padded([_both_sides(*each) for each in zip(left, right, *bent, strict=True)])
    at = start[:, None] + offsets
    base = ratio(start[:, None])
    base = np.where(np.isfinite(base), base, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_weight = np.where(sizes > 0, log_p(at) - log_p(start[:, None]) + np.log(sizes), -np.inf)
        step = np.where(log_weight > -np.inf, ratio(at) - base, 0.0)
    first, last = support(q)
    beyond = _beyond(q, lower, upper, low, high, log_mass)
    return IntervalPoints(log_weight, base[:, 0], step, beyond, (low < first) | (high > last))


def _beyond(q: Any, lower: Array, upper: Array, low: Array, high: Array, log_mass: Array) -> Array:
    """(U,): log of q's mass in the interval outside p's support [low, high], over p's."""
    total = np.full_like(lower, -np.inf)
    for first, last in ((np.maximum(np.ceil(lower), 0.0), low - 1.0), (high + 1.0, np.floor(upper))):
        some = np.flatnonzero(last >= first)
        if some.size:
            with np.errstate(all="ignore"):
                mass = q.log_mass(first[some, None], last[some, None])[:, 0, 0] - log_mass[some]
                total[some] = np.logaddexp(total[some], mass)
    return total


def support(p: Any) -> tuple[float, float]:
    """First and last count of positive probability; between them there is no gap."""
    mode = float(p.modes()[0, 0])
    before, after = (np.array([[-np.inf, mode + 1.0]]), np.array([[mode - 1.0, np.inf]]))
    with np.errstate(all="ignore"):
        below, above = p.log_mass(before.T, after.T)[:, 0, 0] > -np.inf
    return (float(p.first_counts()[0, 0]) if below else mode), (float(p.space.most) if above else mode)


def fall(log_p: Any, start: Array, sign: float) -> Array:
    """(U,): a power of two, how far from the start p has fallen by e^-DEEP."""
    top = log_p(start[:, None])[:, 0]
    low, high = np.zeros(start.shape), np.full(start.shape, np.log2(FARTHEST))
    for _ in range(6):
        middle = np.floor(0.5 * (low + high))
        at = np.maximum(start + sign * np.exp2(middle), 0.0)
        fallen = ~(top - log_p(at[:, None])[:, 0] < DEEP)
        low, high = np.where(fallen, low, middle), np.where(fallen, middle, high)
    return np.asarray(np.exp2(high))


@cache
def _side(n: int) -> tuple[Array, Array]:
    """IntervalPoints and weights for the sum over 1..n: one by one, then half octaves by a rule of 16 points."""
    offsets, sizes = [np.arange(1.0, min(n, EVERY) + 1.0)], [np.ones(min(n, EVERY))]
    first, block = EVERY + 1, EVERY // 2
    while first <= n:
        for _ in range(2):
            size = min(block, n - first + 1)
            if size > 0:
                nodes, weights = count_rule(size)
                offsets.append(first + nodes)
                sizes.append(weights)
                first += size
        block *= 2
    return np.concatenate(offsets), np.concatenate(sizes)


@cache
def _side_to_end(n: int) -> tuple[Array, Array]:
    """The same with blocks that grow from both ends."""
    near = n - n // 2
    (a, v), (b, w) = _side(near), _side(n - near)
    return np.concatenate([a, n + 1.0 - b[::-1]]), np.concatenate([v, w[::-1]])


def _both_sides(left: float, right: float, left_bent: bool, right_bent: bool) -> tuple[Array, Array]:
    (a, v), (b, w) = ((_side_to_end if bent else _side)(int(n)) for n, bent in ((left, left_bent), (right, right_bent)))
    return np.concatenate([-a[::-1], [0.0], b]), np.concatenate([v[::-1], [1.0], w])


def _padded(rows: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Rows of different lengths as two arrays, filled with points of no weight."""
    longest = max(offsets.size for offsets, _ in rows)
    offsets, sizes = np.zeros((len(rows), longest)), np.zeros((len(rows), longest))
    for i, (at, weight) in enumerate(rows):
        offsets[i, : at.size], sizes[i, : at.size] = at, weight
    return offsets, sizes
