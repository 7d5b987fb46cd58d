"""The data of a fit: all trees and their evidence, laid out one after the other."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hidiv.errors import InvalidEvidence, InvalidTree, counted, refuse
from hidiv.inference.rows import evidence_and_tree
from hidiv.models.evidence import Evidence, as_evidence
from hidiv.models.symbol_names import SymbolNames, has_headings, translated, united
from hidiv.models.tree import Tree
from hidiv.types import IntArray


@dataclass(frozen=True, eq=False)
class EvidenceForest:
    """m trees with N nodes in all: tree i holds the nodes start[i]..start[i+1]-1.

    `parent` (N,) holds nodes of the forest, -1 at roots, and is None where all trees are chains; `group` (N,) or None;
    `evidence` is that of all N nodes. A part of a forest keeps the `whole`, which determines alphabets and groups.
    """

    start: IntArray  # (m + 1,)
    parent: IntArray | None
    group: IntArray | None
    evidence: Evidence
    whole: EvidenceForest | None = None

    @property
    def n_trees(self) -> int:
        """The number m of trees."""
        return len(self.start) - 1

    @property
    def n_nodes(self) -> int:
        """The number N of nodes of all trees."""
        return int(self.start[-1])

    @property
    def roots(self) -> IntArray:
        """(m,): the root of each tree."""
        return self.start[:-1]

    @property
    def lasts(self) -> IntArray:
        """(m,): the last node of each tree."""
        return self.start[1:] - 1

    @property
    def n_groups(self) -> int:
        """One more than the largest group; 1 without groups."""
        return 1 if self.group is None else int(self.group.max()) + 1

    def place(self, node: int) -> str:
        """How messages name a node: by its tree and its number there."""
        tree = int(np.searchsorted(self.start, node, side="right")) - 1
        inner = node - int(self.start[tree])
        return f"node {inner}" if self.n_trees == 1 else f"evidence[{tree}], node {inner}"

    def take(self, trees: IntArray) -> EvidenceForest:
        """The forest of some trees, in the order given; a tree may be repeated."""
        pieces = [np.arange(self.start[i], self.start[i + 1]) for i in trees]
        index = np.concatenate(pieces)
        start = np.concatenate([[0], np.cumsum([len(piece) for piece in pieces])])
        parent = None
        if self.parent is not None:
            moved = [
                np.where(self.parent[piece] < 0, -1, self.parent[piece] - piece[0] + first)
                for piece, first in zip(pieces, start, strict=False)
            ]
            parent = np.concatenate(moved)
        group = None if self.group is None else self.group[index]
        return EvidenceForest(start, parent, group, _chosen(self.evidence, index), self)


def forest_of(evidence: Any, tree: Any, lengths: ArrayLike | None, group: Any) -> EvidenceForest:
    """The forest of evidence, trees, lengths and groups as `fit` takes them; a forest is returned as it is."""
    if isinstance(evidence, EvidenceForest):
        return evidence
    pairs = [evidence_and_tree(item, own_tree) for item, own_tree in _pairs(evidence, tree, lengths)]
    known, trees = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    start = np.concatenate([[0], np.cumsum([tree.n_nodes for tree in trees])]).astype(np.int64)
    parent = None
    if not all(tree.is_chain for tree in trees):
        parent = np.concatenate(
            [np.where(tree.parent < 0, -1, tree.parent + s) for tree, s in zip(trees, start, strict=False)]
        )
    return EvidenceForest(start, parent, _groups(trees, group), _together(known, trees))


def _pairs(evidence: Any, tree: Any, lengths: ArrayLike | None) -> list[tuple[Any, Any]]:
    """Each item of evidence with its tree."""
    if lengths is not None:
        from hidiv.divergences.posterior.batch import stacked

        if tree is not None:
            refuse(InvalidTree, "tree", "must be None with lengths, which cut the evidence into chains", tree)
        known = as_evidence(evidence)
        _, start = stacked(known.x, lengths)
        return [(_chosen(known, np.arange(a, b)), None) for a, b in itertools.pairwise(start.tolist())]
    trees = list(tree) if isinstance(tree, list | tuple) else None
    if trees is None and not _is_list(evidence):
        return [(evidence, tree)]
    several = isinstance(evidence, list | tuple) or (getattr(evidence, "ndim", 1) > 1 and not has_headings(evidence))
    items = list(evidence) if several else [evidence]
    if not items:
        refuse(InvalidEvidence, "evidence", "must not be empty")
    if trees is None:
        trees = [tree] * len(items)
    if len(trees) != len(items):
        refuse(
            InvalidTree,
            "tree",
            f"must be one tree, or one for each of the {counted(len(items), 'item')} of evidence",
            len(trees),
        )
    return list(zip(items, trees, strict=True))


def _is_list(evidence: Any) -> bool:
    """Whether evidence is a list of items rather than a single one: a list of evidence, arrays or lists."""
    return (
        isinstance(evidence, list | tuple)
        and len(evidence) > 0
        and all(isinstance(item, Evidence | list | tuple) or getattr(item, "ndim", 0) >= 1 for item in evidence)
    )


def _groups(trees: Sequence[Tree], group: Any) -> IntArray | None:
    """(N,): labels of the nodes of all trees, or None."""
    if group is None:
        # Every regular tree has its levels as groups; they tie parameters only where that is asked for.
        given = [tree.group if tree.kind != "regular" else None for tree in trees]
        if all(labels is None for labels in given):
            return None
        if any(labels is None for labels in given):
            missing = next(i for i, labels in enumerate(given) if labels is None)
            refuse(
                InvalidTree, f"tree[{missing}]", "has no groups but others have", remedy="give groups to all or none"
            )
        return np.concatenate([labels for labels in given if labels is not None])
    if isinstance(group, str):
        if group == "level":
            return np.concatenate([tree.level for tree in trees])
        if group == "none":
            return None
        refuse(InvalidTree, "group", 'must be "level", "none", or a label for each node', group)
    if not isinstance(group, list | tuple | np.ndarray):
        refuse(InvalidTree, "group", 'must be "level", "none", or a label for each node', group)
    alone = not any(isinstance(own, list | tuple | np.ndarray) for own in group)  # labels of one tree
    each = [group] * len(trees) if alone and len({tree.n_nodes for tree in trees}) == 1 else list(group)
    if len(each) != len(trees):
        refuse(InvalidTree, "group", f"must have labels for each of the {counted(len(trees), 'tree')}", len(each))
    labels = [tree.with_group(own).group for tree, own in zip(trees, each, strict=True)]
    return np.concatenate([own for own in labels if own is not None])


def _together(known: Sequence[Evidence], trees: Sequence[Tree]) -> Evidence:
    """The evidence of all nodes in one; nodes that a list leaves out are unrestricted."""
    if len(known) == 1 and known[0].n_nodes == trees[0].n_nodes:
        return known[0]
    names, xs = _named(known)
    widths = {each.n_features for each in known if each.has_numbers}
    if len(widths) > 1:
        refuse(InvalidEvidence, "evidence", "must have the same number of columns everywhere", sorted(widths))
    width = widths.pop() if widths else known[0].n_features
    sizes = [tree.n_nodes for tree in trees]
    first = np.concatenate([[0], np.cumsum(sizes)]).tolist()

    def table_of(name: str, fill: Any) -> Any:
        """The tables of one field of all items as one, `fill` where an item has none; None where no item has it."""
        parts: list[Any] = xs if name == "x" else [getattr(each, name) for each in known]
        if all(part is None for part in parts):
            return None
        columns = width if name in ("x", "lower", "upper") else next(p.shape[1] for p in parts if p is not None)
        kinds = [part.dtype for part in parts if part is not None]
        whole = len(parts) == len(kinds) and all(
            part.shape == (size, columns) for part, size in zip(parts, sizes, strict=True)
        )
        if whole:
            return np.concatenate(parts)
        table = np.full((first[-1], columns), fill)
        for part, s in zip(parts, first, strict=False):
            if part is not None and part.shape[1] == columns:
                table[s : s + len(part)] = part
            elif part is not None and name in ("allowed", "symbols"):
                refuse(InvalidEvidence, name, f"must have {counted(columns, 'column')} everywhere", part.shape[1])
        return table

    def sets(name: str) -> dict[int, tuple[int, ...]]:
        """The sets of all items by node of the forest."""
        return {
            s + node: members
            for each, s in zip(known, first, strict=False)
            for node, members in getattr(each, name).items()
        }

    both = Evidence.__new__(Evidence)
    both._set(
        table_of("x", np.nan), table_of("lower", -np.inf), table_of("upper", np.inf), table_of("allowed", True),
        table_of("symbols", True), sets("symbol_sets"), sets("state_sets"), False, names, known[0].column_names,
    )  # fmt: skip
    return both


def _named(known: Sequence[Evidence]) -> tuple[SymbolNames | None, list[Any]]:
    """Common names for the symbols of all items, and the values (n, F) of each item numbered by them."""
    names = united([each.symbol_names for each in known])
    if names is None:
        return None, [each.x for each in known]
    for i, each in enumerate(known):
        own = each.symbol_names or (None,) * each.n_features
        if each.has_numbers and any((a is None) != (b is None) for a, b in zip(own, names, strict=False)):
            refuse(InvalidEvidence, f"evidence[{i}]", "must hold text in the columns where the others hold text")
    return names, [
        each.x if each.symbol_names is None else translated(each.x, each.symbol_names, names, "evidence")
        for each in known
    ]


def _chosen(evidence: Evidence, index: IntArray) -> Evidence:
    """The evidence of the nodes `index`, in that order."""
    some = Evidence.__new__(Evidence)
    tables = (
        None if table is None else table[index]
        for table in (evidence.x, evidence.lower, evidence.upper, evidence.allowed, evidence.symbols)
    )
    listed = (
        {i: sets[u] for i, u in enumerate(index.tolist()) if u in sets} if sets else {}
        for sets in (evidence.symbol_sets, evidence.state_sets)
    )
    some._set(*tables, *listed, False, evidence.symbol_names, evidence.column_names)
    return some


def joined(first: EvidenceForest, second: EvidenceForest) -> EvidenceForest:
    """One forest with the trees of two."""
    trees = [tree for forest in (first, second) for tree in _trees(forest)]
    start = np.concatenate([first.start, first.start[-1] + second.start[1:]])
    parent = None
    if first.parent is not None or second.parent is not None:
        parent = np.concatenate(
            [np.where(tree.parent < 0, -1, tree.parent + s) for tree, s in zip(trees, start, strict=False)]
        )
    group = None
    if first.group is not None and second.group is not None:
        group = np.concatenate([first.group, second.group])
    wholes = [Tree.chain(forest.n_nodes) for forest in (first, second)]
    return EvidenceForest(start, parent, group, _together([first.evidence, second.evidence], wholes))


def _trees(forest: EvidenceForest) -> list[Tree]:
    """The trees of a forest, without groups."""
    ends = list(itertools.pairwise(forest.start.tolist()))
    if forest.parent is None:
        return [Tree.chain(end - first) for first, end in ends]
    return [Tree(np.where(forest.parent[a:b] < 0, -1, forest.parent[a:b] - a)) for a, b in ends]
