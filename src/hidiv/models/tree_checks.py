"""Checks of the parents, groups and labels of a tree as a caller gives them; messages name the place."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from hidiv.errors import InvalidTree, counted, refuse, shown
from hidiv.models.checks import check_format, check_keys
from hidiv.types import IntArray

SIZE_LIMIT = 2**63 - 1  # levels and nodes are counted in 64-bit integers wherever arrays hold them
ANY_ORDER = "Tree.from_edges takes nodes in any order"


def checked_node(u: object, n: int) -> int:
    """A node of a tree of n nodes, as an exact integer."""
    try:
        node = operator.index(u) if not isinstance(u, bool | np.bool_) else -1  # type: ignore[arg-type]
    except TypeError:
        refuse(InvalidTree, "u", "a node is an integer", shown_label(u))
    if not 0 <= node < n:
        refuse(InvalidTree, "u", f"the nodes are 0 to {in_words(n - 1)}", in_words(node))
    return node


def in_words(number: int) -> str:
    """An integer for a message; of very long ones the number of bits."""
    return str(number) if number.bit_length() <= 200 else f"an integer of {number.bit_length()} bits"


def whole_numbers(place: str, values: ArrayLike) -> IntArray:
    """(n,) read-only int64 copy of a sequence of integers (2.0 is one, 2.5 is not)."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError, RecursionError):
        array = np.asarray(None)
    if array.ndim != 1:
        what = type(values).__name__ if array.ndim == 0 else f"shape {array.shape}"
        refuse(InvalidTree, place, "must be a sequence of integers, one a node", what)
    good: Any
    if array.dtype.kind in "iu":
        good = array <= SIZE_LIMIT
    elif array.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            good = (array == np.floor(array)) & (np.abs(array) < 2.0**53)
    else:
        good = np.array([type(v) is int and abs(v) <= SIZE_LIMIT for v in array.tolist()], dtype=np.bool_)
    if not good.all():
        first = int(np.argmin(good))
        value = array[first : first + 1].tolist()[0]
        refuse(
            InvalidTree,
            f"{place}[{first}]",
            "must be an integer of at most 63 bits",
            in_words(value) if type(value) is int else shown_label(value),
        )
    numbers = array.astype(np.int64)
    numbers.flags.writeable = False
    return numbers


def checked_parent(parent: ArrayLike) -> IntArray:
    """(n,) parents with parent[0] = -1 and parent[u] < u; every kind of mistake has its own message."""
    up = whole_numbers("parent", parent)
    n = up.shape[0]
    if n == 0:
        refuse(InvalidTree, "parent", "an empty tree, at least the root is needed", remedy="one node is written [-1]")
    if up[0] == -1 and bool(((up[1:] >= 0) & (up[1:] < np.arange(1, n))).all()):
        return up
    unknown = (up < -1) | (up >= n)
    if unknown.any():
        u = int(np.argmax(unknown))
        refuse(
            InvalidTree,
            f"parent[{u}]",
            f"a missing parent, the nodes are 0 to {n - 1}",
            int(up[u]),
            "the root's parent is -1",
        )
    on_cycle = cycle(up.tolist())
    if on_cycle is not None:
        refuse(InvalidTree, "parent", f"a cycle, node {on_cycle} is its own ancestor")
    roots = np.flatnonzero(up == -1)
    if roots.shape[0] > 1:
        refuse(
            InvalidTree,
            "parent",
            f"two roots, nodes {roots[0]} and {roots[1]} have the parent -1",
            remedy="a tree has one",
        )
    if roots[0] != 0:
        refuse(InvalidTree, "parent[0]", "must be -1, node 0 is the root", int(up[0]), ANY_ORDER)
    u = int(np.argmax(up >= np.arange(n)))
    refuse(InvalidTree, f"parent[{u}]", f"a parent comes before its children, below {u}", int(up[u]), ANY_ORDER)


def cycle(up: Sequence[int]) -> int | None:
    """A node that is its own ancestor, or None; up[u] is u's parent, -1 for none."""
    seen = [-1] * len(up)  # the walk that first reached the node
    for start in range(len(up)):
        u = start
        while u >= 0 and seen[u] < 0:
            seen[u] = start
            u = up[u]
        if u >= 0 and seen[u] == start:
            return u
    return None


def checked_group(group: ArrayLike, n: int) -> IntArray:
    """(n,) groups, integers from 0."""
    groups = whole_numbers("group", group)
    if groups.shape[0] != n:
        refuse(InvalidTree, "group", f"needs one group for each of the {counted(n, 'node')}", f"{groups.shape[0]}")
    if groups.min() < 0:
        u = int(np.argmax(groups < 0))
        refuse(InvalidTree, f"group[{u}]", "groups are counted from 0", int(groups[u]))
    return groups


def group_by_label(group: Mapping[Any, Any], labels: Sequence[Hashable]) -> list[Any]:
    """The groups in the order of the labels; every label needs one, and there may be no others."""
    for label in labels:
        if label not in group:
            refuse(InvalidTree, "group", f"node {shown_label(label)} has no group", remedy="every label needs one")
    if len(group) > len(labels):
        known = set(labels)
        extra = next(label for label in group if label not in known)
        refuse(InvalidTree, "group", f"{shown_label(extra)} is not a node of the tree")
    return [group[label] for label in labels]


def checked_labels(labels: Iterable[Hashable], n: int) -> tuple[Hashable, ...]:
    """The labels as a tuple, one for each node and all different; only "" (no label) may be repeated."""
    if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
        refuse(InvalidTree, "labels", "must be a sequence of labels, one a node", type(labels).__name__)
    given = tuple(labels)
    if len(given) != n:
        refuse(InvalidTree, "labels", f"needs one label for each of the {counted(n, 'node')}", f"{len(given)}")
    seen: set[Hashable] = set()
    for u, label in enumerate(given):
        try:
            twice = label in seen and label != ""
        except TypeError:
            refuse(InvalidTree, f"labels[{u}]", "a label must be hashable", label)
        if twice:
            refuse(InvalidTree, f"labels[{u}]", "labels must differ, this one is there twice", shown_label(label))
        seen.add(label)
    return given


def described_form(described: Any) -> Literal["parent", "chain", "regular"]:
    """Which of the three forms a description of a tree has; keys of other forms are refused."""
    forms: tuple[Literal["parent", "chain", "regular"], ...] = ("parent", "chain", "regular")
    check_keys(InvalidTree, described, (), (*forms, "group", "labels", "format", "version"))
    check_format(InvalidTree, described, "hidiv.tree")
    given = [form for form in forms if form in described]
    if len(given) != 1:
        refuse(InvalidTree, "tree", "needs exactly one of parent, chain and regular", " and ".join(given) or "none")
    form = given[0]
    if form != "parent" and described.get("labels") is not None:
        refuse(InvalidTree, "labels", "only a tree written by its parents has labels")
    if form == "regular":
        shape = described["regular"]
        if not isinstance(shape, Mapping) or set(shape) != {"children", "depth"}:
            refuse(InvalidTree, "regular", 'must be {"children": C, "depth": N}', shape)
        if described.get("group") is not None:
            refuse(InvalidTree, "group", "the groups of a regular tree are its levels", remedy="write its parents")
    return form


def shown_label(label: object) -> str:
    """A label for a message: text in quotes, so that "" can be seen."""
    return f'"{shown(label)}"' if isinstance(label, str) else shown(label)
