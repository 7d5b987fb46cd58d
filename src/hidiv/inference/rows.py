"""Evidence laid out for the recursions: which distinct pieces of knowledge there are, and which node has which."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.errors import InvalidEvidence, counted, refuse
from hidiv.models.evidence import Evidence, as_evidence
from hidiv.models.model import Model
from hidiv.models.symbol_names import translated
from hidiv.models.tree import Tree, as_tree
from hidiv.types import Array, Flags, Indices


@dataclass(frozen=True, eq=False)
class EvidenceRows:
    """R pieces of knowledge: values, intervals, sets of symbols, allowed states and the group they are read in.

    `row_of` (n,) says which one a node has; None when there is one a node. Symbols and small counts share rows, so a
    long sequence costs no table of its own length.
    """

    x: Array  # (R, F)
    lower: Array | None
    upper: Array | None
    symbols: dict[int, tuple[int, ...]] | Flags | None  # sets by row
    states: dict[int, tuple[int, ...]] | Flags | None
    group: NDArray[np.int64] | None  # (R,), None without groups
    row_of: Indices | None  # (n,)
    n_ended: int = 0  # how many of the last rows belong to the last node of a chain that ends

    @property
    def n_rows(self) -> int:
        """Number of distinct pieces of knowledge."""
        return int(self.x.shape[0])


def evidence_and_tree(evidence: Any, tree: Any) -> tuple[Evidence, Tree]:
    """Evidence and the tree it speaks of, of one length; a list of nodes may stop before the tree does."""
    known = as_evidence(evidence)
    on = as_tree(tree, known.n_nodes)
    if known.n_nodes != on.n_nodes and not (known.is_listed and known.n_nodes < on.n_nodes):
        nodes = counted(on.n_nodes, "node") if on.n_nodes < 10**20 else "many nodes"
        refuse(InvalidEvidence, "evidence", f"must describe the {nodes} of the tree", known.n_nodes)
    return known, on


def lay_out(evidence: Evidence, tree: Tree, model: Model) -> EvidenceRows:
    """Rows of knowledge for a model: one for each symbol or small count where that says it all, else one a node."""
    group = tree.group if len(model.emissions) > 1 else None
    x = _columns(evidence, tree, model)
    plain = (
        evidence.allowed is None and evidence.symbols is None and not evidence.symbol_sets and not evidence.state_sets
    )
    if plain and evidence.lower is None and x.shape[1] == 1:
        shared = _shared(x[:, 0], group)
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
    """(n, F) values for the model's observations; evidence that holds no number fits any model."""
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
    if bound is None or len(bound) == n:
        return bound
    wide = np.full((n, bound.shape[1]), fill)
    wide[: len(bound)] = bound
    return wide


def _shared(x: NDArray[Any], group: NDArray[np.int64] | None) -> EvidenceRows | None:
    """One row for every whole number up to the largest, and one for nothing seen; None where that does not pay."""
    whole = x.dtype.kind in "iu"
    if not whole:
        seen = x[~np.isnan(x)]
        if not seen.size or (seen != np.floor(seen)).any() or np.isinf(seen).any():
            return None
    else:
        seen = x
    low, high = float(seen.min()), float(seen.max())
    count = int(high) + 2
    groups = 1 if group is None else int(group.max()) + 1
    if low < 0 or count * groups > max(64, len(x) // 8):
        return None
    unseen = count - 1
    row_of: Any = (
        x
        if x.dtype in (np.int32, np.int64)
        else np.where(np.isnan(x), unseen, x).astype(np.int32)
        if not whole
        else x.astype(np.int32)
    )
    values = np.append(np.arange(count - 1, dtype=np.float64), np.nan)
    if group is not None:
        row_of = row_of + count * group
        values = np.tile(values, groups)
    return EvidenceRows(
        values[:, None], None, None, None, None,
        None if group is None else np.repeat(np.arange(groups), count), np.ascontiguousarray(row_of),
    )  # fmt: skip


def with_ends(rows: EvidenceRows, lasts: NDArray[np.int64]) -> EvidenceRows:
    """Rows of their own, the last ones, for the last nodes of chains that end: they carry the end's weight."""
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


def _copied(sets: dict[int, tuple[int, ...]] | Flags | None, index: NDArray[np.int64]) -> Any:
    """Sets by row, for rows taken by index."""
    if isinstance(sets, dict):
        return {i: sets[int(old)] for i, old in enumerate(index) if int(old) in sets}
    return None if sets is None else sets[index]
