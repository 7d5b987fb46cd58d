"""Many starts, each climbed by a thread, and the best of them finished."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np

from hidiv.arguments import generator
from hidiv.errors import HidivError, ImpossibleEvidence, counted, refuse
from hidiv.fitting.degenerate import is_degenerate, notes_on
from hidiv.fitting.em import Options, Run, begin, climb
from hidiv.fitting.expectation import Problem, problem_of
from hidiv.fitting.forest import Forest
from hidiv.fitting.hops import hop
from hidiv.fitting.initialise import started
from hidiv.fitting.parameters import count_parameters
from hidiv.fitting.result import FitResult
from hidiv.models.model import Model
from hidiv.progress import Progress

TRIES = 3  # for every start that is climbed to the end, so many are climbed
SHORT = 30  # iterations, and the best are taken
NEAR = 1000.0  # times the tolerance: how near to their tops climbs are compared
SAME = 1e-2  # difference of log-likelihoods of two climbs to one top, at most
TOPS = 4
HOPS = 6  # rounds of climbs from beside the best, at most
AGREED = 8  # climbs that came to the best top: there is hardly a better one that climbs lead to

Result = TypeVar("Result")


def best_of(
    shape: Model,
    forest: Forest,
    options: Options,
    count: int,
    seed: int | np.random.Generator | None,
    workers: int,
    polish: bool,
) -> FitResult:
    """The best of `count` starts, themselves the best of more after a few iterations, and of climbs from beside them.

    Degenerate ones come last. Every start has random numbers of its own, so that the number of workers does not show
    in the result. Ctrl-C ends all climbs where they are, and the best of them is given back with a note.
    """
    problem = problem_of(forest, shape)
    seeds = generator(seed).spawn(1 if count == 1 else TRIES * count)
    at_once = min(count, workers)
    each = replace(options, threads=1 if at_once > 1 else options.threads)
    with Progress("fitting") as progress:
        board = Board(count, options.max_iter, progress)
        tries = [partial(_attempt, shape, problem, rng, each, i, board) for i, rng in enumerate(seeds)]
        first = [run for run in _all(tries, at_once, board) if run is not None]
        first.sort(key=lambda run: -run.objective[-1])
        taken = _taken(first, count)
        climbs = [partial(_climb, run, problem, each, board) for run in taken]
        runs = taken if board.stopped.is_set() else _all(climbs, at_once, board)
        if not runs:
            if board.stopped.is_set():
                raise KeyboardInterrupt
            begin(started(shape, problem, np.random.default_rng(0), options.fixed, 0), problem, options)  # says why
            refuse(HidivError, "fit", "no start gives the evidence a probability", remedy="give a start")
        runs = _hopped(runs, seeds, problem, each, at_once, board)
        best = max(runs, key=lambda run: (not is_degenerate(run, problem), run.objective[-1]))
        starts = tuple(run.log_likelihood for run in runs)
        if not board.stopped.is_set():
            climb(best, problem, options, board.tell_last, polish)
        elif not best.interrupted:
            best.notes.append("interrupted before all starts were climbed")
    return finished(best, problem, shape, options, starts)


def _hopped(
    runs: list[Run], seeds: list[np.random.Generator], problem: Problem, options: Options, workers: int, board: Board
) -> list[Run]:
    """The runs and what was reached from beside the best of them, in rounds of as many climbs as there are runs.

    One round, and more of them until several climbs have come to one and the same best top.
    """
    if len(runs) < 2 or runs[0].model.n_states < 2:
        return runs
    size = len(runs)
    for rounds in range(HOPS):
        if board.stopped.is_set() or (rounds and _agree(runs, problem)):
            break
        board.expect(size)
        top = _tops(runs, problem)
        jobs = [partial(_hop, top[i % len(top)], problem, options, rng, board) for i, rng in enumerate(seeds[:size])]
        runs = runs + [run for run in _all(jobs, workers, board) if run is not None]
    return runs


def _agree(runs: list[Run], problem: Problem) -> bool:
    """Whether the best top was come to often."""
    sound = [run.objective[-1] for run in runs if not is_degenerate(run, problem)]
    return sum(value > max(sound) - SAME for value in sound) >= AGREED


def _tops(runs: list[Run], problem: Problem) -> list[Run]:
    """The best few that are not one and the same top."""
    found: list[Run] = []
    for run in sorted(runs, key=lambda run: (is_degenerate(run, problem), -run.objective[-1])):
        if all(abs(run.objective[-1] - other.objective[-1]) > SAME for other in found):
            found.append(run)
    return found[:TOPS]


def _hop(top: Run, problem: Problem, options: Options, rng: np.random.Generator, board: Board) -> Run | None:
    """A climb from beside a top."""
    try:
        run = begin(hop(top, problem, options, rng), problem, options)
    except ImpossibleEvidence:
        return None
    return _climb(run, problem, options, board)


def _taken(ranked: list[Run], count: int) -> list[Run]:
    """The best half, and others from all over the rest: those ahead early on often lead to one and the same top."""
    ahead = (count + 1) // 2
    rest = ranked[ahead:]
    others = np.linspace(0, max(len(rest) - 1, 0), min(count - ahead, len(rest))).round().astype(int)
    return ranked[:ahead] + [rest[i] for i in others.tolist()]


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
            words = f"{self.done} of {counted(self.count, 'start')}, log-likelihood {run.log_likelihood:.6g}"
            self.progress.show(share, words)

    def tell_last(self, run: Run) -> None:
        """After an iteration of the best start."""
        made = len(run.history) - 1
        self.progress.show(made / self.max_iter, f"the best start, log-likelihood {run.log_likelihood:.6g}")

    def expect(self, more: int) -> None:
        """More climbs are to come."""
        with self.lock:
            self.count += more

    def finish(self) -> None:
        """A start has come to its end."""
        with self.lock:
            self.done += 1


def _all(jobs: Sequence[Callable[[], Result]], workers: int, board: Board) -> list[Result]:
    """Every job done; at Ctrl-C those that were begun, stopped where they are."""
    if workers == 1:
        done: list[Result] = []
        try:
            for job in jobs:
                if not board.stopped.is_set():
                    done.append(job())
        except KeyboardInterrupt:
            board.stopped.set()
        return done
    pool = ThreadPoolExecutor(workers)
    futures: list[Future[Result]] = []
    try:
        for job in jobs:
            futures.append(pool.submit(job))
        wait(futures)
        pool.shutdown()
    except KeyboardInterrupt:
        board.stopped.set()
        pool.shutdown(cancel_futures=True)
    return [future.result() for future in futures if not future.cancelled()]


def _attempt(
    shape: Model, problem: Problem, rng: np.random.Generator, options: Options, which: int, board: Board
) -> Run | None:
    """One start and its climb; None where the start cannot produce the evidence."""
    try:
        run = begin(started(shape, problem, rng, options.fixed, which), problem, options)
    except ImpossibleEvidence:
        return None
    return _stopping(climb(run, problem, replace(options, max_iter=min(SHORT, options.max_iter)), board.tell), board)


def _climb(run: Run, problem: Problem, options: Options, board: Board) -> Run:
    """The rest of a climb."""
    climb(run, problem, replace(options, tol=NEAR * options.tol), board.tell, True)
    run.converged = False  # the last climb, of the best, says whether it is
    board.finish()
    return _stopping(run, board)


def _stopping(run: Run, board: Board) -> Run:
    if run.interrupted:
        board.stopped.set()
    return run


def finished(
    run: Run, problem: Problem, shape: Model, options: Options, starts: tuple[float, ...], zeros_stay: bool = False
) -> FitResult:
    """The result of a climb, with what a user should know of it.

    zeros_stay: `shape` is where the climb began, and what is zero there could not become anything else.
    """
    notes = [*run.notes, *notes_on(run, problem, options.fixed)]
    if not run.converged:
        notes.append(f"not converged after {counted(len(run.history) - 1, 'iteration')}")
    model = run.model.finished(shape)
    return FitResult(
        model, run.log_likelihood, tuple(run.history), run.converged,
        count_parameters(shape, options.fixed, zeros_stay), _observed(problem.forest), tuple(notes), starts,
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
