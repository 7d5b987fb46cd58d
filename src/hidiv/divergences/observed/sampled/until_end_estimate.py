"""Estimates for chains that stop by themselves: of what is shown and where it ends."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from hidiv.divergences.observed.alphabets import by_formula
from hidiv.divergences.observed.certified.cheap_bounds import joint_above
from hidiv.divergences.observed.sampled.draws import Draws, impossible, portion
from hidiv.divergences.observed.sampled.end_draws import ending
from hidiv.divergences.observed.sampled.joint_cap import capped_by_joint
from hidiv.divergences.observed.sampled.stopping import stopped_estimate

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget
    from hidiv.divergences.pair import Pair
    from hidiv.divergences.result import Divergence


def applies(pair: Pair) -> str | None:
    """Any models with `end`; chains that are too long to be drawn are refused."""
    return None


def run(pair: Pair, budget: Budget) -> Divergence:
    """An estimate, with what is certain in its notes."""
    chains = pair.once(ending)
    reason = chains.forbidden()
    if reason is not None:
        return stopped_estimate(impossible(pair, reason), budget)
    at_once = portion(int(chains.visits.sum() + 1.0) * 4 * (pair.p.n_states + pair.q.n_states + 2))
    whole = "log p/q of whole chains"
    base = whole if chains.tables is None else "KL(p(x_t | past) || q(x_t | past)) summed to the end"
    draws = Draws(chains.draw, pair.subject, base, at_once, dear=2.0, expected=lambda: chains.expected)
    estimate = capped_by_joint(stopped_estimate(draws, budget), pair)
    above = pair.once(joint_above) if by_formula(pair.p, pair.q) else inf
    certain = f"; it is at most {above:.6g}, which is certain" if above < inf else ""
    return estimate.noted(f"not exact or narrowly certified: the lengths are random{certain}")
