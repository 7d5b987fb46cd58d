"""Evidence far in the tails: weights of states relative to each other, where logarithms far below 0 lose digits."""

from __future__ import annotations

import numpy as np

from hidiv.emissions.evidence.log_ratios import weight_ratio
from hidiv.inference.rows import EvidenceRows
from hidiv.inference.weights import by_family, symbol_sets
from hidiv.models.model import Model
from hidiv.recursions.terms import log_ratio
from hidiv.types import Array, IntArray

FAR = 4096.0  # logarithms of this size are rounded by 4.5e-13, and differences between states lose digits


def far_rows(*tables: Array, limit: float = FAR) -> IntArray:
    """The rows whose largest logarithm is beyond +-limit in some table, and where a state has weight in all tables."""
    if all(-limit <= table.min(initial=0.0) and table.max(initial=0.0) <= limit for table in tables):
        return np.zeros(0, dtype=np.int64)
    far, alive = np.zeros(len(tables[0]), dtype=np.bool_), np.ones(tables[0].shape, dtype=np.bool_)
    for table in tables:
        top = np.maximum.reduce(table.T)  # column by column, which is faster than along short rows
        far |= (np.abs(top) > limit) & (top > -np.inf)
        alive &= table > -np.inf
    return np.flatnonzero(far & alive.any(axis=1))


def relative(model: Model, rows: EvidenceRows, table: Array, where: IntArray, state: IntArray) -> Array:
    """(r, K): log w(s) - log w(state) of the rows `where`, state (r,), computed from the laws' differences.

    `table` (R, K) holds the logarithms themselves, whose differences are used where those of the laws are not finite.
    """
    own = table[where]
    with np.errstate(invalid="ignore"):
        plain = own - np.take_along_axis(own, state[:, None], axis=1)
    ratio = np.zeros_like(plain)
    for family, of_family in by_family(model, rows):
        own_rows = np.isin(where, np.arange(rows.n_rows)[of_family])
        for reference in np.unique(state[own_rows]):
            index = np.flatnonzero(own_rows & (state == reference))
            at = where[index]
            lower, upper = (None if bound is None else bound[at] for bound in (rows.lower, rows.upper))
            if family.n_features:
                first = family.take(np.full(model.n_states, reference))
                inside = symbol_sets(family, rows, at)
                ratio[index] = weight_ratio(first, family, rows.x[at], lower, upper, inside)
    if model.end is not None:
        ended = where >= rows.n_rows - rows.n_ended
        ratio[ended] += log_ratio(model.end[state[ended]][:, None], model.end[None])
    return np.where(own == -np.inf, -np.inf, np.where(np.isfinite(ratio), ratio, plain))


def moved(table: Array, where: IntArray, state: IntArray, rows: Array | None = None) -> tuple[Array, Array | None]:
    """The table with some rows relative to one state each, and (R,) what was subtracted, None for nothing.

    rows (r, K): the relative logarithms, where they are known more accurately than by subtraction.
    """
    if not where.size:
        return table, None
    own = table[where]
    base = np.take_along_axis(own, state[:, None], axis=1)
    table, shift = table.copy(), np.zeros(len(table))
    table[where] = own - base if rows is None else rows
    shift[where] = base[:, 0]
    return table, shift


def near(
    model: Model, rows: EvidenceRows, table: Array, accurate: bool = True, limit: float = FAR
) -> tuple[Array, Array | None]:
    """The table with rows beyond +-limit relative to their likeliest state, and (R,) what was subtracted from each."""
    where = far_rows(table, limit=limit)
    state = table[where].argmax(axis=1)
    return moved(table, where, state, relative(model, rows, table, where, state) if accurate and where.size else None)
