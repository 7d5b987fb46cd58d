"""How many observations of a chain, or independent trees, tell two models apart (definitions (7.1))."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, inf, isinf, log, tanh
from typing import Any

import numpy as np

from hidiv.adapters.as_model import as_models
from hidiv.arguments import Seed, generator, number
from hidiv.divergences.forest import as_forest, is_forest
from hidiv.divergences.observed.kl import observed_kl
from hidiv.divergences.observed.rate import observed_kl_rate
from hidiv.divergences.result import Divergence, plain
from hidiv.divergences.subject import on as on_tree
from hidiv.divergences.telling_apart.sequential_test import Chains, Forests, Simulated, Source, Walks, walks
from hidiv.errors import HidivError, IncompatibleModels, counted, refuse
from hidiv.models.model import Model
from hidiv.models.tree import as_tree
from hidiv.models.until_end import UNTIL_END, UntilEnd
from hidiv.progress import Progress, Wanted, reported

FEWEST, PATHS = 200, 4000  # tests run on draws
STEPS = 1_000_000  # nodes drawn for all of them together
SHORTER = 500  # observations of a test that stands in for one too long to run
BLOCK = 32  # draws of a small tree at once
Z95 = 1.959963984540054  # two-sided 95 % of a normal law
ROUNDING = 1e-13  # a rate below it, whose interval reaches 0, is one no certificate tells from 0


@dataclass(frozen=True)
class Needed:
    """Expected number of observations when one of the models is true.

    `value` is the mean of `simulated` tests with its 95 % interval, `lower` to `upper`. Tests too long to run are
    simulated up to a smaller limit, from which the rest is extrapolated (`extrapolated`), with the bounds of the rate
    in the interval. `wald` is Wald's approximation, information needed over observed rate: it leaves out by how much a
    test overshoots its limit, and what the first states have to do with it. Where nothing could be simulated it is the
    value, and `upper` is +inf. `reason` names a rate that is 0 (`value` is +inf) or infinite (`wald` is 0: the first
    observation the other model cannot show decides).
    """

    value: float
    lower: float
    upper: float
    rate: Divergence
    simulated: Simulated | None
    reason: str | None = None
    wald: float = inf
    extrapolated: bool = False

    def __float__(self) -> float:
        return self.value

    @property
    def corrected(self) -> bool:
        """Whether the value is another than Wald's approximation."""
        return self.value != self.wald


