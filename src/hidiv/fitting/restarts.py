"""Many starts, each climbed by a thread, and the best of them finished."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np

from hidiv.errors import HidivError, ImpossibleEvidence, refuse
from hidiv.fitting.degenerate import is_degenerate, notes_on
from hidiv.fitting.em import Options, Run, begin, climb
from hidiv.fitting.expectation import Problem, problem_of
from hidiv.fitting.forest import Forest
from hidiv.fitting.initialise import started
from hidiv.fitting.parameters import count_parameters
from hidiv.fitting.result import FitResult
from hidiv.models.model import Model
from hidiv.progress import Progress


def best_of(
    shape: Model,
    forest: Forest,
    options: Options,
    count: int,
    seed: int | np.random.Generator | None,
    workers: int,
    polish: bool,
) -> FitResult:
    """The best of `count` starts; one without degenerate states goes before those that have some.

    Every start has random numbers of its own, so that the number of workers does not show in the result. Ctrl-C ends
    all climbs where they are, and the best of them is given back with a note.
    """
    problem = problem_of(forest, shape)
    seeds = np.random.default_rng(seed).spawn(count)
    at_once = min(count, workers)
    each = replace(options, threads=1 if at_once > 1 else options.threads)
    with Progress("fitting") as progress:
        board = Board(count, options.max_iter, progress)
        jobs = [partial(_attempt, shape, problem, seeds[i], each, i, board) for i in range(count)]
        runs = [run for run in _all(jobs, at_once, board) if run is not None]
        if not runs:
            begin(started(shape, problem, np.random.default_rng(0), options.fixed, 0), problem, options)  # says why
            refuse(HidivError, "fit", "no start gives the evidence a probability", remedy="give a start")
        best = max(runs, key=lambda run: (not is_degenerate(run, problem), run.objective[-1]))
        starts = tuple(run.log_likelihood for run in runs)
        if (polish or not best.converged) and not board.stopped.is_set():
            climb(best, problem, options, board.tell_last, polish)
    return finished(best, problem, shape, options, starts)


class Board:
    """Where all climbs say how far they are, and learn that they should stop."""

    def __init__(self, count: int, max_iter: int, progress: Progress) -> None:
        self.count, self.max_iter, self.progress = count, max(max_iter, 1), progress
        self.stopped = threading.Event()
        self.lock = threading.Lock()
        self.done = 0

    def tell(self, run: Run) -> None:
        """After an iteration of a start."""
        if self.stopped.is_set():
            raise KeyboardInterrupt
        with self.lock:
            share = min(1.0, (self.done + (len(run.history) - 1) / self.max_iter) / self.count)
            words = f"{self.done} of {self.count} starts, log-likelihood {run.log_likelihood:.6g}"
            self.progress.show(share, words)

    def tell_last(self, run: Run) -> None:
        """After an iteration of the best start."""
        made = len(run.history) - 1
        self.progress.show(made / self.max_iter, f"the best start, log-likelihood {run.log_likelihood:.6g}")

    def finish(self) -> None:
        """A start has come to its end."""
        with self.lock:
            self.done += 1


def _all(jobs: Sequence[Callable[[], Run | None]], workers: int, board: Board) -> list[Run | None]:
    """Every job done, or stopped."""
    if workers == 1:
        return [job() for job in jobs if not board.stopped.is_set()]
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(job) for job in jobs]
        try:
            return [future.result() for future in futures]
        except KeyboardInterrupt:
            board.stopped.set()
            return [future.result() for future in futures if not future.cancel()]


def _attempt(
    shape: Model, problem: Problem, rng: np.random.Generator, options: Options, which: int, board: Board
) -> Run | None:
    """One start and its climb; None where the start cannot produce the evidence."""
    try:
        run = begin(started(shape, problem, rng, options.fixed, which), problem, options)
    except ImpossibleEvidence:
        return None
    climb(run, problem, options, board.tell)
    if run.interrupted:
        board.stopped.set()
    board.finish()
    return run


def finished(run: Run, problem: Problem, shape: Model, options: Options, starts: tuple[float, ...]) -> FitResult:
    """The result of a climb, with what a user should know of it."""
    notes = [*run.notes, *notes_on(run, problem)]
    if not run.converged:
        notes.append(f"not converged after {len(run.history) - 1} iterations")
    model = run.model.finished(shape)
    return FitResult(
        model, run.log_likelihood, tuple(run.history), run.converged, count_parameters(model, options.fixed),
        _observed(problem.forest), tuple(notes), starts,
    )  # fmt: skip


def _observed(forest: Forest) -> int:
    """Nodes of which anything is known; all of them where only states are."""
    known = forest.evidence
    said = ~np.isnan(known.x).all(axis=1)
    if known.lower is not None and known.upper is not None:
        said |= ((known.lower > -np.inf) | (known.upper < np.inf)).any(axis=1)
    if known.symbols is not None:
        said |= ~known.symbols.all(axis=1)
    said[list(known.symbol_sets)] = True
    return int(said.sum()) or forest.n_nodes
