"""Normal laws: scalar, diagonal or with a full covariance; the three compare with each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from hidiv.emissions.family import Family, add_columns, check_between, redone
from hidiv.emissions.gradients import Gradients, Items, location_slopes
from hidiv.emissions.numerics.scales import ScaleRatio, ratio_from_excess, scale_kl, scale_renyi, squared
from hidiv.emissions.numerics.standard_normal import HALF_LOG_TWO_PI, normal_log_mass
from hidiv.emissions.parameters import indexed, positive, reading, same_shape, wide
from hidiv.emissions.registry import FamilyPair, Tables, no_gaps, register
from hidiv.emissions.sample_space import LINE, SampleSpace
from hidiv.emissions.statistics import Statistics
from hidiv.emissions.weighted import Weighted, log_size
from hidiv.errors import InvalidModel, refuse
from hidiv.recursions.normal_rows import NormalLaws, NormalPair, NormalRatio, normal_table
from hidiv.types import Array, Flags, IntArray

SYMMETRY = 1e-8  # of the two standard deviations: what a covariance may differ from its transpose by
SINGULAR = 1e-14  # of a variance: less left by the columns before is rounding, and marginal laws may have no factor


@dataclass(frozen=True, eq=False)
class Gaussian(Family):
    """Normal laws: scalar, diagonal, or with a full covariance.

    Parameters
    ----------
    mean : array_like
        (K,), or (K, F) for F independent columns; (K, F) with `cov`.
    std : array_like, optional
        Standard deviations, in the shape of `mean`.
    var : array_like, optional
        Variances, in the shape of `mean`.
    cov : array_like, optional
        (K, F, F): covariance matrices. Exactly one of `std`, `var` and `cov` is given.

    Raises
    ------
    InvalidModel
        If a parameter has not that shape or range; the message names the entry.

    Notes
    -----
    e_s(x) of definitions (1.1) is the normal density. The three forms compare with each other.

    Examples
    --------
    >>> float(Gaussian([0.0], std=[1.0]).kl(Gaussian([1.0], std=[1.0]))[0])
    0.5
    """

    name: ClassVar[str] = "gaussian"
    laws_independent: ClassVar[bool] = True
    start: ClassVar[dict[str, float]] = {"mean": 0.0, "var": 1.0}
    mean: Array  # (K,) or (K, F)
    std: Array | None
    var: Array | None
    cov: Array | None
    factor: Array | None = field(repr=False)  # (K, F, F) lower Cholesky factor of cov

    def __init__(
        self,
        mean: ArrayLike,
        *,
        std: ArrayLike | None = None,
        var: ArrayLike | None = None,
        cov: ArrayLike | None = None,
    ) -> None:
        given = [key for key, value in (("std", std), ("var", var), ("cov", cov)) if value is not None]
        if len(given) != 1:
            refuse(InvalidModel, "std", "give exactly one of std, var and cov", " and ".join(given) or "none of them")
        object.__setattr__(self, "mean", reading("mean", mean, (1, 2) if cov is None else (2,)))
        for key, value in (("std", std), ("var", var)):
            object.__setattr__(self, key, None if value is None else positive(key, value))
            if value is not None:
                same_shape(key, self.mean, getattr(self, key))
        object.__setattr__(self, "cov", None if cov is None else _covariances(cov, self.mean))
        object.__setattr__(self, "factor", None if self.cov is None else _factors(self.cov))

    @property
    def deviation(self) -> Array:
        """(K, F): the standard deviation of each column."""
        if self.std is not None:
            return wide(self.std)
        return np.sqrt(self.variance)

    @property
    def variance(self) -> Array:
        """(K, F): the variance of each column."""
        if self.std is not None:
            return wide(self.std) ** 2
        return wide(self.var) if self.var is not None else np.diagonal(cast(Array, self.cov), axis1=1, axis2=2)

    def parameters(self) -> dict[str, Array]:
        every = {"mean": self.mean, "std": self.std, "var": self.var, "cov": self.cov}
        return {key: value for key, value in every.items() if value is not None}

    def select(self, columns: ArrayLike) -> Self:
        index = np.asarray(columns)
        if self.cov is None or self.n_features <= 1:
            return super().select(columns)
        return type(self)(self.mean[:, index], cov=self.cov[:, index][:, :, index])

    @property
    def space(self) -> SampleSpace:
        return LINE

    def heap_coordinates(self, x: Array, fixed: frozenset[str] = frozenset()) -> Array:
        return log_size(x - self.mean[0]) if "mean" in fixed else x

    def is_narrow(self, least: Array) -> Flags:
        if self.cov is None:
            return np.asarray((self.deviation <= 1.001 * least).any(axis=1))
        across = np.linalg.eigvalsh(self.cov / np.outer(least, least))[:, 0]
        return np.asarray(across <= 1.001**2)

    def moved(self, by: float) -> Self:
        return type(self)(**self.parameters() | {"mean": self.mean - by})

    def check(self, x: Array) -> None:
        check_between(x, self.name, -np.inf)

    @property
    def density_adds_up(self) -> bool:
        return self.cov is None

    def log_density(self, x: Array) -> Array:
        if self.factor is not None:
            from hidiv.emissions.numerics.covariances import log_columns

            return log_columns(wide(self.mean), self.factor, x)
        z = x[:, None, :] - wide(self.mean)  # in place from here on: these tables are the largest of a fit
        z /= self.deviation
        z *= z
        z *= -0.5
        z -= HALF_LOG_TWO_PI + np.log(self.deviation)
        return np.asarray(z)

    def log_mass(self, lower: Array, upper: Array) -> Array:
        return normal_log_mass(lower[:, None, :], upper[:, None, :], wide(self.mean), self.deviation)

    @cached_property
    def normal_laws(self) -> NormalLaws:
        return _form(self, self.cov is not None)

    def log_weight(self, x: Array, lower: Array | None = None, upper: Array | None = None) -> Array:
        value, odd = normal_table(np.ascontiguousarray(x), self.normal_laws)
        if not odd:
            return value
        self.check(x)
        return redone(value, lambda *known: self._log_weight(*known), x, lower, upper)

    def _log_weight(self, x: Array, lower: Array | None, upper: Array | None) -> Array:
        """`log_weight` of entries that may be missing, in an interval, or out of range."""
        if self.cov is None:
            return super().log_weight(x, lower, upper)
        from hidiv.emissions.numerics.covariances import log_weight

        return log_weight(wide(self.mean), self.cov, x, lower, upper)

    def log_seen(self, x: Array) -> Array:
        return self.log_weight(x)

    def draw(self, states: IntArray, rng: np.random.Generator) -> Array:
        z = rng.standard_normal((states.shape[0], self.n_features))
        if self.factor is not None:
            return np.asarray(wide(self.mean)[states] + np.einsum("nij,nj->ni", self.factor[states], z))
        return np.asarray(wide(self.mean)[states] + self.deviation[states] * z)

    def ranges(self) -> dict[str, str]:
        return {"mean": "real", "std": "length", "var": "area", "cov": "covariance"}

    def maximise(self, known: Weighted, fixed: frozenset[str] = frozenset()) -> Self:
        from hidiv.emissions.numerics.gaussian_moments import estimate_diagonal, estimate_full

        if self.cov is not None:
            return type(self)(**estimate_full(self, known, fixed))
        if known.bounded is None:
            return type(self)(**estimate_diagonal(self, known, fixed))
        return super().maximise(known, fixed)

    def log_slopes(self, x: Array) -> dict[str, Array]:
        mean, std = wide(self.mean), self.deviation
        z = (x[:, None, :] - mean) / std
        return {"mean": z / std, **self._spread_slopes((z * z - 1.0) / std)}

    def mass_slopes(self, lower: Array, upper: Array) -> dict[str, Array]:
        mean, std = location_slopes(self, lower, upper, wide(self.mean), self.deviation)
        return {"mean": mean, **self._spread_slopes(std)}

    def _spread_slopes(self, by_std: Array) -> dict[str, Array]:
        """The derivatives in the standard deviation or in the variance, from those in the standard deviation."""
        return {"std": by_std} if self.std is not None else {"var": 0.5 * by_std / self.deviation}

    def gradients(self, known: Weighted, items: Items) -> Gradients:
        if self.cov is None:
            return super().gradients(known, items)
        from hidiv.emissions.full_gradients import full_gradients  # imported here, as only full covariances need scipy

        return full_gradients(self, known, items)

    def statistics(self) -> Statistics:
        if self.cov is not None:
            from hidiv.emissions.numerics.covariances import statistics

            key = (self.name, "full", self.n_features)
            return statistics(key, self.mean, self.cov, cast(Array, self.factor))
        mean, var = wide(self.mean), self.variance
        constant = -(0.5 * mean * mean / var + np.log(self.deviation) + HALF_LOG_TWO_PI).sum(axis=1, keepdims=True)
        return Statistics(
            (self.name, "diagonal", self.n_features),
            np.hstack([mean, mean * mean + var, np.ones_like(constant)]),
            np.hstack([mean / var, -0.5 / var, constant]),
        )

    def powered(self, exponent: float) -> tuple[Self, Array]:
        if self.cov is None:
            spread = {"std": None if self.std is None else self.std / np.sqrt(exponent)}
            spread["var"] = None if self.var is None else self.var / exponent
            log_size = np.log(self.deviation).sum(axis=1)
        else:
            spread = {"cov": self.cov / exponent}
            log_size = np.log(np.diagonal(cast(Array, self.factor), axis1=1, axis2=2)).sum(axis=1)
        constant = self.n_features * ((1.0 - exponent) * HALF_LOG_TWO_PI - 0.5 * np.log(exponent))
        return type(self)(self.mean, **spread), constant + (1.0 - exponent) * log_size


def _covariances(value: ArrayLike, mean: Array) -> Array:
    """(K, F, F) finite and symmetric up to rounding."""
    cov = reading("cov", value, (3,))
    wanted = (*mean.shape, mean.shape[1])
    if cov.shape != wanted:
        refuse(InvalidModel, "cov", f"must have the shape {wanted} that goes with mean", cov.shape)
    size = np.sqrt(np.abs(np.diagonal(cov, axis1=1, axis2=2)))
    off = np.abs(cov - cov.transpose(0, 2, 1)) > SYMMETRY * size[:, :, None] * size[:, None, :]
    if off.any():
        state, i, j = (int(n) for n in np.argwhere(off)[0])
        rule = f"must be symmetric, entries {indexed((i, j))} and {indexed((j, i))} differ"
        refuse(InvalidModel, f"cov[{state}]", rule, f"{cov[state, i, j]:.17g} and {cov[state, j, i]:.17g}")
    return cov


def _factors(cov: Array) -> Array:
    """Lower Cholesky factors; refuses the first state that has none, or one that rounding alone may have made."""
    positive("cov", np.diagonal(cov, axis1=1, axis2=2), (2,))
    factors = np.zeros_like(cov)
    for state, each in enumerate(cov):
        try:
            factors[state] = np.linalg.cholesky(0.5 * each + 0.5 * each.T)
            left = np.square(np.diagonal(factors[state])) / np.diagonal(each)  # of each variance, given those before
            singular = left.min() < SINGULAR
        except np.linalg.LinAlgError:
            singular = True
        if singular:
            refuse(InvalidModel, f"cov[{state}]", "must be positive definite", remedy="add a little to its diagonal")
    factors.flags.writeable = False
    return factors


# Pairs without a full covariance: column by column.


def compare_variances(p: Gaussian, q: Gaussian) -> ScaleRatio:
    """(K, F): var_p / var_q. Squared standard deviations carry their rounding along: std and var mix without loss."""
    far = 2.0 * (np.log(p.deviation) - np.log(q.deviation))
    exponent = np.frexp(q.deviation)[1]
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        (high_p, low_p), (high_q, low_q) = _squares(p, exponent), _squares(q, exponent)
        near = np.abs(high_p - high_q) <= 0.5 * high_q
        excess = np.where(near, ((high_p - high_q) + (low_p - low_q)) / high_q, high_p / high_q - 1.0)
    return ratio_from_excess(excess, far)


def _squares(family: Gaussian, exponent: IntArray) -> tuple[Array, Array]:
    """Variances over 4^exponent as an unevaluated sum: leading part and what rounding left over."""
    if family.std is None:
        return np.ldexp(family.variance, -2 * exponent), np.zeros(exponent.shape)
    return squared(np.ldexp(wide(family.std), -exponent))


def kl(p: Gaussian, q: Gaussian) -> Array:
    if p.cov is not None or q.cov is not None:
        from hidiv.emissions.numerics.covariances import kl_full

        return kl_full(p, q)
    with np.errstate(over="ignore"):
        z = (wide(p.mean) - wide(q.mean)) / q.deviation
        return np.asarray((0.5 * (scale_kl(compare_variances(p, q)) + z * z)).sum(axis=1))


def renyi(p: Gaussian, q: Gaussian, alpha: float) -> Array:
    """Infinite where alpha var_q + (1 - alpha) var_p <= 0: the integral diverges."""
    if p.cov is not None or q.cov is not None:
        from hidiv.emissions.numerics.covariances import renyi_full

        return renyi_full(p, q, alpha)
    rest, ratio = 1.0 - alpha, compare_variances(p, q)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if rest > 0:
            between = np.hypot(np.sqrt(alpha) * q.deviation, np.sqrt(rest) * p.deviation)
        else:
            between = q.deviation * np.sqrt(np.maximum(1.0 + rest * ratio.excess, 0.0))
        z = (wide(p.mean) - wide(q.mean)) / between
        apart = np.where(between > 0, alpha * z * z, np.inf)
    return np.asarray((0.5 * (scale_renyi(ratio, alpha) + apart)).sum(axis=1))


def _form(family: Gaussian, full: bool) -> NormalLaws:
    if not full:
        return _diagonal_form(family)
    from hidiv.emissions.numerics.covariances import full_form

    return full_form(family)


def _diagonal_form(family: Gaussian) -> NormalLaws:
    """Mean, whitening and constant of each state."""
    mean, deviation = wide(family.mean), family.deviation
    with np.errstate(all="ignore"):
        over, constant = 1.0 / deviation, -(np.log(deviation) + HALF_LOG_TWO_PI).sum(axis=1)
    return np.ascontiguousarray(mean), np.ascontiguousarray(over[:, None, :]), np.asarray(constant)


def _diagonal_ratio(p: Gaussian, q: Gaussian, excess: Array, log: Array) -> NormalRatio:
    """The log-ratio as a polynomial in p's whitened distance; excess, log (K, F): var_p/var_q - 1 and its logarithm."""
    with np.errstate(all="ignore"):
        shift = (wide(p.mean) - wide(q.mean)) / q.deviation
        wider = excess / (1.0 + np.sqrt(1.0 + excess))  # std_p / std_q - 1
        near = np.asarray((np.abs(wider) < 0.5).all(axis=1))
        constant = 0.5 * (log - shift * shift).sum(axis=1)
        linear, square = -shift * (1.0 + wider), -0.5 * excess
    return near, constant, linear, np.ascontiguousarray(square[:, None, :])


