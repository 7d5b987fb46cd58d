"""Integrals and sums that keep their digits: Gauss rules on panels, halved until the halves agree with the whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from hidiv.recursions.terms import phi
from hidiv.types import Array, IntArray

Function = Callable[[Any], Array]  # points of any shape in, or `Anchored` ones, the same shape out
Over = Callable[[Function], float]  # an integral or a sum over a whole sample space

NODES = 16  # a panel
SERIES = 20  # nodes of the rules on [0, 1]: 1e-16 as long as the integrand is smooth there
AGREE = 1e-15  # of the total: what a panel and its two halves may differ by
LEVELS = 60  # halvings before a panel is taken as it is
MOST = 4000  # panels at a time: more are asked for only when rounding in f keeps them from agreeing
FARTHEST = 2**52  # counts beyond are not summed: doubles no longer tell neighbours apart


# Along a segment of parameters: the exponential-family integrals.


@cache
def unit_rule(n: int = SERIES) -> tuple[Array, Array]:
    """Nodes and weights of the Gauss-Legendre rule on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def first_order(slope: Function, start: Array, step: Array) -> Array:
    """f(start + step) - f(start) from f' = slope, relatively accurate however small the step; elementwise."""
    nodes, weights = unit_rule()
    start, step = np.asarray(start, dtype=np.float64), np.asarray(step, dtype=np.float64)
    return np.asarray(step * (slope(start[..., None] + step[..., None] * nodes) @ weights))


def second_order(curvature: Function, start: Array, step: Array) -> Array:
    """f(start + step) - f(start) - step f'(start) from f'' = curvature, relatively accurate; elementwise.

    step^2 int_0^1 (1 - t) f''(start + t step) dt: the KL of an exponential family when f is its log-normaliser.
    """
    nodes, weights = unit_rule()
    start, step = np.asarray(start, dtype=np.float64), np.asarray(step, dtype=np.float64)
    return np.asarray(step * step * (curvature(start[..., None] + step[..., None] * nodes) @ (weights * (1.0 - nodes))))


# Over a sample space: panels that are halved until they agree.


def integral(f: Function, edges: Sequence[float] | Array) -> float:
    """Integral of f from the first to the last of the increasing `edges`; f should be smooth between them.

    Kinks belong on an edge, and so do narrow peaks (`around`).
    """
    nodes, weights = unit_rule(NODES)

    def panels(start: Array, size: Array, anchor: IntArray) -> Array:
        values = f(start[:, None] + size[:, None] * nodes)
        return np.asarray(size * (values @ weights))

    edges = np.asarray(edges, dtype=np.float64)
    size = np.diff(edges)
    return _halved(panels, edges[:-1][size > 0], size[size > 0], 0.0)


class Anchored(NamedTuple):
    """Points (n, m) as the number of an anchor (n,) and distances from it, where their sum would be rounded."""

    anchor: IntArray
    off: Array


def panel_integral(f: Function, start: Array, size: Array, anchor: IntArray) -> float:
    """`integral` over panels whose starts (n,) are distances from anchors; f takes `Anchored` points."""
    nodes, weights = unit_rule(NODES)

    def panels(start: Array, size: Array, anchor: IntArray) -> Array:
        values = f(Anchored(anchor, start[:, None] + size[:, None] * nodes))
        return np.asarray(size * (values @ weights))

    return _halved(panels, start[size > 0], size[size > 0], 0.0, anchor[size > 0])


def total(f: Function, centres: Sequence[int], last: float = math.inf) -> float:
    """Sum of f(k) over k = 0..last, f smooth between whole numbers; `centres`: where it peaks or bends.

    Blocks of 2^j neighbours are summed by a Gauss rule for counts: the cost does not grow with the spread.
    """

    def panels(start: Array, size: Array, anchor: IntArray) -> Array:
        sums = np.zeros_like(start)
        blocks = [(size == each, *count_rule(int(each))) for each in np.unique(size)]
        points = [(start[rows, None] + nodes).ravel() for rows, nodes, _ in blocks]
        values = np.split(f(np.concatenate(points)), np.cumsum([at.size for at in points])[:-1])  # one call for all
        for (rows, _, weights), each in zip(blocks, values, strict=True):
            sums[rows] = each.reshape(-1, weights.size) @ weights
        return sums

    blocks = [block for gap in _gaps(centres, last) for block in _dyadic(*gap)]
    start, size = np.array(blocks, dtype=np.float64).T
    return _halved(panels, start, size, 1.0)


