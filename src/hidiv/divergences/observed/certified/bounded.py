"""A certified interval as the divergence that callers get."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from hidiv.divergences.observed.interval import Interval, NotApplicable
from hidiv.divergences.observed.quantity import subject_and_unit
from hidiv.divergences.observed.support.families import word_reason
from hidiv.divergences.result import Divergence

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget
    from hidiv.divergences.pair import Pair

CLOCK = "the clock ended the search for bounds, which would go on with a larger max_seconds"


def bounded(interval: Interval, pair: Pair, budget: Budget) -> Divergence:
    """The middle of the interval with its ends and certificate; the notes say where it is wide or the clock ended it.

    NotApplicable where nothing bounds it from above.
    """
    subject, per = subject_and_unit(pair)
    if interval.lower == inf:
        word = interval.how.get("word")
        reason = "p emits a configuration that q cannot" if word is None else word_reason(tuple(word), symbols=True)
        return Divergence(
            inf, "observed", "certified", inf, inf, per=per, infinite=[reason], certificate=interval.how,
            subject=subject,
        )  # fmt: skip
    if interval.upper == inf:
        raise NotApplicable(f"nothing bounds it from above; it is at least {interval.lower:.6g}")
    notes = [] if budget.narrow(interval) else [budget.wide()]
    if interval.how.get("stopped") == "the time":
        notes.append(CLOCK)
    return Divergence(
        0.5 * (interval.lower + interval.upper), "observed", "certified", interval.lower, interval.upper, per=per,
        certificate=interval.how, notes=notes, subject=subject,
    )  # fmt: skip
