"""Expectations over one number or count that a state of p shows, with a proven error.

What is integrated is G(x) = softplus(u + ell(x)) - softplus(u) and T_k of the next log-odds, ell(x) the log-ratio of
q's two states and u their predicted log-odds. Both are functions of t = u + ell(x) alone:

- normal laws: in z = (x - mean)/std, where ell is a quadratic, Gauss-Legendre panels. A rule of m nodes is exact to
  degree 2m - 1 and its weights are positive, so that a function below M on the Bernstein ellipse rho of a panel costs
  at most four times 2 M rho^(1-2m)/(rho-1), per half of its length (Chebyshev truncation). On the ellipse either
  |Im t| <= angle < pi, where |1 + e^t| >= cos(angle/2) (1 + e^Re t), |G| <= |ell|/cos(angle/2) and the next log-odds
  stay within `Filter` bounds; or Re t is so large that e^-t is small, and they are close to those of a sure state.
  Beyond `REACH` standard deviations |G| <= |ell| has closed moments.
- counts: one by one, and beyond the last by the ratio of successive probabilities.

The proof holds in doubles where no square and no ratio of two deviations overflows or is lost: at most `FARTHEST`
deviations of q between the numbers of p and q's means, rates and sizes between `LEAST` and `FARTHEST`. Elsewhere other
methods are asked.

Every allowance is linear in |coefficients| of the series that is integrated.
"""

from __future__ import annotations

from collections.abc import Callable
from math import erfc, exp, inf, log, pi, sqrt
from typing import NamedTuple

import numpy as np

from hidiv.divergences.observed.certified.log_odds.chebyshev import ellipse_parameter
from hidiv.divergences.observed.interval import UNIT, NotApplicable
from hidiv.divergences.observed.quadrature.panels import tail_points
from hidiv.emissions.families.gaussian import Gaussian
from hidiv.emissions.families.geometric import Geometric
from hidiv.emissions.families.negative_binomial import NegativeBinomial
from hidiv.emissions.families.poisson import Poisson
from hidiv.emissions.family import Family
from hidiv.emissions.numerics.adaptive_integrals import unit_rule
from hidiv.emissions.parameters import wide
from hidiv.types import Array

NODES = 16  # of a panel: numpy's weights are then right to 7e-15
WEIGHT, NODE = 1e-14, 2e-16  # relative error of the weights of a rule, and that of its nodes in half-lengths of a panel
REACH = 10.0  # standard deviations that are integrated over
MOST = 4096  # points of one state
PANEL = 1e-15  # error of a panel at which it is not halved
STEEPEST = 0.9 * pi  # angles of a panel
SERIES = 400  # coefficients that allowances are known for
FARTHEST, LEAST = 1e9, 1e-100  # of standardised distances, rates and sizes; of rates, sizes and ratios of deviations
LOGS = 64.0  # units of the logarithm of a probability and of its count that a family may be off by
Count = Poisson | NegativeBinomial | Geometric
Quadratic = Callable[[Array], tuple[Array, Array, Array]]  # a log-ratio, its slope, and its rounding
_RHOS = (1.5, 2.0, 2.7, 3.6, 5.0, 8.0)


class Turn(NamedTuple):
    """How q's filter goes on: its transitions (2, 2) > 0, and the log-odds that it is asked at."""

    move: Array
    lower: float
    upper: float

    @property
    def ends(self) -> tuple[float, float]:
        """The log-odds after a state that is known: all that follow lie between."""
        low, high = np.sort(np.log(self.move[:, 0]) - np.log(self.move[:, 1]))
        return float(low), float(high)

    @property
    def steepness(self) -> float:
        """The largest slope of the next log-odds."""
        one, other = (sqrt(a * b) for a, b in zip(self.move[0], self.move[1][::-1], strict=True))
        return abs(one - other) / (one + other) + 1e-9

    def ahead(self, t: Array) -> Array:
        """Next log-odds, right to 16 units and twice their own size: only e^-|t| <= 1 is ever formed."""
        faint = np.exp(-np.abs(t))
        (a, b), (c, d) = self.move
        sure, other = (a + c * faint) / (b + d * faint), (a * faint + c) / (b * faint + d)
        return np.asarray(np.log(np.where(t > 0, sure, other)))


class Rule(NamedTuple):
    """E f = sum of weight f at the log-ratios `ratio`, both (J,), with bounds on its errors for one state of p.

    `cost`: the whole error of E G. That of E V, V a series: sum |c_k| spread_k + slope times the error of V. `size`
    bounds E |ell|.
    """

    weight: Array
    ratio: Array
    cost: float
    spread: Array  # (SERIES,)
    slope: float
    size: float


