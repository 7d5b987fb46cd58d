"""The maximisation step: from expected counts to the next model."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidiv.fitting.draft import Draft
from hidiv.fitting.expected_counts import Problem
from hidiv.recursions.expectation import ExpectedCounts
from hidiv.types import Array


def maximisation(
    model: Draft,
    problem: Problem,
    counts: ExpectedCounts,
    pseudo_count: float = 0.0,
    fixed: frozenset[str] = frozenset(),
    threads: int = 0,
) -> Draft:
    """The next model: relative frequencies of roots and edges, and each family's own weighted estimate.

    pseudo_count is the number of nodes added to every state, spread evenly over the transitions of a row, the states of
    the root and the observations of the group. Rows and states without any counts stay as they are.
    """
    k = model.n_states
    initial = model.initial
    if "initial" not in fixed:
        roots = counts.initial + pseudo_count / k
        initial = roots / roots.sum()
    transitions, end = model.transitions, model.end
    if "transition" not in fixed:
        transitions, end = _rows(model, problem, counts, pseudo_count)
    emissions = model.emissions
    if "emission" not in fixed:
        emissions = tuple(
            family.maximise(sample.weighing(_weights(problem, counts, where, pseudo_count), threads), fixed)
            for family, sample, where in zip(model.emissions, problem.samples, problem.places, strict=True)
        )
    return Draft(initial, transitions, model.has_transition, emissions, end)


def _rows(model: Draft, problem: Problem, counts: ExpectedCounts, pseudo_count: float) -> tuple[Array, Array | None]:
    """Transitions (G, K, K), and the end probabilities that complete their rows."""
    k = model.n_states
    ends = np.zeros((1, k, 1))
    if model.end is not None:
        ends[0, :, 0] = counts.rows[problem.rows.n_rows - problem.rows.n_ended :].sum(axis=0)
        old = np.concatenate([model.transitions, model.end[None, :, None]], axis=2)
        counted = np.concatenate([counts.transition, ends], axis=2)
    else:
        old, counted = model.transitions, counts.transition
    counted = counted + pseudo_count / counted.shape[2]
    total = counted.sum(axis=2, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = np.where(total > 0, counted / total, old)
    return (rows[:, :, :k], rows[0, :, k]) if model.end is not None else (rows, None)


def _weights(problem: Problem, counts: ExpectedCounts, where: Any, pseudo_count: float) -> Array:
    """(r, K): the weights of the rows of one family, with pseudo-counts."""
    weight = np.asarray(counts.rows[where])
    if pseudo_count > 0 and weight.size:
        uses = problem.uses[where]
        weight = weight + (pseudo_count * uses / max(float(np.sum(uses)), 1.0))[:, None]
    return weight


def log_prior(model: Draft, problem: Problem, emissions: Array, pseudo_count: float) -> float:
    """The log-probability of the pseudo-counts up to a constant, which is added to the log-likelihood.

    emissions (R, K): the model's `log_emissions`.
    """
    if pseudo_count == 0.0:
        return 0.0
    k = model.n_states
    with np.errstate(divide="ignore"):
        total = float(np.log(model.initial).sum()) * pseudo_count / k
        rows = model.transitions[model.has_transition]
        if model.end is not None:
            rows = np.concatenate([rows, model.end[None, :, None]], axis=2)
        total += float(np.log(rows).sum()) * pseudo_count / rows.shape[2] if rows.size else 0.0
    for family, where in zip(model.emissions, problem.places, strict=True):
        uses = problem.uses[where]
        if family.n_features and uses.size:
            used, terms = uses > 0, emissions[where]
            total += pseudo_count / float(uses.sum()) * float((uses[used] @ terms[used]).sum())
    return total
