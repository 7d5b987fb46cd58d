"""Draws of chains from p: one-step divergences summed, with controls of known mean (definitions (5.4) and (5.8))."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hidiv.divergences.observed.batch import Batch
from hidiv.divergences.observed.chain_counts import Counts, counts_of
from hidiv.divergences.observed.filters import Filters, Weights, carried_difference, run_both
from hidiv.divergences.observed.panels import QUICK
from hidiv.divergences.observed.points import Points, points
from hidiv.divergences.observed.predictive import Following, Past, Wanted, steps_ahead
from hidiv.divergences.observed.weighing import weigh, weigh_ratio
from hidiv.inference.sampling import draw_observations, draw_states
from hidiv.models.model import Model
from hidiv.models.tree import Tree

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

CLOSE = 1e-2  # parameters this near: the difference of the filters is carried, not taken
FEW_SYMBOLS = 8
LAST = 8  # nodes at the end that have coefficients of their own


@dataclass(frozen=True, eq=False)
class ChainPair:
    """p and q on a chain; `spaces` the points of each pair of emission groups, `space_of` (N,) which one a node has."""

    p: Model
    q: Model
    tree: Tree
    spaces: tuple[Points, ...]
    space_of: IntArray

    @classmethod
    def of(cls, p: Model, q: Model, tree: Tree) -> ChainPair:
        """NotApplicable where the observations of a node are no sum over points."""
        if len(p.emissions) == len(q.emissions) == 1:
            space = points(p.emissions[0], q.emissions[0], QUICK)
            return cls(p, q, tree, (space,), np.zeros(tree.n_nodes, dtype=np.int64))
        group = np.asarray(tree.group)
        at_p, at_q = (np.minimum(group, len(m.emissions) - 1) for m in (p, q))
        pairs, space_of = np.unique(np.stack([at_p, at_q], axis=1), axis=0, return_inverse=True)
        spaces = tuple(points(p.emissions[a], q.emissions[b], QUICK) for a, b in pairs.tolist())
        return cls(p, q, tree, spaces, np.asarray(space_of).ravel())

    @cached_property
    def moves(self) -> tuple[Array, Array]:
        """(1, K, K) or (N, K, K): transitions of p and of q, by node where they differ."""
        return moves_of(self.p, self.tree), moves_of(self.q, self.tree)

    @cached_property
    def close(self) -> bool:
        """Whether q is near p, state by state."""
        if self.p.n_states != self.q.n_states:
            return False
        apart = [self.q.initial - self.p.initial, self.moves[1] - self.moves[0]]
        apart += [np.ones(1) if s.apart is None else np.abs(s.apart) @ s.weight for s in self.spaces]
        return all(float(np.abs(a).max()) <= CLOSE for a in apart)

    @cached_property
    def following(self) -> Following | None:
        """Where the step after next is cheap to look at: few symbols, the same laws at every node."""
        space, (move_p, move_q) = self.spaces[0], self.moves
        if (
            self.close
            or len(self.spaces) > 1
            or self.p.n_states + self.q.n_states < 5
            or not space.symbols
            or len(space.weight) > FEW_SYMBOLS
        ):
            return None
        if len(move_p) > 1 or len(move_q) > 1:
            return None
        return Following(move_p[0] @ space.p, move_q[0] @ space.q)

    @cached_property
    def counts(self) -> Counts:
        """Posterior counts of p and their means."""
        return counts_of(self.p, self.q, self.tree, self.spaces, self.space_of, self.moves[0])

    def past(self, x: Array) -> tuple[Past, Filters, Filters, Weights, Weights]:
        """Filters along x (n, N, F), and the weights of the observations under p and q."""
        weights_p, weights_q = weigh(self.p, self.tree, x), weigh(self.q, self.tree, x)
        moves_p, moves_q = self.moves
        one, two = run_both((self.p.initial, self.q.initial), self.moves, (weights_p, weights_q))
        apart: tuple[Array, Array] | tuple[None, None] = (None, None)
        if self.close:
            log_p, log_q, given = weights_p.logs(), weights_q.logs(), two.log_prob[:, None, :]
            with np.errstate(invalid="ignore", over="ignore"):
                weight_q = np.exp(log_q - given)
                change = np.exp(log_p - given) * np.expm1(weigh_ratio(self.p, self.q, self.tree, x))
            change = np.where(log_p > -np.inf, change, weight_q)
            start, changes = self.q.initial - self.p.initial, moves_q - moves_p
            apart = carried_difference(start, moves_q, changes, one, weight_q, change)
        return Past(one.predicted, one.updated, two.predicted, two.updated, *apart), one, two, weights_p, weights_q

    def draw(self, size: int, rng: np.random.Generator, lean: bool = False) -> Batch:
        """`size` sequences of p: the log-ratio, the sum of one-step divergences, and the controls.

        lean: without those that take longest, products of filter probabilities.
        """
        x = draw_observations(self.p, self.tree, draw_states(self.p, self.tree, size, rng), rng)
        x = x.reshape(size, self.tree.n_nodes, -1)
        past, one, two, weights_p, weights_q = self.past(x)
        base = np.zeros(size)
        wanted = Wanted(not lean, None if lean else self.following)
        sums: list[Array] = []
        for kind, space in enumerate(self.spaces):
            nodes = np.flatnonzero(self.space_of == kind)
            for start, step in steps_ahead(space, _taken(past, nodes), wanted):
                base += step.divergence.sum(axis=0)
                early, late = self._sets(nodes[start : start + len(step.divergence)])
                parts = [
                    part[:, here].sum(axis=1)
                    for part, here in (
                        (step.linear, early), (step.linear, late), (step.quadratic, early), (step.quadratic, late),
                        (step.cubic, early | late),
                    )
                ]  # fmt: skip
                sums = [a + b for a, b in zip(sums, parts, strict=True)] if sums else parts
        plain = (one.log_prob - two.log_prob).sum(axis=0)
        counted = self.counts.along(one, x, weights_p, weights_q)
        return Batch(plain, base, np.concatenate([*sums[:2], counted, *sums[2:]]).T)

    def _sets(self, nodes: IntArray) -> list[NDArray[np.bool_]]:
        """Which nodes have the common coefficients, which those of the end; the last node tells of no later one."""
        last = self.tree.n_nodes - 1
        early = nodes < last - LAST
        return [early, ~early & (nodes < last)]


def moves_of(model: Model, tree: Tree) -> Array:
    """(1, K, K), or (N, K, K) for a model whose transitions have groups."""
    return model.transitions if len(model.transitions) == 1 else model.transitions[tree.group]


def _taken(past: Past, nodes: IntArray) -> Past:
    if len(nodes) == len(past.p_before):
        return past
    return Past(*(None if part is None else part[nodes] for part in past))  # type: ignore[arg-type]
