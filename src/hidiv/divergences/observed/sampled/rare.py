"""What draws do not show: the error of their mean, with what events may add that were drawn too seldom or never."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hidiv.divergences.observed.sampled.draws import Drawn, Draws
from hidiv.divergences.observed.sampled.standard_errors import SURE, Mean, missed, unseen, widened


class Allowed(NamedTuple):
    """A mean with its error widened; the expected number in a draw of an event that none has shown, and what rare
    states may add that were drawn too seldom."""

    mean: Mean
    chance: float
    lacking: float


def allowed(draws: Draws, batch: Drawn, mean: Mean) -> Allowed:
    """The mean of a batch, its error with what rare events may add that these draws do not show."""
    chance, lacking = unseen(batch.controls), 0.0
    if draws.expected is not None:
        means, costs = draws.expected()
        lacking = missed(batch.events, means, costs)
        mean = widened(mean, 1.0, lacking, least=False)
    if chance > SURE:
        mean = widened(mean, chance, max(draws.reach, float(np.abs(batch.plain).max())))
    if draws.sparse and len(batch.base) > 1:
        # Words that only some states can emit may be as rare as one in all draws, and unlike the others.
        shown = batch.plain if draws.expected is None else batch.base
        mean = widened(mean, 1.0 / len(batch.base), float(np.ptp(shown)), least=False)
    return Allowed(mean, chance, lacking)
