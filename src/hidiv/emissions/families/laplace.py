"""Two-sided exponential laws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from hidiv.emissions.families.gaussian import Gaussian
from hidiv.emissions.family import Family, check_between, ratio_of_rows
from hidiv.emissions.gradients import location_slopes
from hidiv.emissions.numerics.adaptive_integrals import unit_rule
from hidiv.emissions.numerics.exponential_power import Located, power_pair
from hidiv.emissions.numerics.scales import compare_scales, scale_kl, scale_renyi
from hidiv.emissions.parameters import positive, reading, same_shape, wide
from hidiv.emissions.registry import FamilyPair, no_gaps, register
from hidiv.emissions.sample_space import LINE, SampleSpace
from hidiv.emissions.weighted import Weighted, kept, log_size
from hidiv.errors import IncompatibleModels, refuse
from hidiv.recursions.curve_rows import POINTED, CurveLaws, CurvePair
from hidiv.recursions.terms import phi
from hidiv.types import Array, Flags, IntArray

LOG_TWO = float(np.log(2.0))


@dataclass(frozen=True, eq=False)
class Laplace(Family):
    """Two-sided exponential laws.

    Parameters
    ----------
    loc : array_like
        The median, (K,), or (K, F) for F independent columns.
    scale : array_like
        The mean distance from `loc`, above 0, in the shape of `loc`.

    Raises
    ------
    InvalidModel
        If a parameter has not that shape or range; the message names the entry.

    Notes
    -----
    The density is exp(-|x - loc| / scale) / (2 scale): e_s(x) of definitions (1.1). Compares with Gaussian and
    GeneralizedGaussian.

    Examples
    --------
    >>> float(Laplace([0.0], [1.0]).kl(Laplace([1.0], [1.0]))[0])
    0.36787944117144233
    """

    name: ClassVar[str] = "laplace"
    laws_independent: ClassVar[bool] = True
    start: ClassVar[dict[str, float]] = {"loc": 0.0, "scale": 1.0}
    loc: Array  # (K,) or (K, F)
    scale: Array

    def __init__(self, loc: ArrayLike, scale: ArrayLike) -> None:
        object.__setattr__(self, "loc", reading("loc", loc, (1, 2)))
        object.__setattr__(self, "scale", positive("scale", scale))
        same_shape("scale", self.loc, self.scale)

    def parameters(self) -> dict[str, Array]:
        return {"loc": self.loc, "scale": self.scale}

    @property
    def space(self) -> SampleSpace:
        return LINE

    def heap_coordinates(self, x: Array, fixed: frozenset[str] = frozenset()) -> Array:
        return log_size(x - self.loc[0]) if "loc" in fixed else x

    def is_narrow(self, least: Array) -> Flags:
        return np.asarray((wide(self.scale) <= 1.001 * least).any(axis=1))

    def kinks(self) -> Array:
        return wide(self.loc)[:, :1]

    def moved(self, by: float) -> Self:
        return type(self)(self.loc - by, self.scale)

    def check(self, x: Array) -> None:
        check_between(x, self.name, -np.inf)

    def log_density(self, x: Array) -> Array:
        loc, scale = wide(self.loc), wide(self.scale)
        return np.asarray(-np.abs(x[:, None, :] - loc) / scale - LOG_TWO - np.log(scale))

    @cached_property
    def curve_laws(self) -> CurveLaws:
        loc, scale = wide(self.loc), wide(self.scale)
        return POINTED, np.stack([loc, scale], axis=2), -(LOG_TWO + np.log(scale)).sum(axis=1)

    def log_mass(self, lower: Array, upper: Array) -> Array:
        lower, upper, loc, scale = lower[:, None, :], upper[:, None, :], wide(self.loc), wide(self.scale)
        with np.errstate(invalid="ignore", over="ignore", divide="ignore", under="ignore"):
            low, high, width = (lower - loc) / scale, (upper - loc) / scale, (upper - lower) / scale
            one_side = -np.where(low >= 0, low, -high) - LOG_TWO + np.log(-np.expm1(-width))
            inside = -0.5 * (np.expm1(low) + np.expm1(-high))
            across = np.where(inside < 0.5, np.log(inside), np.log1p(-0.5 * (np.exp(low) + np.exp(-high))))
            value = np.where((low >= 0) | (high <= 0), one_side, across)
        return np.where(upper > lower, value, -np.inf)

    def draw(self, states: IntArray, rng: np.random.Generator) -> Array:
        return np.asarray(rng.laplace(wide(self.loc)[states], wide(self.scale)[states]))

    def ranges(self) -> dict[str, str]:
        return {"loc": "real", "scale": "length"}

    def estimate(self, known: Weighted) -> Self:
        """The weighted median, and the mean distance from it."""
        loc = np.array(wide(self.loc))
        for column in range(loc.shape[1]):
            order = np.argsort(known.values[:, column], kind="stable")
            order = order[known.seen[order, column]]
            below = np.cumsum(known.weight[order], axis=0)
            for s in range(len(loc)):
                if order.size and below[-1, s] > 0:
                    at = int(np.searchsorted(below[:, s], 0.5 * below[-1, s]))
                    loc[s, column] = known.x[order[min(at, order.size - 1)], column]
        apart = known.mean_of(np.abs(np.where(known.seen, known.x, 0.0)[:, None, :] - loc))
        scale = np.maximum(apart, np.minimum(known.smallest, wide(self.scale)))
        return type(self)(kept(loc, self.loc, known.mass), kept(scale, self.scale, known.mass))

    def log_slopes(self, x: Array) -> dict[str, Array]:
        loc, scale = wide(self.loc), wide(self.scale)
        z = (x[:, None, :] - loc) / scale
        return {"loc": np.sign(z) / scale, "scale": (np.abs(z) - 1.0) / scale}

    def mass_slopes(self, lower: Array, upper: Array) -> dict[str, Array]:
        loc, scale = location_slopes(self, lower, upper, wide(self.loc), wide(self.scale))
        return {"loc": loc, "scale": scale}

    def statistics(self) -> None:
        return None

    def powered(self, exponent: float) -> tuple[Self, Array]:
        log_norm = (1.0 - exponent) * np.log(2.0 * wide(self.scale)) - np.log(exponent)
        return type(self)(self.loc, self.scale / exponent), log_norm.sum(axis=1)


def kl(p: Laplace, q: Laplace) -> Array:
    """rho (e^-u - 1 + u) + [rho - 1 - log rho], rho = scale_p/scale_q, u the distance over scale_p."""
    ratio = compare_scales(wide(p.scale), wide(q.scale))
    distance = np.abs(wide(p.loc) - wide(q.loc))
    with np.errstate(over="ignore", invalid="ignore"):
        u, rho = distance / wide(p.scale), 1.0 + ratio.excess
        apart = np.where(u < 1.0, rho * phi(-u), distance / wide(q.scale) + rho * np.expm1(-u))
    return np.asarray((scale_kl(ratio) + apart).sum(axis=1))


def renyi(p: Laplace, q: Laplace, alpha: float) -> Array:
    """Z = Z_0 (1 - W), Z_0 that of equal locations; W = x y g(x, y), x = (1-alpha) d/scale_q, y = alpha d/scale_p.

    d is the distance of the locations. Infinite where alpha/scale_p + (1-alpha)/scale_q <= 0.
    """
    distance = np.abs(wide(p.loc) - wide(q.loc))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        x, y = (1.0 - alpha) * distance / wide(q.scale), alpha * distance / wide(p.scale)
        scales = scale_renyi(compare_scales(wide(p.scale), wide(q.scale)), alpha)
        apart = np.where(np.isinf(scales), 0.0, _log_one_minus_w(np.minimum(x, y), np.maximum(x, y)) / (alpha - 1.0))
    return np.asarray((scales + apart).sum(axis=1) + 0.0)


def _log_one_minus_w(x: Array, y: Array) -> Array:
    """log[(y e^-x - x e^-y) / (y - x)] for x <= y, x + y > 0; relatively accurate near 0."""
    gap = y - x
    far = np.log1p(x * decay(gap)) - x
    near = np.log1p(-x * y * _divided(np.where(np.abs(x) < 1.0, x, 0.0), gap))
    return np.where(np.abs(x) < 1.0, np.where(x == 0.0, 0.0, near), far)


def decay(t: Array) -> Array:
    """(1 - e^-t)/t, one at 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(t == 0.0, 1.0, -np.expm1(-t) / t)


