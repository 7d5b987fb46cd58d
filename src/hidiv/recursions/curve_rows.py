"""Log-densities of columns that follow exponential, gamma, beta, von Mises, Laplace or generalized Gaussian laws, and
the log-ratio of two models'.

A log-density is a constant and one term for each column. With v the distance of x from the law's centre, relative to
it, the terms of gamma and beta laws are made of h(v) = v - log(1 + v), which is small where v is: nothing large is
added and taken away.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hidiv.recursions.kernels import kernel
from hidiv.recursions.terms import h
from hidiv.types import Array

# Which curve it is; what (K, F, 2) coefficients are; what is added for each column; what the log-ratio adds, by the
# (K, F, 2) coefficients (u, w) of a pair and p's own.
FALLING = 0  # rate, 0     -rate x                                         u (rate x - 1)
RISING = 1  # shape, rate  -shape h(v) - log x, v = rate x/shape - 1       u h(v) + w v
UNIT = 2  # a, b           -a h(v) - b h(w) - log x - log(1 - x)           u log(1 + v) + w log(1 + w)
#                          v = (a + b) x/a - 1, w = (a + b)(1 - x)/b - 1
TURNING = 3  # mean, k     -2 k s^2, s = sin((x - mean)/2)                 u s c + w s^2, c = cos((x - mean)/2)
POINTED = 4  # loc, scale  -|x - loc|/scale                                u = q's loc less p's, w = scale_p/scale_q - 1
POWER = 5  # scale, shape  -y^shape, y = |x|/scale                         u log y + w: log of q's power over p's

CurveLaws = tuple[int, Array, Array]  # which, coefficients (K, F, 2), constant (K,)
CurveRatio = tuple[Array, Array]  # coefficients (K, F, 2), constant (K,)

NEAR = 0.25  # relative distance below which log(1 + v) comes from v, and above which from 1 + v
LEAST, MOST = 1e-300, 1e300  # of 1 + v; beyond, rows are left to the family
FARTHEST = 1e5  # half angles
HALF = 0.5  # relative difference of scales up to which log-ratios come from it
LARGEST = 700.0  # of the logarithm of y^shape


@kernel
def curve_table(x: Array, p: CurveLaws, threads: int = 0) -> tuple[Array, bool]:
    """(n, K) log-densities of x (n, F), and whether a row is none of numbers in the range of the law: NaN there."""
    with np.errstate(all="ignore"):
        return _densities(x, p)


@kernel
def curve_tables(
    x: Array, p: CurveLaws, q: CurveLaws, between: CurveRatio, threads: int = 0
) -> tuple[Array, Array, Array, bool]:
    """(n, K) log-densities of p and q, log q/p, and whether a row is none of numbers in the range of the laws."""
    with np.errstate(all="ignore"):
        (log_p, odd_p), (log_q, odd_q) = _densities(x, p), _densities(x, q)
        _, terms = _parts(x, p[0], p[1], between[0], q[1])
        ratio = between[1] + terms.sum(axis=2)
        lost = ~(np.isfinite(log_p) & np.isfinite(log_q) & np.isfinite(ratio)).all(axis=1)
        for table in (log_p, log_q, ratio):
            table[lost] = np.nan
    return log_p, log_q, ratio, odd_p or odd_q or bool(lost.any())


def _densities(x: Array, p: CurveLaws) -> tuple[Array, bool]:
    """`curve_table`."""
    value = p[2] + _parts(x, p[0], p[1], None)[0].sum(axis=2) - _common(x, p[0]).sum(axis=1)[:, None]
    lost = ~((np.abs(value) <= MOST).all(axis=1) & np.isfinite(x).all(axis=1))
    value[lost] = np.nan
    return value, bool(lost.any())


def _common(x: Array, which: int) -> Array:
    """(n, F): what is taken off in every state; NaN outside the range of the laws."""
    if which == FALLING:
        return np.where(x >= 0, 0.0, np.nan)
    if which == RISING:
        return np.where(x > 0, np.log(x), np.nan)
    if which == UNIT:
        return np.where((x > 0) & (x < 1), np.log(x) + np.log1p(-x), np.nan)
    return np.zeros_like(x)


def _parts(x: Array, which: int, law: Array, between: Array | None, other: Array | None = None) -> tuple[Array, Array]:
    """(n, K, F) twice: the terms of the log-density but for `_common`, and those of the log-ratio; other: q's law."""
    at, (a, b) = x[:, None, :], np.moveaxis(law, 2, 0)
    u, w = (np.zeros_like(a),) * 2 if between is None else np.moveaxis(between, 2, 0)
    if which == FALLING:
        return -a * at, u * (a * at - 1.0)
    if which == RISING:
        v = (b * at - a) / a
        bend = _logs(v, b * at / a)[1]
        return -a * bend, u * bend + w * v
    if which == UNIT:
        off, total = b * at - a * (1.0 - at), a + b
        left, bend_left = _logs(off / a, total * at / a)
        right, bend_right = _logs(-off / b, total * (1.0 - at) / b)
        return -a * bend_left - b * bend_right, u * left + w * right
    if which == POINTED:
        return _pointed(at, a, b, u, w, np.moveaxis(law if other is None else other, 2, 0))
    if which == POWER:
        size = np.abs(at) / a
        log = np.log(np.where((size >= LEAST) & (size <= MOST), size, np.nan))
        first, change = b * log, u * log + w
        first = np.exp(np.where(first <= LARGEST, first, np.nan))
        near = np.abs(change) < 1.0
        ratio = np.where(near, -first * np.expm1(np.where(near, change, 0.0)), first - np.exp(b * log + change))
        return -first, ratio
    half = 0.5 * (at - a)
    half = np.where(np.abs(half) <= FARTHEST, half, np.nan)
    sine = np.sin(half)
    return -2.0 * b * sine**2, u * sine * np.cos(half) + w * sine**2


def _pointed(at: Array, loc: Array, scale: Array, moved: Array, wider: Array, other: Array) -> tuple[Array, Array]:
    """Of Laplace laws: |x - loc| differs by just the distance of the locations, unless x lies between them."""
    off_p, off_q = at - loc, at - other[0]
    same_side = off_p * off_q >= 0
    apart = np.where(same_side, np.where(off_p + off_q > 0, moved, -moved), np.abs(off_p) - np.abs(off_q))
    near, far = apart / other[1] - wider * np.abs(off_p) / scale, np.abs(off_p) / scale - np.abs(off_q) / other[1]
    return -np.abs(off_p) / scale, np.where(np.abs(wider) <= HALF, near, far)


def _logs(v: Array, at: Array) -> tuple[Array, Array]:
    """log(1 + v) and v - log(1 + v), `at` being 1 + v from its own factors; NaN where that is out of range."""
    near, far = h(np.clip(v, -NEAR, NEAR)), np.log(np.where((at >= LEAST) & (at <= MOST), at, np.nan))
    close = np.abs(v) <= NEAR
    return np.where(close, v - near, far), np.where(close, near, v - far)


@dataclass(frozen=True, eq=False)
class CurvePair:
    """The laws of two models and what their log-ratio adds; called with x (n, F), the tables of its rows."""

    p: CurveLaws
    q: CurveLaws
    between: CurveRatio

    def __call__(self, x: Array, with_q: bool) -> tuple[Array, Array | None, Array, bool]:
        return curve_tables(np.ascontiguousarray(x), self.p, self.q, self.between)
