"""Coordinates in which a continuous law is smooth with one peak, for integrals over an interval.

Laws on a half-line are taken in log x, beta laws in log x/(1-x), angles unrolled about the mean direction, laws with a
corner at 0 on each side of it in log |x|: there is no singularity left, and the peak is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hidiv.emissions.numerics.adaptive_integrals import peak
from hidiv.emissions.numerics.scales import compare_scales
from hidiv.emissions.registry import pair
from hidiv.emissions.sample_space import Kind
from hidiv.errors import InvalidEvidence, refuse
from hidiv.types import Array

Function = Callable[[Array], Array]  # any shape in, the same shape out

Ends = tuple[Array, Array, Array]  # (U,) lower and upper ends of intervals, and their widths to all digits

LEAST, MOST = -690.0, 700.0  # of log x: further out x itself is not a number any more
DRAWS = 256  # of a law whose peak is not known: they show where it is


class Stretch(NamedTuple):
    """One stretch of the sample space for U intervals; the functions take coordinates (U, m)."""

    log_p: Function  # log-density of p by the coordinate, up to a constant all stretches share
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


class Normal(NamedTuple):
    """Mean and standard deviation of one normal law."""

    mean: float
    std: float


class Rising(NamedTuple):
    """Shape and rate of one gamma law."""

    shape: float
    rate: float


class Exponents(NamedTuple):
    """Exponents of x and of 1 - x in one beta law, plus one."""

    a: float
    b: float


def stretches(p: Any, q: Any, lower: Array, upper: Array) -> list[Stretch]:
    """The stretches that make up [lower, upper] (U,) for two laws of one state and one column."""
    how = pair(p, q)
    if how.stretches is not None:
        return list(how.stretches(p, q, lower, upper))
    kinds = {law.space.kind for law in (p, q)}
    if kinds == {Kind.LINE}:
        return [_searched(p, q, lambda y: (y, np.zeros_like(y)), lambda x: x, lower, upper, upper - lower)]
    if kinds == {Kind.POSITIVE}:
        return [_searched(p, q, _from_log, np.log, *logs(lower, upper))]
    if kinds == {Kind.UNIT}:
        return [_searched(p, q, _from_log_odds, lambda x: np.log(x) - np.log1p(-x), *log_odds(lower, upper))]
    refuse(
        InvalidEvidence, "interval", f"{p.name} and {q.name} laws cannot be compared inside one", remedy="give a value"
    )


# Any law with one peak in the coordinate that goes with its sample space.


def _from_log(y: Array) -> tuple[Array, Array]:
    """x and log dx/dy of y = log x."""
    y = np.clip(y, LEAST, MOST)
    return np.exp(y), y


def _from_log_odds(y: Array) -> tuple[Array, Array]:
    """x and log dx/dy of y = log x/(1-x)."""
    y = np.clip(y, LEAST, -LEAST)
    return np.exp(-np.logaddexp(0.0, -y)), -np.logaddexp(0.0, -y) - np.logaddexp(0.0, y)


def _searched(
    p: Any, q: Any, outward: Callable[[Array], tuple[Array, Array]], inward: Function, low: Array, high: Array,
    width: Array,
) -> Stretch:  # fmt: skip
    """x = outward(y): peak and scale of p are found among draws."""
    at_x, ratio_at_x = on_points(p, q)

    def log_p(y: Array) -> Array:
        x, slope = outward(y)
        return at_x(x) + slope

    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = inward(p.draw(np.zeros(DRAWS, dtype=np.int64), np.random.default_rng(0))[:, 0])
        drawn = np.unique(drawn[np.isfinite(drawn)])
        bends = inward(np.concatenate([np.ravel(law.kinks()) for law in (p, q)]))
    unit = float(np.subtract(*np.quantile(drawn, (0.84, 0.16)))) / 2.0 if drawn.size > 1 else 0.0
    top = peak(log_p, drawn).at if drawn.size > 1 else float(drawn[0])
    kinks = tuple(float(bend) for bend in bends if np.isfinite(bend))
    return Stretch(log_p, lambda y: ratio_at_x(outward(y)[0]), low, high, width, top, max(unit, 1e-300), kinks)


# Coordinates that families register because they know more.


def first(parameter: Any) -> float:
    """The one number a parameter of one state and one column holds."""
    return float(np.ravel(parameter)[0])


def on_points(p: Any, q: Any) -> tuple[Function, Function]:
    """log p and log q/p as functions of x of any shape."""
    how = pair(p, q)

    def quiet(f: Function) -> Function:
        def each(x: Array) -> Array:
            with np.errstate(all="ignore"):
                return f(x.reshape(-1, 1)).reshape(x.shape)

        return each

    return quiet(lambda x: p.log_density(x)), quiet(lambda x: how.log_ratio(p, q, x))


def logs(lower: Array, upper: Array) -> Ends:
    """log of the part above 0, and its length, which short intervals keep from upper - lower."""
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = np.log(np.maximum(lower, 0.0)), np.log(np.maximum(upper, 0.0))
        short = (lower > 0) & (upper - lower < 0.5 * lower)
        width = np.where(short, np.log1p((upper - lower) / lower), np.where(high > low, high - low, 0.0))
    return low, high, width


def normal_line(p: Normal, q: Normal, excess: float, log: float, ends: Ends) -> Stretch:
    """Two normal laws in x itself; excess and log of var_p/var_q, which are known better than by division."""
    shift = (p.mean - q.mean) / q.std
    wider = excess / (1.0 + math.sqrt(1.0 + excess))  # std_p / std_q - 1

    def log_p(x: Array) -> Array:
        return np.asarray(-0.5 * np.square((x - p.mean) / p.std))

    def ratio(x: Array) -> Array:
        z = (x - p.mean) / p.std
        apart = wider * z + shift  # z_q - z_p
        return np.asarray(0.5 * (log - apart * (2.0 * z + apart)))

    return Stretch(log_p, ratio, *ends, p.mean, p.std, (), True)


def power_line(p: Any, q: Any, located_p: Any, located_q: Any, lower: Array, upper: Array) -> list[Stretch]:
    """Laplace and Gaussian laws in x itself, seen as exponential power laws of shape 1 and 2."""
    log_p, ratio = on_points(p, q)
    laws = located_p(p), located_q(q)
    kinks = tuple(first(law.loc) for law in laws if first(law.shape) == 1.0)
    unit = first(laws[0].scale) / math.sqrt(first(laws[0].shape))  # the standard deviation of a normal law
    change = _laplace_change(*laws) if len(kinks) == 2 else None
    top = first(laws[0].loc)
    return [Stretch(log_p, ratio, lower, upper, upper - lower, top, unit, kinks, True, None, change)]


def _laplace_change(p: Any, q: Any) -> Callable[[Array, Array], Array]:
    """|x - loc| moves by the same step in both laws unless x crosses a location: only then is there a difference."""
    loc_p, loc_q, scale_p, scale_q = (first(v) for v in (p.loc, q.loc, p.scale, q.scale))
    excess = compare_scales(np.asarray(scale_p), np.asarray(scale_q)).excess

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


def half_line(p: Rising, q: Rising, ratio: Function, lower: Array, upper: Array) -> Stretch:
    """x = e^y, in which log p is shape y - rate e^y and a constant."""

    def linear(shape: float, rate: float) -> Function:
        return lambda y: np.asarray(shape * y - rate * np.exp(np.minimum(y, MOST)))

    return Stretch(
        linear(*p), lambda y: ratio(np.exp(np.clip(y, LEAST, MOST))), *logs(lower, upper),
        math.log(p.shape) - math.log(p.rate), 1.0, moving=linear(q.shape - p.shape, q.rate - p.rate),
    )  # fmt: skip


def power_sides(p: Any, q: Any, located_p: Any, located_q: Any, lower: Array, upper: Array) -> list[Stretch]:
    """Exponential power laws, one of them with a corner at 0: x = e^y and x = -e^y."""
    log_p, ratio = on_points(p, q)
    laws = located_p(p), located_q(q)
    sides = [(1.0, lower, upper), (-1.0, -upper, -lower)]
    return [_side(*laws, log_p, ratio, sign, logs(low, high)) for sign, low, high in sides]


def _side(p: Any, q: Any, log_p: Function, ratio: Function, sign: float, ends: Ends) -> Stretch:
    """x = sign e^y."""
    centre, scale, shape = (first(v) for v in p)
    # A Laplace law bends at its location, which 0 already divides.
    bends = [sign * first(law.loc) for law in (p, q) if first(law.shape) == 1.0]
    kinks = tuple(math.log(bend) for bend in bends if bend > 0)
    at_zero = [first(law.loc) == 0.0 for law in (p, q)]
    steepest = max([1.0, *(first(law.shape) for law, zero in zip((p, q), at_zero, strict=True) if zero)])

    def signed(y: Array) -> Array:
        return np.asarray(sign * np.exp(np.clip(y, LEAST, MOST)))

    def density(y: Array) -> Array:
        if not at_zero[0]:
            return log_p(signed(y)) + y
        with np.errstate(over="ignore"):
            return np.asarray(y - np.exp(shape * (y - math.log(scale))))

    return Stretch(
        density, lambda y: ratio(signed(y)), *ends, _side_peak(sign * centre, scale, shape), 1.0 / steepest, kinks,
        False, _power_gap(p, q) if all(at_zero) else None,
    )  # fmt: skip


def _side_peak(centre: float, scale: float, shape: float) -> float:
    """log of the |x| where |x| times the density is largest; off 0 the shape is 1 or 2."""
    if centre == 0.0:
        return math.log(scale) - math.log(shape) / shape
    if shape == 1.0:
        return math.log(max(centre, scale))
    std = scale / math.sqrt(2.0)
    root = 0.5 * math.hypot(centre, 2.0 * std)  # x^2 - centre x = std^2, by the root that does not cancel
    above = math.log(0.5 * abs(centre) + root)
    return above if centre >= 0 else 2.0 * math.log(std) - above


def _power_gap(p: Any, q: Any) -> Function:
    """|x/scale_p|^shape_p - |x/scale_q|^shape_q at |x| = e^y: all of log q/p that depends on x."""
    scale_p, scale_q, shape_p, shape_q = (first(v) for v in (p.scale, q.scale, p.shape, q.shape))
    scales = compare_scales(np.asarray(scale_p), np.asarray(scale_q)).log

    def each(y: Array) -> Array:
        with np.errstate(all="ignore"):
            z = y - math.log(scale_p)
            power, apart = np.exp(shape_p * z), (shape_q - shape_p) * z + shape_q * scales
            far = power - np.exp(shape_p * z + apart)
            return np.asarray(np.where(np.abs(apart) < 1.0, -power * np.expm1(apart), far))

    return each


def turns(
    log_p: Function, ratio: Function, mean: float, concentration: float, lower: Array, upper: Array
) -> list[Stretch]:
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
        Stretch(log_p, ratio, low, split, np.where(whole, width, split - low), mean, unit),
        Stretch(log_p, ratio, first, rest, np.maximum(rest - first, 0.0), mean, unit),
    ]


def odds(p: Exponents, q: Exponents, ratio: Function, mirrored: Function, lower: Array, upper: Array) -> Stretch:
    """x = 1/(1 + e^-y), in which log p is a log x + b log(1-x) and a constant.

    `mirrored` is log q/p of 1 - x, which has more digits above 1/2.
    """

    def linear(a: float, b: float) -> Function:
        return lambda y: np.asarray(-a * np.logaddexp(0.0, -y) - b * np.logaddexp(0.0, y))

    def both(y: Array) -> Array:
        x = np.exp(-np.logaddexp(0.0, np.minimum(np.abs(y), -LEAST)))
        return np.where(y <= 0, ratio(x), mirrored(x))

    return Stretch(
        linear(*p), both, *log_odds(lower, upper), math.log(p.a) - math.log(p.b), 1.0,
        moving=linear(q.a - p.a, q.b - p.b),
    )  # fmt: skip


def log_odds(lower: Array, upper: Array) -> Ends:
    """log x/(1-x) of the part in [0, 1], and its length, which short intervals keep from upper - lower."""
    low, high = np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        y_low, y_high = np.log(low) - np.log1p(-low), np.log(high) - np.log1p(-high)
        short = (low > 0) & (high < 1) & (high - low < 0.5 * np.minimum(low, 1.0 - high))
        width = np.where(short, np.log1p((high - low) / low) + np.log1p((high - low) / (1.0 - high)), y_high - y_low)
    return y_low, y_high, width
