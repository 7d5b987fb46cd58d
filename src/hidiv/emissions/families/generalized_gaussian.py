"""Zero-mean laws from peaked to flat: the usual model of wavelet coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, gammaln

from hidiv.emissions.families.gaussian import Gaussian
from hidiv.emissions.families.laplace import Laplace, located, located_gaussian
from hidiv.emissions.family import Family, check_between, ratio_of_rows
from hidiv.emissions.gradients import location_slopes
from hidiv.emissions.numerics.climbing import climb
from hidiv.emissions.numerics.exponential_power import Located, norm_gap, power_pair
from hidiv.emissions.numerics.scales import compare_scales
from hidiv.emissions.numerics.tails import gamma_tails, short_interval
from hidiv.emissions.parameters import positive, same_shape, wide
from hidiv.emissions.registry import register
from hidiv.emissions.sample_space import LINE, SampleSpace
from hidiv.emissions.weighted import Weighted, kept, log_size
from hidiv.recursions.curve_rows import POWER, CurveLaws, CurvePair
from hidiv.types import Array, Flags, IntArray

SHAPES = (-3.0, 4.0)  # logs of the shapes that fitting may reach

LOG_TWO = float(np.log(2.0))


@dataclass(frozen=True, eq=False)
class GeneralizedGaussian(Family):
    """Laws about 0 from peaked to flat: the usual model of wavelet coefficients.

    Parameters
    ----------
    scale : array_like
        (K,), or (K, F) for F independent columns; above 0.
    shape : array_like
        Between 1e-3 and 1e6, in the shape of `scale`.

    Raises
    ------
    InvalidModel
        If a parameter has not that shape or range; the message names the entry.

    Notes
    -----
    The density is exp(-|x/scale|^shape) / (2 scale Gamma(1 + 1/shape)): e_s(x) of definitions (1.1). Shape 2 is the
    normal law with std = scale / sqrt(2), shape 1 the Laplace law; it compares with both.

    Examples
    --------
    >>> float(GeneralizedGaussian([1.0], [0.5]).kl(GeneralizedGaussian([2.0], [0.5]))[0])
    0.10736074293304035
    """

    name: ClassVar[str] = "generalized_gaussian"
    laws_independent: ClassVar[bool] = True
    start: ClassVar[dict[str, float]] = {"scale": 1.0, "shape": 1.0}
    scale: Array  # (K,) or (K, F)
    shape: Array

    def __init__(self, scale: ArrayLike, shape: ArrayLike) -> None:
        object.__setattr__(self, "scale", positive("scale", scale))
        object.__setattr__(self, "shape", positive("shape", shape, span=(1e-3, 1e6)))
        same_shape("shape", self.scale, self.shape)

    def parameters(self) -> dict[str, Array]:
        return {"scale": self.scale, "shape": self.shape}

    @property
    def space(self) -> SampleSpace:
        return LINE

    def heap_coordinates(self, x: Array, fixed: frozenset[str] = frozenset()) -> Array:
        return log_size(x)

    def is_narrow(self, least: Array) -> Flags:
        return np.asarray((wide(self.scale) <= 1.001 * least).any(axis=1))

    def kinks(self) -> Array:
        return np.zeros((self.n_states, 1))

    def check(self, x: Array) -> None:
        check_between(x, self.name, -np.inf)

    def log_density(self, x: Array) -> Array:
        return _log_density(x[:, None, :], wide(self.scale), wide(self.shape))

    @cached_property
    def curve_laws(self) -> CurveLaws:
        scale, shape = wide(self.scale), wide(self.shape)
        constant = -(LOG_TWO + np.log(scale) + gammaln(1.0 + 1.0 / shape)).sum(axis=1)
        return POWER, np.stack([scale, shape], axis=2), np.asarray(constant)

    def log_mass(self, lower: Array, upper: Array) -> Array:
        scale, shape = wide(self.scale), wide(self.shape)
        lower, upper, scale, shape = np.broadcast_arrays(lower[:, None, :], upper[:, None, :], scale, shape)
        with np.errstate(invalid="ignore", over="ignore", divide="ignore", under="ignore"):
            near, far = np.where(lower >= 0, lower, -upper), np.where(lower >= 0, upper, -lower)
            one_side = _one_side(near, far, upper - lower, scale, shape) - LOG_TWO
            # Across 0: both sides from 0 where the mass is small, else one minus both tails.
            left, right = _half(-lower, scale, shape), _half(upper, scale, shape)
            inside = np.logaddexp(left[0], right[0]) - LOG_TWO
            outside = 0.5 * (np.exp(left[1]) + np.exp(right[1]))
            across = np.where(inside < -LOG_TWO, inside, np.log1p(-np.minimum(outside, 1.0)))
            value = np.where((lower >= 0) | (upper <= 0), one_side, across)
        return np.where(upper > lower, value, -np.inf)

    def draw(self, states: IntArray, rng: np.random.Generator) -> Array:
        scale, shape = wide(self.scale)[states], wide(self.shape)[states]
        # |x/scale|^shape is Gamma(1/shape) = Gamma(1 + 1/shape) times uniform^shape: no underflow for large shapes.
        size = rng.standard_gamma(1.0 + 1.0 / shape) ** (1.0 / shape) * rng.random(shape.shape)
        return np.asarray(scale * size * np.where(rng.random(shape.shape) < 0.5, -1.0, 1.0))

    def ranges(self) -> dict[str, str]:
        return {"scale": "length", "shape": "positive"}

    def estimate(self, known: Weighted) -> Self:
        """scale^shape = shape times the mean of |x|^shape; the shape by climbing what is left (-1/shape at its top)."""
        size = np.abs(known.values)[:, None, :]
        least = np.minimum(known.smallest, wide(self.scale))

        def scale_at(shape: Array) -> Array:
            unit = np.maximum(wide(self.scale), least)
            powers = known.mean_of((size / unit) ** shape)
            return np.asarray(np.maximum(unit * (shape * powers) ** (1.0 / shape), least))

        def value(z: Array) -> Array:
            shape = np.exp(z[0])
            scale = scale_at(shape)
            mean = known.mean_of((size / scale) ** shape)
            return np.asarray(-np.log(scale) - gammaln(1.0 + 1.0 / shape) - mean)

        start = np.log(wide(self.shape))[None]
        shape = np.exp(climb(value, start, SHAPES, rounds=1)[0])
        return type(self)(kept(scale_at(shape), self.scale, known.mass), kept(shape, self.shape, known.mass))

    def log_slopes(self, x: Array) -> dict[str, Array]:
        scale, shape = wide(self.scale), wide(self.shape)
        size = np.abs(x)[:, None, :] / scale
        power = size**shape
        bend = np.where(size > 0, power * np.log(np.where(size > 0, size, 1.0)), 0.0)
        return {"scale": (shape * power - 1.0) / scale, "shape": digamma(1.0 + 1.0 / shape) / shape**2 - bend}

    def mass_slopes(self, lower: Array, upper: Array) -> dict[str, Array]:
        return {"scale": location_slopes(self, lower, upper, np.zeros(()), wide(self.scale))[1]}

    def statistics(self) -> None:
        return None

    def powered(self, exponent: float) -> tuple[Self, Array]:
        log_norm = (1.0 - exponent) * (LOG_TWO + np.log(self.scale) + gammaln(1.0 + 1.0 / self.shape))
        smaller = np.log(exponent) / self.shape
        return type(self)(self.scale * np.exp(-smaller), self.shape), wide(log_norm - smaller).sum(axis=1)


def _log_density(x: Array, scale: Array, shape: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(-(np.abs(x / scale) ** shape) - LOG_TWO - np.log(scale) - gammaln(1.0 + 1.0 / shape))


def _half(x: Array, scale: Array, shape: Array) -> tuple[Array, Array]:
    """log P(|X| <= x) and log P(|X| >= x) for x >= 0."""
    y = (np.abs(x) / scale) ** shape
    inside, outside = gamma_tails(1.0 / shape, y)
    # Close to 0 the density is flat, and y may have underflowed.
    return np.where(y < 1e-18, np.log(np.abs(x) / scale) - gammaln(1.0 + 1.0 / shape), inside), outside


def _one_side(near: Array, far: Array, width: Array, scale: Array, shape: Array) -> Array:
    """log P(near <= |X| <= far): a difference on the side where it is not small, else a rule on the density."""
    near_in, near_out = _half(near, scale, shape)
    far_in, far_out = _half(far, scale, shape)
    by_in, by_out = np.exp(near_in - far_in), np.exp(far_out - near_out)
    tails = np.where(by_in < by_out, far_in + np.log1p(-by_in), near_out + np.log1p(-by_out))
    close = np.minimum(by_in, by_out) > 0.9
    a, b, c, d = (np.where(close, v, 1.0)[..., None] for v in (near, scale, shape, width))
    density = short_interval(lambda t: _log_density(a + t, b, c) + LOG_TWO, d[..., 0])
    return np.where(close, density, tails)


def located_generalized(family: GeneralizedGaussian) -> Located:
    """As exponential power laws at 0."""
    return Located(np.zeros_like(wide(family.scale)), wide(family.scale), wide(family.shape))


def on_sides(p: Callable[[Any], Located], q: Callable[[Any], Located]) -> Callable[..., list[Any]]:
    """The coordinates of two laws, one of them with a corner at 0."""

    def stretches(a: Any, b: Any, lower: Array, upper: Array) -> list[Any]:
        from hidiv.emissions.evidence.coordinates import power_sides

        return power_sides(a, b, p, q, lower, upper)

    return stretches


def tables(p: GeneralizedGaussian, q: GeneralizedGaussian) -> CurvePair:
    """From the ratio of the scales and the difference of the shapes."""
    first, second = located_generalized(p), located_generalized(q)
    with np.errstate(all="ignore"):
        larger = second.shape * compare_scales(first.scale, second.scale).log
        between = np.stack([second.shape - first.shape, larger], axis=2)
        return CurvePair(p.curve_laws, q.curve_laws, (between, np.asarray(norm_gap(first, second).sum(axis=1))))


_PAIR = power_pair(located_generalized, located_generalized, on_sides)
register(
    GeneralizedGaussian,
    GeneralizedGaussian,
    replace(
        _PAIR,
        log_ratio=lambda p, q, x: ratio_of_rows(tables(p, q), lambda known: _PAIR.log_ratio(p, q, known), x),
        tables=tables,
    ),
)
register(GeneralizedGaussian, Laplace, power_pair(located_generalized, located, on_sides))
register(Laplace, GeneralizedGaussian, power_pair(located, located_generalized, on_sides))
register(GeneralizedGaussian, Gaussian, power_pair(located_generalized, located_gaussian, on_sides))
register(Gaussian, GeneralizedGaussian, power_pair(located_gaussian, located_generalized, on_sides))
