"""Observed divergences of all pairs by Monte Carlo, each with its standard error, in blocks.

Each p is drawn once for a block. With a fixed number of draws they are scored under all q of one shape in one stacked
pass; with a tolerance observed_rows.py scores them with controls until each pair is accurate enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar, NamedTuple

import numpy as np

from hidiv.comparison.collection.by_shape import ModelsByShape, by_shape
from hidiv.comparison.collection.collection import Collection
from hidiv.comparison.pairwise.observed_rows import FIRST, shared_row
from hidiv.comparison.pairwise.plan import corners_of
from hidiv.divergences.observed.choose import listed_soon
from hidiv.divergences.observed.kl import observed_kl
from hidiv.divergences.pair import Pair
from hidiv.errors import ImpossibleEvidence
from hidiv.inference.likelihood import log_likelihood
from hidiv.inference.sampling import check_size, draw_observations, draw_states
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.progress import reporting
from hidiv.types import Array, IntArray

SQUARES = 4  # blocks a side where both directions are wanted: the draws of a model are repeated in each
STRIPS = 16  # blocks of whole rows where one direction is wanted: each model is drawn once
SMALLEST_SQUARE = 4  # models of a side of a square block, at least
MOST_DRAWS = 4096  # draws of a pair that is drawn again with controls
NEGLIGIBLE = 1e-12  # nats: a pair nearer than this is not drawn again
CELLS = 1 << 20  # numbers of the messages of one pass


class PlacedModel(NamedTuple):
    """A model and its place in the list; its draws depend on nothing else."""

    place: int
    model: Model


@dataclass(frozen=True, eq=False)
class MonteCarloBlock:
    """Rows top..bottom, columns left..right: the models of both, the tree, and the seeds of the draws."""

    top: int
    bottom: int
    left: int
    right: int
    rows: tuple[PlacedModel, ...]
    columns: tuple[PlacedModel, ...]
    tree: Tree
    samples: int
    seed: int
    reverse_seed: int | None  # of the draws for D(q || p), where both directions are wanted
    one_list: bool
    rtol: float | None = None  # pairs whose standard error is above this share of their value are drawn again
    upper: Array | None = None  # (m, m'): upper bounds on D(p || q)
    upper_reverse: Array | None = None  # (m', m): upper bounds on D(q || p)

    def packed(self) -> MonteCarloBlock:
        return self

    def compute(self, out: Array | None = None) -> tuple[Array, int]:
        """(m, m', 2): means of log p(X)/q(X) over draws of X from p and their standard errors; pairs drawn again.

        +inf where q cannot produce one of the draws.
        """
        values, again = self._direction(self.rows, self.columns, self.seed, self.upper)
        if self.reverse_seed is not None:
            reverse, more = values, 0
            if not (self.one_list and self.top == self.left):  # on the diagonal the same pairs come in both directions
                reverse, more = self._direction(self.columns, self.rows, self.reverse_seed, self.upper_reverse)
            reverse, again = reverse.transpose(1, 0, 2), again + more
            values = np.stack([values[..., 0] + reverse[..., 0], np.hypot(values[..., 1], reverse[..., 1])], axis=2)
        return values, again

    def _direction(
        self, ps: tuple[PlacedModel, ...], qs: tuple[PlacedModel, ...], seed: int, upper: Array | None
    ) -> tuple[Array, int]:
        """(m, m', 2): D(p || q) of every p and q, and its standard error; how many pairs were drawn again."""
        values, again = np.zeros((len(ps), len(qs), 2)), 0
        grouped = by_shape([q.model for q in qs])
        column_of = {q.place: j for j, q in enumerate(qs)} if self.one_list else {}
        for i, (place, p) in enumerate(ps):
            if self.rtol is not None:
                limits = np.full(len(qs), np.inf) if upper is None else upper[i]
                values[i], more = self._accurate(ps[i], qs, self.rtol, limits, [seed, place])
                again += more
                continue
            rng = np.random.default_rng([seed, place])
            x = draw_observations(p, self.tree, draw_states(p, self.tree, self.samples, rng), rng)
            under_q = np.empty((len(qs), self.samples))
            for group in grouped.groups:
                under_q[group.places] = stacked_likelihoods(group.models, x, self.tree)
            own = column_of.get(place)
            under_p = stacked_likelihoods(Collection([p]), x, self.tree)[0] if own is None else under_q[own]
            with np.errstate(invalid="ignore"):
                log_ratios = np.where(np.isneginf(under_q), np.inf, under_p - under_q)
            values[i] = _means(log_ratios)
            if own is not None:
                values[i, own] = 0.0
        return values, again

    def _accurate(
        self, p: PlacedModel, qs: tuple[PlacedModel, ...], rtol: float, limits: Array, seed: list[int]
    ) -> tuple[Array, int]:
        """(m', 2): the pairs of one p until they are accurate enough; how many of them were drawn on their own.

        The draws of p serve for all q at first. A bound is a size the value cannot exceed: an error is judged by the
        smaller of the two.
        """
        others = [None if self.one_list and place == p.place else q for place, q in qs]
        shared = shared_row(p.model, others, self.tree, rtol, limits, seed, max(self.samples, FIRST))
        row, again = np.where(shared.answered[:, None], shared.values, 0.0), 0
        for j, (place, q) in enumerate(qs):
            if others[j] is None:
                continue
            if (shared.short[j] or not shared.answered[j]) and limits[j] > NEGLIGIBLE:
                alone = controlled(p.model, q, self.tree, rtol, [*seed, place], MOST_DRAWS)
                # More draws with better controls, unless these have not got as far.
                if not shared.answered[j] or alone[1] < row[j, 1]:
                    row[j] = alone
                again += 1
            row[j, 0] = min(max(row[j, 0], 0.0), limits[j])
        return row, again


@dataclass(frozen=True, eq=False)
class MonteCarloPlan:
    """How the matrix is cut; the draws of a model serve for all q, so the entries of a row are not independent."""

    direct_words: ClassVar[str] = "drawn again"
    rows: tuple[PlacedModel, ...]
    columns: tuple[PlacedModel, ...]
    tree: Tree
    samples: int
    seed: int
    symmetric: bool
    one_list: bool
    edges: tuple[int, int]  # rows and columns of a block
    rtol: float | None = None
    upper: Array | None = None  # (M, M')
    upper_reverse: Array | None = None  # (M', M)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.columns)

    @property
    def is_mirrored(self) -> bool:
        """Whether a block below the diagonal is the transpose of one above."""
        return self.one_list and self.symmetric

    def corners(self) -> list[tuple[int, int]]:
        """Top and left of every block."""
        return corners_of(self.shape, self.edges, self.is_mirrored)

    def block(self, top: int, left: int) -> MonteCarloBlock:
        """The block with this corner."""
        height, width = self.edges
        rows, columns = self.rows[top : top + height], self.columns[left : left + width]
        # Models of another list are other models: their draws need another seed.
        reverse = None if not self.symmetric else self.seed if self.one_list else self.seed + 1
        upper = None if self.upper is None else self.upper[top : top + height, left : left + width]
        upper_reverse = (
            None if self.upper_reverse is None else self.upper_reverse[left : left + width, top : top + height]
        )
        return MonteCarloBlock(
            top, top + len(rows), left, left + len(columns), rows, columns, self.tree, self.samples, self.seed,
            reverse, self.one_list, self.rtol, upper, upper_reverse,
        )  # fmt: skip


def monte_carlo_plan(
    left: ModelsByShape, right: ModelsByShape, tree: Tree, samples: int, seed: int, symmetric: bool, edge: int
) -> MonteCarloPlan:
    """All pairs of two lists of models in blocks of at most edge^2 pairs.

    One direction: whole rows, so that each p is drawn once. Both directions: squares, as each is mirrored.
    """
    count = check_size(samples)
    rows = listed(left)
    columns = rows if right is left else listed(right)
    if symmetric:
        square = min(edge, max(SMALLEST_SQUARE, -(-max(len(rows), len(columns)) // SQUARES)))
        edges = square, square
    else:
        width = min(len(columns), edge * edge)
        edges = max(1, min(edge * edge // width, -(-len(rows) // STRIPS))), width
    return MonteCarloPlan(rows, columns, tree, count, seed, symmetric, right is left, edges)


def controlled(p: Model, q: Model, tree: Tree, rtol: float, seed: list[int], most: int) -> tuple[float, float]:
    """Value and standard error of one pair drawn with control variates, accurate relatively however close the two.

    Where there are few words they are listed, and there is no error.
    """
    exact = listed_soon(Pair.on_tree(p, q, tree))
    if exact is not None:
        return exact.value, 0.0
    rng = np.random.default_rng(seed)
    with reporting(False):  # one pair of many: its own progress would hide that of the matrix
        result = observed_kl(p, q, tree, method="montecarlo", rtol=rtol, seed=rng, max_samples=most)
    return result.value, 0.0 if result.std_error is None else result.std_error


def listed(models: ModelsByShape) -> tuple[PlacedModel, ...]:
    """The models in the order of their list."""
    by_place: dict[int, Model] = {}
    for group, places in models.groups:
        by_place.update(zip(places.tolist(), group, strict=True))
    return tuple(PlacedModel(i, by_place[i]) for i in range(len(by_place)))


def _means(log_ratios: Array) -> Array:
    """(m, 2): mean and standard error of each row of draws; both +inf where a draw is infinite."""
    count = log_ratios.shape[1]
    with np.errstate(invalid="ignore"):
        errors = log_ratios.std(axis=1, ddof=1) / np.sqrt(count) if count > 1 else np.full(len(log_ratios), np.inf)
        table = np.column_stack([log_ratios.mean(axis=1), errors])
    table[np.isinf(log_ratios).any(axis=1)] = np.inf
    return table


def stacked_likelihoods(models: Collection, x: Array, tree: Tree) -> Array:
    """(M, count): log P(X = x[i]) under every model, x (count, n) or (count, n, F); -inf where it is impossible.

    The upward recursion (definitions (2.1)) scaled at every node, the models of a portion and all draws side by side.
    """
    count, n = x.shape[:2]
    portion = max(1, CELLS // (n * models.n_states * count))
    table = np.empty((len(models), count))
    for start in range(0, len(models), portion):
        some = np.arange(start, min(start + portion, len(models)))
        table[some] = _portion(models, some, x.reshape(count, n, -1), tree)
    # Whether a draw is impossible is decided on booleans, one by one, never by an underflow.
    for i in np.flatnonzero(~np.isfinite(table).all(axis=1)):
        model = models[int(i)]
        for j in np.flatnonzero(~np.isfinite(table[i])):
            table[i, j] = _one(model, x[j], tree)
    return table


def _portion(models: Collection, which: IntArray, x: Array, tree: Tree) -> Array:
    """(m, count): the scaled upward pass for the models `which`; not finite where it underflows or is impossible."""
    n, transitions = x.shape[1], models.transitions[which]
    initial = models.initial[which][:, None, :]
    by_group = transitions.shape[1] > 1 and tree.group is not None
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        messages = _log_weights(models, which, x, tree)
        peaks = messages.max(axis=2, keepdims=True)
        messages = np.exp(messages - peaks)
        total = peaks.sum(axis=0)[:, 0]
        parents = tree.parent
        for u in range(n - 1, 0, -1):
            up = int(parents[u])
            g = int(tree.group[u]) if by_group and tree.group is not None else 0
            parent = messages[up]
            parent *= transitions[:, g] @ messages[u]
            largest = parent.max(axis=1, keepdims=True)
            parent /= largest
            total += np.log(largest[:, 0])
        return np.asarray(total + np.log((initial @ messages[0])[:, 0]))


def _log_weights(models: Collection, which: IntArray, x: Array, tree: Tree) -> Array:
    """(n, m, K, count): log-probability of each observation in each state of each model."""
    count, n, columns = x.shape
    m, k = len(which), models.n_states
    states = (which[:, None] * k + np.arange(k)).ravel()
    weights = np.zeros((n, m, k, count))
    for g, stacked in enumerate(models.emissions):
        nodes = np.arange(n) if len(models.emissions) == 1 else np.flatnonzero(tree.group == g)
        if nodes.size and stacked.n_features:
            family = stacked if m == len(models) else stacked.take(states)
            rows = x[:, nodes].reshape(count * nodes.size, columns)
            logs = family.log_prob(rows).reshape(count, nodes.size, m, k)
            weights[nodes] = logs.transpose(1, 2, 3, 0)
    return weights


def _one(model: Model, x: Array, tree: Tree) -> float:
    try:
        return log_likelihood(model, x, tree)
    except ImpossibleEvidence:
        return -inf