@cache
def count_rule(size: int) -> tuple[Array, Array]:
    """Nodes and weights of the sum over 0..size-1: exact for polynomials of degree below 2 NODES."""
    if size <= NODES:
        return np.arange(size, dtype=np.float64), np.ones(size)
    k = np.arange(1.0, NODES)
    off_diagonal = np.sqrt(k * k * (float(size) ** 2 - k * k) / (4.0 * (4.0 * k * k - 1.0)))
    nodes, vectors = np.linalg.eigh(np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1))
    return nodes + 0.5 * (size - 1), size * vectors[0] ** 2


class Peak(NamedTuple):
    """The top of a function: where, how wide (a drop of about one), how high."""

    at: float
    width: float
    height: float


def peak(log_f: Function, edges: Array) -> Peak:
    """The top of log f between the edges, found on a grid that is narrowed around its best point."""
    grid = np.unique(edges[:-1, None] + np.diff(edges)[:, None] * np.arange(9) / 8.0)
    for _ in range(40):
        with np.errstate(invalid="ignore", over="ignore"):
            values = np.nan_to_num(log_f(grid), nan=-np.inf, posinf=np.inf, neginf=-np.inf)
            level = values.max() - values.min() <= 1e-9
        best = int(np.argmax(values))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
        at, height = float(grid[best]), float(values[best])
        if high - low <= 1e-9 * max(1.0, abs(at)) or level:
            break
        grid = np.linspace(low, high, 17)
    width = float(edges[-1] - edges[0])
    while width > 1e-12 * max(1.0, abs(at)):
        flanks = np.array([t for t in (at - width, at + width) if edges[0] <= t <= edges[-1]])
        if flanks.size and float(log_f(flanks).max()) >= height - 1.0:
            break
        width *= 0.5
    return Peak(at, width, height)


def around(top: Peak, edges: Array) -> Array:
    """The edges, with more of them graded towards a peak between them."""
    side = top.width * 2.0 ** np.arange(-1.0, 9.0)
    near = top.at + np.concatenate([-side, [0.0], side])
    return np.union1d(edges, near[(near > edges[0]) & (near < edges[-1])])


def _halved(
    panels: Callable[[Array, Array, IntArray], Array],
    start: Array,
    size: Array,
    smallest: float,
    anchor: IntArray | None = None,
) -> float:
    """Sum over panels, each split in two until its halves add up to it; a half has the anchor of the whole."""
    done: list[float] = []
    anchor = np.zeros(len(start), dtype=np.int64) if anchor is None else anchor
    whole = panels(start, size, anchor)
    for _ in range(LEVELS):
        half = 0.5 * size
        middle = start + half
        if smallest:  # counts: blocks up to the rule's nodes are exact
            exact = size <= NODES
            done.extend(whole[exact])
            start, middle, half, whole = (a[~exact] for a in (start, middle, half, whole))
            anchor = anchor[~exact]
        if not start.size:
            break
        left, right = panels(start, half, anchor), panels(middle, half, anchor)
        both = left + right
        tolerance = AGREE * (abs(math.fsum(done)) + float(np.abs(both).sum()))
        with np.errstate(invalid="ignore"):
            agreed = (np.abs(both - whole) <= tolerance) | (middle <= start) | ~np.isfinite(both)
        done.extend(both[agreed])
        again = ~agreed
        start = np.concatenate([start[again], middle[again]])
        size = np.concatenate([half[again], half[again]])
        anchor = np.concatenate([anchor[again], anchor[again]])
        whole = np.concatenate([left[again], right[again]])
        if not 0 < start.size <= MOST:
            break
    done.extend(whole)
    return math.fsum(done) if np.isfinite(done).all() else float(np.sum(done))