def _divided(x: Array, gap: Array) -> Array:
    """[decay(x) - decay(x + gap)] / gap > 0: by its integral over t of t e^-tx decay(t gap) where gap is small."""
    nodes, weights = unit_rule()
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        small = np.where(gap < 1.0, gap, 0.0)[..., None] * nodes
        near = (nodes * np.exp(-x[..., None] * nodes) * decay(small)) @ weights
        return np.where(gap < 1.0, near, (decay(x) - decay(x + gap)) / gap)


def tables(p: Laplace, q: Laplace) -> CurvePair:
    """From the distance of the locations and the ratio of the scales."""
    ratio = compare_scales(wide(p.scale), wide(q.scale))
    between = np.stack([wide(q.loc) - wide(p.loc), ratio.excess], axis=2)
    return CurvePair(p.curve_laws, q.curve_laws, (between, np.asarray(ratio.log.sum(axis=1))))


def log_ratio(p: Laplace, q: Laplace, x: Array) -> Array:
    return ratio_of_rows(tables(p, q), lambda known: _log_ratio(p, q, known), x)


def _log_ratio(p: Laplace, q: Laplace, x: Array) -> Array:
    """`log_ratio` of entries that may be missing or out of range."""
    x = x[:, None, :]
    ratio = compare_scales(wide(p.scale), wide(q.scale))
    off_p, off_q = x - wide(p.loc), x - wide(q.loc)
    with np.errstate(over="ignore", invalid="ignore"):
        # |off_p| - |off_q|: exactly the difference of the locations unless x lies between them.
        same_side = np.sign(off_p) * np.sign(off_q) >= 0
        moved = np.where(same_side, np.sign(off_p + off_q) * (wide(q.loc) - wide(p.loc)), np.abs(off_p) - np.abs(off_q))
        near = moved / wide(q.scale) - ratio.excess * np.abs(off_p) / wide(p.scale)
        far = np.abs(off_p) / wide(p.scale) - np.abs(off_q) / wide(q.scale)
        terms = ratio.log + np.where(np.abs(ratio.excess) <= 0.5, near, far)
    return np.asarray(np.where(np.isnan(x), 0.0, terms).sum(axis=2))


