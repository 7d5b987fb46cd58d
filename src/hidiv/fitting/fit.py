"""`fit`: a hidden Markov model from chains and trees, by maximum likelihood."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hidiv.adapters.as_model import as_model
from hidiv.arguments import number, whole
from hidiv.errors import InvalidModel, refuse
from hidiv.fitting.em import Options, Run, begin, climb
from hidiv.fitting.em_steps import draft_of, problem_of
from hidiv.fitting.evidence_forest import EvidenceForest, forest_of
from hidiv.fitting.fit_result import FitResult
from hidiv.fitting.restarts import best_of, finished
from hidiv.fitting.shapes import PARTS, check_fixed, check_start, shape_of, with_end
from hidiv.models.model import Model
from hidiv.progress import Progress, Wanted, reported


@reported
def fit(
    evidence: Any,
    tree: Any = None,
    n_states: int | None = None,
    emission: Any = "gaussian",
    *,
    lengths: ArrayLike | None = None,
    group: Any = None,
    start: Any = None,
    n_init: int = 10,
    tol: float = 1e-6,
    max_iter: int = 500,
    seed: int | np.random.Generator | None = None,
    grouped: str | Iterable[str] = PARTS,
    end: bool = False,
    fixed: str | Iterable[str] = (),
    pseudo_count: float = 0.0,
    polish: bool = True,
    workers: int | None = None,
    progress: Wanted = None,  # for @reported
) -> FitResult:
    """Fit a hidden Markov model by maximum likelihood.

    Expectation-maximisation from several starts, on one chain or tree or on many of them, with values missing,
    censored or known by sets. docs/fitting.md describes the search.

    Parameters
    ----------
    evidence : Evidence, array-like, DataFrame, list of text, or a list of these
        The data, one item for each chain or tree. Text and categories are symbols for emission="categorical"; the
        fitted model keeps their names.
    tree : Tree, int or list of these, optional
        One tree for all items, or one for each. By default every item is a chain of its own length.
    n_states : int, optional
        The number of hidden states. Needed unless `start` is given.
    emission : str, family class, family or list of these, default "gaussian"
        A family's name, its class or a template object; a list has one for each group. A template sets the form (a full
        covariance, the trials of a binomial law, the families of a product), and the values of parameters in `fixed`.
    lengths : array-like of int, optional
        Cuts stacked evidence into chains of these lengths, as in hmmlearn.
    group : {"level", "none"}, array-like of int, or list of these, optional
        Which nodes share parameters: "level" groups by level, "none" not at all, labels from 0 for the nodes of all
        trees (or a list with labels for each tree) by label. By default the groups the trees were given.
    start : Model or object of a supported library, optional
        The model to start from, in place of a search over `n_init` starts. What is zero in it stays zero.
    n_init : int, default 10
        The number of starts climbed to their end. From 2 on, further climbs begin near the best maxima found.
    tol : float, default 1e-6
        A climb ends when an iteration gains at most `tol` times the log-likelihood.
    max_iter : int, default 500
        The largest number of iterations of a climb.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same model again, whatever the number of workers.
    grouped : str or iterable of str, default ("transition", "emission")
        The parts that have parameters by group.
    end : bool, default False
        Whether to fit the probabilities of stopping after a state too, also from a start without them. Chains only.
    fixed : str or iterable of str, default ()
        Parts ("initial", "transition", "emission") and parameters of families ("mean", "std", ...) that keep the values
        of the start or of the template.
    pseudo_count : float, default 0.0
        Observations added to every state, spread over all values of its group and over all transitions of a row,
        against states that shrink onto one value.
    polish : bool, default True
        Whether the best climb goes on until all that it can still be expected to gain is at most `tol`.
    workers : int, optional
        The number of threads. By default the number of processors.
    progress : bool or callable, optional
        None shows a line on a terminal after a second, True always, False never; a function is called with (done,
        total).

    Returns
    -------
    FitResult
        The model with its log-likelihood, the history of the climb, and notes on what to know about it.

    Raises
    ------
    HidivError
        Where arguments are out of range or do not fit each other.
    ImpossibleEvidence
        Where no start gives the evidence a positive probability.

    See Also
    --------
    choose : fits several numbers of states or families and ranks them.
    bootstrap_divergence : the standard error of a divergence between two fitted models.

    Notes
    -----
    The log-likelihood is that of definitions (2.4); it never falls from one iteration to the next. Ctrl-C returns the
    best model so far, with a note.

    References
    ----------
    A. P. Dempster, N. M. Laird and D. B. Rubin, Maximum likelihood from incomplete data via the EM algorithm, Journal
    of the Royal Statistical Society B 39 (1977), 1-38.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Gaussian([0.0, 4.0], std=[1.0, 1.0]))
    >>> _, x = hd.sample(p, 200, seed=1)
    >>> result = hd.fit(x, None, 2, "gaussian", n_init=1, seed=1)
    >>> result.converged, sorted(result.model.emission.mean.round(1).tolist())
    (True, [-0.2, 4.1])
    """
    if start is None and n_states is None and isinstance(tree, int | np.integer):
        refuse(
            InvalidModel, "n_states", f"is needed; {tree} was taken for the tree, a chain of {tree} nodes",
            remedy=f"write fit(evidence, None, {tree}) or n_states={tree} for the number of states",
        )  # fmt: skip
    forest = forest_of(evidence, tree, lengths, group)
    options = read_options(tol, max_iter, pseudo_count, fixed)
    if start is not None:
        shape = as_model(start)
        check_start(shape, forest, n_states)
        check_fixed(options.fixed, shape)
        if end and shape.end is None:
            shape = with_end(shape, forest, options.fixed)
        return refit(shape, forest, options, polish)
    shape = shape_of(forest.whole or forest, n_states, emission, grouped, end)
    check_fixed(options.fixed, shape)
    threads = whole("workers", workers or os.cpu_count() or 1)
    return best_of(shape, forest, options, whole("n_init", n_init), seed, threads, polish)


def refit(model: Model, forest: EvidenceForest, options: Options, polish: bool = True) -> FitResult:
    """The fit of one climb from a model."""
    problem = problem_of(forest, model)
    with Progress("fitting") as progress:
        run = climb(begin(draft_of(model), problem, options), problem, options, _reporter(progress, options), polish)
    return finished(run, problem, model, options, (run.log_likelihood,), zeros_stay=options.pseudo_count == 0.0)


def _reporter(progress: Progress, options: Options) -> Callable[[Run], None]:
    """A function that shows the progress of a run."""

    def report(run: Run) -> None:
        made = len(run.history) - 1
        progress.show(made / max(options.max_iter, 1), f"iteration {made}, log-likelihood {run.log_likelihood:.6g}")

    return report


def read_options(tol: Any, max_iter: Any, pseudo_count: Any, fixed: str | Iterable[str]) -> Options:
    """The options of a climb, checked."""
    held = frozenset([fixed] if isinstance(fixed, str) else fixed)
    return Options(number("tol", tol), whole("max_iter", max_iter, 0), number("pseudo_count", pseudo_count), held)