def gain(u: Array, ratio: Array) -> Array:
    """softplus(u + ratio) - softplus(u), between 0 and the ratio; also at infinite u."""
    with np.errstate(invalid="ignore"):
        t = u + ratio
        above = ratio + (_soft(-t) - _soft(-u))
        below = _soft(t) - _soft(u)
    return np.where(u > 0, above, below)


def _soft(t: Array) -> Array:
    return np.logaddexp(0.0, t)


def has_rule(p: Family, q: Family) -> bool:
    """Whether both show normal numbers, or counts whose tails are known."""
    return any(isinstance(p, kind) and isinstance(q, kind) for kind in (Gaussian, Count))


def rule(p: Family, s: int, q: Family, nearest: int, turn: Turn, half: float) -> Rule:
    """The rule of state s of p; ratios are of q's states against `nearest`, +1 for state 0, in the direction of `turn`.

    `half`: the half-length of the interval of log-odds, in which series are.
    """
    if isinstance(p, Gaussian) and isinstance(q, Gaussian):
        return _normal(p, s, q, nearest, turn, half)
    if isinstance(p, Count) and isinstance(q, Count):
        return _counts(p, s, q, nearest, turn)
    raise NotApplicable(f"{p.name} and {q.name} observations have no proven quadrature")


def _finished(
    weight: Array, ratio: Array, turn: Turn, off: tuple[Array, Array], missed: tuple[float, Array], size: float
) -> Rule:
    """A rule with its rounding; `off`: relative errors of the weights and absolute ones of the ratios (J,)."""
    off = off[0] + UNIT * (len(weight) + 16.0), off[1]
    largest = np.maximum(*(np.abs(gain(np.array(u), ratio)) for u in (turn.lower, turn.upper)))
    far = max(abs(u) for u in (turn.lower, turn.upper) if np.isfinite(u))
    rising = 1.0 / (1.0 + np.exp(-np.clip(ratio + min(turn.upper, 700.0), -700.0, 700.0)))
    logs = 16.0 * UNIT * (1.0 + far + largest)
    cost = float(weight @ (largest * off[0] + rising * off[1] + logs)) * 1.01 + missed[0]
    spread = missed[1] + float(weight @ off[0]) * 1.01
    return Rule(weight, ratio, cost, spread, float(weight @ off[1]) * 1.01, size)


def _normal(p: Gaussian, s: int, q: Gaussian, nearest: int, turn: Turn, half: float) -> Rule:
    mean, std = float(wide(p.mean)[s, 0]), float(p.deviation[s, 0])
    other = 1 - nearest
    means, stds = ([float(table[r, 0]) for r in (nearest, other)] for table in (wide(q.mean), q.deviation))
    shift, scale = [(mean - m) / d for m, d in zip(means, stds, strict=True)], [std / d for d in stds]
    far = max(abs(a) + REACH * b for a, b in zip(shift, scale, strict=True))
    if not (far <= FARTHEST and LEAST <= stds[0] / stds[1] <= 1.0 / LEAST):
        raise NotApplicable("the means or deviations of p and q are too unlike for a proven quadrature in doubles")
    constant = log(stds[0] / stds[1])

    def ell(z: Array) -> tuple[Array, Array, Array]:
        one, two = (a + b * z for a, b in zip(shift, scale, strict=True))
        ratio = 0.5 * (one * one - two * two) + constant
        # Rounding of a + b z is that of its terms, which may cancel.
        sizes = [abs(a) + b * np.abs(z) for a, b in zip(shift, scale, strict=True)]
        terms = np.abs(one) * sizes[0] + np.abs(two) * sizes[1]
        return ratio, scale[0] * one - scale[1] * two, 8.0 * UNIT * (terms + abs(constant) + 1.0)

    quadratic = 0.5 * (scale[0] ** 2 - scale[1] ** 2)
    left, size, (cost, spread) = _panels(ell, quadratic, turn, half)
    nodes, weights = unit_rule(NODES)
    z = (left[:, None] + size[:, None] * nodes).ravel()
    weight = (size[:, None] * weights).ravel() * np.exp(-0.5 * z * z) / sqrt(2.0 * pi)
    ratio, slope, rounded = ell(z)
    moved = NODE * np.repeat(size, NODES) + 4.0 * UNIT * (1.0 + np.abs(z))
    off = WEIGHT + 4.0 * UNIT * (1.0 + z * z) + moved * (np.abs(z) + moved), rounded + 2.0 * np.abs(slope) * moved
    at_zero, steep, _ = (float(part) for part in ell(np.array(0.0)))
    density, rest = exp(-0.5 * REACH**2) / sqrt(2.0 * pi), 0.5 * erfc(REACH / sqrt(2.0))
    beyond = abs(quadratic) * (REACH * density + rest) + abs(steep) * density + abs(at_zero) * rest
    missed = cost + 2.02 * beyond, spread + 2.02 * rest
    size_of = 1.01 * (abs(quadratic) + abs(steep) + abs(at_zero))
    return _finished(weight, ratio, turn, off, missed, size_of)


