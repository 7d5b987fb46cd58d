"""Evidence laid out for the recursions: the distinct pieces of knowledge, one a row, and the row of each node."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.emissions.evidence.count_tables import WIDE, WIDEST, Counts
from hidiv.errors import InvalidEvidence, counted, refuse
from hidiv.models.evidence import Evidence, as_evidence
from hidiv.models.model import Model
from hidiv.models.symbol_names import translated
from hidiv.models.tree import Tree, as_tree
from hidiv.recursions.count_rows import distinct_counts, rows_of
from hidiv.recursions.tables import Layout
from hidiv.types import Array, Flags, Indices, IntArray

LONG = 512  # nodes from which on it pays to look for equal rows of several columns
MOST_CODES = 2.0**62  # combinations of columns that have numbers
COUNTED = 4  # combinations for each row, up to which those that occur are marked in a table


@dataclass(frozen=True, eq=False)
class EvidenceRows:
    """R pieces of knowledge: values, intervals, sets of symbols, allowed states and the group they are read in.

    `row_of` (n,) is the row of each node; None where node u has row u. Nodes with the same symbol or small count share
    a row, so that a long sequence needs no table of its own length.
    """

    x: Array  # (R, F)
    lower: Array | None
    upper: Array | None
    symbols: dict[int, tuple[int, ...]] | Flags | None  # the sets of some rows, or (R, M)
    states: dict[int, tuple[int, ...]] | Flags | None
    group: IntArray | None  # (R,), None without groups
    row_of: Indices | None  # (n,)
    n_ended: int = 0  # the last rows, which belong to the last nodes of chains that end

    @property
    def n_rows(self) -> int:
        """Number of distinct pieces of knowledge."""
        return int(self.x.shape[0])

    @property
    def plain(self) -> bool:
        """Whether nothing but values is known, of one group of emissions."""
        return not self.n_ended and all(
            each is None for each in (self.lower, self.upper, self.symbols, self.states, self.group)
        )

    def layout(self, tree: Tree, transition_groups: int) -> Layout:
        """The parent of each node of a tree, and the transition and the row of knowledge it uses."""
        transition_of = tree.group if transition_groups > 1 else None
        return Layout(tree.n_nodes, None if tree.is_chain else tree.parent, transition_of, self.row_of)


def evidence_and_tree(evidence: Any, tree: Any) -> tuple[Evidence, Tree]:
    """Evidence and its tree, refused where their lengths differ; only a list of nodes may be shorter than the tree."""
    known = as_evidence(evidence)
    place = as_tree(tree, known.n_nodes)
    if known.n_nodes != place.n_nodes and not (known.is_listed and known.n_nodes < place.n_nodes):
        nodes = counted(place.n_nodes, "node") if place.n_nodes < 10**20 else "many nodes"
        refuse(InvalidEvidence, "evidence", f"must describe the {nodes} of the tree", known.n_nodes)
    return known, place


def lay_out(evidence: Evidence, tree: Tree, model: Model, large: bool = True) -> EvidenceRows:
    """The rows for a model: one for each symbol or small count where nothing else is known, else one for each node.

    large: whether nodes with the same large count, or one of very many combinations of columns, share a row too.
    """
    group = tree.group if len(model.emissions) > 1 else None
    x = _columns(evidence, tree, model)
    if evidence.is_plain and x.shape[1]:
        shared = _shared(x[:, 0], group, large) if x.shape[1] == 1 else _shared_columns(x, group, large)
        if shared is not None:
            return shared
    lower, upper = (
        _padded(bound, tree.n_nodes, fill) for bound, fill in ((evidence.lower, -np.inf), (evidence.upper, np.inf))
    )
    return EvidenceRows(
        np.asarray(x, dtype=np.float64), lower, upper,
        evidence.symbols if evidence.symbols is not None else dict(evidence.symbol_sets) or None,
        evidence.allowed if evidence.allowed is not None else dict(evidence.state_sets) or None,
        group, None,
    )  # fmt: skip


def _columns(evidence: Evidence, tree: Tree, model: Model) -> NDArray[Any]:
    """(n, F): values in the columns of the model; evidence without values fits every model."""
    x = evidence.x
    wanted, given = model.column_names, evidence.column_names
    if wanted is not None and given is not None and wanted != given and set(wanted) <= set(given):
        evidence = evidence.select([given.index(name) for name in wanted])  # a table's columns are found by name
        x = evidence.x
    if evidence.symbol_names is not None and x.shape[1] == model.n_features:
        x = translated(x, evidence.symbol_names, model.symbol_names, model.title)
    if x.shape[1] != model.n_features and evidence.has_numbers:
        refuse(
            InvalidEvidence,
            "x",
            f"must have {counted(model.n_features, 'column')} for {model.title}",
            x.shape[1],
        )
    if x.shape[1] != model.n_features or len(x) < tree.n_nodes:
        wide = np.full((tree.n_nodes, model.n_features), np.nan)
        if x.shape[1] == model.n_features:
            wide[: len(x)] = x
        return wide
    return x


def _padded(bound: Array | None, n: int, fill: float) -> Array | None:
    """Bounds of all n nodes, `fill` beyond those given."""
    if bound is None or len(bound) == n:
        return bound
    wide = np.full((n, bound.shape[1]), fill)
    wide[: len(bound)] = bound
    return wide


def _shared(x: NDArray[Any], group: IntArray | None, large: bool) -> EvidenceRows | None:
    """A row for every whole number up to the largest, and for nothing seen if need be; None where it saves nothing."""
    whole = x.dtype.kind in "iu"
    most = max(64, len(x) // 8)
    if not large and float(x.max()) + 2.0 > most:  # never so where something is not seen
        return None
    if not whole:
        few = x[:64]  # numbers that are not whole show at once, as a rule
        if (few != np.floor(few)).any() and not np.isnan(few).any():
            return None
        seen = x[~np.isnan(x)]
        if not seen.size or (seen != np.floor(seen)).any() or np.isinf(seen).any():
            return None
    else:
        seen = x
    low, high = float(seen.min()), float(seen.max())
    count = int(high) + 2
    groups = 1 if group is None else int(group.max()) + 1
    if low < 0 or (group is not None and count * groups > most):
        return None
    if count > most:  # large counts, of which perhaps few occur
        return _shared_numbers(x, int(high)) if large else None
    unseen = count - 1
    some_unseen = len(seen) < len(x)
    row_of: Any = (
        x
        if x.dtype in (np.int32, np.int64)
        else np.where(np.isnan(x), unseen, x).astype(np.int32)
        if not whole
        else x.astype(np.int32)
    )
    values = np.arange(count - 1, dtype=np.float64)
    if some_unseen:
        values = np.append(values, np.nan)
    if group is not None:
        row_of = row_of + len(values) * group
        group = np.repeat(np.arange(groups), len(values))
        values = np.tile(values, groups)
    return EvidenceRows(values[:, None], None, None, None, None, group, np.ascontiguousarray(row_of))


def _shared_numbers(x: NDArray[Any], high: int) -> EvidenceRows | None:
    """One row for every number that occurs and one for nothing seen, as `_shared` has it."""
    if high >= WIDE * len(x):
        return None
    column = np.ascontiguousarray(x, dtype=np.float64)[:, None]
    distinct = distinct_counts(column, min(WIDE * len(x), WIDEST))
    if distinct is None or distinct[1][1] > len(x) // 8:
        return None
    values = np.append(Counts(*distinct).numbers(0), np.nan)
    row_of = rows_of(column, distinct[0], 0, len(values) - 1)[0]
    return EvidenceRows(values[:, None], None, None, None, None, None, row_of.astype(np.int32))


def _shared_columns(x: NDArray[Any], group: IntArray | None, large: bool) -> EvidenceRows | None:
    """One row for every combination of symbols or small counts that occurs; None where that saves nothing."""
    if len(x) < LONG or (x[:LONG] != np.floor(x[:LONG]))[~np.isnan(x[:LONG])].any():
        return None
    table = np.ascontiguousarray(x, dtype=np.float64)
    distinct = distinct_counts(table, min(WIDE * len(x), WIDEST))
    if distinct is None:
        return None
    places, first = distinct
    sizes = (np.diff(first) + 1).tolist()  # with one for what is not seen
    cells = math.prod(sizes) * (1 if group is None else int(group.max()) + 1)
    many = cells > COUNTED * len(x)
    if not cells < MOST_CODES or (many and not large):
        return None

    def codes(count: int) -> IntArray:
        """(count,): a number for what the first nodes see, and their group."""
        code = np.zeros(count, dtype=np.int64) if group is None else group[:count].astype(np.int64)
        for f, size in enumerate(sizes):
            code = code * size + (rows_of(table[:count], places, f, int(first[f + 1]))[0] - first[f])
        return code

    if many and len(np.unique(codes(len(x) // 4))) > len(x) // 8:  # a quarter tells, as a rule
        return None
    which, row_of = _distinct(codes(len(x)), cells, len(x) // 8)
    if len(which) > len(x) // 8:
        return None
    return EvidenceRows(
        table[which], None, None, None, None, None if group is None else group[which], row_of.astype(np.int32)
    )


def _distinct(codes: IntArray, cells: int, most: int) -> tuple[IntArray, IntArray]:
    """A place where each of the codes 0..cells-1 occurs, and the number of each of (n,) among those that occur.

    Without sorting where cells are few; with more than `most` codes the second is not to be read.
    """
    if cells > COUNTED * len(codes):
        _, which, number = np.unique(codes, return_index=True, return_inverse=True)
        return which, number.ravel()
    present = np.zeros(cells, dtype=np.bool_)
    present[codes] = True
    occurring = np.flatnonzero(present)
    if len(occurring) > most:
        return occurring, codes
    place = np.zeros(cells, dtype=np.int64)
    place[occurring] = np.arange(len(occurring))
    number = place[codes]
    which = np.zeros(len(occurring), dtype=np.int64)
    which[number] = np.arange(len(codes))
    return which, number


def with_ends(rows: EvidenceRows, lasts: IntArray) -> EvidenceRows:
    """The rows with new ones at their end for the last nodes of chains that end, which carry the weight of the end."""
    n = rows.n_rows if rows.row_of is None else len(rows.row_of)
    if rows.row_of is None and lasts.tolist() == [n - 1]:
        return replace(rows, n_ended=1)
    row_of = np.arange(n) if rows.row_of is None else rows.row_of.astype(np.int64)
    old, new = np.unique(row_of[lasts], return_inverse=True)
    row_of[lasts] = rows.n_rows + new
    both = np.concatenate([np.arange(rows.n_rows), old])
    x, lower, upper, group = (
        None if part is None else part[both] for part in (rows.x, rows.lower, rows.upper, rows.group)
    )
    assert x is not None
    return EvidenceRows(
        x, lower, upper, _copied(rows.symbols, both), _copied(rows.states, both), group, row_of, len(old)
    )


def part_of(rows: EvidenceRows, first: int, end: int) -> EvidenceRows:
    """The rows first..end-1, where every node has one of its own; sets must be tables."""

    def cut(table: Any) -> Any:
        return None if table is None else table[first:end]

    return EvidenceRows(
        cut(rows.x), cut(rows.lower), cut(rows.upper), cut(rows.symbols), cut(rows.states), cut(rows.group), None,
        rows.n_ended if end == rows.n_rows else 0,
    )  # fmt: skip


def _copied(sets: dict[int, tuple[int, ...]] | Flags | None, index: IntArray) -> Any:
    """The sets of the rows `index`, as a dict or a table as they were."""
    if isinstance(sets, dict):
        return {i: sets[int(old)] for i, old in enumerate(index) if int(old) in sets}
    return None if sets is None else sets[index]