def _gaps(centres: Sequence[int], last: float) -> list[tuple[int, int]]:
    """Half-open ranges of counts between 0, the centres and `last`."""
    end = int(min(last, FARTHEST)) + 1
    cuts = sorted({0, end, *(min(max(int(c), 0), end) for c in centres)})
    return list(pairwise(cuts))


def _dyadic(start: int, stop: int) -> list[tuple[int, int]]:
    """start..stop-1 in blocks (first, size), sizes powers of two that grow away from both ends."""
    blocks, size = [], 1
    while stop - start >= 2 * size:
        blocks += [(start, size), (stop - size, size)]
        start, stop, size = start + size, stop - size, 2 * size
    while start < stop:
        size = 1 << ((stop - start).bit_length() - 1)
        blocks.append((start, size))
        start += size
    return blocks


# Divergences of two laws given by their log-densities, and by log q/p where that is known better than as a difference.


class Laws(NamedTuple):
    """p and q as functions of a point: any shape in, the same shape out; -inf where a law underflows."""

    log_p: Function
    log_q: Function
    log_ratio: Function  # log q/p, relatively accurate where it is small


def divergence(laws: Laws, over: Over) -> float:
    """KL as the integral of p phi(log q/p): no negative terms, relatively accurate for near-equal laws.

    `over` integrates (sums) a function over all that either law gives mass to; q is positive there.
    """
    return over(lambda x: _second_order_mass(laws.log_p(x), laws.log_q(x), laws.log_ratio(x)))


def renyi(laws: Laws, alpha: float, over: Over, height: float = 0.0) -> float:
    """Renyi divergence of order alpha, from Z the integral of p^alpha q^(1-alpha); e^height is about its largest value.

    Z - 1 is the integral of p [phi(c l) - c phi(l)], l = log q/p, c = 1 - alpha: one sign (definitions (4.1)).
    """
    rest = 1.0 - alpha
    if rest > 0.5:  # the bracket cancels as c -> 1: order alpha of (p, q) is order c of (q, p), times alpha/c
        return alpha / rest * renyi(Laws(laws.log_q, laws.log_p, lambda x: -laws.log_ratio(x)), rest, over, height)
    z = over(lambda x: np.exp(log_power(laws, alpha, x) - height))
    log_z = height + math.log(z) if z > 0 else -math.inf
    if abs(log_z) < 0.5:
        log_z = math.log1p(over(lambda x: _defect(laws.log_p(x), laws.log_q(x), laws.log_ratio(x), rest)))
    return log_z / -rest


def log_power(laws: Laws, alpha: float, x: Array) -> Array:
    """log of p^alpha q^(1-alpha); -inf where p underflows."""
    with np.errstate(invalid="ignore"):
        value = alpha * laws.log_p(x) + (1.0 - alpha) * laws.log_q(x)
    return np.where(np.isnan(value), -np.inf, value)


def _second_order_mass(log_p: Array, log_q: Array, ratio: Array) -> Array:
    """p phi(l), also where p underflows under a large phi."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        near = np.exp(log_p) * phi(ratio)
        above = np.exp(log_q) * (1.0 - (1.0 + ratio) * np.exp(-ratio))
        below = np.exp(log_p + np.log(-ratio - 1.0))  # e^l is nothing flanks it
        above = np.where(ratio < np.inf, above, np.exp(log_q))
        far = np.where(log_q > log_p, above, np.where(log_p > -np.inf, below, 0.0))
        return np.where(np.abs(ratio) < 40.0, near, far)


def _defect(log_p: Array, log_q: Array, ratio: Array, rest: float) -> Array:
    """p [phi(c l) - c phi(l)] with c = rest."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        near = np.exp(log_p) * (phi(rest * ratio) - rest * phi(ratio))
        both = np.where(log_p > -np.inf, np.exp((1.0 - rest) * log_p + rest * log_q), 0.0)
        far = both - rest * np.exp(log_q) - (1.0 - rest) * np.exp(log_p)
        return np.where(np.abs(ratio) < 40.0, near, far)
