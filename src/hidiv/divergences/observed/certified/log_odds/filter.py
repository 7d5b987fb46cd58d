"""The filter of a two-state chain in its log-odds, and intervals of them that no symbol leaves."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidiv.divergences.observed.alphabets import FiniteChain
from hidiv.divergences.observed.interval import TINY, NotApplicable
from hidiv.types import Array

LARGEST = 300.0  # log-odds beyond this are left to other methods: exp must not overflow anywhere near
_ROUNDS = 200
_ROOM = 1e-9  # added on both sides of an interval, far above the rounding of its ends
_SHAPES = ((8, 8), (8, 1), (1, 8), (64, 1), (1, 64))
_MARGINS = [(Fraction(0), Fraction(0))] + [
    (Fraction(a, 2**k), Fraction(b, 2**k)) for k in range(6, 48, 3) for a, b in _SHAPES
]
SMALLEST = 0.1  # half-length of an interval at least: on shorter ones polynomials are not controlled nearby


class Filter(NamedTuple):
    """steps (M, 2, 2) >= 0: the weights (y_0, y_1) of the filter become y steps[x] when x is seen, t = log(y_0/y_1).

    `margin` (c, d): y = b + (c, d), b the probabilities of the states, so that b may reach 0 and 1 while t stays
    finite; (0, 0) leaves b as it is.
    """

    steps: Array
    margin: tuple[float, float] = (0.0, 0.0)

    def start(self, weights: Array) -> Array:
        """(...): t of state probabilities (..., 2), in any scale; infinite at zeros without a margin."""
        total = weights.sum(axis=-1)
        with np.errstate(divide="ignore"):
            zero, one = (np.log(weights[..., r] + self.margin[r] * total) for r in (0, 1))
        return np.asarray(zero - one)

    def update(self, x: int, t: Array) -> Array:
        """t after x; a Moebius map of e^t, monotone in t and never steeper than one."""
        odds, m = np.exp(t), self.steps[x]
        return np.asarray(np.log((odds * m[0, 0] + m[1, 0]) / (odds * m[0, 1] + m[1, 1])))

    def steepness(self, x: int) -> float:
        """The largest slope of t after x, in [0, 1]: tanh of a quarter of the log of the cross-ratio."""
        m = self.steps[x]
        one, other = np.sqrt(m[0, 0]) * np.sqrt(m[1, 1]), np.sqrt(m[0, 1]) * np.sqrt(m[1, 0])
        return float(abs(one - other) / (one + other)) if one + other > 0 else 1.0

    def log_predictive(self, x: int, t: Array) -> Array:
        """log q(x | t)."""
        odds, m = np.exp(t), self.steps[x].sum(axis=1)
        return np.asarray(np.log((odds * m[0] + m[1]) / (odds + 1.0)))

    def from_ends(self, x: NDArray[np.int64], t: Array) -> Array:
        """(n,): t after x from log-odds that may be infinite; nan where x cannot be seen."""
        weights = (
            np.exp(np.minimum(t, 0.0))[:, None] * self.steps[x, 0]
            + np.exp(-np.maximum(t, 0.0))[:, None] * self.steps[x, 1]
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(weights[:, 0]) - np.log(weights[:, 1]))


class Domain(NamedTuple):
    """The log-odds of q's filter while p is in each state: between lower and upper (K,), closed under every step."""

    filter: Filter
    lower: Array
    upper: Array


def domain(weights: Array, q: FiniteChain, start: tuple[Array, Array] | None = None) -> Domain:
    """Finite intervals of log-odds, one for each state of p, that no symbol p can emit leaves.

    weights (M, K, K): p's steps. `start`: state probabilities (n, 2) of filters to be contained, and where they stand
    (n, K). Without it only the long run matters. Zeros of q are met by a margin; where none works, NotApplicable.
    """
    if (q.moves() & (q.steps() < TINY)).any():
        raise NotApplicable("q has probabilities too small for doubles")
    seen = np.asarray((weights > 0).any(axis=(1, 2)))
    for margin in _MARGINS:
        odds_filter = Filter(q.steps()) if not any(margin) else _with_margin(q, seen, *margin)
        if odds_filter is None:
            continue
        hull = None if start is None else _hull(odds_filter.start(start[0]), start[1])
        lower, upper = _closed(odds_filter, weights, hull)
        if np.isfinite(lower).all() and np.isfinite(upper).all():
            widest = np.maximum(np.abs(lower), np.abs(upper)).max()
            room = _ROOM * (1.0 + widest) + max(0.0, SMALLEST - (upper - lower).min() / 2)
            if widest + room > LARGEST:
                raise NotApplicable(f"log-odds of the filter reach {widest:.0f}")
            return Domain(odds_filter, lower - room, upper + room)
    raise NotApplicable("zeros of q let its filter come arbitrarily near to certainty")


