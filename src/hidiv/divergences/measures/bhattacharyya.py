"""How much two observed processes overlap: Bhattacharyya, Hellinger, total variation, Bayes error (definitions 10)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hidiv.arguments import Seed
from hidiv.divergences.measures.measure import Measure
from hidiv.divergences.measures.overlap import (
    BAYES_ERROR,
    BHATTACHARYYA,
    HELLINGER,
    RTOL,
    TOTAL_VARIATION,
    Method,
    error_in_words,
    measured,
)
from hidiv.progress import Wanted


def bhattacharyya(
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
    """The Bhattacharyya coefficient of two observed processes, the sum over observations of sqrt(p(x) q(x)).

    Parameters
    ----------
    p, q : Model or fitted model of a supported library
        The two models, with any numbers of states.
    tree : Tree or int
        The tree, or the length of a chain.
    method : {"auto", "exact", "certified", "montecarlo"}, default "auto"
        Every word listed; proven bounds alone, without any draw; draws of both models. "auto": exact where it is quick,
        the bounds where they are as narrow as `rtol`, else draws, unless the overlap is too rare to be drawn.
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
        In [0, 1], 1 for equal laws, with proven bounds `lower` and `upper` (of an estimate: the 95 % interval inside
        them), `log`, and `complement`, one less the value with its own digits.

    Notes
    -----
    Bhattacharyya (1943). Definitions (10.3). -2 log of it is a lower bound on the observed divergence.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]))
    >>> q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))
    >>> round(hd.bhattacharyya(p, q, 10).value, 10)
    0.3060413993
    """
    return measured(BHATTACHARYYA, p, q, tree, method, rtol, seed, max_samples, progress=progress)


def hellinger(
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
    """The Hellinger distance of two observed processes, sqrt(1 - BC): a metric in [0, 1].

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
        0 for equal laws and 1 for disjoint ones, with proven bounds.

    Notes
    -----
    Definitions (10.3), (10.4).

    Examples
    --------
    >>> import hidiv as hd
    >>> coins = [hd.Model([1.0], [[1.0]], hd.Bernoulli([prob])) for prob in (0.5, 0.75)]
    >>> round(hd.hellinger(*coins, 1).value, 10)
    0.1845919113
    """
    return measured(HELLINGER, p, q, tree, method, rtol, seed, max_samples, progress=progress)


def total_variation(
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
    """The total variation of two observed processes: the largest difference of the probabilities of any event.

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
        A metric in [0, 1], half the sum of |p(x) - q(x)|, with proven bounds.

    Notes
    -----
    Definitions (10.4).

    Examples
    --------
    >>> import hidiv as hd
    >>> coins = [hd.Model([1.0], [[1.0]], hd.Bernoulli([prob])) for prob in (0.5, 0.75)]
    >>> hd.total_variation(*coins, 1)
    total variation of p and q on a chain of 1 node = 0.25, exact
    """
    return measured(TOTAL_VARIATION, p, q, tree, method, rtol, seed, max_samples, progress=progress)


def bayes_error(
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
    """How often the best possible guess of which model made the observations errs, both being equally likely before.

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
        In [0, 1/2], (1 - total variation)/2, with proven bounds; the first note says it in a sentence.

    Notes
    -----
    Definitions (10.4). `samples_to_tell_apart` answers the reverse question.

    Examples
    --------
    >>> import hidiv as hd
    >>> coins = [hd.Model([1.0], [[1.0]], hd.Bernoulli([prob])) for prob in (0.5, 0.75)]
    >>> hd.bayes_error(*coins, 2).notes[0]
    'shown 2 observations, the best possible guess of which model made them errs 34.4 % of the time'
    """
    result = measured(BAYES_ERROR, p, q, tree, method, rtol, seed, max_samples, progress=progress)
    return replace(result, notes=(error_in_words(result, tree), *result.notes))
