"""How a measure of the overlap of two observed processes is computed: exactly, between bounds, or by draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import expm1, inf, sqrt
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from hidiv.arguments import Seed, generator, number
from hidiv.divergences.measures.bhattacharyya_bounds import Bracket, bracket
from hidiv.divergences.measures.mean_ratio import (
    FIRST,
    LOG_TWO,
    DrawnMean,
    Function,
    distance,
    few_words,
    gap,
    over_draws,
    over_words,
    overlap,
    smaller_half,
    surprise,
)
from hidiv.divergences.measures.measure import Measure
from hidiv.divergences.pair import Pair
from hidiv.errors import HidivError, IncompatibleModels, counted, refuse
from hidiv.inference.sampling import check_size
from hidiv.models.tree import Tree
from hidiv.progress import Wanted, reported

Method = Literal["auto", "exact", "certified", "montecarlo"]

LISTED = 100_000  # words that are listed unasked
RTOL = 0.01  # standard error of an estimate, as a share of it
MOST_SAMPLES = 20_000  # draws of both models together
MOST_NODES = 4_000_000  # of all draws together, where the number of draws is not given
LEAST = 1e-6  # percent: smaller numbers are shown as less than this
MANY = 10**18  # observations, whose number is not printed
Z95 = 1.959963984540054
WIDE = 0.1  # bounds on an error of 0 to 1/2 that say little
DRAWN_RTOL = 0.05  # of the estimates that stand in for such bounds
RARE = 0.25  # relative error above which the draws missed what matters


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


def _shannon(of: Bracket) -> tuple[float, float]:
    """log 2 (1 - BC) <= JS <= 1 - BC, pointwise in the ratio of p and q, and at most log 2."""
    return LOG_TWO * of.gap_lower, min(of.gap_upper, LOG_TWO)


BHATTACHARYYA = OverlapMeasure("Bhattacharyya coefficient", overlap, lambda of: (of.lower, of.upper), other=gap)
HELLINGER = OverlapMeasure(
    "Hellinger distance", gap, lambda of: (sqrt(of.gap_lower), sqrt(of.gap_upper)),
    lambda mean: sqrt(max(mean, 0.0)), lambda mean: 0.5 / sqrt(mean) if mean > 0 else 0.0,
)  # fmt: skip
TOTAL_VARIATION = OverlapMeasure("total variation", distance, _variation)
BAYES_ERROR = OverlapMeasure("Bayes error", smaller_half, _error)
JENSEN_SHANNON = OverlapMeasure("Jensen-Shannon divergence", surprise, _shannon, unit="nats")
KINDS = {
    "bhattacharyya": BHATTACHARYYA, "hellinger": HELLINGER, "total_variation": TOTAL_VARIATION,
    "bayes_error": BAYES_ERROR, "jensen_shannon": JENSEN_SHANNON,
}  # fmt: skip


def overlaps(pair: Pair, most: int, seed: Seed) -> dict[str, Measure]:
    """The Hellinger distance, total variation and Bayes error of a pair: between proven bounds, without any draw.

    Where these say little, the values if all words can be listed, else estimates from at most so many draws; none where
    `most` is 0.
    """
    hellinger, variation, error = (measured_bracket(k, pair) for k in (HELLINGER, TOTAL_VARIATION, BAYES_ERROR))
    if most and (error.upper or 0.0) - (error.lower or 0.0) > WIDE:
        drawn = _of_pair(BAYES_ERROR, pair, "auto", DRAWN_RTOL, seed, most)
        if drawn.status != "certified":
            hellinger, error = _of_pair(HELLINGER, pair, "auto", DRAWN_RTOL, seed, most), drawn
            low, high = (1.0 - 2.0 * (each or 0.0) for each in (drawn.upper, drawn.lower))
            spread = None if drawn.std_error is None else 2.0 * drawn.std_error
            variation = replace(
                drawn, value=1.0 - 2.0 * drawn.value, name=TOTAL_VARIATION.name, lower=low, upper=high,
                std_error=spread, log=None, complement=2.0 * drawn.value, notes=(),
            )  # fmt: skip
    noted = replace(error, notes=(error_in_words(error, pair.tree), *error.notes))
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
    if error.status == "estimate" and error.value < high / 1e4:
        return f"{shown} less than {high:.2g} % of the time (95 % interval)"
    if error.status == "estimate":
        return f"{shown} about {100.0 * error.value:.2g} % of the time (95 % interval {low:.2g} % to {high:.2g} %)"
    if low < high / 100.0:
        return f"{shown} less than {high:.2g} % of the time"
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
    pair.known_tree(f"the {kind.name} needs")
    if method not in get_args(Method):
        refuse(HidivError, "method", 'must be "auto", "exact", "certified" or "montecarlo"', method)
    if not number("rtol", rtol) > 0:
        refuse(HidivError, "rtol", "must be above 0", rtol)
    return _of_pair(kind, pair, method, rtol, seed, most_samples(pair, max_samples))


def _of_pair(kind: OverlapMeasure, pair: Pair, method: Method, rtol: float, seed: Seed, most: int) -> Measure:
    if method in ("auto", "exact"):
        if few_words(pair, 5 * 10**6 if method == "exact" else LISTED):
            return _exact(kind, pair)
        if bounds_meet(kind, pair):
            alone = measured_bracket(kind, pair)
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
    mean = over_draws(pair, kind.function, rtol, most, generator(seed))
    if method == "auto" and mean.std_error > RARE * mean.value:
        if kind is BAYES_ERROR and (above := _at_most(mean)) < 0.5 * high:
            note = f"{mean.n_samples} draws hardly see what both models share; the interval allows for what they miss"
            value = min(max(mean.value, low), above)
            return Measure(
                value, kind.name, "estimate", low, above, (above - value) / Z95, mean.n_samples,
                complement=1.0 - value, subject=pair.both, notes=(note,),
            )  # fmt: skip
        return certain.noted("draws hardly see what both models have in common, so only the bounds are given")
    value, error = kind.shown(mean.value), mean.std_error * kind.slope(mean.value)
    inside = min(max(value, low), high)
    notes = [] if inside == value else [f"the draws gave {value:.6g}, which lies outside the proven bounds"]
    below, above = (min(max(value + side * Z95 * error, low), high) for side in (-1.0, 1.0))
    return Measure(
        inside, kind.name, "estimate", below, above, error, mean.n_samples,
        log=float(np.log(inside)) if inside > 0 else -inf,
        complement=None if kind.unit else 1.0 - inside, unit=kind.unit, subject=pair.both,
        notes=(*notes, f"proven to lie between {low:.6g} and {high:.6g}{kind.unit and ' ' + kind.unit}"),
    )  # fmt: skip


def _at_most(mean: DrawnMean) -> float:
    """The end of a 95 % interval for an error whose draws, 1/2 at most each, are nearly all 0.

    What n draws miss has a probability of at most 3/n, or they would have missed it one time in twenty at most.
    """
    return mean.value + Z95 * mean.std_error + 0.5 * 3.0 / mean.n_samples


def bounds_meet(kind: OverlapMeasure, pair: Pair) -> bool:
    """Whether the proven bounds are one number."""
    alone = pair.p.n_states == pair.q.n_states == 1
    return pair.p == pair.q or (alone and kind in (BHATTACHARYYA, HELLINGER))


def most_samples(pair: Pair, wanted: int | None) -> int:
    """How many draws of both models together are taken at most."""
    if wanted is not None:
        return max(2, check_size(wanted))
    tree = pair.known_tree("draws need")
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
        value, kind.name, "certified", low, high, log=log, complement=rest, unit=kind.unit, subject=pair.both
    )


def _exact(kind: OverlapMeasure, pair: Pair) -> Measure:
    functions = [kind.function] if kind.other is None else [kind.function, kind.other]
    mean, *rest = over_words(pair, *functions)
    if rest and rest[0] < 0.5:
        mean = 1.0 - rest[0]
    words = symbol_count(pair)
    return Measure(
        kind.shown(mean), kind.name, log=float(np.log(mean)) if mean > 0 and kind is BHATTACHARYYA else None,
        complement=rest[0] if rest else None, unit=kind.unit, subject=pair.both,
        notes=[f"every one of {words} words was listed"],
    )  # fmt: skip


def symbol_count(pair: Pair) -> int:
    """How many words there are."""
    from hidiv.divergences.observed.alphabets import symbol_probabilities

    assert isinstance(pair.tree, Tree)
    return int(symbol_probabilities(pair.p).shape[-1] ** int(pair.tree.n_nodes))
