"""Two laws known to lie in an interval: the ratio of its two masses, and the KL of the laws given it.

Everything is a mean under p given the interval: points and weights come from stretches of a continuous law or from
counts, and log q/p is taken less its value at the peak, so that short intervals and far tails keep their digits.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidiv.emissions.evidence.coordinates import Function, Stretch, stretches
from hidiv.emissions.evidence.interval_points import DEEP, IntervalPoints, count_points
from hidiv.emissions.numerics.adaptive_integrals import unit_rule
from hidiv.emissions.sample_space import Kind
from hidiv.recursions.terms import phi
from hidiv.types import Array

PANELS, NODES, GRADING = 8, 16, 3  # points of a stretch: panels in the cube root of the distance from the peak
NEAR = 1e-3  # below this a KL is a sum of second-order terms, above it a difference keeps its digits
MOST = -0.1  # of a log-mass: the complement is compared instead
AGREE = 1e-13  # of the log-masses: q's mass as the points see it, and as it is
BLOCK = 256  # intervals at a time: their points stay in the cache
DEGREE = 15  # of local polynomials


class InInterval(NamedTuple):
    """log(mass under q / mass under p) and KL of the laws given the interval: (U,) by interval."""

    ratio: Array
    kl: Array


def compare(p: Any, q: Any, lower: Array, upper: Array) -> tuple[Array, Array]:
    """(U,), (U,) -> (U, K) twice: log mass_q/mass_p, and the KL of p from q given [lower, upper]; one column, K states.

    Ratio -inf where only q has no mass there, +inf where only p has none, 0 where neither has. KL +inf where p has mass
    that q lacks, 0 where p has none at all.
    """
    ratio, kl = np.zeros((lower.size, p.n_states)), np.zeros((lower.size, p.n_states))
    for state in range(p.n_states):
        a, b = p.take([state]), q.take([state])
        for first in range(0, lower.size, BLOCK):
            rows = slice(first, first + BLOCK)
            ratio[rows, state], kl[rows, state] = one_state(a, b, lower[rows], upper[rows])
    return ratio, kl


def one_state(p: Any, q: Any, lower: Array, upper: Array) -> InInterval:
    """The same for one law on either side: (U,) each."""
    lower, upper = lower.astype(np.float64), upper.astype(np.float64)
    with np.errstate(all="ignore"):
        log_p, log_q = (np.asarray(f.log_mass(lower[:, None], upper[:, None])[:, 0, 0]) for f in (p, q))
    has_p, has_q = log_p > -np.inf, log_q > -np.inf
    ratio = np.where(has_p == has_q, 0.0, np.where(has_q, np.inf, -np.inf))
    kl = np.where(has_p & ~has_q, np.inf, 0.0)
    both = np.flatnonzero(has_p & has_q)
    if both.size:
        low, high = lower[both], upper[both]
        if p.space.is_counts:
            points = count_points(p, q, low, high, log_p[both])
        else:
            points = stretch_points(stretches(p, q, low, high))
        given = means(points, log_p[both], log_q[both])
        # Most of the mass lies inside: the ratio is more accurate from what is left outside.
        most = np.minimum(log_p, log_q)[both] > MOST
        if most.any():
            given.ratio[most] = _by_the_rest(p, q, low[most], high[most], log_p[both][most])
        ratio[both], kl[both] = given
    return InInterval(ratio, kl)


def _by_the_rest(p: Any, q: Any, lower: Array, upper: Array, log_mass: Array) -> Array:
    """log mass_q/mass_p from the complement: log1p(-(q - p)(rest) / p(interval))."""
    none = np.full_like(lower, np.inf)
    if p.space.kind is Kind.ANGLE:
        rest = [(upper, lower + 2.0 * np.pi)]
    elif p.space.is_counts:
        rest = [(-none, np.ceil(lower) - 1.0), (np.floor(upper) + 1.0, none)]
    else:
        rest = [(-none, lower), (upper, none)]
    gained = np.zeros_like(lower)
    for low, high in rest:
        open_ = np.flatnonzero(high > low if not p.space.is_counts else high >= np.maximum(low, 0.0))
        if open_.size:
            low, high = low[open_], high[open_]
            with np.errstate(all="ignore"):
                log_p, log_q = (np.asarray(f.log_mass(low[:, None], high[:, None])[:, 0, 0]) for f in (p, q))
                tail = one_state(p, q, low, high).ratio
                # Far apart a difference keeps its digits, and no overflowing ratio meets a mass that underflows.
                apart = (log_p == -np.inf) | (tail > 1.0)
                gained[open_] += np.where(apart, np.exp(log_q) - np.exp(log_p), np.exp(log_p) * np.expm1(tail))
    return np.asarray(np.log1p(-gained / np.exp(log_mass)))


def means(points: IntervalPoints, log_p: Array, log_q: Array) -> InInterval:
    """Ratio and KL from the points and both log-masses.

    KL = log E e^d - E d with d = log q/p, as E phi(d - log E e^d) when small. Where the points miss some of q's mass
    (then the laws are far apart), log E e^d comes from the masses.
    """
    with np.errstate(all="ignore"):
        top = points.log_weight.max(axis=1, keepdims=True)
        weight = np.exp(points.log_weight - top)
        weight = weight / weight.sum(axis=1, keepdims=True)
        here = weight > 0
        lost = (here & (points.step == -np.inf)).any(axis=1)
        step = np.where(here & np.isfinite(points.step), points.step, 0.0)
        mean = (weight * step).sum(axis=1)
        outside = points.log_outside - points.base
        # E e^(d - mean) - 1 as a sum of non-negative terms, in logs where e^d overflows.
        excess = (weight * phi(step - mean[:, None])).sum(axis=1) + np.exp(outside - mean)
        largest = np.where(here, step, -np.inf).max(axis=1)
        total = (weight * np.exp(step - largest[:, None])).sum(axis=1) + np.exp(outside - largest)
        gap = np.where(excess < 1.0, np.log1p(excess), np.log(total) + largest - mean)
        by_points = points.base + (mean + gap)
        by_mass = log_q - log_p
        near = (gap < NEAR) & ~lost
        agree = np.abs(by_points - by_mass) <= AGREE * (1.0 + np.abs(log_p) + np.abs(log_q))
        ratio = np.where((near | agree) & ~lost, by_points, by_mass)
        kl = np.where(near | agree, gap, by_mass - points.base - mean)
    return InInterval(ratio, np.where(lost | points.lost, np.inf, kl))


# IntervalPoints of continuous laws.


def stretch_points(parts: list[Stretch]) -> IntervalPoints:
    """The points of every stretch side by side."""
    each = [_points_of(part) for part in parts]
    if len(each) == 1:
        return each[0].points
    peaks = np.stack([np.where(np.isinf(part.points.log_weight).all(axis=1), -np.inf, part.top) for part in each])
    highest = peaks.argmax(axis=0)
    base = np.choose(highest, [part.points.base for part in each])
    anchor = np.choose(highest, [part.anchor for part in each])
    weights, steps = [], []
    for part, peak in zip(each, peaks, strict=True):
        with np.errstate(invalid="ignore"):
            weights.append(part.points.log_weight + (peak - peaks.max(axis=0))[:, None])
            steps.append(np.where(weights[-1] > -np.inf, part.points.step + (part.anchor - anchor)[:, None], 0.0))
    return IntervalPoints(np.hstack(weights), base, np.hstack(steps))


class _Part(NamedTuple):
    """Points of one stretch; (U,) log p at their peak, and log q/p there less the constant all stretches share."""

    points: IntervalPoints
    top: Array
    anchor: Array


def _points_of(stretch: Stretch) -> _Part:
    some = stretch.width > 0
    low, high, width = (np.where(some, v, 0.0) for v in (stretch.low, stretch.high, stretch.width))
    start = np.clip(stretch.peak, low, high)
    with np.errstate(invalid="ignore"):
        left = np.where(stretch.peak <= low, 0.0, np.where(stretch.peak >= high, width, stretch.peak - low))
        right = np.where(stretch.peak >= high, 0.0, np.where(stretch.peak <= low, width, high - stretch.peak))
    left = np.where(some, np.minimum(left, _reach(stretch, start, -1.0)), 0.0)
    right = np.where(some, np.minimum(right, _reach(stretch, start, 1.0)), 0.0)
    offset, size = _offsets(stretch, start, left, right)
    at = start[:, None] + offset
    moving = stretch.ratio if stretch.moving is None else stretch.moving
    top, anchor = stretch.log_p(start[:, None]), moving(start[:, None])
    base = anchor if stretch.moving is None else stretch.ratio(start[:, None])
    fall = stretch.log_p(at) - top
    step = moving(at) - anchor if stretch.change is None else stretch.change(start[:, None], offset)
    radius = _radius(stretch, start)
    short = np.flatnonzero(np.maximum(left, right) <= 0.25 * radius)
    if short.size:
        y, s, t = start[short, None], radius[short, None], offset[short] / radius[short, None]
        fall[short] = local_change(_among(stretch.log_p, short, len(start)), y, s, t)
        if stretch.change is None:
            step[short] = local_change(_among(moving, short, len(start)), y, s, t)
    with np.errstate(divide="ignore"):
        points = IntervalPoints(
            np.where(size > 0, fall + np.log(size), -np.inf), base[:, 0], np.where(size > 0, step, 0.0)
        )
    return _Part(points, top[:, 0], anchor[:, 0])


def _among(f: Function, rows: NDArray[np.int64], n: int) -> Function:
    """f on some of its n rows: laws may differ by row, so every row is evaluated."""

    def each(y: Array) -> Array:
        wide = np.zeros((n, y.shape[1]))
        wide[:] = y[:1]
        wide[rows] = y
        return f(wide)[rows]

    return each


def _reach(stretch: Stretch, start: Array, sign: float) -> Array:
    """(U,): how far from the start p has fallen by e^-DEEP, to an eighth of an octave; more for longer tails of q."""
    moving = stretch.ratio if stretch.moving is None else stretch.moving

    def at(octave: Array) -> tuple[Array, Array]:
        y = (start + sign * stretch.unit * np.exp2(octave))[:, None]
        log_p = stretch.log_p(y)[:, 0]
        return log_p, log_p + moving(y)[:, 0]

    top, top_q = at(np.full(start.shape, -np.inf))
    low, high = np.full(start.shape, -70.0), np.full(start.shape, 30.0)
    for _ in range(10):
        middle = 0.5 * (low + high)
        fallen = ~(top - stretch.log_p((start + sign * stretch.unit * np.exp2(middle))[:, None])[:, 0] < DEEP)
        low, high = np.where(fallen, low, middle), np.where(fallen, middle, high)
    for _ in range(4):
        high = np.where(top_q - at(high)[1] < 0.5 * DEEP, high + 0.5, high)
    return np.asarray(stretch.unit * np.exp2(high))


@cache
def _graded_rule() -> tuple[Array, Array]:
    """IntervalPoints and weights on [0, 1], crowded towards 0."""
    nodes, weights = unit_rule(NODES)
    u = ((np.arange(PANELS)[:, None] + nodes) / PANELS).ravel()
    return u**GRADING, np.tile(weights / PANELS, PANELS) * GRADING * u ** (GRADING - 1)


def _offsets(stretch: Stretch, start: Array, left: Array, right: Array) -> tuple[Array, Array]:
    """(U, m) twice: distances of the points from the start, and their weights; kinks end a stretch."""
    s, w = _graded_rule()
    offsets, sizes = [], []
    for sign, far in ((-1.0, left), (1.0, right)):
        cuts = [np.clip(sign * (kink - start), 0.0, far) for kink in stretch.kinks]
        ends = np.sort(np.stack([np.zeros_like(far), *cuts, far]), axis=0)
        for near, next_ in pairwise(ends):
            if (next_ > near).any():
                offsets.append(sign * (near[:, None] + (next_ - near)[:, None] * s))
                sizes.append((next_ - near)[:, None] * w)
    return (np.hstack(offsets), np.hstack(sizes)) if offsets else (np.zeros((start.size, 1)), np.zeros((start.size, 1)))


def _radius(stretch: Stretch, start: Array) -> Array:
    """(U,): how far about the start local polynomials hold."""
    far = np.abs(start - stretch.peak)
    radius = np.maximum(stretch.unit, far) if stretch.polynomial else np.full_like(far, 0.5 * min(1.0, stretch.unit))
    for kink in stretch.kinks:
        radius = np.minimum(radius, 0.99 * np.abs(start - kink))
    return np.asarray(radius)


@cache
def _local_rule() -> tuple[Array, Array]:
    """Chebyshev points on [-1, 1], and the matrix from values there to the coefficients of t, t^2, ..."""
    n = DEGREE + 1
    angles = np.pi * (np.arange(n) + 0.5) / n
    to_series = np.cos(np.outer(np.arange(n), angles)) * np.where(np.arange(n) == 0, 1.0, 2.0)[:, None] / n
    to_powers = np.zeros((n, n))
    for k in range(n):
        one = np.polynomial.chebyshev.cheb2poly(np.eye(n)[k])
        to_powers[: one.size, k] = one
    return np.cos(angles), (to_powers @ to_series)[1:]


def local_change(f: Function, y: Array, radius: Array, t: Array) -> Array:
    """f(y + radius t) - f(y) for small t, from f over the whole radius: relatively accurate where a difference is not.

    y, radius (u, 1), t (u, m) with |t| <= 1/4.
    """
    points, matrix = _local_rule()
    values = f(y + radius * points)
    # Less the middle value, so that a large constant does not round what matters.
    coefficients = (values - values[:, DEGREE // 2 : DEGREE // 2 + 1]) @ matrix.T
    total = np.zeros_like(t)
    for k in range(DEGREE - 1, -1, -1):
        total = (total + coefficients[:, k : k + 1]) * t
    return total