def _with_margin(q: FiniteChain, seen: NDArray[np.bool_], c: Fraction, d: Fraction) -> Filter | None:
    """The filter in weights y; exact arithmetic, so that every weight has one rounding; None if one is negative.

    A^-1 steps A with A = [[1+c, d], [c, 1+d]]: non-negative if every symbol maps the interval (-c, 1+d) of the
    probability of state 0 into itself.
    """
    steps = np.zeros((q.n_symbols, 2, 2))
    to, inverse = [[1 + c, d], [c, 1 + d]], [[1 + d, -d], [-c, 1 + c]]
    for x in np.flatnonzero(seen):
        emitted = [Fraction(float(e)) for e in q.probabilities[:, x]]
        exact = [[Fraction(float(t)) * e for t, e in zip(row, emitted, strict=True)] for row in q.transition]
        turned = _times(_times(inverse, exact), to)
        if min(min(row) for row in turned) < 0 or min(sum(row) for row in turned) <= 0:
            return None
        steps[x] = [[float(v / (1 + c + d)) for v in row] for row in turned]
    return Filter(steps, (float(c), float(d)))


def _times(a: list[list[Fraction]], b: list[list[Fraction]]) -> list[list[Fraction]]:
    """Product of two matrices of two rows and columns."""
    return [[sum((a[i][k] * b[k][j] for k in range(2)), Fraction(0)) for j in range(2)] for i in range(2)]


def _hull(t: Array, stands: Array) -> tuple[Array, Array]:
    """Smallest and largest t (n,) among the rows where stands (n, K) > 0; empty: (inf, -inf)."""
    there = stands > 0
    return np.where(there, t[:, None], inf).min(axis=0), np.where(there, t[:, None], -inf).max(axis=0)


def _closed(odds_filter: Filter, weights: Array, start: tuple[Array, Array] | None) -> tuple[Array, Array]:
    """Intervals shrunk from the whole line: images of intervals, joined with the start, are closed at every round.

    A state that p neither starts in nor enters has no filters; it gets the hull of the other intervals.
    """
    n_states = weights.shape[1]
    lower, upper = np.full(n_states, -inf), np.full(n_states, inf)
    moves = np.argwhere(weights > 0)  # symbol, state, next state
    seen, of_move = np.unique(moves[:, :2], axis=0, return_inverse=True)
    symbol, state, to = seen[:, 0], seen[:, 1], moves[:, 2]
    first = (np.full(n_states, inf), np.full(n_states, -inf)) if start is None else start
    for _ in range(_ROUNDS):
        # A symbol takes an interval to what lies between the images of its ends; anywhere, if it cannot be seen there.
        ends = np.stack([odds_filter.from_ends(symbol, end[state]) for end in (lower, upper)])
        ends = np.where(np.isnan(ends).any(axis=0), np.array([[-inf], [inf]]), np.sort(ends, axis=0))
        ends = np.where(lower[state] <= upper[state], ends, np.array([[inf], [-inf]]))[:, of_move.ravel()]
        low, high = first[0].copy(), first[1].copy()
        np.minimum.at(low, to, ends[0])
        np.maximum.at(high, to, ends[1])
        done = (low <= lower + 1e-3) & (high >= upper - 1e-3)
        lower, upper = np.maximum(low, lower), np.minimum(high, upper)
        # The ends of an interval that is a point may pass each other by a rounding; an empty one has infinite ends.
        point = np.isfinite(lower) & np.isfinite(upper)
        lower, upper = (
            np.where(point, np.minimum(lower, upper), lower),
            np.where(point, np.maximum(lower, upper), upper),
        )
        if done.all():
            break
    met = lower <= upper
    return np.where(met, lower, lower[met].min()), np.where(met, upper, upper[met].max())
