"""The expectation step: expected counts of states and transitions given the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.emissions.family import Family
from hidiv.emissions.weighted import Weighted, spread
from hidiv.fitting.draft import Draft
from hidiv.fitting.evidence_forest import EvidenceForest
from hidiv.inference.rows import EvidenceRows, lay_out, with_ends
from hidiv.inference.weights import allowed_states, log_weights, symbol_sets
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.expectation import ExpectedCounts, expect
from hidiv.recursions.tables import Places, Tables
from hidiv.types import Array


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