@dataclass(frozen=True, repr=False)
class SamplesNeeded:
    """Observations a sequential test with these error rates needs, when p is true and when q is true.

    `counted` says what is counted: observations of a chain, or independent draws of a tree or of several.
    """

    error: float
    under_p: Needed
    under_q: Needed
    names: tuple[str, str] = ("p", "q")
    counted: str = "observations"

    def __iter__(self) -> Iterator[float]:
        return iter((self.under_p.value, self.under_q.value))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and texts, ready for JSON."""
        described: dict[str, Any] = {"format": "hidiv.samples_needed", "version": 1, "error": self.error}
        described["counted"] = self.counted
        for key, side in (("under_p", self.under_p), ("under_q", self.under_q)):
            simulated = None if side.simulated is None else vars(side.simulated)
            numbers = {
                "value": side.value, "lower": side.lower, "upper": side.upper, "wald": side.wald,
                "simulated": simulated, "corrected": side.corrected, "extrapolated": side.extrapolated,
            }  # fmt: skip
            described[key] = plain(numbers) | {"rate": side.rate.to_dict(), "reason": side.reason}
        return described

    def __repr__(self) -> str:
        sides = zip(self.names, (self.under_p, self.under_q), strict=True)
        return f"{self.counted} to tell {' from '.join(self.names)} with error {self.error:g}: " + "; ".join(
            f"{_said(side)} when {name} is true" for name, side in sides
        )


@reported
def samples_to_tell_apart(
    p: Any,
    q: Any,
    error: float = 0.001,
    *,
    tree: Any = None,
    seed: Seed = 0,
    max_seconds: float = 10.0,
    progress: Wanted = None,
) -> SamplesNeeded:
    """How many observations a sequential test takes to tell p from q, both error rates `error`.

    Without a tree they are observations along a chain. With `tree` they are independent draws of that whole tree (or
    chain, by its length), or of all trees of a list together, or whole sequences with hd.UNTIL_END (not simulated);
    models with groups need one. The value is the mean of
    tests run on draws, with its 95 % interval. Beside it stands Wald's approximation, definitions (7.1):
    E_p[n] ~ [(1 - e) log((1 - e)/e) + e log(e/(1 - e))] / D, D the observed rate of p from q, or the observed
    divergence on the tree, and the mirror image under q. A rate of 0 makes it +inf.

    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]))
    >>> q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))
    >>> found = hd.samples_to_tell_apart(p, q)
    >>> 15 < found.under_p.lower < found.under_p.value < found.under_p.upper < 17, round(found.under_p.wald, 4)
    (True, 14.7951)
    >>> trees = hd.samples_to_tell_apart(p, q, tree=hd.Tree.regular(2, 3))
    >>> trees.counted, 2.5 < trees.under_p.value < 3
    ('independent draws of a regular tree of 3 levels with 2 children a node', True)
    """
    number("max_seconds", max_seconds, endless=True)
    p, q = as_models(p, q)
    if isinstance(error, bool) or not isinstance(error, float | int) or not 0 < error < 0.5:
        refuse(HidivError, "error", "must be a number between 0 and 0.5", error)
    setting, what = _setting(p, q, tree)
    with Progress("telling apart") as bar:
        under_p = setting(p, q, seed, max_seconds).needed(float(error))
        bar.show(0.5, "p from q")
        under_q = setting(q, p, seed, max_seconds).needed(float(error))
        bar.show(1.0, "q from p")
    names = ("p", "q") if p.name == q.name else (p.name or "p", q.name or "q")
    return SamplesNeeded(float(error), under_p, under_q, names, what)


@dataclass(frozen=True, eq=False)
class _Observed:
    """What one observation after the other says for `true` against `other`."""

    rate: Divergence  # of one observation
    draws: Callable[[int, int], Source]  # of so many sequences, so many observations at once
    size: float  # nodes of one observation
    seconds: float

    def needed(self, error: float) -> Needed:
        """How many of them a test takes."""
        rate, limit = self.rate, log((1.0 - error) / error)
        if isinf(rate.value):
            tests = self._tests(1.0, limit)
            reason = f"the rate is infinite, {rate.infinite[0]}"
            return _simulated(tests, rate, 0.0, reason) if tests else Needed(1.0, 1.0, inf, rate, None, reason, 0.0)
        information = (1.0 - 2.0 * error) * limit
        low = rate.value if rate.lower is None else max(rate.lower, 0.0)
        high = rate.value if rate.upper is None else rate.upper
        if rate.value <= 0 or (low <= 0 and rate.value < ROUNDING):
            least = information / high if high > 0 else inf
            return Needed(inf, least, inf, rate, None, "the rate is 0: nothing tells them apart")
        wald = information / rate.value
        if tests := self._tests(wald, limit):
            return _simulated(tests, rate, wald)
        # Up to a smaller limit: what the first states and the overshoot add is measured there.
        shorter = _limit(SHORTER * rate.value)
        tests = self._tests(SHORTER, shorter) if shorter < limit else None
        if tests is None:
            return Needed(max(wald, 1.0), max(information / high, 1.0), inf, rate, None, wald=wald)
        over = float((np.abs(tests.ratio) - shorter).mean())
        start = tests.ratio - rate.value * tests.taken
        about = (1.0 - 2.0 * error) * (limit + over) - float(start.mean())
        off = over + Z95 * float(start.std(ddof=1)) / len(start) ** 0.5
        upper = (about + off) / low if low > 0 else inf
        return Needed(
            about / rate.value, max((about - off) / high, 1.0), upper, rate, tests.simulated(), wald=wald,
            extrapolated=True,
        )  # fmt: skip

    def _tests(self, length: float, limit: float) -> Walks | None:
        """Tests of about this length, where that is not too much."""
        nodes = max(length, 1.0) * self.size
        if FEWEST * nodes > STEPS:
            return None
        # Long tests have small relative errors: fewer of them do.
        paths = int(min(PATHS, max(FEWEST, STEPS / nodes)))
        return walks(self.draws(paths, min(BLOCK, ceil(length))), paths, limit, self.seconds)


def _setting(p: Model, q: Model, tree: Any) -> tuple[Callable[[Model, Model, Seed, float], _Observed], str]:
    """Observations of a chain or whole trees, and the words for them."""
    if tree is None:
        for name, model in (("p", p), ("q", q)):
            if model.n_groups > 1:
                refuse(
                    IncompatibleModels, name, "has groups, and so lives on a tree and not along an endless chain",
                    counted(model.n_groups, "group"), "give tree=, and whole trees are counted",
                )  # fmt: skip
        return _along_a_chain, "observations"
    if isinstance(tree, UntilEnd):
        return _until_end, "independent sequences"
    trees = as_forest(tree) if is_forest(tree) else as_forest([as_tree(tree)])
    words = (str(trees) if len(trees) > 1 else on_tree(trees.trees[0])).removeprefix("on ")

    def whole(true: Model, other: Model, seed: Seed, seconds: float) -> _Observed:
        on: Any = list(trees) if len(trees) > 1 else trees.trees[0]
        rate = observed_kl(true, other, on, seed=seed, max_seconds=seconds)

        def draws(paths: int, block: int) -> Source:
            return Forests(true, other, trees.trees, paths, generator(seed), block)

        return _Observed(rate, draws, trees.n_nodes, seconds)

    return whole, f"independent draws of {words}"


def _until_end(true: Model, other: Model, seed: Seed, seconds: float) -> _Observed:
    """Whole sequences; nothing here draws them, so that Wald's approximation stands alone."""
    rate = observed_kl(true, other, UNTIL_END, seed=seed, max_seconds=seconds)
    return _Observed(rate, lambda paths, block: Chains(true, other, paths, generator(seed)), inf, seconds)