def _panels(ell: Quadratic, quadratic: float, turn: Turn, half: float) -> tuple[Array, Array, tuple[float, Array]]:
    """Left ends and lengths of panels of [-REACH, REACH], and what they miss of E G and of E T_k, (SERIES,)."""
    edges = np.linspace(-REACH, REACH, 21)
    left, size = edges[:-1], np.diff(edges)
    done: list[tuple[Array, ...]] = []
    for _ in range(40):
        factor, cost, reach, judged = _errors(ell, quadratic, turn, half, left, size)
        again = judged > PANEL
        done.append(tuple(part[~again] for part in (left, size, factor, cost, reach)))
        if not again.any():
            break
        left, size = left[again], 0.5 * size[again]
        left, size = np.concatenate([left, left + size]), np.concatenate([size, size])
        if NODES * (len(left) + sum(len(part[0]) for part in done)) > MOST:
            raise NotApplicable("the observations need too many points")
    else:
        raise NotApplicable("the log-ratio of q's states is too steep to be integrated")
    left, size, factor, cost, reach = (np.concatenate(parts) for parts in zip(*done, strict=True))
    with np.errstate(over="ignore"):
        spread = (factor[:, None] * reach[:, None] ** np.arange(SERIES)).sum(axis=0) * (1.0 + 1e-9)
    return left, size, (float(factor @ cost) * (1.0 + 1e-9), spread)


def _errors(ell: Quadratic, quadratic: float, turn: Turn, half: float, left: Array, size: Array) -> tuple[Array, ...]:
    """For every panel, by the best of several ellipses: what M = 1 misses, |G|, the reach of series, and a verdict."""
    low, high = turn.ends
    middle = 0.5 * (low + high)
    kept = ellipse_parameter(1.0, 0.95 * pi / half)  # a series falls off as its powers, down to rounding
    noisy = min(float(SERIES), 16.0 + 45.0 / log(kept))
    results = []
    for rho in _RHOS:
        along, across = (0.25 * size * (rho + sign / rho) * (1.0 + 1e-12) for sign in (1.0, -1.0))
        centre = left + 0.5 * size
        first, last = centre - along, centre + along
        inner = np.where((first < 0) & (last > 0), 0.0, np.minimum(np.abs(first), np.abs(last)))
        with np.errstate(over="ignore"):
            density = np.exp(0.5 * (across**2 - inner**2)) / sqrt(2.0 * pi)
        factor = density * 0.5 * size * 8.0 * rho ** (1.0 - 2.0 * NODES) / (rho - 1.0) * 1.01
        # ell over the rectangle [first, last] x [-across, across]: a quadratic, extreme at its ends or its vertex.
        (at_first, slope_first, e1), (at_last, slope_last, e2) = ell(first), ell(last)
        least, most = np.minimum(at_first, at_last), np.maximum(at_first, at_last)
        bow = abs(quadratic) * ((along + along) ** 2 / 4.0 + across**2) * (1.0 + 1e-9) + e1 + e2
        least, most = least - bow, most + bow
        angle = across * np.maximum(np.abs(slope_first), np.abs(slope_last)) * (1.0 + 1e-9) + 1e-300
        modulus = np.hypot(np.maximum(np.abs(least), np.abs(most)), angle)
        # Within the strip.
        cosine = np.cos(0.5 * np.minimum(angle, STEEPEST)) * (1.0 - 1e-9)
        steep = turn.steepness * angle / cosine**2
        out = np.minimum(-np.log(cosine), steep)
        inside = modulus / cosine, _reach(low - out, high + out, np.minimum(angle, steep), middle, half)
        # Far from where the states are as likely.
        (a, b), (c, d) = turn.move
        aways = []
        for near, times in ((least + turn.lower, (c / a, d / b)), (-most - turn.upper, (a / c, b / d))):
            faint = np.exp(-np.clip(near, -300.0, 300.0)) * (1.0 + 1e-9)
            sure = faint * max(1.0, *times) <= 0.5
            off = np.minimum(2.0 * faint * sum(times), 1e100)  # not used where it is so large
            gained = modulus + 2.0 * (max(abs(turn.lower), abs(turn.upper)) + 2.0)
            aways.append((sure, gained, _reach(low - off, high + off, off, middle, half)))
        for good, cost, reach in ((angle <= STEEPEST, *inside), *aways):
            with np.errstate(over="ignore"):
                series = 1.0 / (1.0 - np.minimum(reach / kept, 0.999)) + UNIT * reach**noisy
                judged = np.where(good & (reach < 0.999 * kept), factor * (cost + series), inf)
            results.append((factor, cost, reach, np.where(np.isfinite(judged), judged, inf)))
    table = [np.stack(parts) for parts in zip(*results, strict=True)]
    best = table[3].argmin(axis=0)
    return tuple(np.take_along_axis(part, best[None], axis=0)[0] for part in table)


