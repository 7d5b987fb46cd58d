"""How much two observed processes overlap: Bhattacharyya, Hellinger, total variation, Bayes error (definitions 10)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import exp, expm1, inf, sqrt
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from hidiv.arguments import Seed, generator, number
from hidiv.divergences.joint.renyi import joint_renyi
from hidiv.divergences.measures.close_models import like_states
from hidiv.divergences.measures.mean_ratio import (
    FIRST,
    Function,
    distance,
    few_words,
    gap,
    over_draws,
    over_words,
    overlap,
    smaller_half,
)
from hidiv.divergences.measures.measure import Measure
from hidiv.divergences.measures.product_kernel import about, known_tree, log_radius, log_sum, subtrees_of
from hidiv.divergences.measures.word_blocks import LogBounds, block_bounds
from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.pair import Pair, of_models
from hidiv.emissions.product_integrals import log_products
from hidiv.errors import HidivError, IncompatibleModels, counted, refuse
from hidiv.inference.sampling import check_size
from hidiv.models.tree import Tree
from hidiv.progress import Wanted, reported
from hidiv.types import Array

Method = Literal["auto", "exact", "certified", "montecarlo"]

RTOL = 0.01  # standard error of an estimate, as a share of it
MOST_SAMPLES = 20_000  # draws of both models together
MOST_NODES = 4_000_000  # of all draws together, where the number of draws is not given
ROUNDING = 1e-12  # room that bounds are given, of themselves
LEAST = 1e-6  # percents below are told as such
MANY = 10**18  # observations, whose number is not printed
Z95 = 1.959963984540054
RARE = 0.25  # relative errors above: the draws did not see what matters


class Bracket(NamedTuple):
    """Proven bounds on the Bhattacharyya coefficient BC: logs, and one less each."""

    log_lower: float
    log_upper: float
    gap_lower: float  # 1 - BC is at least this
    gap_upper: float  # and at most this

    @property
    def lower(self) -> float:
        return exp(self.log_lower)

    @property
    def upper(self) -> float:
        return exp(self.log_upper)


@of_models
def half_products(pair: Pair) -> Array:
    """(G, K, K'): log of the integrals of sqrt(e_s e'_t), by group."""
    return np.stack([log_products(a, b, 0.5) for a, b in pair.families()])


def log_upper(pair: Pair) -> float:
    """log of a proven upper bound on the Bhattacharyya coefficient, at most 0; so D(p || q) >= -2 log_upper.

    A step along an endless chain where the pair has no tree; 0 where the emissions have no integral of sqrt(e e').
    """
    if pair.tree is not None:
        return pair.once(bracket).log_upper
    try:
        return min(log_radius(pair.p, pair.q, 0.5), 0.0)
    except HidivError:
        return 0.0


def bracket(pair: Pair) -> Bracket:
    """Bounds on BC from recursions over pairs of states; [0, 1] where the emissions have no integrals.

    Above: B of `log_upper`, and on chains of symbols the same for blocks of several observations. Below: the square
    root of the sum over both paths of p(s) q(s') prod Phi^2 (Minkowski), for blocks too, and the coefficient of states
    and observations together, states paired by their emissions, which tell more than observations alone.
    """
    tree = known_tree(pair, "the Bhattacharyya coefficient needs")
    if pair.p == pair.q:
        return Bracket(0.0, 0.0, 0.0, 0.0)
    try:
        phi = pair.once(half_products)
    except HidivError:
        return Bracket(-inf, 0.0, 0.0, 1.0)
    kinds = subtrees_of(tree, max(pair.p.n_groups, pair.q.n_groups) > 1)
    above = min(log_sum(pair.p, pair.q, tree, 0.5, phi, kinds), 0.0)
    below = min(0.5 * log_sum(pair.p, pair.q, tree, 1.0, 2.0 * phi, kinds), 0.0)
    gap_upper = -expm1(below)
    if pair.same_states:
        try:
            joint = joint_renyi(pair.p, pair.q.relabel(like_states(pair)), tree, 0.5).value
        except HidivError:
            joint = inf
        if -0.5 * joint > below:
            below, gap_upper = -0.5 * joint, -expm1(-0.5 * joint)
    try:
        blocks = block_bounds(pair)
    except (NotApplicable, HidivError):
        blocks = LogBounds(-inf, 0.0)
    if blocks.lower > below:
        below, gap_upper = blocks.lower, -expm1(blocks.lower)
    above = min(above, blocks.upper)
    return _widened(below, above, gap_upper)


def _widened(below: float, above: float, gap_upper: float) -> Bracket:
    """The bracket with room for rounding."""
    low, high = (side * (1.0 + sign * ROUNDING) for side, sign in ((below, 1.0), (above, -1.0)))
    gap_lower = -expm1(high) * (1.0 - ROUNDING) + 0.0
    return Bracket(low - ROUNDING, min(high + ROUNDING, 0.0), gap_lower, max(gap_upper, gap_lower) * (1.0 + ROUNDING))


class OverlapMeasure(NamedTuple):
    """A measure that is a function of BC's bracket and the mean of a function of the log-ratio."""

    name: str
    function: Function  # whose mean it is, or whose mean `shown` turns into it
    bounds: Callable[[Bracket], tuple[float, float]]
    shown: Callable[[float], float] = float
    slope: Callable[[float], float] = lambda mean: 1.0  # of `shown`
    other: Function | None = None  # whose mean is one less the value
    unit: str = ""


def _variation(of: Bracket) -> tuple[float, float]:
    """1 - BC <= TV <= sqrt(1 - BC^2)."""
    return of.gap_lower, sqrt(min(of.gap_upper * (1.0 + of.lower), 1.0))


def _error(of: Bracket) -> tuple[float, float]:
    """(1 - sqrt(1 - BC^2))/2 <= error <= BC/2."""
    square = of.lower**2
    return 0.5 * square / (1.0 + sqrt(max(1.0 - square, 0.0))), 0.5 * of.upper


BHATTACHARYYA = OverlapMeasure("Bhattacharyya coefficient", overlap, lambda of: (of.lower, of.upper), other=gap)
HELLINGER = OverlapMeasure(
    "Hellinger distance", gap, lambda of: (sqrt(of.gap_lower), sqrt(of.gap_upper)),
    lambda mean: sqrt(max(mean, 0.0)), lambda mean: 0.5 / sqrt(mean) if mean > 0 else 0.0,
)  # fmt: skip
TOTAL_VARIATION = OverlapMeasure("total variation", distance, _variation)
BAYES_ERROR = OverlapMeasure("Bayes error", smaller_half, _error)


def bhattacharyya(
    p: Any,
    q: Any,
    tree: Any,
    *,
    method: Method = "auto",
    rtol: float = RTOL,
    seed: Seed = None,
    max_samples: int | None = None,
    progress: Wanted = None,
) -> Measure:
    """The Bhattacharyya coefficient of two observed processes, the sum over observations of sqrt(p(x) q(x)).

    Parameters
    ----------
    p, q : Model or fitted model of a supported library
        The two models, with any numbers of states.
    tree : Tree or int
        The tree, or the length of a chain.
    method : {"auto", "exact", "certified", "montecarlo"}, default "auto"
        Every word listed; proven bounds alone, without any draw; draws of both models. "auto": exact where it is quick,
        the bounds where they are as narrow as `rtol`, else draws, unless the overlap is too rare to be drawn.
    rtol : float, default 0.01
        The standard error of an estimate as a share of it.
    seed : int or Generator, optional
        The seed of the draws.
    max_samples : int, optional
        Draws of both models together; by default 20,000, and fewer on trees of more than 200 nodes.
    progress : bool or callable, optional
        Whether to show progress, or a function that is called with it.

    Returns
    -------
    Measure
        In [0, 1], 1 for equal laws, with proven bounds `lower` and `upper` (of an estimate: the 95 % interval inside
        them), `log`, and `complement`, one less the value with its own digits.

    Notes
    -----
    Bhattacharyya (1943). Definitions (10.3). -2 log of it is a lower bound on the observed divergence.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]))
    >>> q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))
    >>> round(hd.bhattacharyya(p, q, 10).value, 10)
    0.3060413993
    """
    return measured(BHATTACHARYYA, p, q, tree, method, rtol, seed, max_samples, progress=progress)


def hellinger(
    p: Any,
    q: Any,
    tree: Any,
    *,
    method: Method = "auto",
    rtol: float = RTOL,
    seed: Seed = None,
    max_samples: int | None = None,
    progress: Wanted = None,
) -> Measure:
    """The Hellinger distance of two observed processes, sqrt(1 - BC): a metric in [0, 1].

    Parameters
    ----------
    p, q : Model or fitted model of a supported library
        The two models, with any numbers of states.
    tree : Tree or int
        The tree, or the length of a chain.
    method : {"auto", "exact", "certified", "montecarlo"}, default "auto"
        As of `bhattacharyya`.
    rtol : float, default 0.01
        The standard error of an estimate as a share of it.
    seed : int or Generator, optional
        The seed of the draws.
    max_samples : int, optional
        Draws of both models together; by default 20,000, and fewer on trees of more than 200 nodes.
    progress : bool or callable, optional
        Whether to show progress, or a function that is called with it.

    Returns
    -------
    Measure
        0 for equal laws and 1 for disjoint ones, with proven bounds.

    Notes
    -----
    Definitions (10.3), (10.4).

    Examples
    --------
    >>> import hidiv as hd
    >>> coins = [hd.Model([1.0], [[1.0]], hd.Bernoulli([prob])) for prob in (0.5, 0.75)]
    >>> round(hd.hellinger(*coins, 1).value, 10)
    0.1845919113
    """
    return measured(HELLINGER, p, q, tree, method, rtol, seed, max_samples, progress=progress)


def total_variation(
    p: Any,
    q: Any,
    tree: Any,
    *,
    method: Method = "auto",
    rtol: float = RTOL,
    seed: Seed = None,
    max_samples: int | None = None,
    progress: Wanted = None,
) -> Measure:
    """The total variation of two observed processes: the largest difference of the probabilities of any event.

    Parameters
    ----------
    p, q : Model or fitted model of a supported library
        The two models, with any numbers of states.
    tree : Tree or int
        The tree, or the length of a chain.
    method : {"auto", "exact", "certified", "montecarlo"}, default "auto"
        As of `bhattacharyya`.
    rtol : float, default 0.01
        The standard error of an estimate as a share of it.
    seed : int or Generator, optional
        The seed of the draws.
    max_samples : int, optional
        Draws of both models together; by default 20,000, and fewer on trees of more than 200 nodes.
    progress : bool or callable, optional
        Whether to show progress, or a function that is called with it.

    Returns
    -------
    Measure
        A metric in [0, 1], half the sum of |p(x) - q(x)|, with proven bounds.

    Notes
    -----
    Definitions (10.4).

    Examples
    --------
    >>> import hidiv as hd
    >>> coins = [hd.Model([1.0], [[1.0]], hd.Bernoulli([prob])) for prob in (0.5, 0.75)]
    >>> hd.total_variation(*coins, 1)
    total variation of p and q on a chain of 1 node = 0.25, exact
    """
    return measured(TOTAL_VARIATION, p, q, tree, method, rtol, seed, max_samples, progress=progress)


def bayes_error(
    p: Any,
    q: Any,
    tree: Any,
    *,
    method: Method = "auto",
    rtol: float = RTOL,
    seed: Seed = None,
    max_samples: int | None = None,
    progress: Wanted = None,
) -> Measure:
    """How often the best possible guess of which model made the observations errs, both being equally likely before.

    Parameters
    ----------
    p, q : Model or fitted model of a supported library
        The two models, with any numbers of states.
    tree : Tree or int
        The tree, or the length of a chain.
    method : {"auto", "exact", "certified", "montecarlo"}, default "auto"
        As of `bhattacharyya`.
    rtol : float, default 0.01
        The standard error of an estimate as a share of it.
    seed : int or Generator, optional
        The seed of the draws.
    max_samples : int, optional
        Draws of both models together; by default 20,000, and fewer on trees of more than 200 nodes.
    progress : bool or callable, optional
        Whether to show progress, or a function that is called with it.

    Returns
    -------
    Measure
        In [0, 1/2], (1 - total variation)/2, with proven bounds; the first note says it in a sentence.

    Notes
    -----
    Definitions (10.4). `samples_to_tell_apart` answers the reverse question.

    Examples
    --------
    >>> import hidiv as hd
    >>> coins = [hd.Model([1.0], [[1.0]], hd.Bernoulli([prob])) for prob in (0.5, 0.75)]
    >>> hd.bayes_error(*coins, 2).notes[0]
    'shown 2 observations, the best possible guess of which model made them errs 34.4 % of the time'
    """
    result = measured(BAYES_ERROR, p, q, tree, method, rtol, seed, max_samples, progress=progress)
    return replace(result, notes=(error_in_words(result, tree), *result.notes))


def overlap_bounds(pair: Pair) -> dict[str, Measure]:
    """Proven bounds on the Hellinger distance, the total variation and the Bayes error of a pair, without any draw."""
    hellinger, variation, error = (measured_bracket(k, pair) for k in (HELLINGER, TOTAL_VARIATION, BAYES_ERROR))
    noted = replace(error, notes=(error_in_words(error, pair.tree),))
    return {"hellinger": hellinger, "total_variation": variation, "bayes_error": noted}


def error_in_words(error: Measure, tree: Any) -> str:
    """'shown 100 observations, the best possible guess ... errs between 1.2 % and 4.0 % of the time'."""
    size = tree.n_nodes if isinstance(tree, Tree) else int(tree)
    count = counted(size, "observation") if size < MANY else "that many observations"
    shown = f"shown {count}, the best possible guess of which model made them errs"
    low, high = (100.0 * (error.value if side is None else side) for side in (error.lower, error.upper))
    if high < LEAST:
        return f"{shown} less than {LEAST:.6f} % of the time"
    if f"{low:.3g}" == f"{high:.3g}":
        return f"{shown} {low:.3g} % of the time"
    return f"{shown} between {low if low >= LEAST else 0.0:.3g} % and {high:.3g} % of the time"


@reported
def measured(
    kind: OverlapMeasure,
    p: Any,
    q: Any,
    tree: Any,
    method: Method,
    rtol: float,
    seed: Seed,
    max_samples: int | None,
    *,
    progress: Wanted = None,  # for @reported
) -> Measure:
    pair = Pair.of(p, q, tree)
    known_tree(pair, f"the {kind.name} needs")
    if method not in get_args(Method):
        refuse(HidivError, "method", 'must be "auto", "exact", "certified" or "montecarlo"', method)
    if not number("rtol", rtol) > 0:
        refuse(HidivError, "rtol", "must be above 0", rtol)
    if method in ("auto", "exact"):
        if few_words(pair, 5 * 10**6 if method == "exact" else 100_000):
            return _exact(kind, pair)
        if pair.p == pair.q or pair.p.n_states == pair.q.n_states == 1:
            alone = measured_bracket(kind, pair)
            if kind in (BHATTACHARYYA, HELLINGER) or pair.p == pair.q:
                return Measure(
                    alone.value, kind.name, log=alone.log, complement=alone.complement, unit=kind.unit,
                    subject=alone.subject,
                )  # fmt: skip
        if method == "exact":
            rule = "needs symbols, and few enough words to be listed"
            refuse(IncompatibleModels, "method", rule, remedy='ask for method="certified" or "montecarlo"')
    certain = measured_bracket(kind, pair)
    low, high = certain.lower or 0.0, certain.upper or 0.0
    if method == "certified" or (method == "auto" and high - low <= rtol * low):
        return certain
    most = most_samples(pair, max_samples)
    mean = over_draws(pair, kind.function, rtol, most, generator(seed))
    if method == "auto" and mean.std_error > RARE * mean.value:
        return certain.noted("draws hardly see what both models have in common, so only the bounds are given")
    value, error = kind.shown(mean.value), mean.std_error * kind.slope(mean.value)
    inside = min(max(value, low), high)
    notes = [] if inside == value else [f"the draws gave {value:.6g}, which lies outside the proven bounds"]
    below, above = (min(max(value + side * Z95 * error, low), high) for side in (-1.0, 1.0))
    return Measure(
        inside, kind.name, "estimate", below, above, error, mean.n_samples,
        log=float(np.log(inside)) if inside > 0 else -inf,
        complement=None if kind.unit else 1.0 - inside, unit=kind.unit, subject=about(pair),
        notes=(*notes, f"proven to lie between {low:.6g} and {high:.6g}"),
    )  # fmt: skip


def most_samples(pair: Pair, wanted: int | None) -> int:
    """How many draws of both models together are taken at most."""
    if wanted is not None:
        return max(2, check_size(wanted))
    tree = known_tree(pair, "draws need")
    return int(min(MOST_SAMPLES, max(2 * FIRST, MOST_NODES // tree.n_nodes)))


def measured_bracket(kind: OverlapMeasure, pair: Pair) -> Measure:
    """The measure between proven bounds; the value is their mean, of logarithms where both are known."""
    of = pair.once(bracket)
    low, high = kind.bounds(of)
    low, high = min(low, high), max(low, high)
    value = sqrt(low) * sqrt(high) if low > 0 else 0.5 * (low + high)
    value = min(max(value, low), high)
    log = rest = None
    if kind is BHATTACHARYYA:
        log = 0.5 * (of.log_lower + of.log_upper) if of.log_lower > -inf else float(np.log(value))
        rest = min(max(-expm1(log), of.gap_lower), of.gap_upper)
    return Measure(
        value, kind.name, "certified", low, high, log=log, complement=rest, unit=kind.unit, subject=about(pair)
    )


def _exact(kind: OverlapMeasure, pair: Pair) -> Measure:
    functions = [kind.function] if kind.other is None else [kind.function, kind.other]
    mean, *rest = over_words(pair, *functions)
    if rest and rest[0] < 0.5:
        mean = 1.0 - rest[0]
    words = symbol_count(pair)
    return Measure(
        kind.shown(mean), kind.name, log=float(np.log(mean)) if mean > 0 and kind is BHATTACHARYYA else None,
        complement=rest[0] if rest else None, unit=kind.unit, subject=about(pair),
        notes=[f"every one of {words} words listed"],
    )  # fmt: skip


def symbol_count(pair: Pair) -> int:
    """How many words there are."""
    from hidiv.divergences.observed.alphabets import symbol_probabilities

    assert isinstance(pair.tree, Tree)
    return int(symbol_probabilities(pair.p).shape[-1] ** int(pair.tree.n_nodes))
