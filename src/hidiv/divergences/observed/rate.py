"""The observed divergence a step along a long chain."""

from __future__ import annotations

from math import inf
from typing import Any, Literal

from hidiv.adapters.as_model import as_models
from hidiv.arguments import Seed, number
from hidiv.divergences.comparable import check_length, check_observations
from hidiv.divergences.observed.alphabets import by_formula, finite_chain
from hidiv.divergences.observed.budget import check_limits
from hidiv.divergences.observed.certified.cheap_bounds import ROOM, joint_rate_above
from hidiv.divergences.observed.certified.rates import SECONDS, observed_rate
from hidiv.divergences.observed.interval import Interval, NotApplicable
from hidiv.divergences.observed.kl import (
    AUTO_SECONDS,
    at_most,
    from_interval,
    narrow,
    not_applicable,
    sufficient,
)
from hidiv.divergences.observed.log_normals import in_logarithms
from hidiv.divergences.observed.quadrature.two_state_chains import quadrature
from hidiv.divergences.observed.sampled.rate_estimator import rate_estimate
from hidiv.divergences.remedy import advised
from hidiv.divergences.result import Divergence
from hidiv.divergences.subject import subject
from hidiv.emissions.families.categorical import check_alphabets
from hidiv.errors import HidivError, IncompatibleModels, refuse
from hidiv.models.model import Model
from hidiv.progress import Wanted, reported


@reported
@advised
def observed_kl_rate(
    p: Any,
    q: Any,
    *,
    method: Literal["auto", "certified", "montecarlo"] = "auto",
    width: float = 1e-10,
    rtol: float = 1e-3,
    atol: float = 1e-9,
    seed: Seed = None,
    max_samples: int | None = None,
    max_seconds: float | None = None,
    progress: Wanted = None,  # for @reported
) -> Divergence:
    """lim D_X(N) / N along a chain (definitions (5.4)): certified for finite alphabets, else an estimate.

    `width` is what a certified interval should not exceed; one that is wider when `max_seconds` (20 when not said) are
    over or an interrupt comes is returned with a note. auto: an estimate, with what is certain in `.notes`, where the
    interval is not soon as narrow as `rtol` and `atol` ask.

    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]))
    >>> q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))
    >>> round(hd.observed_kl_rate(p, q).value, 10)
    0.4658941425
    """
    check_limits(rtol, atol, max_samples, max_seconds)
    number("width", width)
    p, q = as_models(p, q)
    check_length(p, q, until_end=False)
    check_observations(p, q)
    if max(p.n_groups, q.n_groups) > 1:
        refuse(
            IncompatibleModels,
            "rate",
            "needs models with one group, the same at every step",
            remedy="use hd.observed_kl on a tree",
        )
    p, q = in_logarithms(p, q)
    if method not in ("auto", "certified", "montecarlo"):
        refuse(HidivError, "method", 'must be "auto", "certified" or "montecarlo"', method)
    notes = []
    if method != "montecarlo":
        try:
            interval = _interval(p, q, method, width, (rtol, atol), max_seconds)
            found = from_interval(interval, f"{subject(p, q)} rate", "step")
            if method == "auto":
                return sufficient(found, rtol, max(atol, width / 2.0))
            if interval.lower < inf and interval.width > width:
                return found.noted(f"wider than the {width:g} asked for")
            return found
        except NotApplicable as reason:
            if method == "certified":
                not_applicable(method, reason)
            notes.append(f"not certified: {reason}")
    if method == "auto" and (found_by_quadrature := quadrature(p, q, None, rtol)) is not None:
        return found_by_quadrature.noted(*notes)
    estimated = rate_estimate(p, q, rtol, atol, seed, max_samples, max_seconds)
    return at_most(estimated, lambda: joint_rate_above(p, q) if by_formula(p, q) else inf).noted(*notes)


def _interval(
    p: Model, q: Model, method: str, width: float, tolerance: tuple[float, float], max_seconds: float | None
) -> Interval:
    """Narrowed to `width`; where "auto" asks, to the tolerance of an estimate, and not for long."""
    left, right = finite_chain(p), finite_chain(q)
    check_alphabets(left.n_symbols, right.n_symbols)
    above = joint_rate_above(p, q)
    if above <= width and p.n_states == q.n_states:
        return Interval(0.0, above, {"method": "smallest joint divergence over relabellings", "rounding": above * ROOM})
    seconds = SECONDS if max_seconds is None else max_seconds
    if method == "certified":
        return observed_rate(left, right, lambda found: found.width <= width, seconds, above)
    rtol, atol = tolerance[0], max(tolerance[1], width / 2.0)
    short = min(AUTO_SECONDS, seconds if max_seconds is None else seconds / 2)
    return observed_rate(left, right, lambda found: narrow(found, rtol, atol), short, above)
