"""Observed divergences of all pairs by plain Monte Carlo, each with its standard error, in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidiv.comparison.blocks import corners_of
from hidiv.comparison.shelves import Shelves
from hidiv.divergences.montecarlo import log_likelihood_or_zero
from hidiv.inference.likelihood import log_likelihood
from hidiv.inference.sampling import check_size, draw_observations, draw_states
from hidiv.models.model import Model
from hidiv.models.tree import Tree

Array = NDArray[np.float64]

FEW = 4  # models of a block at least: their draws are made again in every block


class Numbered(NamedTuple):
    """A model and its place in the list: its draws depend on nothing else."""

    place: int
    model: Model


@dataclass(frozen=True, eq=False)
class EstimatedBlock:
    """Rows top..bottom, columns left..right: the models of both, the tree, and what the draws start from."""

    top: int
    bottom: int
    left: int
    right: int
    rows: tuple[Numbered, ...]
    columns: tuple[Numbered, ...]
    tree: Tree
    samples: int
    seed: int
    back_seed: int | None  # of the draws of the other direction, where both are wanted
    one_list: bool

    def packed(self) -> EstimatedBlock:
        return self

    def compute(self, out: Array | None = None) -> tuple[Array, int]:
        """(m, m', 2): means of log p(X)/q(X) over draws of X from p, +inf where q cannot draw one; standard errors."""
        found = self._one_way(self.rows, self.columns, self.seed)
        if self.back_seed is not None:
            back = self._one_way(self.columns, self.rows, self.back_seed).transpose(1, 0, 2)
            found = np.stack([found[..., 0] + back[..., 0], np.hypot(found[..., 1], back[..., 1])], axis=2)
        return found, 0

    def _one_way(self, ps: tuple[Numbered, ...], qs: tuple[Numbered, ...], seed: int) -> Array:
        found = np.zeros((len(ps), len(qs), 2))
        for i, (place, p) in enumerate(ps):
            rng = np.random.default_rng([seed, place])
            x = draw_observations(p, self.tree, draw_states(p, self.tree, self.samples, rng), rng)
            under_p = np.array([log_likelihood(p, one, self.tree) for one in x])
            for j, (other, q) in enumerate(qs):
                if not (self.one_list and place == other):
                    found[i, j] = _mean(under_p - [log_likelihood_or_zero(q, one, self.tree) for one in x])
        return found


@dataclass(frozen=True, eq=False)
class EstimatedPlan:
    """How the matrix is cut; the draws of a model serve for all q, so the entries of a row are not independent."""

    rows: tuple[Numbered, ...]
    columns: tuple[Numbered, ...]
    tree: Tree
    samples: int
    seed: int
    symmetric: bool
    one_list: bool
    edge: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.columns)

    @property
    def is_mirrored(self) -> bool:
        """Whether a block below the diagonal is the transpose of one above."""
        return self.one_list and self.symmetric

    def corners(self) -> list[tuple[int, int]]:
        """Of every block."""
        return corners_of(self.shape, self.edge, self.is_mirrored)

    def block(self, top: int, left: int) -> EstimatedBlock:
        """The block with this corner."""
        rows, columns = self.rows[top : top + self.edge], self.columns[left : left + self.edge]
        # Models of another list are other models: their draws start elsewhere.
        back = None if not self.symmetric else self.seed if self.one_list else self.seed + 1
        where = top, top + len(rows), left, left + len(columns)
        return EstimatedBlock(*where, rows, columns, self.tree, self.samples, self.seed, back, self.one_list)


def estimated_plan(
    left: Shelves, right: Shelves, tree: Tree, samples: int, seed: int, symmetric: bool, edge: int
) -> EstimatedPlan:
    """All pairs of two lists of models; blocks of `edge`, or smaller so that there are some to share out."""
    count = check_size(samples)
    rows = _listed(left)
    columns = rows if right is left else _listed(right)
    smaller = max(FEW, -(-max(len(rows), len(columns)) // 4))
    return EstimatedPlan(rows, columns, tree, count, seed, symmetric, right is left, min(edge, smaller))


def _listed(shelves: Shelves) -> tuple[Numbered, ...]:
    found: dict[int, Model] = {}
    for models, places in shelves.shelves:
        found.update(zip(places.tolist(), models, strict=True))
    return tuple(Numbered(i, found[i]) for i in range(len(found)))


def _mean(draws: Array) -> tuple[float, float]:
    if np.isinf(draws).any():
        return np.inf, np.inf
    count = len(draws)
    return float(draws.mean()), float(draws.std(ddof=1) / np.sqrt(count)) if count > 1 else np.inf
