"""Whether the variational approximation holds for these models: some pairs are drawn and compared with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hidiv.comparison.collection.by_shape import ModelsByShape, by_shape
from hidiv.comparison.pairwise.observed_draws import controlled, listed
from hidiv.models.tree import Tree
from hidiv.progress import Progress
from hidiv.types import Array, IntArray

ROWS, EXTRA = 6, 2  # models whose nearest ones are drawn, and further pairs of each
LARGEST = 20_000  # nodes of a tree that is drawn
DRAWS, RTOL = 512, 0.05  # most draws of a pair, and the relative standard error at which they stop
OFF = 0.5  # relative error of an approximation that does not hold
TOLERATED_ERRORS = 4.0  # standard errors of the estimate that the approximation may be away
NEGLIGIBLE = 1e-9  # nats: no ratio is reported to what is smaller
TOLERATED_SHARE = 0.05  # of the pairs may be off


class Check(NamedTuple):
    """Whether the approximation may be used, and the words for the notes."""

    holds: bool
    words: str


def check_variational(
    left: ModelsByShape, right: ModelsByShape, tree: Tree, upper: Array | None, seed: int,
    approximate: Callable[[ModelsByShape], Array],
) -> Check:  # fmt: skip
    """Compare the approximation with draws for the nearest models of a few, which rankings depend on, and some others.

    approximate: the variational matrix of some p (rows) against all of `right`.
    """
    if tree.n_nodes > LARGEST:
        return Check(True, f"not checked by draws: the tree has {tree.n_nodes} nodes")
    ps = listed(left)
    qs = ps if right is left else listed(right)
    rng = np.random.default_rng([seed, len(ps), len(qs)])
    rows = np.sort(rng.choice(len(ps), min(ROWS, len(ps)), replace=False))
    table = approximate(by_shape([ps[i].model for i in rows]))
    table = np.clip(table, 0.0, None if upper is None else upper[rows])
    ratios, off, total = [], 0, 0
    with Progress("checking the approximation") as bar:
        for done, (values, i) in enumerate(zip(table, rows.tolist(), strict=True)):
            others = np.array([j for j in range(len(qs)) if right is not left or j != i])
            for j in _chosen(values, None if upper is None else upper[i], others, rng):
                if np.isinf(values[j]):
                    continue
                value, error = controlled(ps[i].model, qs[j].model, tree, RTOL, [seed, i, j], DRAWS)
                total += 1
                off += not abs(values[j] - value) <= OFF * max(value, 0.0) + TOLERATED_ERRORS * error
                if value > max(TOLERATED_ERRORS * error, NEGLIGIBLE):
                    ratios.append(values[j] / value)
                bar.show(done, f"{total} pairs drawn", len(rows))
    holds = off <= TOLERATED_SHARE * total
    words = f"{total} pairs checked by draws"
    if ratios:
        low, middle, high = np.quantile(ratios, [0.0, 0.5, 1.0])
        words += f": approximation over estimate {low:.3g} to {high:.3g}, median {middle:.3g}"
    return Check(holds, words + ("" if holds else f"; {off} off by more than {OFF:.0%}"))


def _chosen(values: Array, upper: Array | None, others: IntArray, rng: np.random.Generator) -> list[int]:
    """The nearest model by the approximation, the nearest by the upper bound, and a few more at random."""
    if not len(others):
        return []
    near = [int(others[np.argmin(table[others])]) for table in (values, upper) if table is not None]
    more = rng.choice(others, min(EXTRA, len(others)), replace=False)
    return list(dict.fromkeys([*near, *(int(j) for j in more)]))
