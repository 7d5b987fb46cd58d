"""Infinite divergences: the one place that builds them, with their reasons and what can be done about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from hidiv.divergences.joint.local_terms import forbidden_by_q, reached_terms
from hidiv.divergences.pair import Pair, families, of_models
from hidiv.divergences.quantities import Quantity, Status
from hidiv.divergences.result import Divergence
from hidiv.emissions.family import Family
from hidiv.errors import HidivError
from hidiv.models.zero_filling import with_weight

SMOOTHED = "hd.smoothed(q, weight) fills the zeros of q, and the divergence is finite"


def infinite(
    pair: Pair,
    quantity: Quantity,
    reasons: Sequence[str],
    status: Status = "exact",
    *,
    notes: Sequence[str] = (),
    helps: bool | None = None,
    **fields: Any,
) -> Divergence:
    """+inf with its `reasons`, the first place first, and a note where smoothing q makes it finite.

    `helps` overrides whether smoothing does; `fields` are further fields of the Divergence.
    """
    if helps is None:
        helps = pair.once(smoothing_helps)
    bounds = {} if status == "approximation" else {"lower": inf, "upper": inf}
    advice = (SMOOTHED,) if helps else ()
    described = {"subject": pair.subject, **bounds, **fields, "infinite": reasons, "notes": (*notes, *advice)}
    return Divergence(inf, quantity, status, **described)


def advised(pair: Pair, result: Divergence) -> Divergence:
    """An infinite result that was computed elsewhere, as `infinite` reports it."""
    if SMOOTHED in result.notes or not pair.once(smoothing_helps):
        return result
    return replace(result, notes=(*result.notes, SMOOTHED))


def finite_first(pair: Pair, aligned: Pair | None) -> str:
    """What to know where the observed divergence is finite and the joint one is not: why, and what can be done.

    `aligned` is the pair with q's states in the order that fits p best.
    """
    one, best = forbidden_by_q(pair), None if aligned is None else aligned.once(reached_terms).reasons
    if best == []:
        return (
            "the observed divergence is finite, and the joint one with q's states aligned; as labelled the joint one "
            f"is not, because q forbids {one.words}"
        )
    words = f"the observed divergence is finite and the joint one is not, because q forbids {one.words}"
    if aligned is not None and (other := forbidden_by_q(aligned)) != one:
        words += f" (in the best order of q's states {other.words})"
    if not one.transitions[0] and not one.emissions[0]:
        return f'{words}; initial="stationary" or initial=False leaves the initial laws out'
    return f"{words}; {SMOOTHED}" if pair.once(smoothing_helps) else words


@of_models
def smoothing_helps(pair: Pair) -> bool:
    """Whether all that p shows is within the support of a smoothed q; its states and steps always are."""
    filled = with_weight(pair.q, 0.5)
    try:
        return all(_within(a.complete(), b.complete()) for a, b in families(pair.p, filled))
    except HidivError:  # families without a comparison in closed form
        return False


def _within(a: Family, b: Family) -> bool:
    """Whether each state of a is within the same state of b; within any, where their numbers differ."""
    if a.n_states == b.n_states:
        return all(gap is None for gap in a.gaps(b))
    return all(None in a.take(np.full(b.n_states, s)).gaps(b) for s in range(a.n_states))
