"""Measures of overlap of all pairs by draws, with standard errors: a model is drawn once for all its partners."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from hidiv.arguments import number, seed_number
from hidiv.comparison.collection.by_shape import ModelsByShape
from hidiv.comparison.pairwise.observed_draws import MonteCarloBlock, MonteCarloPlan, monte_carlo_plan
from hidiv.divergences.measures.mean_ratio import FIRST
from hidiv.divergences.measures.overlap import KINDS, RARE, RTOL, bounds_meet, measured_bracket, most_samples
from hidiv.divergences.pair import Pair
from hidiv.errors import HidivError, refuse
from hidiv.inference.likelihood import log_likelihoods
from hidiv.inference.sampling import BLOCK, draw_observations, draw_states
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.types import Array

At = tuple[int, int]  # row and column of a block
Side = tuple[At, int, Model]

OPTIONS = ("method", "rtol", "seed", "max_samples")


@dataclass(frozen=True, eq=False)
class OverlapBlock(MonteCarloBlock):
    """Rows and columns of a matrix of one of the measures in KINDS; `samples` are draws of both models of a pair."""

    measure: str = ""

    def compute(self, out: Array | None = None) -> tuple[Array, int]:
        """(m, m', 2): values and standard errors; how many pairs have the middle of their bounds, half the width.

        Round by round only the pairs go on whose standard error is above rtol of their value.
        """
        kind, table = KINDS[self.measure], np.zeros((len(self.rows), len(self.columns), 2))
        on_diagonal = self.one_list and self.top == self.left
        pairs = {
            (i, j): Pair.on_tree(p.model, q.model, self.tree)
            for i, p in enumerate(self.rows)
            for j, q in enumerate(self.columns)
            if not on_diagonal or i <= j
        }
        pending = {at for at, pair in pairs.items() if not bounds_meet(kind, pair)}
        for at in pairs.keys() - pending:
            table[at] = measured_bracket(kind, pairs[at]).value, 0.0
        sums = {at: np.zeros((2, 2)) for at in pending}  # of values and squares, by whose draws
        drawing = self._drawing(pending, on_diagonal)
        unseen, done, most = set(pending), 0, max(1, self.samples // 2)
        while pending:
            size = min(max(FIRST, done), most - done)
            for model, rng, sides in drawing:
                wanted = [side for side in sides if side[0] in pending]
                for x in _in_portions(model, self.tree, size, rng) if wanted else ():
                    own = log_likelihoods(model, x, self.tree)
                    for at, whose, partner in wanted:
                        values = kind.function(own - log_likelihoods(partner, x, self.tree))
                        sums[at][whose] += values.sum(), (values * values).sum()
            done += size
            for at in list(pending):
                means = sums[at][:, 0] / done
                spread = np.maximum(sums[at][:, 1] / done - means * means, 0.0) / max(done - 1, 1)
                mean, error = float(means.mean()), 0.5 * float(np.sqrt(spread.sum()))
                table[at] = kind.shown(mean), error * kind.slope(mean)
                if error <= RARE * mean:
                    unseen.discard(at)
                if error <= (self.rtol or RTOL) * mean or done >= most:
                    pending.discard(at)
        for at in unseen:
            bounds = measured_bracket(kind, pairs[at])
            table[at] = bounds.value, 0.5 * ((bounds.upper or 0.0) - (bounds.lower or 0.0))
        if on_diagonal:
            below = np.tril_indices(len(table), -1)
            table[below] = table.transpose(1, 0, 2)[below]
        return table, len(unseen)

    def _drawing(self, pending: set[At], on_diagonal: bool) -> list[tuple[Model, np.random.Generator, list[Side]]]:
        """Every model that is drawn, its generator, and the pairs it is in: the place, its side and its partner."""
        lists = [(self.rows, self.seed), (self.columns, self.reverse_seed or 0)][: 1 if on_diagonal else 2]
        drawing = []
        for which, (models, seed) in enumerate(lists):
            for k, (place, model) in enumerate(models):
                sides = [(at, 0, self.columns[at[1]].model) for at in pending if at[0] == k and which == 0]
                last = which == 1 or on_diagonal
                sides += [(at, 1, self.rows[at[0]].model) for at in pending if at[1] == k and last]
                drawing.append((model, np.random.default_rng([seed, place]), sorted(sides, key=lambda side: side[:2])))
        return drawing


@dataclass(frozen=True, eq=False)
class OverlapPlan(MonteCarloPlan):
    """How a matrix of a measure of overlap is cut into blocks."""

    direct_words: ClassVar[str] = (
        "hardly seen by draws: the middle of proven bounds, with half their width for a standard error"
    )
    measure: str = ""

    def block(self, top: int, left: int) -> OverlapBlock:
        """The block with this corner."""
        plain = super().block(top, left)
        return OverlapBlock(**{each.name: getattr(plain, each.name) for each in fields(plain)}, measure=self.measure)


def overlap_plan(
    name: str, left: ModelsByShape, right: ModelsByShape, tree: Tree, options: dict[str, Any], edge: int
) -> OverlapPlan:
    """All pairs of two lists of models by a measure, in square blocks."""
    for key in options:
        if key not in OPTIONS:
            refuse(HidivError, key, f"is no argument of {name}", remedy=f"it takes {', '.join(OPTIONS)}")
    rtol = float(number("rtol", options.get("rtol", RTOL)))
    if not rtol > 0:
        refuse(HidivError, "rtol", "must be above 0", rtol)
    pair = Pair.on_tree(left.groups[0].models[0], right.groups[0].models[0], tree)
    most = most_samples(pair, options.get("max_samples"))
    plain = monte_carlo_plan(left, right, tree, most, seed_number(options.get("seed")) or 0, True, edge)
    kept: dict[str, Any] = {each.name: getattr(plain, each.name) for each in fields(plain)}
    return OverlapPlan(**kept | {"rtol": rtol}, measure=name)


def _in_portions(model: Model, tree: Tree, count: int, rng: np.random.Generator) -> Iterator[Array]:
    """Draws of a model, as many at once as memory takes."""
    at_once = max(1, BLOCK // (4 * tree.n_nodes))
    for start in range(0, count, at_once):
        yield draw_observations(model, tree, draw_states(model, tree, min(at_once, count - start), rng), rng)
