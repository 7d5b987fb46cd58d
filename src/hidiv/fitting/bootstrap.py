"""`bootstrap_divergence`: the error of a divergence between two fitted models, by parametric bootstrap.

The null hypothesis of its p-value is one model for both data sets.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from hidiv.adapters.as_model import as_model
from hidiv.arguments import generator, whole
from hidiv.errors import ImpossibleEvidence
from hidiv.fitting.bootstrap_measures import Measure, measures
from hidiv.fitting.bootstrap_result import BootstrapResult, summary
from hidiv.fitting.em import Options, begin, climb
from hidiv.fitting.em_steps import draft_of, expectation, maximisation, problem_of
from hidiv.fitting.evidence_forest import EvidenceForest, forest_of, joined
from hidiv.fitting.fit import read_options, refit
from hidiv.fitting.fit_result import FitResult
from hidiv.fitting.shapes import check_fixed
from hidiv.fitting.simulation import redrawn
from hidiv.models.model import Model
from hidiv.progress import Progress, Wanted, reported

__all__ = ["BootstrapResult", "bootstrap_divergence"]


@reported
def bootstrap_divergence(
    p: Any,
    q: Any,
    evidence_p: Any,
    evidence_q: Any,
    tree_p: Any = None,
    tree_q: Any = None,
    *,
    divergence: str | Measure = "observed",
    on: Any = None,
    replicates: int = 100,
    null: bool = True,
    group: Any = None,
    seed: int | np.random.Generator | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
    pseudo_count: float = 0.0,
    fixed: str | Iterable[str] = (),
    executor: Executor | None = None,
    progress: Wanted = None,  # for @reported
) -> BootstrapResult:
    """Estimate the error of D(p || q) between two fitted models, and test whether chance explains it.

    A parametric bootstrap: each replicate draws evidence of the same shape from p and from q, fits both models again
    and takes their divergence.

    Parameters
    ----------
    p, q : FitResult, Model or object of a supported library
        The fitted models.
    evidence_p, evidence_q : Evidence, array-like, DataFrame, list of text, or a list of these
        The data that p and q were fitted to, as in `hd.fit`.
    tree_p, tree_q : Tree, int or list of these, optional
        Their trees, as in `hd.fit`. By default chains.
    divergence : {"observed", "aligned", "joint"} or callable, default "observed"
        "observed" is that of the observations, which does not depend on how separate fits number their states;
        "aligned" the joint one, the smallest over relabellings of q; "joint" that of the states as labelled; or a
        function of two models that returns a number.
    on : Tree, int or UNTIL_END, optional
        The tree the divergence is taken on. By default the first tree of `evidence_p`.
    replicates : int, default 100
        The number of replicates, at least 2.
    null : bool, default True
        Whether to compute the p-value, which doubles the work.
    group : {"level", "none"}, array-like of int, or list of these, optional
        The groups of the trees, as in `hd.fit`.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same replicates again.
    tol : float, default 1e-6
        The relative gain that ends a fit, as in `hd.fit`.
    max_iter : int, default 200
        The largest number of iterations of a fit.
    pseudo_count : float, default 0.0
        Observations added to every state, as in `hd.fit`.
    fixed : str or iterable of str, default ()
        Parts and parameters that are not fitted again, as in `hd.fit`.
    executor : concurrent.futures.Executor, optional
        Runs the replicates, with the same numbers wherever it runs them. By default threads.
    progress : bool or callable, optional
        None shows a line on a terminal after a second, True always, False never; a function is called with (done,
        total).

    Returns
    -------
    BootstrapResult
        The divergence with its standard error, an interval and the p-value.

    Raises
    ------
    HidivError
        Where arguments are out of range, or the models have no such divergence.
    ImpossibleEvidence
        Where a model cannot produce the evidence it is said to be fitted to.

    Notes
    -----
    For the p-value one model is fitted to both data sets together and, beginning there, one to each of them; the same
    is done with data sets drawn from that one model. Data and draws are treated alike, so that neither the labels nor
    the starts of p and q make a difference. Ctrl-C returns the result of the replicates made so far.

    References
    ----------
    B. Efron and R. J. Tibshirani, An Introduction to the Bootstrap, Chapman and Hall, 1993.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1.0, 6.0]))
    >>> q = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([2.5, 12.0]))
    >>> x, y = list(hd.sample(p, 20, size=10, seed=1)[1]), list(hd.sample(q, 20, size=10, seed=2)[1])
    >>> p, q = (hd.fit(data, None, 2, "poisson", n_init=2, seed=0) for data in (x, y))
    >>> hd.bootstrap_divergence(p, q, x, y, replicates=20, seed=3).p_value < 0.05
    True
    """
    first, second = (as_model(fit.model if isinstance(fit, FitResult) else fit) for fit in (p, q))
    replicates = whole("replicates", replicates, 2)
    known_p, known_q = (
        forest_of(evidence, tree, None, group) for evidence, tree in ((evidence_p, tree_p), (evidence_q, tree_q))
    )
    accurate, quick = measures(divergence, on, known_p, first)
    options = read_options(tol, max_iter, pseudo_count, fixed)
    check_fixed(options.fixed, first)
    value = float(accurate(first, second))
    statistic = pooled = None
    if null:
        pooled = pooled_model(first, second, known_p, known_q, options)
        statistic = float(quick(*fitted_apart(pooled, known_p, known_q, options)))
    seeds = generator(seed).spawn(2 * replicates)
    job = partial(_replicate, known_p=known_p, known_q=known_q, options=replace(options, threads=1), measure=quick)
    draws: list[tuple[tuple[Model, ...], np.random.Generator]] = []
    for own, common in zip(seeds[:replicates], seeds[replicates:], strict=True):
        draws.append(((first, second), own))
        if pooled is not None:
            draws.append(((pooled,), common))
    values = _all(job, draws, executor)
    drawn = np.array([value for value in values[:: 1 if pooled is None else 2] if value is not None])
    chance = None if pooled is None else np.array([value for value in values[1::2] if value is not None])
    if len(drawn) < 2:
        raise KeyboardInterrupt
    if accurate is not quick:
        drawn = drawn * _scale(value, float(quick(first, second)))
    return summary(value, drawn, chance, statistic)


def _scale(accurate: float, quick: float) -> float:
    """The factor from quick to accurate values: draws with one seed err by much the same share for all pairs."""
    return accurate / quick if 0.0 < quick < np.inf and 0.0 < accurate < np.inf else 1.0


def _all(work: Callable[[Any], float], jobs: Sequence[Any], executor: Executor | None) -> list[float | None]:
    """The results of all jobs in order; after Ctrl-C, None for those that were not begun."""
    pool = ThreadPoolExecutor(os.cpu_count() or 1) if executor is None else executor
    with Progress("bootstrap") as progress:
        futures = [pool.submit(work, job) for job in jobs]
        try:
            for done, _ in enumerate(as_completed(futures), 1):
                progress.show(done / len(futures), f"{done} of {len(futures)} fits of drawn evidence")
        except KeyboardInterrupt:
            for future in futures:
                future.cancel()
        finally:
            if executor is None:
                pool.shutdown(cancel_futures=True)
    return [None if future.cancelled() else future.result() for future in futures]


def _replicate(
    job: tuple[tuple[Model, ...], np.random.Generator],
    *,
    known_p: EvidenceForest,
    known_q: EvidenceForest,
    options: Options,
    measure: Measure,
) -> float:
    """The divergence of two models fitted to newly drawn evidence, from two models or both from one."""
    models, rng = job
    if len(models) == 1:
        return float(measure(*fitted_apart_by_chance(models[0], known_p, known_q, options, rng)))
    drawn = (redrawn(model, known, rng) for model, known in zip(models, (known_p, known_q), strict=True))
    return float(measure(*(climbed(model, known, options) for model, known in zip(models, drawn, strict=True))))


def pooled_model(p: Model, q: Model, known_p: EvidenceForest, known_q: EvidenceForest, options: Options) -> Model:
    """The model of both data sets together, the better by BIC of the climbs from p and from q."""
    both = joined(known_p, known_q)
    return min((_refitted(model, both, options) for model in (p, q)), key=lambda result: result.bic).model


def _refitted(model: Model, known: EvidenceForest, options: Options) -> FitResult:
    """The fit to all of the data from a model of one part, whose zeros are filled if it excludes the other part."""
    try:
        return refit(model, known, options)
    except ImpossibleEvidence:
        start, problem = draft_of(model), problem_of(known, model)
        counts = expectation(start, problem, options.threads)  # of the trees it can produce
        filled = maximisation(start, problem, counts, max(1.0, options.pseudo_count), options.fixed)
        return refit(filled.finished(model), known, options)


def fitted_apart(law: Model, known_p: EvidenceForest, known_q: EvidenceForest, options: Options) -> tuple[Model, Model]:
    """A model of each data set, both climbed from the model of the two together.

    Data and draws are fitted in the same way, so that starts, maxima and the numbering of states are alike.
    """
    start = climbed(law, joined(known_p, known_q), options)
    return climbed(start, known_p, options), climbed(start, known_q, options)


def fitted_apart_by_chance(
    law: Model, known_p: EvidenceForest, known_q: EvidenceForest, options: Options, rng: np.random.Generator
) -> tuple[Model, Model]:
    """`fitted_apart` for data sets of the same shapes, both drawn from the one model."""
    return fitted_apart(law, redrawn(law, known_p, rng), redrawn(law, known_q, rng), options)


def climbed(model: Model, known: EvidenceForest, options: Options) -> Model:
    """The model that a climb from another one reaches."""
    problem = problem_of(known, model)
    return climb(begin(draft_of(model), problem, options), problem, options, None, True).model.finished(model)
