"""The paper's indices of nodes: child numbers from the root down, one character each."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from hidiv.errors import InvalidTree, refuse
from hidiv.models.tree_reading import DIGITS
from hidiv.types import IntArray

LENGTH_LIMIT = 10**8  # characters of one word


def path_word(node: int) -> str:
    """The word of the node at this level of a path: as many zeros."""
    if node > LENGTH_LIMIT:
        refuse(InvalidTree, "u", f"its word would have {node} characters", remedy="on a chain it is that many zeros")
    return "0" * node


def regular_word(children: int, node: int) -> str:
    """The word of node u of a regular tree, which is child (u-1) mod C of node (u-1) div C."""
    if children == 1:
        return path_word(node)
    word = []
    while node > 0:
        node, child = divmod(node - 1, children)
        word.append(_character(child))
    return "".join(reversed(word))


def listed_word(parent: IntArray, rank: IntArray, node: int) -> str:
    """The word of node u of a listed tree; rank (n,) is the child number of each node."""
    word = []
    while node > 0:
        word.append(_character(int(rank[node])))
        node = int(parent[node])
    return "".join(reversed(word))


def ranks(parent: IntArray) -> IntArray:
    """(n,): which child of its parent each node is."""
    order = np.argsort(parent, kind="stable")
    above = parent[order]
    start = np.flatnonzero(np.r_[True, above[1:] != above[:-1]])
    rank = np.empty_like(order)
    rank[order] = np.arange(order.shape[0]) - np.repeat(start, np.diff(np.r_[start, order.shape[0]]))
    return rank


def words_of_labels(labels: Sequence[Hashable], parent: IntArray) -> bool:
    """Whether the labels are words: "" for the root, elsewhere the parent's label and one more character."""
    if labels[0] != "":
        return False
    return all(
        isinstance(label, str) and label[:-1] == labels[above] and label[-1:] in DIGITS and label != ""
        for label, above in zip(labels[1:], parent[1:].tolist(), strict=True)
    )


def _character(child: int) -> str:
    """The character of a child number."""
    if child >= len(DIGITS):
        refuse(InvalidTree, "u", f"words have characters for {len(DIGITS)} children, this needs child {child}")
    return DIGITS[child]
