"""How many observations of a chain, or independent trees, tell two models apart (definitions (7.1))."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, inf, isinf, log, tanh
from typing import Any

import numpy as np

from hidiv.adapters.as_model import as_models
from hidiv.arguments import Seed, generator, number
from hidiv.divergences.forest import as_forest
from hidiv.divergences.observed.kl import observed_kl
from hidiv.divergences.observed.rate import observed_kl_rate
from hidiv.divergences.pair import is_forest, tree_in_words
from hidiv.divergences.quantities import header
from hidiv.divergences.result import Divergence, plain
from hidiv.divergences.telling_apart.sequential_test import Chains, Forests, Simulated, Source, Walks, walks
from hidiv.errors import HidivError, IncompatibleModels, counted, refuse
from hidiv.models.model import Model
from hidiv.models.tree import as_tree
from hidiv.models.until_end import UNTIL_END, UntilEnd
from hidiv.progress import Progress, Wanted, reported

FEWEST, PATHS = 200, 4000  # tests run on draws
STEPS = 1_000_000  # nodes drawn for all of them together
SHORTER = 500  # observations of the shorter tests that are extrapolated where others are too long to run
BLOCK = 32  # draws of a small tree at once
Z95 = 1.959963984540054  # two-sided 95 % of a normal law
ROUNDING = 1e-13  # a smaller rate whose interval reaches 0 cannot be told from 0


@dataclass(frozen=True)
class Needed:
    """Expected number of observations of a sequential test when one of the models is true.

    `value` is the mean of the `simulated` tests, `lower` to `upper` its 95 % interval. Tests too long to run are
    simulated up to a smaller limit and extrapolated (`extrapolated`); their interval covers the bounds of the rate too.
    `wald` is Wald's approximation, the information needed over the observed rate, which ignores the overshoot of the
    test over its limit and the first states. Where nothing could be simulated it is the value, and `upper` is +inf.
    `reason` explains a rate of 0 (`value` is +inf) or an infinite one (`wald` is 0: the first observation that the
    other model cannot show decides).
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
    """Observations that a sequential test needs, as `samples_to_tell_apart` returns them.

    Parameters
    ----------
    error : float
        Both error rates of the test.
    under_p, under_q : Needed
        The numbers when p is true and when q is true.
    names : tuple of str, default ("p", "q")
        The names of the models.
    counted : str, default "observations"
        What is counted: observations of a chain, or independent draws of a tree or of several.

    Examples
    --------
    >>> import hidiv as hd
    >>> p, q = (hd.Model([1.0], [[1.0]], hd.Gaussian([mean], std=[1.0])) for mean in (0.0, 2.0))
    >>> needed = hd.samples_to_tell_apart(p, q, 0.01)
    >>> needed.under_p.wald < needed.under_p.value
    True
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
        described = header("samples_needed") | {"error": self.error, "counted": self.counted}
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
            f"{_in_words(side)} when {name} is true" for name, side in sides
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
    """Number of observations that a sequential test needs to tell p from q.

    Parameters
    ----------
    p, q : Model or fitted model of a supported library
        The two models; models with groups need a tree.
    error : float, default 0.001
        Both error rates of the test.
    tree : Tree, int, UNTIL_END or list, optional
        Count independent draws of this whole tree (or chain, by its length), or of all trees of a list together, or
        whole sequences with `hd.UNTIL_END`, which are not simulated. When left out, observations along a chain.
    seed : int or Generator, default 0
        The seed of the simulated tests.
    max_seconds : float, default 10.0
        How long each observed divergence and each simulation may take.
    progress : bool or callable, optional
        Whether to show progress, or a function that is called with it.

    Returns
    -------
    SamplesNeeded
        For either true model the mean of simulated tests with its 95 % interval, and Wald's approximation. Divergences
        of 0 make it +inf.

    Raises
    ------
    HidivError
        Where `error` is not between 0 and 0.5.
    IncompatibleModels
        Where the models have groups and there is no tree.

    Notes
    -----
    Definitions (7.1): E_p[n] ~ [(1 - e) log((1 - e)/e) + e log(e/(1 - e))] / D, D the observed rate of p from q, or the
    observed divergence on the tree, and the mirror image under q.

    Examples
    --------
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
    setting, unit = _setting(p, q, tree)
    with Progress("telling apart") as bar:
        under_p = setting(p, q, seed, max_seconds).needed(float(error))
        bar.show(0.5, "p from q")
        under_q = setting(q, p, seed, max_seconds).needed(float(error))
        bar.show(1.0, "q from p")
    names = ("p", "q") if p.name == q.name else (p.name or "p", q.name or "q")
    return SamplesNeeded(float(error), under_p, under_q, names, unit)