def located(family: Laplace) -> Located:
    """As exponential power laws of shape one."""
    return Located(wide(family.loc), wide(family.scale), np.ones_like(wide(family.scale)))


def located_gaussian(family: Gaussian) -> Located:
    """As exponential power laws of shape two; a full covariance is refused."""
    if family.cov is not None:
        refuse(
            IncompatibleModels,
            "emission",
            "a Gaussian with a full covariance compares with Gaussians only",
            remedy="give std or var for independent columns",
        )
    return Located(wide(family.mean), np.sqrt(2.0) * family.deviation, np.full_like(family.deviation, 2.0))


def on_line(p: Callable[[Any], Located], q: Callable[[Any], Located]) -> Callable[..., list[Any]]:
    """The coordinates of two laws that are smooth but for a bend at their locations."""

    def stretches(a: Any, b: Any, lower: Array, upper: Array) -> list[Any]:
        from hidiv.emissions.evidence.coordinates import power_line

        return power_line(a, b, p, q, lower, upper)

    return stretches


register(Laplace, Laplace, FamilyPair(kl, renyi, log_ratio, no_gaps, on_line(located, located), tables=tables))
register(Laplace, Gaussian, power_pair(located, located_gaussian, on_line))
register(Gaussian, Laplace, power_pair(located_gaussian, located, on_line))
