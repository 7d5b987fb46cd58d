"""Words, the paper's indices of nodes: child numbers from the root down, one character each; trees read from them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from hidiv.errors import InvalidTree, counted, refuse
from hidiv.models.tree_checks import group_by_label, shown_label
from hidiv.models.tree_reading import Ordered
from hidiv.types import IntArray

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"  # child numbers, one character each
LENGTH_LIMIT = 10**8  # characters of one word


def read_words(words: Iterable[str], group: Mapping[str, Any] | Sequence[Any] | None) -> Ordered:
    """The tree of the paper's indices, "" for the root and "01" for child 1 of child 0, shorter words first."""
    if isinstance(words, str | bytes) or not isinstance(words, Iterable):
        refuse(InvalidTree, "words", 'must be a list of words such as ["", "0", "01"]', words)
    given = list(words)
    if not given:
        refuse(InvalidTree, "words", 'an empty tree, at least the root "" is needed')
    known: set[str] = set()
    for i, word in enumerate(given):
        if not isinstance(word, str) or not all(c in DIGITS for c in word):
            refuse(
                InvalidTree,
                f"words[{i}]",
                "a word is made of child numbers, the characters 0-9 then a-z",
                shown_label(word),
            )
        if word in known:
            refuse(InvalidTree, f"words[{i}]", "words must differ, this one is there twice", shown_label(word))
        known.add(word)
    order = sorted(range(len(given)), key=lambda i: (len(given[i]), given[i]))
    place = {given[i]: u for u, i in enumerate(order)}
    parent = []
    for i in order:
        word = given[i]
        if word and word[:-1] not in place:
            refuse(
                InvalidTree,
                f"words[{i}]",
                f"a missing parent, {shown_label(word)} is there and {shown_label(word[:-1])} is not",
            )
        parent.append(place[word[:-1]] if word else -1)
    labels = [given[i] for i in order]
    if group is None or isinstance(group, Mapping):
        return Ordered(parent, labels, None if group is None else group_by_label(group, labels))
    groups = list(group)
    if len(groups) != len(given):
        refuse(InvalidTree, "group", f"needs one group for each of the {counted(len(given), 'word')}", f"{len(groups)}")
    return Ordered(parent, labels, [groups[i] for i in order])


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
