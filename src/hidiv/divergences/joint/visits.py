"""How often p is expected to use each transition row and each state: the weights of the local terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hidiv.errors import InvalidModel, refuse
from hidiv.models.model import by_group
from hidiv.models.until_end import UntilEnd
from hidiv.recursions.gth import cesaro_law, reaches, visits_until_end
from hidiv.recursions.levels import level_visits
from hidiv.recursions.powers import mean_law
from hidiv.recursions.state_laws import visits
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.divergences.pair import Pair
    from hidiv.models.model import Model
    from hidiv.models.tree import Tree


class Visits(NamedTuple):
    """Expected numbers divided by the number of nodes n, so that no tree is too large (definitions (3.1) and (3.3))."""

    n_nodes: float  # +inf beyond the range of doubles; the expected length of a chain that ends
    root: float  # 1 / n; 0 on an endless chain
    rows: Array  # (G or 1, K): the parent's state, over the nodes of a group that have a parent
    states: Array  # (G or 1, K): the node's own state


def visits_of(pair: Pair) -> Visits:
    """The visits of p on the tree of a pair, by group where either model has groups."""
    p, q = pair.p, pair.q
    return expected_visits(
        p, pair.tree, max(len(p.transitions), len(q.transitions)), max(len(p.emissions), len(q.emissions))
    )


def expected_visits(p: Model, tree: Tree | UntilEnd | None, row_groups: int, state_groups: int) -> Visits:
    """The expected visits of p, by group where a part has more than one; by the cheapest route for this tree.

    None stands for an endless chain, whose visits are the long-run law of the states.
    """
    if tree is None:
        law = cesaro_law(p.initial, p.transitions[0])[None, :]
        return Visits(1.0, 0.0, law, law)
    if isinstance(tree, UntilEnd):
        return _until_end(p)
    n = tree.size
    if row_groups == state_groups == 1:
        rows, states = _homogeneous(p, tree, n)
    elif tree.kind == "regular":
        rows, states = _by_level(p, tree)
    else:
        rows, states = (table / n for table in _by_node(p, tree))
    if row_groups == 1:
        rows = rows.sum(axis=0, keepdims=True)
    if state_groups == 1:
        states = states.sum(axis=0, keepdims=True)
    return Visits(n, 1.0 / n, rows, states)


def _homogeneous(p: Model, tree: Tree, n: float) -> tuple[Array, Array]:
    """(1, K) tables: closed form on chains and regular trees in O(log N), by level counts on any other tree."""
    transition = p.transitions[0]
    if tree.depth == 1:
        rows = np.zeros_like(p.initial)
    elif tree.children is not None or tree.is_chain:
        rows = (1.0 - 1.0 / n) * mean_law(p.initial, transition, tree.children or 1, tree.depth - 1)
    else:
        rows = level_visits(p.initial, transition, tree.level_counts()[1:].astype(np.float64)) / n
    return rows[None, :], (p.initial / n + rows @ transition)[None, :]


def _by_level(p: Model, tree: Tree) -> tuple[Array, Array]:
    """(depth, K) tables of a regular tree: the law of each level times its share of the nodes."""
    share = np.float64(tree.children or 1) ** np.arange(1.0 - tree.depth, 1.0)
    share /= share.sum()
    rows, states = np.zeros((tree.depth, p.n_states)), np.zeros((tree.depth, p.n_states))
    law = p.initial
    states[0] = share[0] * law
    for level in range(1, tree.depth):
        rows[level] = share[level] * law
        law = law @ p.transitions[level if len(p.transitions) > 1 else 0]
        law = law / law.sum()
        states[level] = share[level] * law
    return rows, states


def _by_node(p: Model, tree: Tree) -> tuple[Array, Array]:
    """(G, K) tables over the groups of a listed tree, one pass over its nodes."""
    assert tree.group is not None
    groups = int(tree.group.max()) + 1
    rows, states = visits(p.initial, tree.parent, tree.group, by_group(p.transitions, groups))
    return rows, states


def _until_end(p: Model) -> Visits:
    """Visits of a chain that stops by itself, initial (I - Q)^{-1}."""
    assert p.end is not None
    closure = reaches(p.transitions[0] > 0)
    reached = closure[p.initial > 0].any(axis=0)
    stuck = reached & ~(closure[:, p.end > 0].any(axis=1))
    if stuck.any():
        refuse(
            InvalidModel,
            f"state {int(np.argmax(stuck))}",
            "is reached and can never end, so the length is infinite",
            remedy="give an end probability to a state it leads to, or compare on a chain of fixed length without end",
        )
    live = np.flatnonzero(reached)
    counts = np.zeros(p.n_states)
    counts[live] = visits_until_end(p.initial[live], p.transitions[0][np.ix_(live, live)], p.end[live])
    n = float(counts.sum())
    return Visits(n, 1.0 / n, counts[None, :] / n, counts[None, :] / n)
