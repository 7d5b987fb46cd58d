"""The observed divergence of chains that stop by themselves: what is shown, and where it ends."""

from __future__ import annotations

from math import ceil, inf

import numpy as np

from hidiv.arguments import Seed
from hidiv.divergences.comparable import check_length, check_observations
from hidiv.divergences.observed.alphabets import by_formula, has_symbols
from hidiv.divergences.observed.certified.chains import observed_chain
from hidiv.divergences.observed.certified.cheap_bounds import joint_above
from hidiv.divergences.observed.interval import Interval, NotApplicable
from hidiv.divergences.observed.sampled.draws import Batch
from hidiv.divergences.observed.sampled.end_draws import EndPair
from hidiv.divergences.observed.sampled.estimator import CELLS, Draws, stopped_estimate
from hidiv.divergences.result import Divergence
from hidiv.divergences.subject import subject
from hidiv.errors import HidivError, IncompatibleModels, refuse
from hidiv.models.model import Model
from hidiv.models.until_end import UNTIL_END

SECONDS = 5.0  # for the bound from below
MOST = 200  # nodes of which it is


def observed_until_end(
    p: Model, q: Model, method: str, rtol: float, atol: float, seed: Seed, max_samples: int | None,
    max_seconds: float | None,
) -> Divergence:  # fmt: skip
    """D( p(X, length) || q(X, length) ): an estimate, or bounds by the first nodes and by the joint divergence."""
    check_length(p, q, until_end=True)
    check_observations(p, q)
    if method not in ("auto", "certified", "montecarlo"):
        remedy = 'use method="montecarlo" or "certified"'
        refuse(IncompatibleModels, f'method="{method}"', "needs a tree of known size", "UNTIL_END", remedy)
    pair = EndPair.of(p, q)
    about, reason = subject(p, q, UNTIL_END), pair.forbidden()
    if reason is None and method == "certified":
        return _certified(pair, about, SECONDS if max_seconds is None else max_seconds)
    if reason is not None and method == "certified":
        how = {"method": "support of words"}
        return Divergence(inf, "observed", "certified", inf, inf, infinite=[reason], certificate=how, subject=about)
    size = int(pair.visits.sum() + 1.0) * 4 * (p.n_states + q.n_states + 2)
    at_once = max(1, min(512, CELLS // size))
    base = "log p/q of whole chains" if pair.tables is None else "KL(p(x_t | past) || q(x_t | past)) summed to the end"

    def draw(size: int, rng: np.random.Generator, lean: bool) -> Batch:
        return pair.draw(size, rng, lean) if reason is None else refuse(HidivError, "draw", reason)

    draws = Draws(draw, about, base, at_once, reason, dear=2.0, expected=lambda: pair.expected)
    found = stopped_estimate(draws, rtol, atol, seed, max_samples, max_seconds)
    above = joint_above(p, q, UNTIL_END) if by_formula(p, q) else inf
    if method == "auto" and reason is None:
        most = f"; it is at most {above:.6g}, which is certain" if above < inf else ""
        return found.noted(f"not exact or narrowly certified: the lengths are random{most}")
    return found


def _certified(pair: EndPair, about: str, seconds: float) -> Divergence:
    """The first nodes, stopped chains among them, from below; the joint divergence from above."""
    above = joint_above(pair.p, pair.q, UNTIL_END)
    if above == inf:
        reason = NotApplicable("nothing bounds chains of random length from above")
        remedy = 'use method="auto" or "montecarlo"'
        refuse(IncompatibleModels, 'method="certified"', f"does not apply here, {reason}", remedy=remedy)
    below, length = Interval(0.0, inf), 0
    if has_symbols(pair.p.emissions[0]) or not pair.p.emissions[0].n_features:
        length = int(min(MOST, max(4, ceil(3.0 * pair.visits.sum()))))
        below = observed_chain(*pair.chains, length, lambda found: found.width <= 1e-3 * found.lower, seconds)
    lower = min(below.lower, above)
    how = {"method": "first nodes below, smallest joint divergence over relabellings above", "nodes": length,
           "first_nodes": below.how}  # fmt: skip
    return Divergence(
        0.5 * (lower + above), "observed", "certified", lower, above, certificate=how, subject=about,
        notes=["wide: only its ends are certain, the middle is no estimate"] if above - lower > 1e-9 else [],
    )  # fmt: skip
