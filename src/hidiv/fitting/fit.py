"""Fitting a hidden Markov model to chains and trees."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hidiv.adapters.as_model import as_model
from hidiv.arguments import number, whole
from hidiv.errors import InvalidModel, refuse
from hidiv.fitting.draft import draft_of
from hidiv.fitting.em import Options, Run, begin, climb
from hidiv.fitting.evidence_forest import EvidenceForest, forest_of
from hidiv.fitting.expectation import problem_of
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
    """The model of largest likelihood (definitions (2.4)) that expectation-maximisation finds from `n_init` starts, or
    from `start`.

    `evidence` is one item or a list, `tree` None for chains, one tree for all of them, or a list; `lengths` cuts
    stacked sequences. Text and categories are symbols for emission="categorical", and the model keeps their names.
    `emission` is a family's name, class or a template object (or a list of them, one a group). `group` None takes the
    groups the trees were given, "level" groups by level, "none" not at all; labels from 0 for each node (for all trees,
    or a list of them for each tree) may be given instead. `grouped` says which parts have parameters by group. `end`
    fits the probabilities of stopping too, also from a start without them. Parameters and parts named in `fixed`
    (initial, transition, emission, mean, ...) stay as the start or the template has them. `pseudo_count`: so many
    observations more for every state, against collapse. From two starts on, climbs from beside the best tops follow. A
    climb is at its end when an iteration gains at most tol times the log-likelihood, the best one when all that is
    still to be expected is at most tol (unless `polish` is False). Evidence that no start can produce is an error.

    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Gaussian([0.0, 4.0], std=[1.0, 1.0]))
    >>> _, x = hd.sample(p, 200, seed=1)
    >>> found = hd.fit(x, None, 2, "gaussian", n_init=1, seed=1)
    >>> found.converged, sorted(found.model.emission.mean.round(1).tolist())
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
    """One climb from a model."""
    problem = problem_of(forest, model)
    with Progress("fitting") as progress:
        run = climb(begin(draft_of(model), problem, options), problem, options, _teller(progress, options), polish)
    return finished(run, problem, model, options, (run.log_likelihood,), zeros_stay=options.pseudo_count == 0.0)


def _teller(progress: Progress, options: Options) -> Callable[[Run], None]:
    def tell(run: Run) -> None:
        made = len(run.history) - 1
        progress.show(made / max(options.max_iter, 1), f"iteration {made}, log-likelihood {run.log_likelihood:.6g}")

    return tell


def read_options(tol: Any, max_iter: Any, pseudo_count: Any, fixed: str | Iterable[str]) -> Options:
    """Checked."""
    held = frozenset([fixed] if isinstance(fixed, str) else fixed)
    return Options(number("tol", tol), whole("max_iter", max_iter, 0), number("pseudo_count", pseudo_count), held)
