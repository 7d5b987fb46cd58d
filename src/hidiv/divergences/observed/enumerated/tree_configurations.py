"""The observed divergence of a listed tree by all configurations of its observations (definitions (5.1))."""

from __future__ import annotations

from collections.abc import Iterator
from math import fsum, inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidiv.divergences.observed.alphabets import TreeLaw, no_alphabet, tree_laws
from hidiv.divergences.observed.enumerated.chain_words import (
    Enumerated,
    check_words,
    in_the_order_of,
    is_close,
    listed,
)
from hidiv.divergences.observed.support.symbols import Word
from hidiv.divergences.pair import Pair
from hidiv.errors import OutOfRange, refuse
from hidiv.models.tree import Tree
from hidiv.recursions.terms import h
from hidiv.types import Array, IntArray

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget
    from hidiv.divergences.result import Divergence

CONFIGURATION_LIMIT = 5 * 10**6
_CELLS = 1 << 16  # configurations of the whole tree handled at once


class _Table(NamedTuple):
    """p (rows, K), q (rows, L), q - p where carried: P(observations below | state), a row for each of their values."""

    p: NDArray[Any]
    q: NDArray[Any]
    apart: Array | None


def applies(pair: Pair) -> str | None:
    """Symbols of a finite alphabet."""
    return no_alphabet(pair)


def run(pair: Pair, budget: Budget) -> Divergence:
    """Every configuration of a tree, listed node by node."""
    tree = pair.tree
    assert isinstance(tree, Tree)
    if tree.kind == "regular":  # the same tree with its nodes listed
        tree = Tree(tree.parent, tree.group)
        return listed(enumerate_tree(*Pair(pair.p, pair.q, tree).once(tree_laws), tree.parent), pair)
    return listed(enumerate_tree(*pair.once(tree_laws), tree.parent), pair)


def enumerate_tree(p: TreeLaw, q: TreeLaw, parent: IntArray, limit: int = CONFIGURATION_LIMIT) -> Enumerated:
    """D_X on a listed tree: sum over configurations of p h((q - p)/p), all terms non-negative; +inf where p > 0 = q.

    A table of messages for every subtree, combined upwards; the whole tree only in blocks.
    """
    words = check_words(p.probabilities.shape[-1], len(parent), limit)
    if not all((part > 0).all() for part in (q.initial, q.transition[1:], q.probabilities)):
        word = _forbidden(p.support(), q.support(), parent)
        if word is not None:
            return Enumerated(inf, words, word)
    return Enumerated(fsum(_divergence(*block) for block in configurations(p, q, parent)), words)


def configurations(p: TreeLaw, q: TreeLaw, parent: IntArray) -> Iterator[tuple[Array, Array, Array]]:
    """p, q and q - p of all configurations, some at a time; the difference keeps its digits for close models."""
    q = TreeLaw(*in_the_order_of(p, q))
    own, last, _ = _root_tables(p, q, parent, is_close(p, q))
    for i, rows in _blocks(own, last):
        at_p, at_q = _joined(own.p[i:rows], last.p) @ p.initial, _joined(own.q[i:rows], last.q) @ q.initial
        apart = at_q - at_p
        if own.apart is not None and last.apart is not None:
            joined = _joined(own.apart[i:rows], last.p) + _joined(own.q[i:rows], last.apart)
            apart = joined @ q.initial + _joined(own.p[i:rows], last.p) @ (q.initial - p.initial)
        yield at_p, at_q, apart


def _divergence(p: Array, q: Array, apart: Array) -> float:
    """sum of p h(apart/p), and of q where p = 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        change = apart / p
        terms = np.where(np.abs(change) < 0.5, p * h(change), p * (np.log(p) - np.log(q)) + (q - p))
    value = float(np.where(p == 0, q, terms).sum())
    if not np.isfinite(value):
        refuse(OutOfRange, "q", "gives a configuration a probability that no double can hold")
    return value


def _forbidden(p: TreeLaw, q: TreeLaw, parent: IntArray) -> Word | None:
    """The first configuration, node by node, that p can have and q cannot; p and q in booleans."""
    own, last, order = _root_tables(p, q, parent, close=False)
    for i, rows in _blocks(own, last):
        impossible = _joined(own.p[i:rows], last.p) @ p.initial & ~(_joined(own.q[i:rows], last.q) @ q.initial)
        if impossible.any():
            digits = np.unravel_index(
                i * len(last.p) + int(np.argmax(impossible)), (p.probabilities.shape[-1],) * len(parent)
            )
            by_node = dict(zip(order, digits, strict=True))
            return tuple(int(by_node[u]) for u in range(len(parent)))
    return None


def _root_tables(p: TreeLaw, q: TreeLaw, parent: IntArray, close: bool) -> tuple[_Table, _Table, list[int]]:
    """The root with all children but the largest, that child, and the nodes in the order of the digits of a row."""
    waiting: list[list[tuple[_Table, list[int]]]] = [[] for _ in parent]
    for u in reversed(range(len(parent))):
        apart = (q.probabilities[u] - p.probabilities[u]).T if close else None
        table, order = _Table(p.probabilities[u].T, q.probabilities[u].T, apart), [u]
        below = sorted(waiting[u], key=lambda child: len(child[1]))
        if u == 0:
            break
        for child, nodes in below:
            table, order = _product(table, child), order + nodes
        waiting[int(parent[u])].append((_message(table, p.transition[u], q.transition[u]), order))
    ones = [np.ones((1, len(law.initial)), law.initial.dtype) for law in (p, q)]
    nothing = _Table(ones[0], ones[1], np.zeros((1, len(p.initial))) if close else None)
    *smaller, (last, nodes) = below or [(nothing, [])]
    for child, others in smaller:
        table, order = _product(table, child), order + others
    return table, last, order + nodes


def _message(table: _Table, transition_p: NDArray[Any], transition_q: NDArray[Any]) -> _Table:
    """From a node to its parent's state."""
    apart = None if table.apart is None else table.apart @ transition_q.T + table.p @ (transition_q - transition_p).T
    return _Table(table.p @ transition_p.T, table.q @ transition_q.T, apart)


def _product(one: _Table, other: _Table) -> _Table:
    """Every row of one with every row of the other."""
    apart = None
    if one.apart is not None and other.apart is not None:
        apart = _joined(one.apart, other.p) + _joined(one.q, other.apart)
    return _Table(_joined(one.p, other.p), _joined(one.q, other.q), apart)


def _joined(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """(rows of one x rows of other, K)."""
    return np.asarray((one[:, None, :] * other[None, :, :]).reshape(-1, one.shape[1]))


def _blocks(own: _Table, last: _Table) -> list[tuple[int, int]]:
    """Rows of `own`, a few at a time."""
    size = max(1, _CELLS // len(last.p))
    return [(i, i + size) for i in range(0, len(own.p), size)]
