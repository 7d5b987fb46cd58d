"""The result of a bootstrap: standard error, interval, p-value and notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import inf, isinf, sqrt
from typing import Any

import numpy as np

from hidiv.divergences.result import number, plain
from hidiv.divergences.saved_checks import read_saved
from hidiv.errors import counted
from hidiv.fitting.near_zero import corrected
from hidiv.models.checks import frozen
from hidiv.types import Array
from hidiv.values import Value

LEVEL = 0.95
ROUNDING = 1e-12  # 1 / 20 is not above 1 - .95
ELSEWHERE = 0.25  # relative difference of value and statistic that deserves a note
# An interval and a p-value that do not say the same: their draws are different ones.
NO_INTERVAL = (
    "the interval begins at 0 though chance seldom gives as much: data drawn from the two fits, as for the interval, "
    "spread more than those of one model of all of the data"
)
NO_TEST = (
    "chance often gives as much though the interval lies above 0: data drawn from one model of all of the data, as for "
    "the p-value, spread more than those of the two fits"
)


@dataclass(frozen=True, eq=False, repr=False)
class BootstrapResult(Value):
    """A divergence with its standard error, an interval and a p-value; returned by `hd.bootstrap_divergence`.

    Attributes
    ----------
    value : float
        D(p || q) of the fitted models.
    std_error : float
        The standard deviation of the value over data sets like these: that of the replicates, less what they spread
        more because they start from models that already differ by noise.
    corrected : float
        The value less what noise in the fits adds to it on average (`bias`), at least 0.
    lower, upper : float
        The interval of 95 percent of the divergence without noise, which holds `corrected`: that of a scaled noncentral
        chi-square law with the bias and the variance of the replicates.
    replicates : ndarray of shape (B,)
        The divergence after drawing both data sets anew and fitting again; infinite ones are counted as such.
    null : ndarray of shape (B,) or None
        The divergence where both data sets are drawn from one model fitted to all of the data; None if not asked for.
    p_value : float or None
        The share of `null` that reaches `statistic`, (1 + count) / (1 + B).
    statistic : float or None
        The divergence of the data when they are fitted in the way `null` is.
    notes : tuple of str
        What to know about the numbers.
    bias : float
        How far the replicates lie above the value on average, as the value lies above the truth: noise adds to a
        divergence.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([1.0], [[1.0]], hd.Poisson([1.0]))
    >>> x, y = ([0, 1, 0, 2, 1], [3, 2, 5, 4, 4])
    >>> p, q = (hd.fit(data, None, 1, "poisson", n_init=1, seed=0) for data in (x, y))
    >>> hd.bootstrap_divergence(p, q, x, y, divergence="joint", replicates=40, seed=1).p_value < 0.05
    True
    """

    value: float
    std_error: float
    lower: float
    upper: float
    replicates: Array
    null: Array | None
    p_value: float | None
    statistic: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def corrected(self) -> float:
        """The value less what noise adds to it on average, at least 0."""
        return self.value if isinf(self.value + self.bias) else max(0.0, self.value - max(0.0, self.bias))

    @property
    def bias(self) -> float:
        """How far the replicates lie above the value on average."""
        return 0.0 if isinf(self.value) else float(self.replicates.mean() - self.value)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain numbers and texts."""
        return {
            "format": "hidiv.bootstrap", "version": 1, "value": plain(self.value), "std_error": plain(self.std_error),
            "corrected": plain(self.corrected), "bias": plain(self.bias), "lower": plain(self.lower),
            "upper": plain(self.upper), "p_value": self.p_value, "statistic": plain(self.statistic),
            "replicates": plain(self.replicates), "null": None if self.null is None else plain(self.null),
            "notes": list(self.notes),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> BootstrapResult:
        """The result of a description as `to_dict` writes it."""

        def numbers(key: str) -> Array:
            return np.asarray(frozen(np.array([number(each) for each in described[key]])))

        def build() -> BootstrapResult:
            value, error, lower, upper = (number(described[key]) for key in ("value", "std_error", "lower", "upper"))
            share, statistic = described["p_value"], described["statistic"]
            return cls(
                value, error, lower, upper, numbers("replicates"),
                None if described["null"] is None else numbers("null"), None if share is None else number(share),
                None if statistic is None else number(statistic), tuple(map(str, described["notes"])),
            )  # fmt: skip

        return read_saved(described, "hidiv.bootstrap", (*KEPT, "corrected", "bias"), build)

    def __repr__(self) -> str:
        share = "all" if self.bias >= self.value else f"{self.bias:.2g}"
        noise = f", {share} of it by noise: {self.corrected:.4g}" if 0.0 < self.bias < inf and self.value > 0.0 else ""
        text = (
            f"divergence {self.value:.4g} nats{noise} [{self.lower:.4g}, {self.upper:.4g}] ({LEVEL:.0%}, "
            f"{len(self.replicates)} replicates), standard error {self.std_error:.2g}"
        )
        if self.p_value is not None and self.null is not None:
            text += f"; p-value {self.p_value:.2g}: {_verdict(self.p_value, len(self.null))}"
        return text + "".join(f"\n  {note}" for note in self.notes)


KEPT = tuple(each.name for each in fields(BootstrapResult))


def _verdict(p_value: float, replicates: int) -> str:
    """What a p-value means; with the smallest possible one where that matters."""
    smallest = 1.0 / (1 + replicates)
    least = f"the smallest that {counted(replicates, 'replicate')} allow{'s' if replicates == 1 else ''}"
    if not _tells(replicates):
        few = f"{least} is {smallest:.2g}" if p_value > smallest else least
        return f"{few}, too few to tell"
    if not _is_small(p_value):
        return "no more than chance gives"
    return "more than chance gives" + (f", {least}" if p_value == smallest else "")


def _is_small(p_value: float) -> bool:
    return p_value <= 1.0 - LEVEL + ROUNDING


def _tells(replicates: int) -> bool:
    """Whether so many replicates can give a small p-value."""
    return _is_small(1.0 / (1 + replicates))


def summary(value: float, drawn: Array, chance: Array | None, statistic: float | None) -> BootstrapResult:
    """The result of the divergences `drawn` (B,), those under the null `chance` (B,), and the statistic of the data."""
    error = standard_error(value, drawn)
    lower, upper = 0.0, np.inf
    if np.isfinite(error):
        bias = max(0.0, float(drawn.mean()) - value)
        _, lower, upper = corrected(value, bias, error * error, LEVEL)
    share = None
    if chance is not None and statistic is not None:
        share = float((1 + (chance >= statistic).sum()) / (1 + len(chance)))
    notes = _notes(value, drawn, statistic)
    if share is not None and chance is not None and np.isfinite(error) and _tells(len(chance)):
        if _is_small(share) and lower == 0.0:
            notes = (*notes, NO_INTERVAL)
        elif lower > 0.0 and not _is_small(share):
            notes = (*notes, NO_TEST)
    return BootstrapResult(value, error, lower, upper, drawn, chance, share, statistic, notes)


def standard_error(value: float, drawn: Array) -> float:
    """The spread of the value over data sets, from replicates drawn around it.

    Near its minimum a divergence is c times a noncentral chi-square with d degrees of freedom and noncentrality l. Its
    mean is c (d + l) and its variance 2 c^2 (d + 2 l). Replicates have c l = value in place of the true c l, which the
    value exceeds by c d on average; c d is estimated by how much their mean exceeds the value. So the variance of the
    replicates is scaled by d + 2 l at l = value / c - d (at least 0), over that at l = value / c.
    """
    if not np.isfinite(drawn).all() or isinf(value):
        return np.inf
    bias, twice = max(0.0, float(drawn.mean()) - value), 2.0 * value
    share = max(twice - bias, bias) / (twice + bias) if twice + bias > 0.0 else 1.0
    return float(drawn.std(ddof=1)) * sqrt(share)


def _notes(value: float, drawn: Array, statistic: float | None) -> tuple[str, ...]:
    """Notes on infinite values, and on a statistic that differs from the value."""
    notes = []
    infinite = int(np.isinf(drawn).sum())
    if infinite:
        verb = "is" if infinite == 1 else "are"
        notes.append(f"{infinite} of {counted(len(drawn), 'replicate')} {verb} infinite")
    if isinf(value):
        notes.append("an infinite value has no interval")
    if statistic is not None and not abs(statistic - value) <= ELSEWHERE * value and statistic != value:
        notes.append(
            f"the p-value is that of {statistic:.4g}, the divergence when both fits begin at the model of all of the "
            "data, as those of the replicates do"
        )
    return tuple(notes)
