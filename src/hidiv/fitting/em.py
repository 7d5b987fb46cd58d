"""Expectation and maximisation in turn, until the log-likelihood no longer rises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from hidiv.errors import ImpossibleEvidence, counted, sentence
from hidiv.fitting.acceleration import Steps, farther
from hidiv.fitting.draft import Draft
from hidiv.fitting.expectation import Problem, expectation
from hidiv.fitting.maximisation import log_prior, maximisation
from hidiv.recursions.expectation import ExpectedCounts

LATELY = 12  # iterations, four of them longer steps
ROUNDING = 1e-12  # of the log-likelihood: a fall by less is rounding, and the end


@dataclass(frozen=True)
class Options:
    """How long to go on, and what to hold."""

    tol: float = 1e-6
    max_iter: int = 500
    pseudo_count: float = 0.0
    fixed: frozenset[str] = frozenset()
    threads: int = 0


@dataclass(eq=False)
class Run:
    """One climb: the model so far, its expected counts, and the log-likelihoods on the way."""

    model: Draft
    counts: ExpectedCounts
    history: list[float]
    objective: list[float]
    converged: bool = False
    notes: list[str] = field(default_factory=list)
    interrupted: bool = False

    @property
    def log_likelihood(self) -> float:
        return self.history[-1]

    def add(self, model: Draft, counts: ExpectedCounts, value: float, objective: float) -> None:
        """One iteration more."""
        self.model, self.counts = model, counts
        self.history.append(value)
        self.objective.append(objective)


def begin(model: Draft, problem: Problem, options: Options) -> Run:
    """The expectation step of the start; impossible evidence is an error that names the tree."""
    counts, value, objective = _met(model, problem, options)
    if not np.isfinite(value):
        refuse_start(problem, counts)
    return Run(model, counts, [value], [objective])


def _met(model: Draft, problem: Problem, options: Options) -> tuple[ExpectedCounts, float, float]:
    """A model's own counts, its log-likelihood, and that with pseudo-counts."""
    emissions = problem.log_emissions(model)
    counts = expectation(model, problem, options.threads, emissions)
    value = float(counts.log_likelihoods.sum())
    return counts, value, value + log_prior(model, problem, emissions, options.pseudo_count)


def _step(
    model: Draft, counts: ExpectedCounts, problem: Problem, options: Options
) -> tuple[Draft, ExpectedCounts, float, float]:
    """The next model from counts under this one; its own counts, log-likelihood, and that with pseudo-counts."""
    found = maximisation(model, problem, counts, options.pseudo_count, options.fixed)
    return found, *_met(found, problem, options)


def _leap(run: Run, steps: Steps, problem: Problem, options: Options) -> bool:
    """Take a longer step if there is one that gains."""
    counts = farther(steps)
    if counts is None:
        return False
    found = _step(run.model, counts, problem, options)
    if not found[3] > run.objective[-1]:
        return False
    run.add(*found)
    return True


def _iterate(
    run: Run, problem: Problem, options: Options, tell: Callable[[Run], None] | None = None, to_the_end: bool = False
) -> Run:
    """Iterate until a gain is at most tol times the log-likelihood, or for `max_iter` iterations in all.

    to_the_end: until the gain still to be expected from all further iterations, which shrink by a steady factor, is at
    most tol itself; once gains are small every third iteration is a longer step, where that gains more. A
    log-likelihood that would fall (by more than rounding) ends the climb where it was, with a note.
    """
    path: list[ExpectedCounts] = []  # of plain iterations in a row
    gains: list[float] = []
    small = run.converged
    while len(run.history) - 1 < options.max_iter:
        if to_the_end and small and len(path) == 2:
            if _leap(run, Steps(path[0], path[1], run.counts), problem, options):
                path, gains = [], []
                if tell is not None:
                    tell(run)
                continue
            path = path[1:]
        previous = run.counts
        model, counts, value, objective = _step(run.model, run.counts, problem, options)
        gain = objective - run.objective[-1]
        if not gain >= 0.0:
            if gain >= -ROUNDING * max(1.0, abs(objective)):
                run.converged = True
            else:
                run.notes.append(f"stopped where the next iteration would have lost {-gain:.3g} in log-likelihood")
            break
        run.add(model, counts, value, objective)
        path = [*path[-1:], previous]
        gains.append(gain)
        if tell is not None:
            tell(run)
        small = gain <= options.tol * max(1.0, abs(objective))
        run.converged = run.converged or small
        if small and (not to_the_end or _at_the_end(run.objective, gains, options.tol)):
            break
    return run


def climb(
    run: Run, problem: Problem, options: Options, tell: Callable[[Run], None] | None = None, to_the_end: bool = False
) -> Run:
    """`_iterate`, which Ctrl-C ends where it is, with a note: what was climbed is not lost."""
    try:
        return _iterate(run, problem, options, tell, to_the_end)
    except KeyboardInterrupt:
        run.interrupted = True
        run.notes.append(f"interrupted after {counted(len(run.history) - 1, 'iteration')}")
        return run


def _at_the_end(values: list[float], gains: list[float], tol: float) -> bool:
    """Whether iterations gain next to nothing, the longer steps among the last of them included."""
    if gains[-1] <= ROUNDING * max(1.0, abs(values[-1])):
        return True
    lately = values[-1] - values[max(0, len(values) - 1 - LATELY)]
    return lately <= tol and _still_to_come(gains) <= tol


def _still_to_come(gains: list[float]) -> float:
    """The sum of all further gains if they go on shrinking by the factor of the last two (Aitken's estimate)."""
    if len(gains) < 2:
        return np.inf
    before, last = gains[-2:]
    if last <= 0.0:
        return 0.0
    ratio = last / before if before > 0 else 1.0
    return last * ratio / (1.0 - ratio) if ratio < 1.0 else np.inf


def refuse_start(problem: Problem, counts: ExpectedCounts) -> None:
    """Say which tree the start cannot produce."""
    bad = ~np.isfinite(counts.log_likelihoods)
    tree = int(np.argmax(bad))
    place = "evidence" if problem.forest.n_trees == 1 else f"evidence[{tree}]"
    raise ImpossibleEvidence(
        sentence(
            place,
            "the start gives it probability 0" if counts.log_likelihoods[tree] < 0 else "has an infinite density",
            remedy="check the values, or start from a model without zeros",
        )
    )
