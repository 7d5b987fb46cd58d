"""Positive observations whose logarithm is normal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from hidiv.emissions.families.gaussian import Gaussian, compare_variances
from hidiv.emissions.families.gaussian import kl as gaussian_kl
from hidiv.emissions.families.gaussian import log_ratio as gaussian_log_ratio
from hidiv.emissions.families.gaussian import renyi as gaussian_renyi
from hidiv.emissions.families.gaussian import tables as gaussian_tables
from hidiv.emissions.family import Family, redone
from hidiv.emissions.numerics.standard_normal import HALF_LOG_TWO_PI, normal_log_density, normal_log_mass
from hidiv.emissions.parameters import indexed, positive, reading, require, same_shape, wide
from hidiv.emissions.registry import FamilyPair, Tables, no_gaps, register
from hidiv.emissions.sample_space import POSITIVE, SampleSpace
from hidiv.emissions.statistics import Statistics
from hidiv.emissions.weighted import NARROWEST, Weighted, kept
from hidiv.errors import InvalidEvidence, refuse
from hidiv.recursions.normal_rows import normal_table
from hidiv.types import Array, IntArray

LARGEST_LOG = 700.0
SMALLEST, LARGEST = np.nextafter(0.0, 1.0), np.finfo(np.float64).max


@dataclass(frozen=True, eq=False)
class LogNormal(Family):
    """Positive observations whose logarithm is normal.

    Parameters
    ----------
    mean : array_like
        The mean of log X, (K,), or (K, F) for F independent columns.
    std : array_like
        The standard deviation of log X, above 0, in the shape of `mean`.

    Raises
    ------
    InvalidModel
        If a parameter has not that shape or range; the message names the entry.

    Notes
    -----
    e_s(x) of definitions (1.1) is the normal density of log x, over x. Mean plus or minus 6 std must stay within the
    logarithms of doubles.

    Examples
    --------
    >>> float(LogNormal([0.0], [1.0]).kl(LogNormal([1.0], [1.0]))[0])
    0.5
    """

    name: ClassVar[str] = "log_normal"
    laws_independent: ClassVar[bool] = True
    logarithms: ClassVar[type[Any] | None] = Gaussian
    start: ClassVar[dict[str, float]] = {"mean": 0.0, "std": 1.0}
    mean: Array  # (K,) or (K, F)
    std: Array

    def __init__(self, mean: ArrayLike, std: ArrayLike) -> None:
        object.__setattr__(self, "mean", reading("mean", mean, (1, 2)))
        object.__setattr__(self, "std", positive("std", std))
        same_shape("std", self.mean, self.std)
        within = np.abs(self.mean) + 6.0 * self.std <= LARGEST_LOG
        require(
            "std",
            self.std,
            within,
            f"mean plus or minus 6 std must stay within -{LARGEST_LOG:g} and {LARGEST_LOG:g}, the logs of doubles",
        )

    def parameters(self) -> dict[str, Array]:
        return {"mean": self.mean, "std": self.std}

    @property
    def space(self) -> SampleSpace:
        return POSITIVE

    def check(self, x: Array) -> None:
        with np.errstate(invalid="ignore"):
            bad = (x <= 0) | np.isinf(x)
        if bad.any():
            where = tuple(int(i) for i in np.argwhere(bad)[0])
            refuse(
                InvalidEvidence,
                "x" + indexed(where if x.shape[1] > 1 else where[:1]),
                f"{self.name} observations are above 0 and finite",
                float(x[where]),
            )

    def log_density(self, x: Array) -> Array:
        logs = np.log(x)[:, None, :]
        return normal_log_density((logs - wide(self.mean)) / wide(self.std)) - np.log(wide(self.std)) - logs

    def log_weight(self, x: Array, lower: Array | None = None, upper: Array | None = None) -> Array:
        logs = np.log(x)
        value, odd = normal_table(np.ascontiguousarray(logs), of_log(self).normal_laws)
        value -= logs.sum(axis=1)[:, None]
        if not odd:
            return value
        self.check(x)
        return redone(value, self._by_columns, x, lower, upper)

    def log_mass(self, lower: Array, upper: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            low, high = np.log(np.maximum(lower, 0.0)), np.log(np.maximum(upper, 0.0))
            # Short intervals: the width in logs from the width itself.
            short = (lower > 0) & (upper - lower < 0.5 * lower)
            width = np.where(short, np.log1p((upper - lower) / lower), high - low)
        return normal_log_mass(low[:, None, :], high[:, None, :], wide(self.mean), wide(self.std), width[:, None, :])

    def draw(self, states: IntArray, rng: np.random.Generator) -> Array:
        mean, std = wide(self.mean)[states], wide(self.std)[states]
        with np.errstate(over="ignore", under="ignore"):
            drawn = np.exp(mean + std * rng.standard_normal(mean.shape))
        return np.clip(drawn, SMALLEST, LARGEST)

    def ranges(self) -> dict[str, str]:
        return {"mean": "number", "std": "positive"}

    def estimate(self, known: Weighted) -> Self:
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(known.x)
        mean = known.mean(logs)
        usable = np.isfinite(mean)
        mean = np.where(usable, mean, 0.0)
        apart = np.where(known.seen[:, None, :], logs[:, None, :] - mean, 0.0)
        least = np.minimum(NARROWEST, wide(self.std))
        std = np.maximum(np.sqrt(known.mean_of(apart * apart)), least)
        mass = np.where(usable, known.mass, 0.0)
        return type(self)(kept(mean, self.mean, mass), kept(std, self.std, mass))

    def log_slopes(self, x: Array) -> dict[str, Array]:
        mean, std = wide(self.mean), wide(self.std)
        z = (np.log(x)[:, None, :] - mean) / std
        return {"mean": z / std, "std": (z * z - 1.0) / std}

    def mass_slopes(self, lower: Array, upper: Array) -> dict[str, Array]:
        logs = (np.log(np.maximum(end, 0.0)) for end in (lower, upper))
        slopes = of_log(self).mass_slopes(*logs)
        return {"mean": slopes["mean"], "std": slopes["std"]}

    def statistics(self) -> Statistics:
        """In log x: the factor 1/x of the density is common to every law and drops out."""
        mean, std = wide(self.mean), wide(self.std)
        var = std * std
        constant = -(0.5 * mean * mean / var + np.log(std) + HALF_LOG_TWO_PI).sum(axis=1, keepdims=True)
        return Statistics(
            (self.name, self.n_features),
            np.hstack([mean, mean * mean + var, np.ones_like(constant)]),
            np.hstack([mean / var, -0.5 / var, constant]),
        )

    def powered(self, exponent: float) -> tuple[Self, Array]:
        rest, var = 1.0 - exponent, self.std * self.std
        law = type(self)(self.mean + rest / exponent * var, self.std / np.sqrt(exponent))
        log_norm = rest * (HALF_LOG_TWO_PI + np.log(self.std) + self.mean) - 0.5 * np.log(exponent)
        return law, wide(log_norm + 0.5 * rest * rest / exponent * var).sum(axis=1)


def of_log(family: LogNormal) -> Gaussian:
    """The law of log X: divergences do not see the change of variable."""
    return Gaussian(family.mean, std=family.std)


def log_ratio(p: LogNormal, q: LogNormal, x: Array) -> Array:
    return gaussian_log_ratio(of_log(p), of_log(q), np.log(x))


def tables(p: LogNormal, q: LogNormal) -> Tables:
    """Those of the normal laws of log X, and what the change of variable takes off both."""
    of_logs = gaussian_tables(of_log(p), of_log(q))

    def seen(x: Array, with_q: bool) -> tuple[Array, Array | None, Array, bool]:
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(x)
            log_p, log_q, ratio, odd = of_logs(logs, with_q)
            off = logs.sum(axis=1)[:, None]
            return log_p - off, None if log_q is None else log_q - off, ratio, odd

    return seen


def stretches(p: LogNormal, q: LogNormal, lower: Array, upper: Array) -> list[Any]:
    """Those of the normal laws of log X."""
    from hidiv.emissions.evidence.coordinates import Normal, first, logs, normal_line

    laws = [Normal(first(law.mean), first(law.std)) for law in (p, q)]
    excess, log = (first(v) for v in compare_variances(of_log(p), of_log(q)))
    return [normal_line(laws[0], laws[1], excess, log, logs(lower, upper))]


register(
    LogNormal,
    LogNormal,
    FamilyPair(
        lambda p, q: gaussian_kl(of_log(p), of_log(q)),
        lambda p, q, alpha: gaussian_renyi(of_log(p), of_log(q), alpha),
        log_ratio,
        no_gaps,
        stretches,
        tables=tables,
    ),
)
