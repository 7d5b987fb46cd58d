"""Which rows and states p can reach, and the words for the places where q cannot follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidiv.divergences.joint.local_terms import Local, with_end
from hidiv.models.until_end import UntilEnd
from hidiv.recursions.reach import reach
from hidiv.types import IntArray

if TYPE_CHECKING:
    from hidiv.models.model import Model
    from hidiv.models.tree import Tree

NEVER = int(np.iinfo(np.int64).max)


class Places(NamedTuple):
    """When p first comes by: (G or 1, K) for a row (as the parent's state) and for a state; NEVER if it never does."""

    rows: IntArray
    states: IntArray
    by: str  # what is counted: "node" or "level"

    def reached(self, local: Local) -> Local:
        """Local divergences in which a place p never comes to counts nothing."""
        rows, states = (
            np.where(np.isinf(table) & (when == NEVER), 0.0, table)
            for table, when in ((local.rows, self.rows), (local.states, self.states))
        )
        return Local(local.initial, rows, states)


def first_places(p: Model, tree: Tree | UntilEnd, row_groups: int, state_groups: int) -> Places:
    """When p first reaches each row and state; None for the tree of a chain that goes on for ever."""
    if isinstance(tree, UntilEnd):
        return first_levels(p, None)
    if row_groups == state_groups == 1:
        return first_levels(p, tree.depth)
    if tree.kind == "regular":
        parent, group, by = np.arange(-1, tree.depth - 1), np.arange(tree.depth), "level"
    else:
        assert tree.group is not None
        parent, group, by = tree.parent, tree.group, "node"
    own = group if len(p.transitions) > 1 else np.zeros_like(group)
    reached = reach(p.initial > 0, parent, own, p.transitions > 0)
    order = np.arange(len(parent))[:, None]
    rows = _earliest(np.where(reached[parent[1:]], order[1:], NEVER), group[1:], row_groups)
    return Places(rows, _earliest(np.where(reached, order, NEVER), group, state_groups), by)


def first_levels(p: Model, depth: int | None) -> Places:
    """Places of a homogeneous model on any tree of `depth` levels; None: a chain without bound."""
    last = NEVER - 1 if depth is None else depth - 1
    first = np.where(p.initial > 0, 0, NEVER)
    allowed, fresh, level = p.transitions[0] > 0, p.initial > 0, 0
    while fresh.any() and level < last:
        level += 1
        fresh = allowed[fresh].any(axis=0) & (first == NEVER)
        first[fresh] = level
    rows = np.where(first < last, np.minimum(first, last) + 1, NEVER)
    return Places(rows[None, :], first[None, :], "level")


def _earliest(when: IntArray, group: IntArray, groups: int) -> IntArray:
    """(G, K): the smallest entry of each group; one group takes them all."""
    first = np.full((groups, when.shape[1]), NEVER)
    np.minimum.at(first, group if groups > 1 else np.zeros_like(group), when)
    return first


def infinite_places(p: Model, q: Model, local: Local, places: Places) -> list[str]:
    """Sentences for the places p reaches where q has no mass, in the order p comes to them."""
    found: list[tuple[int, int, str]] = []
    if np.isinf(local.initial):
        state = int(np.argmax((p.initial > 0) & (q.initial == 0)))
        found.append((0, 0, f"initial: {said(p, state)} has probability {p.initial[state]:g} under p and 0 under q"))
    for g, r in np.argwhere(np.isinf(local.rows) & (places.rows < NEVER)):
        a, b = (with_end(model)[min(g, len(model.transitions) - 1), r] for model in (p, q))
        s = int(np.argmax((a > 0) & (b == 0)))
        where = f"from {said(p, int(r))} to {said(p, s) if s < p.n_states else 'the end'}"
        text = f"transition: {_group(g, local.rows)}{where} has probability {a[s]:g} under p and 0 under q"
        found.append((int(places.rows[g, r]), 1, f"{text} (first at {places.by} {places.rows[g, r]})"))
    for g, s in np.argwhere(np.isinf(local.states) & (places.states < NEVER)):
        a_family, b_family = (model.emissions[min(g, len(model.emissions) - 1)] for model in (p, q))
        gap = a_family.complete().gaps(b_family.complete())[s]
        what = "has a Renyi integral that diverges" if gap is None else f"emits {gap} under p and never under q"
        text = f"emission: {_group(g, local.states)}{said(p, int(s))} {what}"
        found.append((int(places.states[g, s]), 2, f"{text} (first at {places.by} {places.states[g, s]})"))
    return [text for _, _, text in sorted(found)]


def _group(g: int, table: NDArray[np.float64]) -> str:
    return f"group {g}, " if len(table) > 1 else ""


def said(model: Model, state: int) -> str:
    """A state as sentences name it."""
    return f"state {state}" if model.state_names is None else f"state {state} ({model.state_names[state]!r})"
