"""The two steps of expectation-maximisation: expected counts of states and transitions, and the next model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.emissions.family import Family
from hidiv.emissions.weighted import Weighted, spread
from hidiv.fitting.evidence_forest import EvidenceForest
from hidiv.inference.rows import EvidenceRows, lay_out, with_ends
from hidiv.inference.weights import allowed_states, log_weights, symbol_sets
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.expectation import ExpectedCounts, expect
from hidiv.recursions.tables import Places, Tables
from hidiv.types import Array, Flags


@dataclass(frozen=True, eq=False)
class Draft:
    """A model during the iterations of a fit: the numbers of a Model without its checks.

    initial (K,), transitions (G, K, K), has_transition (G,), emissions, end (K,) or None.
    """

    initial: Array
    transitions: Array
    has_transition: Flags
    emissions: tuple[Family, ...]
    end: Array | None

    @property
    def n_states(self) -> int:
        """The number of hidden states K."""
        return len(self.initial)

    def finished(self, like: Model) -> Model:
        """The checked Model, with the names of `like`."""
        return Model(
            self.initial,
            [t if present else None for t, present in zip(self.transitions, self.has_transition, strict=True)],
            self.emissions, name=like.name, state_names=like.state_names, end=self.end, symbol_names=like.symbol_names,
            column_names=like.column_names,
        )  # fmt: skip


def draft_of(model: Model) -> Draft:
    """The draft with the numbers of a model."""
    return Draft(model.initial, model.transitions, model.has_transition, model.emissions, model.end)


@dataclass(frozen=True, eq=False)
class Problem:
    """A forest laid out for models of one form: its rows of knowledge, and which nodes use them."""

    forest: EvidenceForest
    rows: EvidenceRows
    uses: Array  # (R,): nodes that use each row
    samples: tuple[Weighted, ...]  # the rows of each family, with zero weights
    places: tuple[Any, ...]  # the index of those rows
    allowed: NDArray[np.bool_] | None  # (R, K): states

    def log_emissions(self, model: Draft) -> Array:
        """(R, K): log-probabilities of what is known of the observations, without checking values again."""
        table = np.zeros((self.rows.n_rows, model.n_states))
        for family, sample, where in zip(model.emissions, self.samples, self.places, strict=True):
            if not family.n_features or not len(sample.x):
                continue
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                if sample.all_seen:
                    known = family.log_seen(sample.x)
                else:
                    known = family.log_weight(sample.x, sample.lower, sample.upper)
            if len(known) == len(table):
                table = np.ascontiguousarray(known)  # all rows: no copy
            else:
                table[where] = known
            if sample.inside is not None:
                table[where] += log_sets(family, sample.inside)
        return table

    def log_weights(self, model: Draft, emissions: Array) -> Array:
        """(R, K): `inference.weights.log_weights` from the emissions, with allowed states and ends."""
        if self.allowed is None and model.end is None:
            return emissions
        table = emissions.copy()
        if self.allowed is not None:
            table[~self.allowed] = -np.inf
        if model.end is not None:
            with np.errstate(divide="ignore"):
                table[self.rows.n_rows - self.rows.n_ended :] += np.log(model.end)
        return table

    def layout(self, model: Draft) -> Places:
        """Parents, transitions and rows of the nodes."""
        group = self.forest.group if len(model.transitions) > 1 else None
        return self.forest.parent, group, self.rows.row_of


def problem_of(forest: EvidenceForest, model: Model) -> Problem:
    """Lay a forest out for models with the groups and families of this one."""
    line = Tree.chain(forest.n_nodes, forest.group)
    rows = lay_out(forest.evidence, line, model)
    if model.end is not None:
        rows = with_ends(rows, forest.lasts)
    log_weights(model, rows, line)  # refuses invalid values, sets and intervals
    uses = (
        np.ones(rows.n_rows) if rows.row_of is None else np.bincount(rows.row_of, minlength=rows.n_rows).astype(float)
    )
    samples, places = [], []
    used = uses > 0
    scale = spread(rows.x if used.all() else rows.x[used])
    for g, family in enumerate(model.emissions):
        alone = rows.group is None or len(model.emissions) == 1
        where: Any = slice(None) if alone else np.flatnonzero(rows.group == g)
        lower, upper = (None if bound is None else bound[where] for bound in (rows.lower, rows.upper))
        inside = symbol_sets(family, rows, where)
        count = len(rows.x[where])
        own = used[where]
        # Spread of all values of all groups where a group alone has none.
        unit = spread(rows.x[where][own]) if own.any() and not alone else scale
        samples.append(Weighted(rows.x[where], np.zeros((count, model.n_states)), lower, upper, inside, unit))
        places.append(where)
    return Problem(forest, rows, uses, tuple(samples), tuple(places), allowed_states(model, rows))


def expectation(model: Draft, problem: Problem, threads: int = 0, emissions: Array | None = None) -> ExpectedCounts:
    """Expected counts of the whole forest under the model; `emissions` are its `log_emissions`, if known."""
    known = problem.log_emissions(model) if emissions is None else emissions
    tables = Tables(model.initial, model.transitions, problem.log_weights(model, known))
    return expect(tables, problem.layout(model), problem.forest.start, threads)


def log_sets(family: Family, inside: NDArray[np.bool_]) -> Array:
    """(r, K): log-probabilities of sets of symbols, 0 where a set is not restricted."""
    categorical: Any = family
    restricted = ~inside.all(axis=1).reshape(-1, 1)
    return np.where(restricted, categorical.log_set(inside), 0.0)


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