def _reach(low: Array, high: Array, height: Array, middle: float, half: float) -> Array:
    """rho of the ellipse around a rectangle of log-odds."""
    far = np.maximum(np.abs(low - middle), np.abs(high - middle)) / half * (1.0 + 1e-9)
    tall = height / half
    axis = np.maximum(1.0, 0.5 * (np.hypot(far - 1.0, tall) + np.hypot(far + 1.0, tall)))
    return np.asarray((axis + np.sqrt(axis * axis - 1.0)) * (1.0 + 1e-12))


def _counts(p: Count, s: int, q: Count, nearest: int, turn: Turn) -> Rule:
    for family in (p, q):
        if family.shift.any() or not all(_step(family, r, inf) > 0 for r in range(family.n_states)):
            raise NotApplicable("counts that start at a shift, or are sure, have no proven tail")
        if not all(LEAST <= number <= FARTHEST for number in _numbers(family)):
            raise NotApplicable("rates or sizes are too extreme for a proven sum in doubles")
    one = p.take([s])
    last = np.ceil(tail_points(one)[1].max())
    while True:
        if not last < MOST:
            raise NotApplicable("the counts need too many points")
        x = np.arange(last + 2.0)[:, None]
        logs, both = one.log_weight(x)[:, 0], q.log_weight(x)
        ratio = both[:, 1 - nearest] - both[:, nearest]
        shrinks = _step(one, 0, last + 1.0)
        if not isinstance(one, Poisson):
            shrinks = max(shrinks, _step(one, 0, inf))
        rest = exp(logs[-1]) / (1.0 - shrinks) * 1.01 if shrinks < 1.0 else inf
        # Beyond the last count ell changes by at most `slope` a step, and E[(x - last) ; x > last] is geometric.
        slope = max(abs(log(_step(q, 1 - nearest, at) / _step(q, nearest, at))) for at in (last, inf)) * (1.0 + 1e-9)
        beyond = rest * (abs(ratio[-2]) + slope / (1.0 - shrinks)) * 1.01 if rest < inf else inf
        if max(rest, beyond) < PANEL:
            break
        last = np.ceil(1.25 * last + 1.0)
    weight, ratio, logs, x = np.exp(logs[:-1]), ratio[:-1], logs[:-1], x[:-1, 0]
    size = 1.01 * float(weight @ np.abs(ratio)) + beyond
    off = LOGS * UNIT * (1.0 + np.abs(logs) + x), LOGS * UNIT * (1.0 + np.abs(both[:-1]).sum(axis=1) + x)
    return _finished(weight, ratio, turn, off, (beyond, np.full(SERIES, rest)), size)


def _numbers(family: Count) -> list[float]:
    """Rates or sizes, and the chances of going on."""
    if isinstance(family, Poisson):
        return [float(rate) for rate in np.ravel(family.rate)]
    sizes = [] if isinstance(family, Geometric) else [float(size) for size in np.ravel(family.size)]
    return sizes + [float(prob) for prob in np.ravel(family.prob)]


def _step(family: Count, s: int, x: float) -> float:
    """P(x + 1)/P(x), monotone in x; at infinity its limit, for Poisson laws up to the factor that all of them share."""
    if isinstance(family, Poisson):
        return float(wide(family.rate)[s, 0]) / (x + 1.0 if x < inf else 1.0)
    fails = 1.0 - float(wide(family.prob)[s, 0])
    if isinstance(family, Geometric) or x == inf:
        return fails
    return fails * (x + float(wide(family.size)[s, 0])) / (x + 1.0)
