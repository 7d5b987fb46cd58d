"""Observed divergences of one p from many q: p is drawn once, and its draws are scored under every q with controls."""

from __future__ import annotations

from math import sqrt
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

FIRST, MOST = 256, 2048  # draws of a portion, after the first of which a pair is looked at, and of all
ROOM = 1.1  # times as many draws are taken as the error of the first ones asks for
LEAST, GROWTH = 0.25, 3.0  # draws grow by at least this share, and at most so many times, between two looks
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

    Portion by portion only the q go on whose standard error is above rtol times their value; each takes as many draws
    as its first ones ask for, whatever the other q take. Left unanswered are pairs that are no chains of one law, or so
    close that differences must be carried.
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
    rng, most = np.random.default_rng(seed), max(MOST, first)
    left = dict.fromkeys(pending, first)  # draws to take before a q is looked at again
    for drawn in range(first, most + 1, first):
        if not pending:
            break
        states = draw_states(p, tree, first, rng)
        x = draw_observations(p, tree, states, rng).reshape(first, tree.n_nodes, -1)
        visits: Array | None = None
        for j in sorted(pending, key=lambda j: -left[j]):  # the first of them takes the most
            draws, batches = pending[j]
            assert draws.scored is not None
            size = min(left[j], first)
            batches.append(draws.scored(states[:size], x[:size], None if visits is None else visits[:size]))
            if not (np.isfinite(batches[-1].base).all() and np.isfinite(batches[-1].plain).all()):
                values[j], short[j] = np.nan, True
                del pending[j]
                continue
            if visits is None:
                visits = batches[-1].controls[:, -p.n_states :]
            left[j] -= size
            if left[j]:
                continue
            batch = joined(batches)
            best = controlled_mean(batch.base, batch.controls, settle=False)
            mean = allowed(draws, batch, best).mean
            values[j], answered[j] = (mean.value, mean.std_error), True
            wanted = rtol * max(min(abs(mean.value), limits[j]), NEGLIGIBLE)
            short[j] = mean.std_error > wanted
            grown = min(ROOM * _growth(best.std_error, mean.std_error, wanted), GROWTH)
            left[j] = min(int(max(grown - 1.0, LEAST) * len(batch.base)), most - drawn)
            if not short[j] or limits[j] <= NEGLIGIBLE or not left[j]:
                del pending[j]
    return ScoredRow(values, answered & np.isfinite(values[:, 0]) | np.isinf(values[:, 0]), short)


def _growth(spread: float, error: float, wanted: float) -> float:
    """How many times as many draws give the wanted error.

    The error from their spread falls with the root of their number, what is allowed for rare events with the number.
    """
    rest, slow = max(error**2 - spread**2, 0.0), spread**2
    share = 2.0 * wanted**2 / (slow + sqrt(slow**2 + 4.0 * rest * wanted**2)) if error > 0 else 1.0
    return 1.0 / max(share, 1e-9)
