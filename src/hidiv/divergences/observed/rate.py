"""The observed divergence a step along an endless chain."""

from __future__ import annotations

from typing import Any, Literal

from hidiv.arguments import Seed, number
from hidiv.divergences.infinite import advised
from hidiv.divergences.observed.budget import Budget
from hidiv.divergences.observed.choose import automatic, by_name, in_logarithms
from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.observed.kl import not_applicable
from hidiv.divergences.pair import Pair, check_observations
from hidiv.divergences.result import Divergence
from hidiv.errors import HidivError, refuse
from hidiv.progress import Wanted, reported

Method = Literal["auto", "certified", "montecarlo"]
METHODS = ("certified", "montecarlo")


@reported
def observed_kl_rate(
    p: Any,
    q: Any,
    *,
    method: Method = "auto",
    width: float = 1e-10,
    rtol: float = 1e-3,
    atol: float = 1e-9,
    seed: Seed = None,
    max_samples: int | None = None,
    max_seconds: float | None = None,
    progress: Wanted = None,  # for @reported
) -> Divergence:
    """Divergence a step of what two models show along an endless chain, lim D_X(N) / N.

    Parameters
    ----------
    p, q : Model
        Models of the same observations with one group, or fitted models of a supported library.
    method : {"auto", "certified", "montecarlo"}, default "auto"
        certified: an interval that holds, narrow for finite alphabets and for two states that show normal numbers or
        counts. montecarlo: an estimate with its standard error. auto:
        certified where that soon is as narrow as `rtol` and `atol` ask, by quadrature for two-state chains of one
        number a node, and montecarlo else, with what is certain in `.notes`.
    width : float, default 1e-10
        What a certified interval should not exceed; one that is wider has a note.
    rtol : float, default 1e-3
        An estimate is drawn until its standard error is below rtol times its value.
    atol : float, default 1e-9
        The same as an absolute number; the larger of both counts.
    seed : int, numpy.random.Generator or None, default None
        Of the draws. The same seed gives the same result on any machine, unless `max_seconds` ended it.
    max_samples : int or None, default None
        Steps that are averaged at most, in chains of 256 to 4096 of them and at least 128 chains; four million when
        None.
    max_seconds : float or None, default None
        Seconds at most. When None, draws are not limited by the clock, and a search for bounds is by 20 seconds. A
        result that the clock ended says so in `.notes`.
    progress : bool, callable or None, default None
        A line on the terminal (None: only where there is one), or a function of what is done and how much there is.

    Returns
    -------
    Divergence
        The quantity is "observed" per step; `.status` says which method answered: "certified" with `.lower`, `.upper`
        and `.certificate`, "estimate" with `.std_error`, or "approximation" by quadrature. +inf, with the reason in
        `.infinite`, where p emits what q cannot.

    Raises
    ------
    IncompatibleModels
        Where the observations are not of one kind, models have groups or `end`, or the method does not apply.

    Notes
    -----
    Definitions (5.4), bounds (5.6), control variates (5.8). The table in `hidiv.divergences.observed` says which file
    answers for which pair.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]))
    >>> q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))
    >>> round(hd.observed_kl_rate(p, q).value, 10)
    0.4658941425
    """
    limits: dict[str, Any] = {"width": width, "rtol": rtol, "atol": atol, "seed": seed}
    limits |= {"max_samples": max_samples, "max_seconds": max_seconds}
    return rate_of_pair(Pair.of(p, q, None), method=method, **limits)


def rate_of_pair(
    pair: Pair,
    *,
    method: Method = "auto",
    width: float = 1e-10,
    rtol: float = 1e-3,
    atol: float = 1e-9,
    seed: Seed = None,
    max_samples: int | None = None,
    max_seconds: float | None = None,
) -> Divergence:
    """`observed_kl_rate` of a pair on the endless chain that is checked already."""
    number("width", width)
    budget = Budget(rtol, atol, width, seed, max_samples, max_seconds)
    check_observations(pair.p, pair.q)
    if method != "auto" and method not in METHODS:
        refuse(HidivError, "method", 'must be "auto", "certified" or "montecarlo"', method)
    plain = pair.once(in_logarithms)
    try:
        result = automatic(plain, budget) if method == "auto" else by_name(plain, method, budget)
    except NotApplicable as reason:
        not_applicable(method, reason)
    return advised(pair, result) if result.infinite else result
