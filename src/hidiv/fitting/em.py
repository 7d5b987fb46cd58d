"""One climb: expectation and maximisation in turn, with extrapolated steps near a maximum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NoReturn

import numpy as np

from hidiv.errors import ImpossibleEvidence, counted, sentence
from hidiv.fitting.em_steps import Draft, Problem, expectation, log_prior, maximisation
from hidiv.recursions.expectation import ExpectedCounts

RECENT = 12  # iterations whose joint gain is looked at; four of them are extrapolated steps
ROUNDING = 1e-12  # of the log-likelihood: a smaller fall is rounding, and ends the climb
KEPT = 0.1  # of a count: an extrapolated step leaves at least this share of it, so that none becomes zero


@dataclass(frozen=True)
class Options:
    """When a climb ends, what it holds fixed, and the threads of an expectation step (0: all cores)."""

    tol: float = 1e-6
    max_iter: int = 500
    pseudo_count: float = 0.0
    fixed: frozenset[str] = frozenset()
    threads: int = 0


@dataclass(eq=False)
class Run:
    """One climb: the model so far, its expected counts, and the log-likelihoods of all models before it.

    `objective` is the log-likelihood with that of the pseudo-counts, which is what never falls.
    """

    model: Draft
    counts: ExpectedCounts
    history: list[float]
    objective: list[float]
    converged: bool = False
    notes: list[str] = field(default_factory=list)
    interrupted: bool = False

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of the model so far."""
        return self.history[-1]

    def add(self, model: Draft, counts: ExpectedCounts, value: float, objective: float) -> None:
        """Append one iteration."""
        self.model, self.counts = model, counts
        self.history.append(value)
        self.objective.append(objective)


def begin(model: Draft, problem: Problem, options: Options) -> Run:
    """A run at its start, after one expectation step; evidence the start cannot produce is an error."""
    counts, value, objective = _evaluated(model, problem, options)
    if not np.isfinite(value):
        _refuse_start(problem, counts)
    return Run(model, counts, [value], [objective])


def _evaluated(model: Draft, problem: Problem, options: Options) -> tuple[ExpectedCounts, float, float]:
    """A model's expected counts, its log-likelihood, and that with pseudo-counts."""
    emissions = problem.log_emissions(model)
    counts = expectation(model, problem, options.threads, emissions)
    value = float(counts.log_likelihoods.sum())
    return counts, value, value + log_prior(model, problem, emissions, options.pseudo_count)


def _step(
    model: Draft, counts: ExpectedCounts, problem: Problem, options: Options
) -> tuple[Draft, ExpectedCounts, float, float]:
    """The model that maximises over these counts, with its own counts, log-likelihood and objective."""
    following = maximisation(model, problem, counts, options.pseudo_count, options.fixed, options.threads)
    return following, *_evaluated(following, problem, options)


def _extrapolate(run: Run, path: list[ExpectedCounts], problem: Problem, options: Options) -> bool:
    """Take an extrapolated step if it gains; `path` holds the counts of the two models before this one."""
    counts = _extrapolated(path[0], path[1], run.counts)
    if counts is None:
        return False
    model, own_counts, value, objective = _step(run.model, counts, problem, options)
    if not objective > run.objective[-1]:
        return False
    run.add(model, own_counts, value, objective)
    return True


def _extrapolated(first: ExpectedCounts, second: ExpectedCounts, third: ExpectedCounts) -> ExpectedCounts | None:
    """ExpectedCounts far along the path of three models in a row, by squared extrapolation; None where the path turns.

    With r = second - first and v = (third - second) - r the counts are first + 2 a r + a^2 v, a = |r| / |v|: the limit
    itself where all errors shrink by one factor. Any counts make a model, so parameters stay in their ranges.
    """
    parts = [
        [np.asarray(getattr(counts, part)) for counts in (first, second, third)]
        for part in ("initial", "transition", "rows")
    ]
    r = [two - one for one, two, _ in parts]
    v = [(three - two) - step for (_, two, three), step in zip(parts, r, strict=True)]
    length, bend = (float(np.sqrt(sum(float(np.vdot(part, part)) for part in side))) for side in (r, v))
    if not length > bend > 0.0:
        return None
    a = length / bend
    initial, transition, rows = (
        np.maximum(one + 2.0 * a * step + a * a * turn, KEPT * three)
        for (one, _, three), step, turn in zip(parts, r, v, strict=True)
    )
    return replace(third, initial=initial, transition=transition, rows=rows)


def _iterate(
    run: Run, problem: Problem, options: Options, report: Callable[[Run], None] | None = None, polish: bool = False
) -> Run:
    """Iterate until a gain is at most tol times the log-likelihood, or for `max_iter` iterations in all.

    polish: until the gain expected from all further iterations, which shrink by a steady factor, is at most tol itself;
    once gains are small every third iteration is an extrapolated step, where that gains more. A log-likelihood that
    would fall (by more than rounding) ends the climb where it was, with a note. `report` is called after every
    iteration.
    """
    path: list[ExpectedCounts] = []  # counts of plain iterations in a row
    gains: list[float] = []
    small = run.converged
    while len(run.history) - 1 < options.max_iter:
        if polish and small and len(path) == 2:
            if _extrapolate(run, path, problem, options):
                path, gains = [], []
                if report is not None:
                    report(run)
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
        if report is not None:
            report(run)
        small = gain <= options.tol * max(1.0, abs(objective))
        run.converged = run.converged or small
        if small and (not polish or _is_polished(run.objective, gains, options.tol)):
            break
    return run


def climb(
    run: Run, problem: Problem, options: Options, report: Callable[[Run], None] | None = None, polish: bool = False
) -> Run:
    """`_iterate`, ended by Ctrl-C where it is, with a note, so that what was reached is not lost."""
    try:
        return _iterate(run, problem, options, report, polish)
    except KeyboardInterrupt:
        run.interrupted = True
        run.notes.append(f"interrupted after {counted(len(run.history) - 1, 'iteration')}")
        return run


def _is_polished(values: list[float], gains: list[float], tol: float) -> bool:
    """Whether the recent iterations together gained at most tol, and all further ones are expected to gain no more."""
    if gains[-1] <= ROUNDING * max(1.0, abs(values[-1])):
        return True
    recent = values[-1] - values[max(0, len(values) - 1 - RECENT)]
    return recent <= tol and _expected_gain(gains) <= tol


def _expected_gain(gains: list[float]) -> float:
    """The sum of all further gains if they go on shrinking by the factor of the last two (Aitken's estimate)."""
    if len(gains) < 2:
        return np.inf
    before, last = gains[-2:]
    if last <= 0.0:
        return 0.0
    ratio = last / before if before > 0 else 1.0
    return last * ratio / (1.0 - ratio) if ratio < 1.0 else np.inf


def _refuse_start(problem: Problem, counts: ExpectedCounts) -> NoReturn:
    """Raise ImpossibleEvidence with the first tree that the start cannot produce."""
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
