"""The expectation step: how often each state and each transition is met, given the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.emissions.weighted import Weighted, spread
from hidiv.fitting.forest import Forest
from hidiv.inference.rows import Rows, lay_out, with_ends
from hidiv.inference.weights import log_weights, symbol_sets
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.expectation import Counts, expect
from hidiv.recursions.layout import Places
from hidiv.recursions.tables import Tables

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Problem:
    """A forest laid out for models of one form: which rows of knowledge there are, and who uses them."""

    forest: Forest
    rows: Rows
    line: Tree  # all nodes as one chain, for the checks that name nodes
    uses: Array  # (R,): nodes that use each row
    samples: tuple[Weighted, ...]  # the rows of each emission, without weights so far
    places: tuple[Any, ...]  # which rows those are

    def tables(self, model: Model) -> Tables:
        """The model's numbers on the evidence."""
        return Tables(model.initial, model.transitions, log_weights(model, self.rows, self.line))

    def layout(self, model: Model) -> Places:
        """Parents, transitions and rows of the nodes."""
        group = self.forest.group if len(model.transitions) > 1 else None
        return self.forest.parent, group, self.rows.row_of


def problem_of(forest: Forest, model: Model) -> Problem:
    """Lay a forest out for models with the groups and families of this one."""
    line = Tree.chain(forest.n_nodes, forest.group)
    rows = lay_out(forest.evidence, line, model)
    if model.end is not None:
        rows = with_ends(rows, forest.lasts)
    uses = (
        np.ones(rows.n_rows) if rows.row_of is None else np.bincount(rows.row_of, minlength=rows.n_rows).astype(float)
    )
    samples, places = [], []
    scale = spread(rows.x[uses > 0])
    for g, family in enumerate(model.emissions):
        alone = rows.group is None or len(model.emissions) == 1
        where: Any = slice(None) if alone else np.flatnonzero(rows.group == g)
        lower, upper = (None if bound is None else bound[where] for bound in (rows.lower, rows.upper))
        inside = symbol_sets(family, rows, where)
        count = len(rows.x[where])
        # Spread of all values of all groups where a group alone has none.
        own = rows.x[where][uses[where] > 0]
        unit = spread(own) if len(own) else scale
        samples.append(Weighted(rows.x[where], np.zeros((count, model.n_states)), lower, upper, inside, unit))
        places.append(where)
    return Problem(forest, rows, line, uses, tuple(samples), tuple(places))


def expectation(model: Model, problem: Problem, threads: int = 0) -> Counts:
    """Expected counts of the whole forest under the model."""
    return expect(problem.tables(model), problem.layout(model), problem.forest.start, threads)
