"""Observed divergences of one p from many q: p is drawn once, and its draws are scored under every q with controls."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hidiv.divergences.observed.sampled.cross_fitting import controlled_mean
from hidiv.divergences.observed.sampled.draws import Drawn, Draws, joined
from hidiv.divergences.observed.sampled.rare import allowed
from hidiv.divergences.observed.sampled.tree_estimate import draws_on_tree
from hidiv.divergences.pair import Pair
from hidiv.inference.sampling import draw_observations, draw_states
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.types import Array, Flags

FIRST, MOST = 256, 2048  # draws of the first round, which are doubled from round to round, and of all
NEGLIGIBLE = 1e-12  # nats: a value smaller than this is accurate enough


class ScoredRow(NamedTuple):
    """values (m, 2): estimates and standard errors; answered (m,): which of them are there; short (m,): those whose
    standard error is still above what was asked for."""

    values: Array
    answered: Flags
    short: Flags


def shared_row(
    p: Model, qs: list[Model | None], tree: Tree, rtol: float, limits: Array, seed: list[int], first: int = FIRST
) -> ScoredRow:
    """The divergences of p from each q by the same draws; a q of None is left out.

    Round by round only the q go on whose standard error is above rtol times their value. Left unanswered are pairs that
    are no chains of one law, or so close that differences must be carried.
    """
    values = np.zeros((len(qs), 2))
    answered, short = np.zeros(len(qs), dtype=np.bool_), np.zeros(len(qs), dtype=np.bool_)
    pending: dict[int, tuple[Draws, list[Drawn]]] = {}
    for j, q in enumerate(qs):
        draws = None if q is None else draws_on_tree(Pair.on_tree(p, q, tree))
        if draws is None:
            continue
        if draws.infinite is not None:
            values[j], answered[j] = np.inf, True
        elif draws.scored is not None:
            pending[j] = draws, []
    rng, drawn, most = np.random.default_rng(seed), 0, max(MOST, first)
    while pending and drawn < most:
        size = max(first, drawn)
        states = draw_states(p, tree, size, rng)
        x = draw_observations(p, tree, states, rng).reshape(size, tree.n_nodes, -1)
        drawn += size
        for j, (draws, batches) in list(pending.items()):
            assert draws.scored is not None
            batches.append(draws.scored(states, x))
            batch = joined(batches)
            if not (np.isfinite(batch.base).all() and np.isfinite(batch.plain).all()):
                values[j], short[j] = np.nan, True
                del pending[j]
                continue
            best = controlled_mean(batch.base, batch.controls, settle=False)
            mean = allowed(draws, batch, best).mean
            values[j], answered[j] = (mean.value, mean.std_error), True
            size_of = max(min(abs(mean.value), limits[j]), NEGLIGIBLE)
            short[j] = mean.std_error > rtol * size_of
            if not short[j] or limits[j] <= NEGLIGIBLE:
                del pending[j]
    return ScoredRow(values, answered & np.isfinite(values[:, 0]) | np.isinf(values[:, 0]), short)
