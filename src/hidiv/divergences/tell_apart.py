"""How many observations of a chain tell two models apart (definitions (7.1))."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, isinf, log
from typing import Any

from hidiv.adapters.as_model import as_models
from hidiv.arguments import Seed, number
from hidiv.divergences.observed.rate import observed_kl_rate
from hidiv.divergences.result import Divergence, plain
from hidiv.divergences.sequential_test import LONGEST, Simulated, run_tests
from hidiv.errors import HidivError, counted, refuse
from hidiv.models.model import Model

PATHS, STEPS = 2000, 2_000_000  # tests run on draws, and steps of all of them together
STRICT = 0.001  # error rates up to which the value is to be within a tenth of the mean of tests
APART = 0.07  # a tenth less what a mean of PATHS tests may be off
ROUNDING = 1e-13  # a rate below it, whose interval reaches 0, is one no certificate tells from 0


@dataclass(frozen=True, eq=False)
class Needed:
    """Expected number of observations when one of the models is true.

    `wald` is Wald's approximation, information needed over observed rate, `simulated` the mean of tests run on draws,
    None where they would take too long. Wald's leaves out by how much a test overshoots its limit, and what the first
    states have to do with it. `value` is Wald's with `lower` and `upper` from the bounds of the rate; at error rates up
    to 0.001 it is the simulated mean, with its 95 % interval, where the two are apart (`corrected`). `reason` names a
    rate that is 0 (`value` is +inf) or infinite (`value` is 0: the first observation the other model cannot show
    decides).
    """

    value: float
    lower: float
    upper: float
    rate: Divergence
    simulated: Simulated | None
    reason: str | None = None
    wald: float = inf
    corrected: bool = False

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True, eq=False, repr=False)
class SamplesNeeded:
    """Observations a sequential test with these error rates needs, when p is true and when q is true."""

    error: float
    under_p: Needed
    under_q: Needed
    names: tuple[str, str] = ("p", "q")

    def __iter__(self) -> Iterator[float]:
        return iter((self.under_p.value, self.under_q.value))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and texts, ready for JSON."""
        described: dict[str, Any] = {"format": "hidiv.samples_needed", "version": 1, "error": self.error}
        for key, side in (("under_p", self.under_p), ("under_q", self.under_q)):
            simulated = None if side.simulated is None else vars(side.simulated)
            numbers = {
                "value": side.value, "lower": side.lower, "upper": side.upper, "wald": side.wald,
                "simulated": simulated, "corrected": side.corrected,
            }  # fmt: skip
            described[key] = plain(numbers) | {"rate": side.rate.to_dict(), "reason": side.reason}
        return described

    def __repr__(self) -> str:
        sides = zip(self.names, (self.under_p, self.under_q), strict=True)
        return f"observations to tell {' from '.join(self.names)} with error {self.error:g}: " + "; ".join(
            f"{_said(side)} when {name} is true" for name, side in sides
        )


def samples_to_tell_apart(
    p: Any, q: Any, error: float = 0.001, *, seed: Seed = 0, max_seconds: float = 10.0
) -> SamplesNeeded:
    """How long a sequential test takes to tell chains of p from chains of q, both error rates `error`.

    Definitions (7.1): E_p[n] ~ [(1 - e) log((1 - e)/e) + e log(e/(1 - e))] / D, D the observed rate of p from q,
    and the mirror image under q. Beside this approximation of Wald's stands the mean of tests run on draws, which takes
    its place where `error` is at most 0.001 and they are some percent apart. A rate of 0 makes it +inf, an infinite
    rate 0.

    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]))
    >>> q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))
    >>> found = hd.samples_to_tell_apart(p, q)
    >>> round(found.under_p.value, 4), 15 < found.under_p.simulated.mean < 17
    (14.7951, True)
    """
    number("max_seconds", max_seconds, endless=True)
    p, q = as_models(p, q)
    if isinstance(error, bool) or not isinstance(error, float | int) or not 0 < error < 0.5:
        refuse(HidivError, "error", "must be a number between 0 and 0.5", error)
    under_p, under_q = (_needed(a, b, float(error), seed, max_seconds) for a, b in ((p, q), (q, p)))
    names = ("p", "q") if p.name == q.name else (p.name or "p", q.name or "q")
    return SamplesNeeded(float(error), under_p, under_q, names)


def _needed(true: Model, other: Model, error: float, seed: Seed, seconds: float) -> Needed:
    rate = observed_kl_rate(true, other, seed=seed, max_seconds=seconds)
    information = (1.0 - 2.0 * error) * log((1.0 - error) / error)
    if isinf(rate.value):
        reason = f"the rate is infinite, {rate.infinite[0]}"
        return Needed(0.0, 0.0, 0.0, rate, run_tests(true, other, error, PATHS, seed, seconds), reason, 0.0)
    low = rate.value if rate.lower is None else max(rate.lower, 0.0)
    high = rate.value if rate.upper is None else rate.upper
    if rate.value <= 0 or (low <= 0 and rate.value < ROUNDING):
        return Needed(
            inf, information / high if high > 0 else inf, inf, rate, None, "the rate is 0: nothing tells them apart"
        )
    value = information / rate.value
    # Long tests have small relative errors: fewer of them do.
    paths = max(PATHS // 10, min(PATHS, int(STEPS / value)))
    simulated = run_tests(true, other, error, paths, seed, seconds) if value < LONGEST / 10 else None
    if error <= STRICT and simulated is not None and abs(simulated.mean - value) > APART * simulated.mean:
        off = 1.96 * simulated.std_error
        return Needed(
            simulated.mean, simulated.mean - off, simulated.mean + off, rate, simulated, wald=value, corrected=True
        )
    return Needed(value, information / high, information / low if low > 0 else inf, rate, simulated, wald=value)


def _said(side: Needed) -> str:
    wald = "no number" if isinf(side.value) else f"{side.wald:.4g}"
    if side.reason is not None:
        wald = side.reason
    elif side.rate.status == "estimate" and not side.corrected:
        wald += f" ({side.lower:.4g} to {side.upper:.4g})"
    if side.simulated is None:
        return wald if side.reason else f"{wald} by Wald's approximation"
    mean = f"{side.simulated.mean:.4g} on average over {counted(side.simulated.paths, 'simulated test')}"
    if side.corrected:
        return f"{mean}, of which Wald's approximation of {wald} is {abs(side.wald / side.value - 1.0):.0%} off"
    return f"{wald}, {mean}" if side.reason else f"{wald} by Wald's approximation, {mean}"
