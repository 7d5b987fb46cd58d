"""Coordinates in which a continuous law is smooth with one peak, for integrals over an interval.

Laws on a half-line are taken in log x, beta laws in log x/(1-x), angles unrolled about the mean direction, laws with a
corner at 0 on each side of it in log |x|: there is no singularity left, and the peak is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hidiv.emissions.registry import pair
from hidiv.errors import InvalidEvidence, refuse
from hidiv.types import Array

Function = Callable[[Array], Array]  # any shape in, the same shape out

LEAST, MOST = -690.0, 700.0  # of log x: further out x itself is not a number any more


class Sheet(NamedTuple):
    """One stretch of the sample space for U intervals; the functions take coordinates (U, m)."""

    log_p: Function  # log-density of p by the coordinate, up to a constant all sheets share
    ratio: Function  # log q/p
    low: Array  # (U,) ends; nothing where high <= low
    high: Array
    width: Array  # (U,) high - low, to all its digits
    peak: float  # p rises up to here and falls from here on
    unit: float  # a scale of p
    kinks: tuple[float, ...] = ()  # where p or q bends
    polynomial: bool = False  # log p and log q/p are polynomials between the kinks
    moving: Function | None = None  # log q/p less a constant, where that is known better
    change: Callable[[Array, Array], Array] | None = None  # (y, t): ratio at y + t less ratio at y, where that is


def sheets(p: Any, q: Any, lower: Array, upper: Array) -> list[Sheet]:
    """The stretches that make up [lower, upper] (U,) for two laws of one state and one column."""
    names = {p.name, q.name}
    log_p, ratio = _on_points(p, q)
    if names == {"log_normal"}:
        from hidiv.emissions.families.log_normal import of_log

        return [_line(of_log(p), of_log(q), *_logs(lower, upper))]
    if "generalized_gaussian" in names:
        sides = [(1.0, lower, upper), (-1.0, -upper, -lower)]
        return [_side(p, q, log_p, ratio, sign, *_logs(low, high)) for sign, low, high in sides]
    if names <= {"gaussian", "laplace"}:
        return [_line(p, q, lower, upper, upper - lower)]
    if names <= {"exponential", "gamma"}:
        return [_half_line(p, q, ratio, *_logs(lower, upper))]
    if names == {"von_mises"}:
        return _turns(log_p, ratio, _first(p.mean), _first(p.concentration), lower, upper)
    if names == {"beta"}:
        return [_odds(p, q, ratio, lower, upper)]
    refuse(
        InvalidEvidence, "interval", f"{p.name} and {q.name} laws cannot be compared inside one", remedy="give a value"
    )


def _first(parameter: Any) -> float:
    """The one number a parameter of one state and one column holds."""
    return float(np.ravel(parameter)[0])


def _on_points(p: Any, q: Any) -> tuple[Function, Function]:
    """log p and log q/p as functions of x of any shape."""
    how = pair(p, q)

    def quiet(f: Function) -> Function:
        def each(x: Array) -> Array:
            with np.errstate(all="ignore"):
                return f(x.reshape(-1, 1)).reshape(x.shape)

        return each

    return quiet(lambda x: p.log_density(x)), quiet(lambda x: how.log_ratio(p, q, x))


def _logs(lower: Array, upper: Array) -> tuple[Array, Array, Array]:
    """log of the part above 0, and its length, which short intervals keep from upper - lower."""
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = np.log(np.maximum(lower, 0.0)), np.log(np.maximum(upper, 0.0))
        short = (lower > 0) & (upper - lower < 0.5 * lower)
        width = np.where(short, np.log1p((upper - lower) / lower), np.where(high > low, high - low, 0.0))
    return low, high, width


def _line(p: Any, q: Any, lower: Array, upper: Array, width: Array) -> Sheet:
    """Gaussian and Laplace laws: x itself."""
    log_p, ratio = _on_points(p, q)
    (centre, unit), (other, _) = _centre(p), _centre(q)
    if p.name == q.name == "gaussian":
        return Sheet(*_normal(p, q), lower, upper, width, centre, unit, (), True)
    kinks = tuple(at for law, at in ((p, centre), (q, other)) if law.name == "laplace")
    change = _laplace_change(p, q) if len(kinks) == 2 else None
    return Sheet(log_p, ratio, lower, upper, width, centre, unit, kinks, True, None, change)


def _normal(p: Any, q: Any) -> tuple[Function, Function]:
    """log p up to a constant and log q/p of two normal laws: what `Gaussian` computes, without its tables of states."""
    from hidiv.emissions.families.gaussian import compare_variances

    mean, std = _first(p.mean), _first(p.deviation)
    shift = (mean - _first(q.mean)) / _first(q.deviation)
    excess, log = (_first(v) for v in compare_variances(p, q))
    wider = excess / (1.0 + math.sqrt(1.0 + excess))  # std_p / std_q - 1

    def log_p(x: Array) -> Array:
        return np.asarray(-0.5 * np.square((x - mean) / std))

    def ratio(x: Array) -> Array:
        z = (x - mean) / std
        apart = wider * z + shift  # z_q - z_p
        return np.asarray(0.5 * (log - apart * (2.0 * z + apart)))

    return log_p, ratio


def _laplace_change(p: Any, q: Any) -> Callable[[Array, Array], Array]:
    """|x - loc| moves by the same step in both laws unless x crosses a location: only then is there a difference."""
    from hidiv.emissions.numerics.scales import spread

    loc_p, loc_q, scale_p, scale_q = (_first(v) for v in (p.loc, q.loc, p.scale, q.scale))
    excess = spread(np.asarray(scale_p), np.asarray(scale_q)).excess

    def moved(y: Array, t: Array, loc: float) -> tuple[Array, Array]:
        # |y + t - loc| - |y - loc| = side t + jump: the jump is there only when loc lies in between.
        off = y - loc
        side = np.where(off + t == 0, np.sign(off), np.sign(off + t))
        return side, np.where(side * off < 0, 2.0 * side * off, 0.0)

    def change(y: Array, t: Array) -> Array:
        (side_p, jump_p), (side_q, jump_q) = moved(y, t, loc_p), moved(y, t, loc_q)
        apart = (side_p - side_q) * t + (jump_p - jump_q)
        return np.asarray(apart / scale_q - (side_p * t + jump_p) * excess / scale_p)

    return change


def _centre(law: Any) -> tuple[float, float]:
    """Where a Gaussian or Laplace law peaks, and its scale."""
    if law.name == "laplace":
        return _first(law.loc), _first(law.scale)
    return _first(law.mean), float(law.deviation[0, 0])


def _half_line(p: Any, q: Any, ratio: Function, low: Array, high: Array, width: Array) -> Sheet:
    """x = e^y, in which log p is shape y - rate e^y and a constant."""
    (shape_p, rate_p), (shape_q, rate_q) = ([_first(getattr(f, key, 1.0)) for key in ("shape", "rate")] for f in (p, q))

    def linear(shape: float, rate: float) -> Function:
        return lambda y: np.asarray(shape * y - rate * np.exp(np.minimum(y, MOST)))

    return Sheet(
        linear(shape_p, rate_p), lambda y: ratio(np.exp(np.clip(y, LEAST, MOST))), low, high, width,
        math.log(shape_p) - math.log(rate_p), 1.0, moving=linear(shape_q - shape_p, rate_q - rate_p),
    )  # fmt: skip


def _side(
    p: Any, q: Any, log_p: Function, ratio: Function, sign: float, low: Array, high: Array, width: Array
) -> Sheet:
    """x = sign e^y, for pairs with a generalised Gaussian law."""
    kinks: list[float] = []
    for law in (p, q):
        if law.name == "laplace" and sign * _centre(law)[0] > 0:
            kinks.append(math.log(sign * _centre(law)[0]))
    if p.name == "generalized_gaussian":
        scale, shape = _first(p.scale), _first(p.shape)
        peak = math.log(scale) - math.log(shape) / shape  # where |x| times the density is largest
    else:
        centre, scale = _centre(p)
        centre *= sign
        if p.name == "laplace":
            peak = math.log(max(centre, scale))
        else:  # x^2 - centre x = scale^2, by the root that does not cancel
            root = 0.5 * math.hypot(centre, 2.0 * scale)
            above = math.log(0.5 * abs(centre) + root)
            peak = above if centre >= 0 else 2.0 * math.log(scale) - above
    steepest = max([1.0, *(_first(law.shape) for law in (p, q) if law.name == "generalized_gaussian")])

    def signed(y: Array) -> Array:
        return np.asarray(sign * np.exp(np.clip(y, LEAST, MOST)))

    def density(y: Array) -> Array:
        if p.name != "generalized_gaussian":
            return log_p(signed(y)) + y
        with np.errstate(over="ignore"):
            return np.asarray(y - np.exp(shape * (y - math.log(scale))))

    return Sheet(
        density, lambda y: ratio(signed(y)), low, high, width, peak, 1.0 / steepest, tuple(kinks), False,
        _power_gap(p, q) if p.name == q.name else None,
    )  # fmt: skip


def _power_gap(p: Any, q: Any) -> Function:
    """|x/scale_p|^shape_p - |x/scale_q|^shape_q at |x| = e^y: all of log q/p that depends on x."""
    from hidiv.emissions.numerics.scales import spread

    scale_p, scale_q, shape_p, shape_q = (_first(v) for v in (p.scale, q.scale, p.shape, q.shape))
    scales = spread(np.asarray(scale_p), np.asarray(scale_q)).log

    def each(y: Array) -> Array:
        with np.errstate(all="ignore"):
            z = y - math.log(scale_p)
            power, apart = np.exp(shape_p * z), (shape_q - shape_p) * z + shape_q * scales
            far = power - np.exp(shape_p * z + apart)
            return np.asarray(np.where(np.abs(apart) < 1.0, -power * np.expm1(apart), far))

    return each


def _turns(
    log_p: Function, ratio: Function, mean: float, concentration: float, lower: Array, upper: Array
) -> list[Sheet]:
    """Angles within pi of p's mean direction, turn by turn."""
    free = np.isinf(lower) & np.isinf(upper)
    start = np.where(free, mean - math.pi, lower)
    width = np.where(free, 2.0 * math.pi, upper - lower)
    # The first end is moved into [mean - pi, mean + pi); what lies beyond comes back one turn earlier.
    turn = np.floor((start - mean + math.pi) / (2.0 * math.pi)) * (2.0 * math.pi)
    low = start - turn
    end = low + width
    split = np.minimum(end, mean + math.pi)
    whole = end <= mean + math.pi
    rest = np.where(whole, mean - math.pi, end - 2.0 * math.pi)
    unit = 1.0 / max(1.0, math.sqrt(concentration))
    first = np.full_like(low, mean - math.pi)
    return [
        Sheet(log_p, ratio, low, split, np.where(whole, width, split - low), mean, unit),
        Sheet(log_p, ratio, first, rest, np.maximum(rest - first, 0.0), mean, unit),
    ]