@dataclass(frozen=True, eq=False)
class _Setting:
    """The observations that tell `true` from `other`: their divergence, and how to draw them."""

    rate: Divergence  # of one observation
    draws: Callable[[int, int], Source]  # from the number of sequences and of observations drawn at once
    size: float  # nodes of one observation
    seconds: float  # for the simulation

    def needed(self, error: float) -> Needed:
        """How many of them a test with this error rate needs."""
        rate, limit = self.rate, log((1.0 - error) / error)
        if isinf(rate.value):
            tests = self._tests(1.0, limit)
            reason = f"the rate is infinite, {rate.infinite[0]}"
            return _simulated(tests, rate, 0.0, reason) if tests else Needed(1.0, 1.0, inf, rate, None, reason, 0.0)
        information = (1.0 - 2.0 * error) * limit
        margin = rate.error or 0.0
        low = max(rate.value - margin if rate.lower is None else rate.lower, 0.0)
        high = rate.value + margin if rate.upper is None else rate.upper
        if rate.value <= 0 or (low <= 0 and rate.value < ROUNDING):
            least = information / high if high > 0 else inf
            return Needed(inf, least, inf, rate, None, "the rate is 0: nothing tells them apart")
        wald = information / rate.value
        if tests := self._tests(wald, limit):
            return _simulated(tests, rate, wald)
        # Tests up to a smaller limit measure what the first states and the overshoot add.
        shorter = _limit(SHORTER * rate.value)
        tests = self._tests(SHORTER, shorter) if shorter < limit else None
        if tests is None:
            return Needed(max(wald, 1.0), max(information / high, 1.0), inf, rate, None, wald=wald)
        overshoot = float((np.abs(tests.ratio) - shorter).mean())
        start = tests.ratio - rate.value * tests.taken
        gathered = (1.0 - 2.0 * error) * (limit + overshoot) - float(start.mean())
        margin = overshoot + Z95 * float(start.std(ddof=1)) / len(start) ** 0.5
        upper = (gathered + margin) / low if low > 0 else inf
        return Needed(
            gathered / rate.value, max((gathered - margin) / high, 1.0), upper, rate, tests.simulated(), wald=wald,
            extrapolated=True,
        )  # fmt: skip

    def _tests(self, length: float, limit: float) -> Walks | None:
        """Simulated tests of about this length; None where that takes too many draws or too long."""
        nodes = max(length, 1.0) * self.size
        if FEWEST * nodes > STEPS:
            return None
        # Long tests have small relative errors, so that fewer of them suffice.
        paths = int(min(PATHS, max(FEWEST, STEPS / nodes)))
        return walks(self.draws(paths, min(BLOCK, ceil(length))), paths, limit, self.seconds)


def _setting(p: Model, q: Model, tree: Any) -> tuple[Callable[[Model, Model, Seed, float], _Setting], str]:
    """What is observed (a chain, whole trees or sequences) as a function of the models, and the words for its unit."""
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
    words = (str(trees) if len(trees) > 1 else tree_in_words(trees[0])).removeprefix("on ")

    def whole(true: Model, other: Model, seed: Seed, seconds: float) -> _Setting:
        rate = observed_kl(true, other, trees if len(trees) > 1 else trees[0], seed=seed, max_seconds=seconds)

        def draws(paths: int, block: int) -> Source:
            return Forests(true, other, trees, paths, generator(seed), block)

        return _Setting(rate, draws, trees.n_nodes, seconds)

    return whole, f"independent draws of {words}"


def _until_end(true: Model, other: Model, seed: Seed, seconds: float) -> _Setting:
    """Whole sequences; nothing draws them here, so that there is only Wald's approximation."""
    rate = observed_kl(true, other, UNTIL_END, seed=seed, max_seconds=seconds)
    return _Setting(rate, lambda paths, block: Chains(true, other, paths, generator(seed)), inf, seconds)


def _along_a_chain(true: Model, other: Model, seed: Seed, seconds: float) -> _Setting:
    """Observations along an endless chain."""
    rate = observed_kl_rate(true, other, seed=seed, max_seconds=seconds)
    return _Setting(rate, lambda paths, block: Chains(true, other, paths, generator(seed)), 1.0, seconds)


def _simulated(tests: Walks, rate: Divergence, wald: float, reason: str | None = None) -> Needed:
    """The mean of tests that were run, with its 95 % interval."""
    simulated = tests.simulated()
    margin = Z95 * simulated.std_error
    lower, upper = max(simulated.mean - margin, 1.0), simulated.mean + margin
    return Needed(simulated.mean, lower, upper, rate, simulated, reason, wald)


def _limit(information: float) -> float:
    """The limit b of a test that gathers this much information: b tanh(b/2) = information."""
    low, high = 0.0, information + 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if middle * tanh(0.5 * middle) < information else (low, middle)
    return high


def _in_words(side: Needed) -> str:
    """The number with its interval and how it was found."""
    if isinf(side.value):
        return side.reason or "no number"
    value = f"{side.value:.4g} ({side.lower:.4g} to {side.upper:.4g})"
    wald = f"Wald's approximation is {side.wald:.4g}" if side.reason is None else side.reason
    if side.simulated is None:
        return f"{value} by Wald's approximation, not simulated" if side.reason is None else f"{value}, {wald}"
    tests = counted(side.simulated.paths, "simulated test")
    how = f"extrapolated from {tests} up to a smaller limit" if side.extrapolated else f"the mean of {tests}"
    return f"{value}, {how}; {wald}"
