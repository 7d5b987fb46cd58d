"""Newick text, "((A,B)C,D)root;", read without recursion, however deep."""

from __future__ import annotations

import re
from typing import NoReturn

from hidiv.errors import InvalidTree, refuse, shown

_LABEL = re.compile(r"[^\s()\[\]',:;]+")
_QUOTED = re.compile(r"'((?:[^']|'')*)'")
_BRACKET = re.compile(r"[\[\]]")


def read_newick(text: str) -> tuple[list[int], list[str]]:
    """The parents and labels of the nodes, every node before its children; "" where a node has no label."""
    if not isinstance(text, str):
        refuse(InvalidTree, "newick", "must be text", type(text).__name__)
    parent: list[int] = [-1]
    labels: list[str] = [""]
    node, at = 0, 0
    opening, done = True, set[str]()  # whether a subtree may open here; which of label and length the node already has
    while True:
        at = _skip(text, at)
        mark = text[at : at + 1]
        if mark == "":
            _malformed(text, at, "an empty tree" if at == 0 or (len(parent) == 1 and opening) else "must end with ;")
        if mark == "(" and opening:
            parent.append(node)
            labels.append("")
            node = len(parent) - 1
        elif mark in ",)" and parent[node] >= 0:
            node, opening, done = parent[node], False, set()
            if mark == ",":
                parent.append(node)
                labels.append("")
                node, opening = len(parent) - 1, True
        elif mark == ":" and "length" not in done:
            at, opening = _length(text, _skip(text, at + 1)), False
            done.add("length")
            continue
        elif mark == ";" and parent[node] < 0:
            break
        elif mark not in "(),:;[]" and not done:
            at, labels[node] = _label(text, at)
            opening = False
            done.add("label")
            continue
        else:
            what = "the tree ends inside a parenthesis" if mark == ";" else f"{shown(mark)} cannot stand here"
            _malformed(text, at, what)
        at += 1
    if len(parent) == 1 and not done:
        _malformed(text, at, "an empty tree")
    after = _skip(text, at + 1)
    if after < len(text):
        _malformed(text, after, "one tree only, nothing may follow its ;")
    return parent, labels


def _skip(text: str, at: int) -> int:
    """The position after white space and comments [...], which may be nested."""
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text[at] == "[":
            at = _comment_end(text, at)
        else:
            break
    return at


def _comment_end(text: str, start: int) -> int:
    """The position after a comment that begins at `start`."""
    depth = 0
    for bracket in _BRACKET.finditer(text, start):
        depth += 1 if bracket.group() == "[" else -1
        if depth == 0:
            return bracket.end()
    _malformed(text, start, "a comment [ is never closed")


def _label(text: str, at: int) -> tuple[int, str]:
    """The position after a label, and the label; in a quoted one '' stands for a quote."""
    if text[at] == "'":
        quoted = _QUOTED.match(text, at)
        if quoted is None:
            _malformed(text, at, "a quote is never closed")
        return quoted.end(), quoted.group(1).replace("''", "'")
    plain = _LABEL.match(text, at)
    if plain is None:
        _malformed(text, at, f"{shown(text[at])} cannot stand here")
    return plain.end(), plain.group()


def _length(text: str, at: int) -> int:
    """The position after a branch length, which is checked and dropped."""
    plain = _LABEL.match(text, at)
    try:
        float(plain.group() if plain else "")
    except ValueError:
        _malformed(text, at, "a branch length must be a number")
    assert plain is not None  # "" is no number
    return plain.end()


def _malformed(text: str, at: int, rule: str) -> NoReturn:
    """Refuse the text at a position, counted from 1 as editors do."""
    near = text[max(0, at - 10) : at + 10]
    refuse(InvalidTree, f"newick, position {at + 1}", rule, f"{near!r}" if near.strip() else None)