def _along_a_chain(true: Model, other: Model, seed: Seed, seconds: float) -> _Observed:
    rate = observed_kl_rate(true, other, seed=seed, max_seconds=seconds)
    return _Observed(rate, lambda paths, block: Chains(true, other, paths, generator(seed)), 1.0, seconds)


def _simulated(tests: Walks, rate: Divergence, wald: float, reason: str | None = None) -> Needed:
    """The mean of tests that were run."""
    found = tests.simulated()
    off = Z95 * found.std_error
    return Needed(found.mean, max(found.mean - off, 1.0), found.mean + off, rate, found, reason, wald)


def _limit(information: float) -> float:
    """The limit b of a test that gathers this much: b tanh(b/2) = information."""
    low, high = 0.0, information + 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if middle * tanh(0.5 * middle) < information else (low, middle)
    return high


def _said(side: Needed) -> str:
    if isinf(side.value):
        return side.reason or "no number"
    value = f"{side.value:.4g} ({side.lower:.4g} to {side.upper:.4g})"
    wald = f"Wald's approximation is {side.wald:.4g}" if side.reason is None else side.reason
    if side.simulated is None:
        return f"{value} by Wald's approximation, not simulated" if side.reason is None else f"{value}, {wald}"
    tests = counted(side.simulated.paths, "simulated test")
    how = f"extrapolated from {tests} up to a smaller limit" if side.extrapolated else f"the mean of {tests}"
    return f"{value}, {how}; {wald}"
