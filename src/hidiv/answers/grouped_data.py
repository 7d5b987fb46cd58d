"""Groups of sequences or trees as one forest, with the group and the stratum of each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hidiv.arguments import whole
from hidiv.errors import HidivError, InvalidEvidence, InvalidTree, counted, refuse
from hidiv.fitting.evidence_forest import EvidenceForest, forest_of
from hidiv.inference.rows import evidence_and_tree
from hidiv.types import IntArray

STRATA = 5  # of length, at most
LEAST = 4  # sequences in a stratum of length, for each group


@dataclass(frozen=True, eq=False)
class GroupedData:
    """All sequences in one forest; labels (m,) and strata (m,) from 0, names of the groups."""

    names: tuple[str, ...]
    forest: EvidenceForest
    labels: IntArray
    strata: IntArray
    blocks: int | None = None  # length that chains were cut to

    @property
    def sizes(self) -> IntArray:
        """(m,): the nodes of each sequence or tree."""
        return np.diff(self.forest.start)

    def of(self, group: int) -> EvidenceForest:
        """The sequences of one group."""
        return self.forest.take(np.flatnonzero(self.labels == group))


def grouped_data(groups: Any, tree: Any, strata: Any, block: int | None) -> GroupedData:
    """The groups of `differ`, checked."""
    named = _named(groups)
    names = tuple(named)
    if len(names) < 2:
        refuse(HidivError, "groups", "at least two are needed to tell whether they differ", len(names))
    items = [item for name in names for item in named[name]]
    labels = np.repeat(np.arange(len(names)), [len(named[name]) for name in names])
    trees = _trees(tree, named)
    _check_columns(named, names)
    forest = forest_of(items, trees, None, None)
    given = _strata(strata, named, forest, labels)
    if block is not None:
        forest, origin = _cut(forest, whole("block", block, 2))
        labels, given = labels[origin], given[origin]
    for g, name in enumerate(names):
        if int((labels == g).sum()) < 2:
            where, rest = f"groups[{name!r}]", "dealt anew to the groups"
            if block is None:
                remedy = "give several, or block=N to cut long ones into pieces of N steps"
                refuse(HidivError, where, f"holds one sequence, and whole sequences are {rest}", remedy=remedy)
            steps = int(np.diff(forest.start)[labels == g][0])
            rule = f"its {counted(steps, 'step')} make one piece of at least {block}, and pieces are {rest}"
            refuse(HidivError, where, rule, remedy=f"give more, or block={max(steps // 2, 2)} or less")
    if all(len(np.unique(labels[given == stratum])) < 2 for stratum in np.unique(given)):
        rule = "every stratum holds sequences of one group only, so that none can be dealt to another"
        refuse(HidivError, "strata", rule, remedy="give strata that the groups share, or none")
    return GroupedData(names, forest, labels, given, block)


def _named(groups: Any) -> dict[str, list[Any]]:
    """Name -> sequences."""
    if isinstance(groups, Mapping):
        named = {str(name): each for name, each in groups.items()}
    elif isinstance(groups, Sequence) and not isinstance(groups, str):
        named = {_letter(i): each for i, each in enumerate(groups)}
    else:
        refuse(HidivError, "groups", "must be a list or a dict of lists of sequences", type(groups).__name__)
    for name, each in named.items():
        if isinstance(each, str) or not (isinstance(each, Sequence) or getattr(each, "ndim", 0) > 1):
            rule = "must be a list of sequences"
            refuse(InvalidEvidence, f"groups[{name!r}]", rule, type(each).__name__, "put a single one in a list")
        if isinstance(each, Sequence) and each and not hasattr(each[0], "__len__"):
            rule = "must be a list of sequences, not of numbers"
            refuse(InvalidEvidence, f"groups[{name!r}]", rule, each[0], "put a single sequence in a list")
        if not len(each):
            refuse(InvalidEvidence, f"groups[{name!r}]", "must not be empty")
    return {name: list(each) for name, each in named.items()}


def _letter(i: int) -> str:
    return chr(ord("a") + i) if i < 26 else f"group {i}"


def _trees(tree: Any, named: dict[str, list[Any]]) -> Any:
    """One tree for all, or one for each item in the order of the groups."""
    if isinstance(tree, Mapping):
        tree = [tree.get(name) for name in named]
    if not isinstance(tree, list | tuple):
        return tree
    if len(tree) != len(named):
        refuse(
            InvalidTree,
            "tree",
            f"must be one tree, or a list for each of the {counted(len(named), 'group')}",
            len(tree),
        )
    trees = []
    for (name, items), own in zip(named.items(), tree, strict=True):
        each = list(own) if isinstance(own, list | tuple) else [own] * len(items)
        if len(each) != len(items):
            rule = f"must be one tree, or one for each of the {counted(len(items), 'item')} of the group"
            refuse(InvalidTree, f"tree[{name!r}]", rule, len(each))
        trees += each
    return trees


def _check_columns(named: dict[str, list[Any]], names: tuple[str, ...]) -> None:
    """Refuse groups of different columns."""
    first: tuple[str, int, Any] | None = None
    for name in names:
        known, _ = evidence_and_tree(named[name][0], None)
        if not known.has_numbers:
            continue
        if first is None:
            first = name, known.n_features, known.column_names
        elif first[1] != known.n_features:
            rule = f"must have {counted(first[1], 'column')} like {first[0]!r}"
            refuse(InvalidEvidence, f"groups[{name!r}]", rule, known.n_features)
        elif first[2] is not None and known.column_names is not None and first[2] != known.column_names:
            rule = f"must have the columns of {first[0]!r}, {', '.join(first[2])}"
            refuse(InvalidEvidence, f"groups[{name!r}]", rule, ", ".join(known.column_names))


def _strata(strata: Any, named: dict[str, list[Any]], forest: EvidenceForest, labels: IntArray) -> IntArray:
    """(m,): the stratum of each sequence; all in one without strata."""
    m = forest.n_trees
    if strata is None:
        return np.zeros(m, dtype=np.int64)
    if isinstance(strata, str):
        if strata != "length":
            refuse(HidivError, "strata", 'must be "length", or a label for each sequence of each group', strata)
        return _by_length(np.diff(forest.start), len(named))
    each = [strata.get(name) for name in named] if isinstance(strata, Mapping) else list(strata)
    flat = [label for own in each if own is not None for label in (own if _is_list(own) else [own])]
    if len(each) == m and not any(_is_list(own) for own in each):
        flat = list(each)
    if len(flat) != m:
        refuse(HidivError, "strata", f"must have a label for each of the {counted(m, 'sequence')}", len(flat))
    _, index = np.unique(np.asarray([str(label) for label in flat]), return_inverse=True)
    return np.asarray(index.reshape(-1), dtype=np.int64)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray)


def _by_length(sizes: IntArray, n_groups: int) -> IntArray:
    """Strata of similar length, of about equal numbers of sequences; equal lengths are never apart."""
    count = int(np.clip(len(sizes) // (LEAST * n_groups), 1, STRATA))
    least = 0.5 * len(sizes) / count
    lengths, numbers = np.unique(sizes, return_counts=True)
    stratum, held, of_length = 0, 0, {}
    for i, (length, number) in enumerate(zip(lengths.tolist(), numbers.tolist(), strict=True)):
        of_length[length] = stratum
        held += number
        if held >= least and numbers[i + 1 :].sum() >= least:
            stratum, held = stratum + 1, 0
    return np.array([of_length[size] for size in sizes.tolist()], dtype=np.int64)


def _cut(forest: EvidenceForest, block: int) -> tuple[EvidenceForest, IntArray]:
    """Every chain cut into pieces of at least `block` steps, and which chain each piece is of."""
    if forest.parent is not None:
        refuse(InvalidTree, "block", "cuts chains, not trees", block)
    start, origin = [0], []
    for i, size in enumerate(np.diff(forest.start).tolist()):
        pieces = max(1, size // block)
        start += (start[-1] + np.cumsum([len(part) for part in np.array_split(np.arange(size), pieces)])).tolist()
        origin += [i] * pieces
    cut = EvidenceForest(np.array(start, dtype=np.int64), None, forest.group, forest.evidence)
    return cut, np.array(origin, dtype=np.int64)
