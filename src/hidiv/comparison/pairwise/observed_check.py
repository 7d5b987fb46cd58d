"""Whether the variational approximation holds for these models: some pairs are drawn and looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidiv.comparison.collection.by_shape import Shelves, shelves_of
from hidiv.comparison.pairwise.observed_draws import controlled, listed
from hidiv.models.tree import Tree
from hidiv.types import Array

ROWS, EXTRA = 6, 2  # models whose nearest ones are looked at, and further pairs of each
LARGEST = 20_000  # nodes of a tree that is drawn
DRAWS, RTOL = 512, 0.05  # of each pair, at most; where they stop earlier
OFF = 0.5  # relative error of an approximation that does not hold
SURE = 4.0  # standard errors that are forgiven
NOTHING = 1e-9  # nats: there is no ratio to what is smaller
FORGIVEN = 0.05  # share of the pairs that may be off


class Check(NamedTuple):
    """What was found: whether the approximation may be used, and the words for the notes."""

    holds: bool
    words: str


def check_variational(
    left: Shelves, right: Shelves, tree: Tree, upper: Array | None, seed: int, approximate: Callable[[Shelves], Array]
) -> Check:
    """Draw each of a few models' nearest ones, which rankings depend on, and some others.

    approximate: the variational matrix of some p (rows) against all of `right`.
    """
    if tree.n_nodes > LARGEST:
        return Check(True, f"not checked by draws: the tree has {tree.n_nodes} nodes")
    ps = listed(left)
    qs = ps if right is left else listed(right)
    rng = np.random.default_rng([seed, len(ps), len(qs)])
    rows = np.sort(rng.choice(len(ps), min(ROWS, len(ps)), replace=False))
    found = approximate(shelves_of([ps[i].model for i in rows]))
    found = np.clip(found, 0.0, None if upper is None else upper[rows])
    ratios, off, total = [], 0, 0
    for values, i in zip(found, rows.tolist(), strict=True):
        others = np.array([j for j in range(len(qs)) if right is not left or j != i])
        for j in _chosen(values, None if upper is None else upper[i], others, rng):
            if np.isinf(values[j]):
                continue
            value, error = controlled(ps[i].model, qs[j].model, tree, RTOL, [seed, i, j], DRAWS)
            total += 1
            off += not abs(values[j] - value) <= OFF * max(value, 0.0) + SURE * error
            if value > max(SURE * error, NOTHING):
                ratios.append(values[j] / value)
    holds = off <= FORGIVEN * total
    said = f"{total} pairs checked by draws"
    if ratios:
        low, middle, high = np.quantile(ratios, [0.0, 0.5, 1.0])
        said += f": approximation over estimate {low:.3g} to {high:.3g}, median {middle:.3g}"
    return Check(holds, said + ("" if holds else f"; {off} off by more than {OFF:.0%}"))


def _chosen(values: Array, upper: Array | None, others: NDArray[np.int64], rng: np.random.Generator) -> list[int]:
    """The nearest by the approximation and by the bound, and a few more."""
    if not len(others):
        return []
    near = [int(others[np.argmin(table[others])]) for table in (values, upper) if table is not None]
    more = rng.choice(others, min(EXTRA, len(others)), replace=False)
    return list(dict.fromkeys([*near, *(int(j) for j in more)]))
