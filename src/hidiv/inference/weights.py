"""Weights of the hidden states, through which evidence enters every recursion (definitions (1.2)).

Far in the tails, where logarithms of weights lose digits, the weights of states are taken relative to each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from hidiv.emissions.evidence.log_ratios import weight_ratio
from hidiv.emissions.sample_space import Kind
from hidiv.errors import IncompatibleModels, InvalidEvidence, counted, refuse
from hidiv.inference.rows import EvidenceRows
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.terms import log_ratio
from hidiv.types import Array, Flags, IntArray

if TYPE_CHECKING:
    from hidiv.emissions.family import Family

FAR = 4096.0  # logarithms of this size are rounded by 4.5e-13, and differences between states lose digits


def log_weights(model: Model, rows: EvidenceRows, tree: Tree) -> Array:
    """(R, K): log w(s) of every row of knowledge, with allowed states and the ends of chains."""
    table = np.zeros((rows.n_rows, model.n_states))
    for family, where in by_family(model, rows):
        check_values(family, rows, where, tree)
        lower, upper = (None if bound is None else bound[where] for bound in (rows.lower, rows.upper))
        if family.n_features:
            weights = family.log_weight(rows.x[where], lower, upper)
            if len(weights) == len(table):  # all rows: no copy
                table = weights
            else:
                table[where] = weights
        inside = symbol_sets(family, rows, where)
        if inside is not None:
            free = np.asarray(inside.all(axis=1))[:, None]
            table[where] += np.where(free, 0.0, family.log_set(inside))  # type: ignore[attr-defined]
    return settled(model, rows, table)


def settled(model: Model, rows: EvidenceRows, table: Array) -> Array:
    """The weights of values with allowed states and the ends of chains, refused where they are out of range."""
    allowed = allowed_states(model, rows)
    if allowed is not None:
        table = np.where(allowed, table, -np.inf)
    add_ends(table, rows, model)
    if not (table.min(initial=0.0) >= -np.inf and table.max(initial=0.0) < np.inf):
        row = int(np.argmax(~(table < np.inf).all(axis=1)))
        node = row if rows.row_of is None else int(np.argmax(rows.row_of == row))
        refuse(
            InvalidEvidence,
            f"node {node}",
            f"the probability of its value under {model.title} is beyond what numbers hold",
            ", ".join(f"{value:g}" for value in rows.x[row]),
            "rescale the values and the model",
        )
    return table


def add_ends(table: Array, rows: EvidenceRows, model: Model) -> None:
    """Add the log-probability of ending to the rows of the last nodes, in place."""
    if model.end is not None:
        with np.errstate(divide="ignore"):
            table[rows.n_rows - rows.n_ended :] += np.log(model.end)


def by_family(model: Model, rows: EvidenceRows) -> Iterator[tuple[Family, Any]]:
    """Each family with the index of its rows."""
    if rows.group is None or len(model.emissions) == 1:
        yield model.emissions[0], slice(None)
        return
    for g, family in enumerate(model.emissions):
        where = np.flatnonzero(rows.group == g)
        if where.size:
            yield family, where


def check_values(family: Family, rows: EvidenceRows, where: Any, tree: Tree) -> None:
    """Refuse values outside the sample space; the message names the node, as several nodes may share a row."""
    try:
        family.check(rows.x[where])
    except InvalidEvidence:
        index = np.arange(tree.n_nodes) if rows.row_of is None else rows.row_of
        mine = np.zeros(rows.n_rows, dtype=np.bool_)
        mine[where] = True
        family.check(np.where(mine[index][:, None], rows.x[index], np.nan))
        # No error: a row that no node uses may hold a value outside the sample space.


def symbol_sets(family: Family, rows: EvidenceRows, where: Any) -> Flags | None:
    """(r, M): the sets of symbols of these rows, all symbols where a row is not restricted."""
    if rows.symbols is None:
        return None
    index = np.arange(rows.n_rows)[where]
    if isinstance(rows.symbols, dict):
        listed = {i: rows.symbols[int(u)] for i, u in enumerate(index) if int(u) in rows.symbols}
        if not listed:
            return None
        _need_categorical(family, f"node {int(index[next(iter(listed))])}")
        return flags("symbol", listed, index, family.n_symbols)  # type: ignore[attr-defined]
    table: Flags = rows.symbols[where]
    if table.all():
        return None
    _need_categorical(family, f"node {int(index[np.argmin(table.all(axis=1))])}")
    symbols: int = family.n_symbols  # type: ignore[attr-defined]
    if table.shape[1] != symbols:
        refuse(InvalidEvidence, "symbols", f"must have {counted(symbols, 'column')}, one a symbol", table.shape[1])
    return table


def _need_categorical(family: Family, place: str) -> None:
    """Refuse a set of symbols for a family that is not one of symbols."""
    if family.space.kind is not Kind.SYMBOLS:
        refuse(
            InvalidEvidence,
            place,
            "a set of symbols needs categorical emissions",
            family.name,
            "use an interval, or a value",
        )


def allowed_states(model: Model, rows: EvidenceRows) -> Flags | None:
    """(R, K): which states each row allows."""
    if rows.states is None:
        return None
    if isinstance(rows.states, dict):
        return flags("state", dict(rows.states), np.arange(rows.n_rows), model.n_states)
    if rows.states.shape[1] != model.n_states:
        refuse(
            InvalidEvidence,
            "allowed",
            f"must have {counted(model.n_states, 'column')}, one a state",
            rows.states.shape[1],
        )
    return rows.states


def flags(what: str, listed: dict[int, tuple[int, ...]], nodes: IntArray, count: int) -> Flags:
    """(r, count): listed sets as booleans, all True where none is listed; members out of range are refused."""
    table = np.ones((len(nodes), count), dtype=np.bool_)
    for i, members in listed.items():
        for member in members:
            if member >= count:
                refuse(InvalidEvidence, f"node {int(nodes[i])}", f"{what}s are 0 to {count - 1}", member)
        table[i] = False
        table[i, list(members)] = True
    return table


def check_end(model: Model, tree: Tree) -> None:
    """Refuse end probabilities on a tree that is no chain."""
    if model.end is not None and not tree.is_chain:
        refuse(
            IncompatibleModels,
            model.title,
            "has end probabilities, which need a chain",
            f"a tree of {counted(tree.n_nodes, 'node')}",
        )


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
