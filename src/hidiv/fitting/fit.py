"""Fitting a hidden Markov model to chains and trees."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hidiv.adapters.as_model import as_model
from hidiv.emissions.family import Family
from hidiv.errors import HidivError, IncompatibleModels, InvalidModel, refuse
from hidiv.fitting.degenerate import is_degenerate, notes_on
from hidiv.fitting.em import Options, Run, begin, climb
from hidiv.fitting.expectation import Problem, problem_of
from hidiv.fitting.forest import Forest, forest_of
from hidiv.fitting.initialise import started
from hidiv.fitting.parameters import count_parameters
from hidiv.fitting.prototypes import prototype
from hidiv.fitting.result import FitResult
from hidiv.models.model import Model

PARTS = ("transition", "emission")


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
    workers: int | None = None,
) -> FitResult:
    """The model of largest likelihood that expectation-maximisation finds from `n_init` starts, or from `start`.

    `evidence` is one item or a list, `tree` None for chains, one tree for all of them, or a list; `lengths` cuts
    stacked sequences. `emission` is a family's name, class or a template object (or a list of them, one a group).
    `group` None takes the groups the trees were given, "level" groups by level, "none" not at all; labels from 0 for
    each node (a list of them for several trees) may be given instead. `grouped` says which parts have parameters by
    group. `end` fits the probabilities of stopping too. Parameters and parts named in `fixed` (initial, transition,
    emission, mean, ...) stay as the start or the template has them. `pseudo_count`: so many observations more for every
    state, against collapse. Every start stops when an iteration gains at most tol times the log-likelihood; the best
    one is then continued until all that is still to be expected is at most tol. Impossible evidence is an error.

    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Gaussian([0.0, 4.0], std=[1.0, 1.0]))
    >>> _, x = hd.sample(p, 500, seed=1)
    >>> found = hd.fit(x, None, 2, "gaussian", n_init=2, seed=1)
    >>> found.converged, sorted(found.model.emission.mean.round(1).tolist())
    (True, [0.0, 4.1])
    """
    forest = forest_of(evidence, tree, lengths, group)
    held = frozenset([fixed] if isinstance(fixed, str) else fixed)
    options = _options(tol, max_iter, pseudo_count, held)
    if start is not None:
        shape = as_model(start)
        _check_start(shape, forest, n_states)
        return _finished([_run_from(shape, forest, options)], forest, options)
    shape = _shape(forest, n_states, emission, [grouped] if isinstance(grouped, str) else list(grouped), end)
    count = _whole("n_init", n_init)
    problem = problem_of(forest, shape)
    seeds = np.random.default_rng(seed).spawn(count)
    at_once = min(count, _whole("workers", workers or os.cpu_count() or 1))
    each = Options(options.tol, options.max_iter, options.pseudo_count, held, 1 if at_once > 1 else 0)

    def one(i: int) -> Run | None:
        return _attempt(shape, problem, seeds[i], each, i)

    if at_once > 1:
        with ThreadPoolExecutor(at_once) as pool:
            runs = list(pool.map(one, range(count)))
    else:
        runs = [one(i) for i in range(count)]
    good = [run for run in runs if run is not None]
    if not good:
        begin(started(shape, problem, np.random.default_rng(0), held, 0), problem, options)  # says what is wrong
        refuse(HidivError, "fit", "no start gives the evidence a probability", remedy="give a start")
    return _finished([(run, problem) for run in good], forest, options)


def _attempt(shape: Model, problem: Problem, rng: np.random.Generator, options: Options, which: int) -> Run | None:
    """One start and its climb; None where the start cannot produce the evidence."""
    from hidiv.errors import ImpossibleEvidence

    try:
        run = begin(started(shape, problem, rng, options.fixed, which), problem, options)
    except ImpossibleEvidence:
        return None
    return climb(run, problem, options)


def _run_from(model: Model, forest: Forest, options: Options) -> tuple[Run, Problem]:
    problem = problem_of(forest, model)
    return begin(model, problem, options), problem


def _finished(runs: Sequence[tuple[Run, Problem]], forest: Forest, options: Options) -> FitResult:
    """The best of the runs, continued to the end; one without degenerate states goes before those with them."""
    best, problem = max(runs, key=lambda each: (not is_degenerate(*each), each[0].objective[-1]))
    starts = tuple(run.log_likelihood for run, _ in runs)
    climb(best, problem, options, to_the_end=True)
    notes = [*best.notes, *notes_on(best, problem)]
    if not best.converged:
        notes.append(f"not converged after {len(best.history) - 1} iterations")
    known = forest.evidence
    said = ~np.isnan(known.x).all(axis=1)
    if known.lower is not None and known.upper is not None:
        said |= ((known.lower > -np.inf) | (known.upper < np.inf)).any(axis=1)
    if known.symbols is not None:
        said |= ~known.symbols.all(axis=1)
    said[list(known.symbol_sets)] = True
    return FitResult(
        best.model, best.log_likelihood, tuple(best.history), best.converged,
        count_parameters(best.model, options.fixed), int(said.sum()) or forest.n_nodes, tuple(notes), starts,
    )  # fmt: skip


def _shape(forest: Forest, n_states: int | None, emission: Any, grouped: list[str], end: bool) -> Model:
    """A model of the form asked for, before any start."""
    if n_states is None:
        refuse(InvalidModel, "n_states", "is needed without a start")
    k = _whole("n_states", n_states)
    for part in grouped:
        if part not in PARTS:
            refuse(InvalidModel, "grouped", "names transition and emission", part)
    groups = forest.n_groups
    of_transition = groups if "transition" in grouped else 1
    flat = np.full((k, k), 1.0 / k)
    transition: list[Any] = [flat] * of_transition
    if of_transition > 1 and forest.group is not None:
        child = np.ones(forest.n_nodes, dtype=np.bool_)
        child[forest.roots] = False
        used = np.isin(np.arange(groups), forest.group[child])
        transition = [flat if there else None for there in used]
    several = isinstance(emission, list | tuple)
    if several and len(emission) != groups:
        refuse(InvalidModel, "emission", f"must be one family, or one for each of the {groups} groups", len(emission))
    count = groups if "emission" in grouped or several else 1
    families: list[Family] = [
        prototype(each, k, forest.evidence) for each in (emission if several else [emission] * count)
    ]
    stop = None
    if end:
        if forest.parent is not None or of_transition > 1:
            refuse(IncompatibleModels, "end", "needs chains without groups of transitions")
        stop = np.full(k, 0.5)
        transition = [flat * 0.5]
    if all(t is None for t in transition):  # every tree is a root alone
        transition = [flat]
    return Model(np.full(k, 1.0 / k), transition, families, end=stop)


def _check_start(model: Model, forest: Forest, n_states: int | None) -> None:
    """Refuse a start that does not fit the evidence."""
    if n_states is not None and n_states != model.n_states:
        refuse(InvalidModel, "n_states", f"must be the {model.n_states} of the start, or None", n_states)
    if model.n_groups > 1:
        if forest.group is None:
            refuse(
                IncompatibleModels,
                "start",
                f"has {model.n_groups} groups but the trees have none",
                remedy='give group="level" or labels',
            )
        if forest.n_groups > model.n_groups:
            refuse(IncompatibleModels, "start", f"has {model.n_groups} groups, the trees have {forest.n_groups}")
    if model.end is not None and forest.parent is not None:
        refuse(IncompatibleModels, "start", "has end probabilities, which need chains")
    if not model.has_transition.all() and forest.group is not None:
        child = np.ones(forest.n_nodes, dtype=np.bool_)
        child[forest.roots] = False
        lacking = np.flatnonzero(~model.has_transition & np.isin(np.arange(model.n_groups), forest.group[child]))
        if lacking.size:
            refuse(
                IncompatibleModels,
                f"start.transition[{int(lacking[0])}]",
                "is null but nodes other than roots are in this group",
            )


def _options(tol: float, max_iter: int, pseudo_count: float, fixed: frozenset[str]) -> Options:
    if not isinstance(tol, int | float) or not 0 <= tol < np.inf:
        refuse(HidivError, "tol", "must be a number from 0", tol)
    if not isinstance(pseudo_count, int | float) or not 0 <= pseudo_count < np.inf:
        refuse(HidivError, "pseudo_count", "must be a number from 0", pseudo_count)
    return Options(float(tol), _whole("max_iter", max_iter, 0), float(pseudo_count), fixed)


def _whole(place: str, value: Any, least: int = 1) -> int:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        refuse(HidivError, place, f"must be a whole number from {least}", value)
    return int(value)
