"""The Jensen-Shannon divergence of two observed processes (definitions (10.5))."""

from __future__ import annotations

from typing import Any

from hidiv.arguments import Seed
from hidiv.divergences.measures.measure import Measure
from hidiv.divergences.measures.overlap import JENSEN_SHANNON, RTOL, Method, measured
from hidiv.progress import Wanted


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
    method, rtol, seed, max_samples, progress : optional
        As of `bhattacharyya`.

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
