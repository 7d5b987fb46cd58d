"""Climbs from many starts in threads, further climbs from near the best maxima, and the best of all finished."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any, TypeVar

import numpy as np

from hidiv.arguments import generator
from hidiv.errors import HidivError, ImpossibleEvidence, counted, refuse
from hidiv.fitting.em import Options, Run, begin, climb
from hidiv.fitting.em_steps import Draft, Problem, maximisation, problem_of
from hidiv.fitting.evidence_forest import EvidenceForest
from hidiv.fitting.fit_result import FitResult, count_parameters
from hidiv.fitting.initialise import started
from hidiv.models.model import Model
from hidiv.progress import Progress

TRIES = 3  # starts tried for each one that is climbed to its end
SHORT = 30  # iterations of a try, by which the starts are ranked
NEAR = 1000.0  # times the tolerance: how near to their maxima climbs are compared
SAME = 1e-2  # largest difference in log-likelihood of two climbs to the same maximum
MAXIMA = 4  # different maxima from which hops are made
ROUNDS = 6  # of hops, at most
AGREED = 8  # climbs to the best maximum, after which a better one is unlikely to be found
LEAST_SHARE = 0.02  # of a count, in a hop
UNEVEN = 0.3  # parameter of the beta law of the shares in a hop: most of them are near 0 or 1

Result = TypeVar("Result")
FEWEST = 1.0  # expected nodes of a state, below which it is called empty


def best_of(
    shape: Model,
    forest: EvidenceForest,
    options: Options,
    count: int,
    seed: int | np.random.Generator | None,
    workers: int,
    polish: bool,
) -> FitResult:
    """The best model of `count` climbs, whose starts were the best of more after a few iterations, and of later hops.

    Degenerate models come last. Every start has its own random numbers, so that the result does not depend on the
    number of workers. Ctrl-C ends all climbs where they are; the best of them is returned with a note.
    """
    problem = problem_of(forest, shape)
    seeds = generator(seed).spawn(1 if count == 1 else TRIES * count)
    at_once = min(count, workers)
    each = replace(options, threads=1 if at_once > 1 else options.threads)
    with Progress("fitting") as progress:
        board = Board(count, options.max_iter, progress)
        tries = [partial(_attempt, shape, problem, rng, each, i, board) for i, rng in enumerate(seeds)]
        first = [run for run in _all(tries, at_once, board) if run is not None]
        first.sort(key=lambda run: -_reached(run))
        taken = _taken(first, count)
        climbs = [partial(_climb, run, problem, each, board) for run in taken]
        runs = taken if board.stopped.is_set() else _all(climbs, at_once, board)
        if not runs:
            if board.stopped.is_set():
                raise KeyboardInterrupt
            begin(
                started(shape, problem, np.random.default_rng(0), options.fixed, 0), problem, options
            )  # raises with the reason
            refuse(HidivError, "fit", "no start gives the evidence a probability", remedy="give a start")
        restarts = tuple(run.model.finished(shape) for run in runs)
        runs = _hopped(runs, seeds, problem, each, at_once, board)
        best = max(runs, key=lambda run: (not _is_degenerate(run, problem), _reached(run)))
        starts = tuple(run.log_likelihood for run in runs)
        if not board.stopped.is_set():
            climb(best, problem, options, board.show_last, polish)
        elif not best.interrupted:
            best.notes.append("interrupted before all starts were climbed")
    return replace(finished(best, problem, shape, options, starts), restarts=restarts)


def _hopped(
    runs: list[Run], seeds: list[np.random.Generator], problem: Problem, options: Options, workers: int, board: Board
) -> list[Run]:
    """The runs and those begun near their best maxima, in rounds of as many climbs as there were runs.

    At least one round, and more of them until AGREED climbs have reached the same best maximum.
    """
    if len(runs) < 2 or runs[0].model.n_states < 2:
        return runs
    size = len(runs)
    for rounds in range(ROUNDS):
        if board.stopped.is_set() or (rounds and _agree(runs, problem)):
            break
        board.expect(size)
        best = _best_maxima(runs, problem)
        jobs = [partial(_hop, best[i % len(best)], problem, options, rng, board) for i, rng in enumerate(seeds[:size])]
        runs = runs + [run for run in _all(jobs, workers, board) if run is not None]
    return runs


def _reached(run: Run) -> float:
    """What a climb has reached, to nine digits.

    Of climbs to the same maximum the first is taken on every machine; they differ in the order of their states.
    """
    return float(f"{run.objective[-1]:.9g}")


def _agree(runs: list[Run], problem: Problem) -> bool:
    """Whether AGREED climbs have reached the best maximum."""
    sound = [run.objective[-1] for run in runs if not _is_degenerate(run, problem)]
    return sum(value > max(sound) - SAME for value in sound) >= AGREED


def _best_maxima(runs: list[Run], problem: Problem) -> list[Run]:
    """The best runs, one for each maximum, MAXIMA of them at most."""
    different: list[Run] = []
    for run in sorted(runs, key=lambda run: (_is_degenerate(run, problem), -_reached(run))):
        if all(abs(run.objective[-1] - other.objective[-1]) > SAME for other in different):
            different.append(run)
    return different[:MAXIMA]


def _hop(maximum: Run, problem: Problem, options: Options, rng: np.random.Generator, board: Board) -> Run | None:
    """A climb that begins near a maximum; None where its start cannot produce the evidence."""
    try:
        run = begin(neighbour(maximum, problem, options, rng), problem, options)
    except ImpossibleEvidence:
        return None
    return _climb(run, problem, options, board)


def neighbour(run: Run, problem: Problem, options: Options, rng: np.random.Generator) -> Draft:
    """A model that differs from the one of `run` in two or three states.

    The counts of one state are added to those of a second, and those of a third (or of the second again) are shared out
    at random between itself and the first; the model is the maximisation of these counts.
    """
    k = run.model.n_states
    given_up, heir = rng.choice(k, size=2, replace=False).tolist()
    split = int(rng.choice([s for s in range(k) if s != given_up]))
    rows, initial, transition = (
        np.array(part) for part in (run.counts.rows, run.counts.initial, run.counts.transition)
    )
    from_rows, into = transition.swapaxes(0, 1), transition.transpose(2, 0, 1)  # views with the states first
    for table in (rows.T, initial, from_rows, into):
        table[heir] += table[given_up]
        share = np.clip(rng.beta(UNEVEN, UNEVEN, size=table[split].shape), LEAST_SHARE, 1.0 - LEAST_SHARE)
        table[given_up] = share * table[split]
        table[split] *= 1.0 - share
    # Every root and transition is made possible again: maxima have zeros, and zeros would stay.
    transition += LEAST_SHARE * transition.sum(axis=2, keepdims=True) / k
    initial += LEAST_SHARE * initial.sum() / k
    counts = replace(run.counts, rows=rows, initial=initial, transition=transition)
    return maximisation(run.model, problem, counts, options.pseudo_count, options.fixed)


def _taken(ranked: list[Run], count: int) -> list[Run]:
    """The best half, and others spread over the rest: starts that lead early often reach the same maximum."""
    ahead = (count + 1) // 2
    rest = ranked[ahead:]
    others = np.linspace(0, max(len(rest) - 1, 0), min(count - ahead, len(rest))).round().astype(int)
    return ranked[:ahead] + [rest[i] for i in others.tolist()]


class Board:
    """Shared by all climbs: their progress, and whether they should stop."""

    def __init__(self, count: int, max_iter: int, progress: Progress) -> None:
        self.count, self.max_iter, self.progress = count, max(max_iter, 1), progress
        self.stopped = threading.Event()
        self.lock = threading.Lock()
        self.done = 0
        self.best = -inf

    def show(self, run: Run) -> None:
        """Show the progress after an iteration of a start; raise KeyboardInterrupt where all should stop."""
        if self.stopped.is_set():
            raise KeyboardInterrupt
        with self.lock:
            share = min(1.0, (self.done + (len(run.history) - 1) / self.max_iter) / self.count)
            self.best = max(self.best, run.log_likelihood)
            words = f"{self.done} of {counted(self.count, 'start')}, best so far {self.best:.6g}"
            self.progress.show(share, words)

    def show_last(self, run: Run) -> None:
        """Show the progress after an iteration of the last climb, from the best model."""
        made = len(run.history) - 1
        self.progress.show(made / self.max_iter, f"the best start again, log-likelihood {run.log_likelihood:.6g}")

    def expect(self, more: int) -> None:
        """Count `more` climbs as still to be done."""
        with self.lock:
            self.count += more

    def finish(self) -> None:
        """Count one climb as done."""
        with self.lock:
            self.done += 1


def _all(jobs: Sequence[Callable[[], Result]], workers: int, board: Board) -> list[Result]:
    """The results of all jobs; after Ctrl-C, of those that were begun, stopped where they are."""
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
    """A start and its short climb; None where the start cannot produce the evidence."""
    try:
        run = begin(started(shape, problem, rng, options.fixed, which), problem, options)
    except ImpossibleEvidence:
        return None
    return _stopping(climb(run, problem, replace(options, max_iter=min(SHORT, options.max_iter)), board.show), board)


def _climb(run: Run, problem: Problem, options: Options, board: Board) -> Run:
    """The rest of a climb, until it is near enough to its maximum to be compared."""
    climb(run, problem, replace(options, tol=NEAR * options.tol), board.show, True)
    run.converged = False  # decided by the last climb, of the best run
    board.finish()
    return _stopping(run, board)


def _stopping(run: Run, board: Board) -> Run:
    """The run itself; an interrupted one stops all others."""
    if run.interrupted:
        board.stopped.set()
    return run


def finished(
    run: Run, problem: Problem, shape: Model, options: Options, starts: tuple[float, ...], zeros_stay: bool = False
) -> FitResult:
    """The result of a climb, with notes on what a user should know.

    zeros_stay: `shape` is the model the climb began at, and its zeros could not change.
    """
    notes = [*run.notes, *_notes_on(run, problem, options.fixed)]
    if not run.converged:
        notes.append(f"not converged after {counted(len(run.history) - 1, 'iteration')}")
    model = run.model.finished(shape)
    return FitResult(
        model, run.log_likelihood, tuple(run.history), run.converged,
        count_parameters(shape, options.fixed, zeros_stay), _n_observations(problem.forest), tuple(notes), starts,
        data=problem.forest, fixed=options.fixed,
    )  # fmt: skip


def _n_observations(forest: EvidenceForest) -> int:
    """The number of nodes with any evidence on their observation; all nodes where only states are known."""
    evidence = forest.evidence
    known = ~np.isnan(evidence.x).all(axis=1)
    if evidence.lower is not None and evidence.upper is not None:
        known |= ((evidence.lower > -np.inf) | (evidence.upper < np.inf)).any(axis=1)
    if evidence.symbols is not None:
        known |= ~evidence.symbols.all(axis=1)
    known[list(evidence.symbol_sets)] = True
    return int(known.sum()) or forest.n_nodes


def _is_degenerate(run: Run, problem: Problem) -> bool:
    """Whether any state is empty or has shrunk to the least spread."""
    return bool((run.counts.rows.sum(axis=0) < FEWEST).any()) or any(True for _ in _shrunk(run, problem))


def _notes_on(run: Run, problem: Problem, fixed: frozenset[str]) -> list[str]:
    """A note on every degenerate state."""
    held = run.counts.rows.sum(axis=0)
    notes = [
        f"state {s} holds {counted(f'{held[s]:.2g}', 'node')} in expectation" for s in np.flatnonzero(held < FEWEST)
    ]
    needed = sum(family.n_free(fixed) for family in run.model.emissions) / len(held)
    notes += [
        f"state {s} holds {counted(f'{held[s]:.2g}', 'node')} in expectation, "
        f"fewer than the {counted(f'{needed:.0f}', 'parameter')} of its laws"
        for s in np.flatnonzero((held >= FEWEST) & (held < needed))
    ]
    return notes + list(_shrunk(run, problem))


def _shrunk(run: Run, problem: Problem) -> Iterator[str]:
    """A note on every state whose spread is held at its least value."""
    for g, (family, sample) in enumerate(zip(run.model.emissions, problem.samples, strict=True)):
        if family.n_features == 0 or not len(sample.x):
            continue
        where = f" of group {g}" if len(run.model.emissions) > 1 else ""
        for s in np.flatnonzero(family.is_narrow(sample.smallest)):
            yield f"state {s}{where} has shrunk onto {_onto(family)}: its spread is held at its least"


def _onto(family: Any) -> str:
    return "one value" if family.n_features == 1 else "fewer dimensions than there are columns"
