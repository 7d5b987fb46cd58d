"""What draws do not show: the error of their mean, and what events drawn too seldom or never may add to it."""

from __future__ import annotations

from math import e, log, sqrt
from typing import NamedTuple

import numpy as np

from hidiv.divergences.observed.sampled.draws import Drawn, Draws
from hidiv.divergences.observed.sampled.standard_errors import FEW, SURE, Mean, missed, unseen, widened
from hidiv.types import Array

TOLD = 8  # draws with rare events that tell what these add


class Allowed(NamedTuple):
    """A mean with its error widened; the expected number in a draw of an event that none has shown, what rare states
    may add that were drawn too seldom, and what they may add to the variance of a draw."""

    mean: Mean
    chance: float
    lacking: float
    hidden: float


def allowed(draws: Draws, batch: Drawn, mean: Mean, before: int | None = None) -> Allowed:
    """The mean of a batch, its error widened by what rare events may add that these draws do not show.

    before: how many other draws there were, where a function fitted to them, the first control, is taken out of these;
    a word that none of them has shown is not in the function, and changes a draw as it would without.
    """
    chance, lacking, hidden = unseen(batch.controls), 0.0, 0.0
    if draws.expected is not None:
        means, costs = draws.expected()
        costs = as_drawn(batch, costs, mean)
        lacking, hidden = missed(batch.events, means, costs), missed(batch.events, means, costs**2)
        mean = widened(mean, 1.0, lacking, least=False)
    if chance > SURE:
        mean = widened(mean, chance, max(draws.reach, float(np.abs(batch.plain).max())))
    if draws.sparse and len(batch.base) > 1:
        mean = widened(mean, 1.0, _rare_word(draws, batch, before), least=False)
    return Allowed(mean, chance, lacking, hidden)


def as_drawn(batch: Drawn, costs: Array, mean: Mean) -> Array:
    """What one more event may add to what is averaged, by the rare ones among these draws.

    Averages over the next observation take a share of an event's cost out of a draw, which the draws with rare events
    tell, and controls a further one, of events that some draw has shown; an event that costs more than any of these is
    taken at its full cost.
    """
    shown = (batch.events > 0).sum(axis=0)
    rare = (shown > 0) & (shown < FEW)
    spent = batch.events[:, rare] @ costs[rare]
    with_rare = spent > 0
    if with_rare.sum() < TOLD:
        return costs
    controlled, bare = (_share((each - mean.value)[with_rare], spent[with_rare]) for each in (mean.draws, batch.base))
    return np.where(costs <= costs[rare].max(), np.where(shown > 0, controlled, bare) * costs, costs)


def _share(left: Array, spent: Array) -> float:
    """What is left of what events cost, at most all of it."""
    unit = max(float(np.abs(left).max()), float(spent.max()))  # whose square may be no double
    own, full = (float(np.linalg.norm(each / unit)) for each in (left, spent))
    return min(own / full, 1.0) if full > 0.0 else 1.0


def _rare_word(draws: Draws, batch: Drawn, before: int | None) -> float:
    """What a word as rare as one in all draws, and unlike the others, may add to the mean."""
    count, others = len(batch.base), before or 0
    if draws.expected is None or not draws.long:
        return float(np.ptp(batch.plain)) / (count + others)
    # Words that the function does not know come to be among these draws, whose tails are in their own error.
    unknown = 1.0 if before is None else max(1.0 - count / before, 0.0)
    shown = batch.base if before is None else batch.base + batch.controls[:, 0]
    # A word of chance c is missed by m draws with probability exp(-c m): c times that is at most 1 / (e m).
    return unknown * _beyond_usual(shown) / (e * (count + others))


def _beyond_usual(draws: Array) -> float:
    """By how much the range of draws exceeds that of as many draws of a normal law."""
    usual = 2.0 * sqrt(2.0 * log(len(draws))) * float(draws.std())
    return max(float(np.ptp(draws)) - usual, 0.0)
