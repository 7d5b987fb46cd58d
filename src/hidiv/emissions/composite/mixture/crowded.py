"""Integrals of laws crowded at an end of their sample space, over the logarithm of the distance from it.

Proportions are integrated in two pieces, below and above one half, each over the logarithm of the distance from its own
end, which is below zero. Both are one variable for the laws: the logarithm, and in the second piece minus that.
"""

from __future__ import annotations

from math import inf, isfinite, log

import numpy as np

from hidiv.emissions.numerics.adaptive_integrals import (
    Function,
    Laws,
    Over,
    around,
    divergence,
    integral,
    log_power,
    peak,
    renyi,
)
from hidiv.emissions.sample_space import Kind
from hidiv.types import Array

CROWDED = 1e-4  # distance from an end, relative to the law's extent, below which logarithms are integrated over
LEAST = log(np.finfo(np.float64).tiny)
LEFT = 1e-13  # share of an integral below the least double that is too much to leave out
VANISHED = -48.0  # logarithm of what no longer counts
REACHES = 64  # steps outwards, each twice the last


def is_crowded(kind: Kind, edges: Array) -> bool:
    """Whether much of a law lies so near an end of its sample space that only a logarithm resolves it."""
    if kind is Kind.UNIT:
        return bool(edges[0] < CROWDED or edges[-1] > 1.0 - CROWDED)
    return kind is Kind.POSITIVE and bool(edges[0] < CROWDED * edges[-1])


def crowded_divergence(pieces: list[tuple[Laws, Array]]) -> float:
    """The KL, by the laws and the edges of each piece, in distances from its end."""
    laws = _joined([laws for laws, _ in pieces])
    return divergence(laws, _over([_ends(edges, i) for i, (_, edges) in enumerate(pieces)]))


def crowded_renyi(pieces: list[tuple[Laws, Array]], alpha: float) -> float:
    """The Renyi divergence of order alpha; NaN where much of the integral lies below the least double.

    Above one p^alpha q^(1-alpha) may peak where neither law lies.
    """
    laws = _joined([laws for laws, _ in pieces])
    spread, height = [], -inf

    def log_f(y: Array) -> Array:
        return log_power(laws, alpha, y)

    for i, (_, edges) in enumerate(pieces):
        ends = _ends(edges, i)
        if alpha > 1:
            ends = np.union1d(ends, [_sign(i) * LEAST])
            ends = ends if len(pieces) > 1 else _upwards(log_f, ends)
        top = peak(log_f, ends)
        spread.append(around(top, ends))
        height = max(height, top.height, float(log_f(ends).max()))
    height = height if isfinite(height) else 0.0
    over = _over(spread)
    if alpha > 1 and _left_out(log_f, len(pieces), height) > LEFT * over(lambda y: np.exp(log_f(y) - height)):
        return np.nan
    return renyi(laws, alpha, over, height)


def _upwards(log_f: Function, ends: Array) -> Array:
    """The edges, and more of them above, to where the function has all but vanished."""
    step = ends[-1] - ends[0]
    for _ in range(REACHES):
        further = np.array([ends[-1] + step])
        if not log_f(further)[0] > log_f(ends).max() + VANISHED:
            return np.append(ends, further)
        ends, step = np.append(ends, further), 2.0 * step
    return ends


def _left_out(log_f: Function, pieces: int, height: float) -> float:
    """The integral below the least double, where the function is a power of the distance; +inf if it does not fall."""
    total = 0.0
    for i in range(pieces):
        here, next_to = log_f(_sign(i) * np.array([LEAST, LEAST + 1.0]))
        if here > height + 2.0 * VANISHED:
            total += float(np.exp(here - height)) / (next_to - here) if next_to > here else inf
    return total


def _over(ends: list[Array]) -> Over:
    """The sum of the integrals over all pieces."""
    return lambda f: sum(integral(f, at) for at in ends)


def _ends(edges: Array, piece: int) -> Array:
    """The edges of a piece, in its variable."""
    return np.unique(_sign(piece) * np.maximum(np.log(np.maximum(edges, np.finfo(np.float64).tiny)), LEAST))


def _sign(piece: int) -> float:
    """Of the logarithm in a piece."""
    return -1.0 if piece else 1.0


def _joined(pieces: list[Laws]) -> Laws:
    """The laws of that variable; log-densities have the slope of the distance in it."""

    def at(part: int, moved: bool) -> Function:
        def each(y: Array) -> Array:
            piece = int(len(pieces) > 1 and y.size > 0 and y.flat[0] > 0)  # never points of both at once
            own = _sign(piece) * y
            with np.errstate(over="ignore", under="ignore"):
                value = pieces[piece][part](np.exp(own))
            return np.asarray(value + own if moved else value)

        return each

    return Laws(at(0, True), at(1, True), at(2, False))
