"""Nodes with equal subtrees, counted together: what depends on a subtree alone is computed once for all of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from hidiv.types import Array, IntArray

Structure = tuple[IntArray, IntArray, IntArray, Array, IntArray]  # the arrays of Subtrees, as kernels take them


@dataclass(frozen=True, eq=False)
class Subtrees:
    """C kinds of subtrees, children before parents, the whole tree last.

    A kind with repeat[c] > 1 has one kind of children, and after its first turn that kind is itself: a long chain, or a
    deep regular tree, without listing its levels.
    """

    group: IntArray  # (C,): of the node on top
    start: IntArray  # (C + 1,): where the children of kind c begin in the next two
    child: IntArray  # kinds of the children
    count: Array  # how many there are of each, or their total weight
    repeat: IntArray  # (C,): turns


def structure(kinds: Subtrees) -> Structure:
    """The arrays, as kernels take them."""
    return kinds.group, kinds.start, kinds.child, kinds.count, kinds.repeat


def listed_subtrees(parent: IntArray, group: IntArray, level: IntArray, weight: Array | None) -> Subtrees:
    """The kinds of a tree with parents before children; `weight` (depth,) is the total weight of each level."""
    kinds: dict[tuple[int, int, tuple[tuple[int, int], ...]], int] = {}
    below: list[Counter[int]] = [Counter() for _ in range(len(parent))]
    for u in range(len(parent) - 1, -1, -1):
        key = (int(level[u]), int(group[u]), tuple(sorted(below[u].items())))
        kind = kinds.setdefault(key, len(kinds))
        if u:
            below[parent[u]][kind] += 1
        below[u] = Counter()
    factor = _factors(np.bincount(level), weight)
    child, count, start = [], [], [0]
    for depth, _, children in kinds:
        child += [kind for kind, _ in children]
        count += [number * factor[depth] for _, number in children]
        start.append(len(child))
    return Subtrees(
        np.array([g for _, g, _ in kinds]), np.array(start), np.array(child, dtype=np.int64),
        np.array(count, dtype=np.float64), np.ones(len(kinds), dtype=np.int64),
    )  # fmt: skip


def regular_subtrees(children: int, depth: int, grouped: bool, weight: Array | None) -> Subtrees:
    """The kinds of a regular tree (a chain has one child); one a level where levels differ, else three at most."""
    if grouped or weight is not None:
        factor = children * _factors(np.power(float(children), np.arange(depth), dtype=np.float64), weight)
        count, repeat = factor[: depth - 1][::-1], np.ones(depth, dtype=np.int64)
        group = np.arange(depth)[::-1] if grouped else np.zeros(depth, dtype=np.int64)
    else:
        n_kinds = min(depth, 3)
        count, repeat = np.full(n_kinds - 1, float(children)), np.ones(n_kinds, dtype=np.int64)
        if depth > 3:
            repeat[1] = depth - 2
        group = np.zeros(n_kinds, dtype=np.int64)
    child = np.arange(len(repeat) - 1)
    start = np.concatenate([[0], np.arange(len(repeat))])
    return Subtrees(np.ascontiguousarray(group), start, child, np.ascontiguousarray(count), repeat)


def _factors(counts: Array | IntArray, weight: Array | None) -> Array:
    """(depth,): the weight of a child of a node on each level, so that levels weigh `weight` in place of `counts`."""
    if weight is None:
        return np.ones(len(counts))
    share = weight / counts
    return np.append(share[1:] / share[:-1], 1.0)
