"""Observed divergences of all pairs by plain Monte Carlo, each with its standard error, in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hidiv.comparison.collection.by_shape import Shelves
from hidiv.comparison.pairwise.plan import corners_of
from hidiv.divergences.observed.kl import observed_kl
from hidiv.inference.many_likelihoods import log_likelihoods
from hidiv.inference.sampling import check_size, draw_observations, draw_states
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.types import Array

FEW = 4  # models of a block at least: their draws are made again in every block
MOST = 4096  # draws of a pair that is drawn again with controls
NOTHING = 1e-12  # nats: a pair nearer than this is not drawn again


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
    rtol: float | None = None  # pairs whose standard error is above this share of their value are drawn again
    upper: Array | None = None  # (m, m'): bounds from above on the divergences there
    upper_back: Array | None = None  # (m', m): and back

    def packed(self) -> EstimatedBlock:
        return self

    def compute(self, out: Array | None = None) -> tuple[Array, int]:
        """(m, m', 2): means of log p(X)/q(X) over draws of X from p, +inf where q cannot draw one; standard errors.

        How many pairs were drawn again, one by one and with controls, beside them.
        """
        found, again = self._one_way(self.rows, self.columns, self.seed, self.upper)
        if self.back_seed is not None:
            back, more = self._one_way(self.columns, self.rows, self.back_seed, self.upper_back)
            back, again = back.transpose(1, 0, 2), again + more
            found = np.stack([found[..., 0] + back[..., 0], np.hypot(found[..., 1], back[..., 1])], axis=2)
        return found, again

    def _one_way(
        self, ps: tuple[Numbered, ...], qs: tuple[Numbered, ...], seed: int, upper: Array | None
    ) -> tuple[Array, int]:
        found, again = np.zeros((len(ps), len(qs), 2)), 0
        for i, (place, p) in enumerate(ps):
            rng = np.random.default_rng([seed, place])
            x = draw_observations(p, self.tree, draw_states(p, self.tree, self.samples, rng), rng)
            under_p = log_likelihoods(p, x, self.tree)
            for j, (other, q) in enumerate(qs):
                if self.one_list and place == other:
                    continue
                found[i, j] = _mean(under_p - log_likelihoods(q, x, self.tree))
                if self.rtol is not None:
                    top = np.inf if upper is None else upper[i, j]
                    # A bound is a size the value cannot exceed: an error is judged by the smaller of the two.
                    if found[i, j, 1] > self.rtol * max(min(abs(found[i, j, 0]), top), NOTHING) and top > NOTHING:
                        found[i, j] = controlled(p, q, self.tree, self.rtol, [seed, place, other], MOST)
                        again += 1
                    found[i, j, 0] = min(max(found[i, j, 0], 0.0), top)
        return found, again


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
    rtol: float | None = None
    upper: Array | None = None  # (M, M')
    upper_back: Array | None = None  # (M', M)

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
        upper, upper_back = (
            None if table is None else table[a : a + len(one), b : b + len(two)]
            for table, a, one, b, two in (
                (self.upper, top, rows, left, columns), (self.upper_back, left, columns, top, rows)
            )
        )  # fmt: skip
        return EstimatedBlock(
            *where, rows, columns, self.tree, self.samples, self.seed, back, self.one_list, self.rtol, upper, upper_back
        )


def estimated_plan(
    left: Shelves, right: Shelves, tree: Tree, samples: int, seed: int, symmetric: bool, edge: int
) -> EstimatedPlan:
    """All pairs of two lists of models; blocks of `edge`, or smaller so that there are some to share out."""
    count = check_size(samples)
    rows = listed(left)
    columns = rows if right is left else listed(right)
    smaller = max(FEW, -(-max(len(rows), len(columns)) // 4))
    return EstimatedPlan(rows, columns, tree, count, seed, symmetric, right is left, min(edge, smaller))


def controlled(p: Model, q: Model, tree: Tree, rtol: float, seed: list[int], most: int) -> tuple[float, float]:
    """One pair drawn with controls, relatively accurate however close the two are; its value and standard error."""
    found = observed_kl(p, q, tree, method="montecarlo", rtol=rtol, seed=np.random.default_rng(seed), max_samples=most)
    return found.value, 0.0 if found.std_error is None else found.std_error


def listed(shelves: Shelves) -> tuple[Numbered, ...]:
    """The models in the order of their list."""
    found: dict[int, Model] = {}
    for models, places in shelves.shelves:
        found.update(zip(places.tolist(), models, strict=True))
    return tuple(Numbered(i, found[i]) for i in range(len(found)))


def _mean(draws: Array) -> tuple[float, float]:
    if np.isinf(draws).any():
        return np.inf, np.inf
    count = len(draws)
    return float(draws.mean()), float(draws.std(ddof=1) / np.sqrt(count)) if count > 1 else np.inf