def tables(p: Gaussian, q: Gaussian) -> Tables:
    full = p.cov is not None or q.cov is not None
    if full:
        from hidiv.emissions.numerics.covariances import full_ratio

        between = full_ratio(p, q)
    else:
        between = _diagonal_ratio(p, q, *compare_variances(p, q))
    return NormalPair(_form(p, full), _form(q, full), between)


def log_ratio(p: Gaussian, q: Gaussian, x: Array) -> Array:
    _, _, ratio, odd = tables(p, q)(x, False)
    return redone(ratio, lambda known: _log_ratio(p, q, known), x) if odd else ratio


def _log_ratio(p: Gaussian, q: Gaussian, x: Array) -> Array:
    """`log_ratio` of entries that may be missing or out of range."""
    if p.cov is not None or q.cov is not None:
        from hidiv.emissions.numerics.covariances import log_ratio_full

        return log_ratio_full(p, q, x)
    ratio = compare_variances(p, q)
    with np.errstate(over="ignore", invalid="ignore"):
        shift = (wide(p.mean) - wide(q.mean)) / q.deviation
        wider = ratio.excess / (1.0 + np.sqrt(1.0 + ratio.excess))  # std_p / std_q - 1
        z_p = (x[:, None, :] - wide(p.mean)) / p.deviation
        z_q = (x[:, None, :] - wide(q.mean)) / q.deviation
        apart = np.where(np.abs(wider) < 0.5, shift + wider * z_p, z_q - z_p)
        terms = 0.5 * (ratio.log - apart * (z_p + z_q))  # NaN where both distances overflow: both densities are 0
    return add_columns(terms, x)


# What is known only in part.


def stretches(p: Gaussian, q: Gaussian, lower: Array, upper: Array) -> list[Any]:
    from hidiv.emissions.evidence.coordinates import Normal, first, normal_line

    laws = [Normal(first(law.mean), first(law.deviation)) for law in (p, q)]
    excess, log = (first(v) for v in compare_variances(p, q))
    return [normal_line(laws[0], laws[1], excess, log, (lower, upper, upper - lower))]


def weight_ratio(p: Gaussian, q: Gaussian, *knowledge: Any) -> Array:
    from hidiv.emissions.evidence import partly_seen_gaussian

    return partly_seen_gaussian.weight_ratio(p, q, *knowledge)


def residual(p: Gaussian, q: Gaussian, *knowledge: Any) -> Array:
    from hidiv.emissions.evidence import partly_seen_gaussian

    return partly_seen_gaussian.residual(p, q, *knowledge)


register(
    Gaussian, Gaussian, FamilyPair(kl, renyi, log_ratio, no_gaps, stretches, weight_ratio, residual, tables=tables)
)
