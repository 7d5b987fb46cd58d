"""The observed rate by Monte Carlo: the last steps of many chains, with controls (definitions (5.4) and (5.8))."""

from __future__ import annotations

from dataclasses import replace
from math import hypot, inf, isinf
from typing import TYPE_CHECKING

import numpy as np

from hidiv.divergences.observed.certified.joint_bound import capped_by_joint
from hidiv.divergences.observed.sampled.draws import Streams
from hidiv.divergences.observed.sampled.last_steps import LONGEST, LastSteps, steps_to_forget
from hidiv.divergences.observed.sampled.stopping import FEWEST, stopped_estimate
from hidiv.divergences.observed.support.any_family import forbidden
from hidiv.divergences.result import Divergence
from hidiv.models.model import Model
from hidiv.recursions.gth import absorbed, closed_classes, reaches, stationary

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget
    from hidiv.divergences.pair import Pair

STEPS = 4 * 10**6  # of a closed class, by default
CLASSES = 1 << 31  # the number of the stream of the first closed class, where there are several


def applies(pair: Pair) -> str | None:
    """Whatever can be drawn."""
    return None


def run(pair: Pair, budget: Budget) -> Divergence:
    """Chains in each closed class of p, until the standard error is below atol or rtol times the value.

    `max_samples` counts the last steps of all chains; FEWEST chains are drawn unless the time is up before.
    """
    reason = forbidden(pair.p, pair.q, None)
    subject, per = pair.subject_and_unit()
    if reason is not None:
        return Divergence(
            inf, "observed", per=per, infinite=[reason], notes=["decided by what q can emit, nothing drawn"],
            subject=subject,
        )  # fmt: skip
    parts, q = classes_of(pair.p), forgotten_start(pair.q)
    streams = Streams(budget.seed)
    if budget.max_seconds is not None:
        budget = replace(budget, max_seconds=budget.max_seconds / len(parts))
    if budget.max_samples is not None:
        budget = replace(budget, max_samples=max(budget.max_samples // len(parts), 2))
    each = [
        (share, _in_class(part, q, budget if len(parts) == 1 else replace(budget, seed=streams(CLASSES + i))))
        for i, (share, part) in enumerate(parts)
    ]
    found = each[0][1] if len(each) == 1 else _together(each)
    left_out = sum(part.n_states for _, part in parts) < pair.p.n_states
    if left_out and len(closed_classes(np.asarray(pair.q.transitions[0]))) > 1:
        found = found.noted("what p emits before it settles, which may decide where q ends, is left out")
    return capped_by_joint(replace(found, subject=subject, per=per), pair)


def _in_class(p: Model, q: Model, budget: Budget) -> Divergence:
    """The estimate of a closed class that p is in."""
    first = steps_to_forget(p, q)
    last_steps = LastSteps.of(p, q, first)
    steps = STEPS if budget.max_samples is None else budget.max_samples
    chains = max(steps // last_steps.n_last, FEWEST)
    found = stopped_estimate(last_steps.draws("rate"), replace(budget, max_samples=chains))
    found = replace(found, n_samples=None if found.n_samples is None else found.n_samples * last_steps.n_last)
    if first < LONGEST:
        return found
    return found.noted(f"after {first} steps the filters have not forgotten how they started, which may show")


def _together(each: list[tuple[float, Divergence]]) -> Divergence:
    """Over the closed classes, each with its probability; the notes are those of the class with the largest error."""
    shares, parts = [share for share, _ in each], [part for _, part in each]
    endless = [part for part in parts if isinf(part.value)]
    if endless:
        return endless[0]
    value = sum(share * part.value for share, part in each)
    error = hypot(*(share * (part.std_error or 0.0) for share, part in each))
    half = hypot(*(share * ((part.upper or 0.0) - part.value) for share, part in each))
    worst = max(each, key=lambda one: one[0] * (one[1].std_error or 0.0))[1]
    names = ", ".join(f"{share:.3g}" for share in shares)
    return replace(
        worst, value=value, std_error=error, lower=value - half, upper=value + half,
        n_samples=sum(part.n_samples or 0 for part in parts),
        notes=[f"p ends in one of {len(parts)} closed classes, with probabilities {names}", *worst.notes],
    )  # fmt: skip


def classes_of(p: Model) -> list[tuple[float, Model]]:
    """The closed classes p reaches: the probability of ending in each, and p in it from its stationary law on."""
    transition = np.asarray(p.transitions[0])
    reached = np.flatnonzero(reaches(transition > 0)[p.initial > 0].any(axis=0))
    moves = transition[np.ix_(reached, reached)]
    members = closed_classes(moves)
    transient = np.ones(len(reached), dtype=np.bool_)
    transient[np.concatenate(members)] = False
    entered = absorbed(p.initial[reached], moves, transient)
    shares = np.array([entered[m].sum() for m in members])
    return [
        (float(share), Model(stationary(own), own, p.emissions[0].take(reached[m])))
        for share, m in zip(shares / shares.sum(), members, strict=True)
        for own in (moves[np.ix_(m, m)] / moves[np.ix_(m, m)].sum(axis=1, keepdims=True),)
    ]


def forgotten_start(q: Model) -> Model:
    """q with equal probabilities for all states it can be in: in the long run its filter forgets the start."""
    possible = reaches(q.transitions[0] > 0)[q.initial > 0].any(axis=0)
    return Model(possible / possible.sum(), np.asarray(q.transitions[0]), q.emissions[0])