def _odds(p: Any, q: Any, ratio: Function, lower: Array, upper: Array) -> Sheet:
    """x = 1/(1 + e^-y), in which log p is a log x + b log(1-x) and a constant."""
    (a_p, b_p), (a_q, b_q) = ((_first(f.a), _first(f.b)) for f in (p, q))
    # Above 1/2 the laws of 1 - x are read: 1 - x has more digits there.
    _, back = _on_points(type(p)(p.b, p.a), type(q)(q.b, q.a))

    def linear(a: float, b: float) -> Function:
        return lambda y: np.asarray(-a * np.logaddexp(0.0, -y) - b * np.logaddexp(0.0, y))

    def both(y: Array) -> Array:
        x = np.exp(-np.logaddexp(0.0, np.minimum(np.abs(y), -LEAST)))
        return np.where(y <= 0, ratio(x), back(x))

    low, high = np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        y_low, y_high = np.log(low) - np.log1p(-low), np.log(high) - np.log1p(-high)
        short = (low > 0) & (high < 1) & (high - low < 0.5 * np.minimum(low, 1.0 - high))
        width = np.where(short, np.log1p((high - low) / low) + np.log1p((high - low) / (1.0 - high)), y_high - y_low)
    return Sheet(
        linear(a_p, b_p), both, y_low, y_high, width, math.log(a_p) - math.log(b_p), 1.0,
        moving=linear(a_q - a_p, b_q - b_p),
    )  # fmt: skip
