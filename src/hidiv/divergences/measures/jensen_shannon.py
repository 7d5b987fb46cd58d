"""The Jensen-Shannon divergence of two observed processes (definitions (10.5))."""

from __future__ import annotations

from math import log
from typing import Any

from hidiv.arguments import Seed
from hidiv.divergences.measures.bhattacharyya import RTOL, Bracket, Method, OverlapMeasure, measured
from hidiv.divergences.measures.mean_ratio import surprise
from hidiv.divergences.measures.measure import Measure
from hidiv.progress import Wanted

LOG_TWO = log(2.0)


def _bounds(of: Bracket) -> tuple[float, float]:
    """log 2 (1 - BC) <= JS <= 1 - BC, pointwise in the ratio of p and q, and at most log 2."""
    return LOG_TWO * of.gap_lower, min(of.gap_upper, LOG_TWO)


JENSEN_SHANNON = OverlapMeasure("Jensen-Shannon divergence", surprise, _bounds, unit="nats")


def jensen_shannon(
    p: Any,
    q: Any,
    tree: Any,
    *,
    method: Method = "auto",
    rtol: float = RTOL,
    seed: Seed = None,
    max_samples: int | None = None,
    progress: Wanted = None,
) -> Measure:
    """The Jensen-Shannon divergence of two observed processes: finite whatever zeros the models have.

    Parameters
    ----------
    p, q : Model or fitted model of a supported library
        The two models, with any numbers of states.
    tree : Tree or int
        The tree, or the length of a chain.
    method : {"auto", "exact", "certified", "montecarlo"}, default "auto"
        Every word listed; proven bounds alone; draws of both models. "auto": exact where it is quick, the bounds where
        they are as narrow as `rtol`, else draws.
    rtol : float, default 0.01
        The standard error of an estimate as a share of it.
    seed : int or Generator, optional
        The seed of the draws.
    max_samples : int, optional
        Draws of both models together; by default 20,000, and fewer on trees of more than 200 nodes.
    progress : bool or callable, optional
        Whether to show progress, or a function that is called with it.

    Returns
    -------
    Measure
        In [0, log 2] nats, 0 for equal laws and log 2 for disjoint ones. Its square root is a metric.

    Notes
    -----
    Lin (1991): [D(p || m) + D(q || m)]/2 with m = (p + q)/2, of the laws of the observations, not of the models'
    parameters. Definitions (10.5).

    Examples
    --------
    >>> import hidiv as hd
    >>> fair, false = (hd.Model([1.0], [[1.0]], hd.Bernoulli([prob])) for prob in (0.5, 1.0))
    >>> hd.observed_kl(fair, false, 1).value, round(hd.jensen_shannon(fair, false, 1).value, 10)
    (inf, 0.2157615543)
    """
    return measured(JENSEN_SHANNON, p, q, tree, method, rtol, seed, max_samples, progress=progress)
