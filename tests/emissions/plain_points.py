"""Points and weights in 50 digits for plain integrals: segments, half-lines, the line, the circle, products."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

from tests.emissions.plain_laws import mp, mpf

STEP = mpf(1) / 16


@cache
def _unit_segment():
    """Double exponential rule on [0, 1]."""
    points = []
    for k in range(-70, 71):
        t = STEP * k
        u = mp.pi / 2 * mp.sinh(t)
        points.append((1 / (1 + mp.exp(-2 * u)), STEP * mp.pi * mp.cosh(t) / (mp.exp(u) + mp.exp(-u)) ** 2))
    return points


@cache
def _half_line():
    """Double exponential rule on y > 0 for functions that fall like e^-y."""
    points = []
    for k in range(-77, 81):
        t = STEP * k
        y = mp.exp(t - mp.exp(-t))
        points.append((y, STEP * y * (1 + mp.exp(-t))))
    return points


def segment(low, high):
    """The integral over [low, high] of a function that is smooth inside."""
    low, high = mpf(low), mpf(high)
    return [(low + (high - low) * u, (high - low) * w) for u, w in _unit_segment()]


def beyond(start, scale, shape=1):
    """The integral over x > start (x < start for a negative scale) of functions falling like exp(-|x/scale|^shape)."""
    start, scale, power = mpf(start), mpf(scale), 1 / mpf(shape)
    return [(start + scale * y**power, abs(scale) * power * y ** (power - 1) * w) for y, w in _half_line()]


def line(centres, scale, shape=1):
    """The integral over the line of functions with kinks at the centres."""
    cuts = sorted({mpf(c) for c in centres})
    inside = [point for low, high in pairwise(cuts) for point in segment(low, high)]
    return beyond(cuts[0], -scale, shape) + inside + beyond(cuts[-1], scale, shape)


def bell(centre, narrow, reach):
    """The integral over the line of smooth functions, no narrower than a normal law of std `narrow`: equal steps."""
    step, centre = mpf(narrow) / 2, mpf(centre)
    last = int(mp.ceil(mpf(reach) / step))
    return [(centre + step * k, step) for k in range(-last, last + 1)]


def circle(size):
    """The integral over one turn of a smooth periodic function: equal steps."""
    step = 2 * mp.pi / size
    return [(step * k, step) for k in range(size)]


def product(*rules):
    """Points (x_1, x_2, ...) of independent columns."""
    points = [((), mpf(1))]
    for rule in rules:
        points = [((*x, y), v * w) for x, v in points for y, w in rule]
    return points


def carried(log_p, points):
    """The law as (x, mass, log-density) at the points, which must carry all of it."""
    terms = [(x, weight, log_p(x)) for x, weight in points]
    terms = [(x, weight * mp.exp(at), at) for x, weight, at in terms if at > -mp.inf]
    assert abs(mp.fsum(mass for _, mass, _ in terms) - 1) < mpf(10) ** -28
    return terms


def plain_divergences(terms, log_q, alphas=()):
    """KL, then the Renyi divergences of a carried law: sums of p log p/q and of p^alpha q^(1-alpha).

    Infinite where q has nothing and p has.
    """
    ratios = [(mass, at - log_q(x)) for x, mass, at in terms]
    kl = mp.fsum(mass * ratio for mass, ratio in ratios)
    shared = [(mass, ratio) for mass, ratio in ratios if ratio < mp.inf]
    orders = [mpf(float(alpha)) - 1 for alpha in alphas]
    return [kl, *(mp.log(mp.fsum(mass * mp.exp(a * ratio) for mass, ratio in shared)) / a for a in orders)]
