"""Certified observed divergences of listed trees with two-state messages (definitions (5.1))."""

from __future__ import annotations

from math import sqrt
from time import monotonic

import numpy as np

from hidiv.divergences.observed.certified.trees.message_grid import sum_of_two
from hidiv.divergences.observed.certified.trees.regular_trees import (
    Below,
    at_root,
    messages_up,
    nothing_below,
    together,
    with_two_states,
)
from hidiv.divergences.observed.interval import Interval, NotApplicable, TreeLaw, difference
from hidiv.types import IntArray

COARSEST, FINEST = 2.0**-6, 2.0**-20  # steps of the log-odds
KINDS = 5000  # different subtrees


def observed_listed(p: TreeLaw, q: TreeLaw, parent: IntArray, width: float, seconds: float) -> Interval:
    """Bounds of D_X on a listed tree; p and q with two states, transition (n, K, K), probabilities (n, K, M) by node.

    q must be able to emit what p does. The steps of the grids are refined until the interval is as narrow as asked,
    the time is up or an interrupt comes.
    """
    end = monotonic() + seconds
    step, found = COARSEST, None
    while True:
        began = monotonic()
        try:
            found = difference(*(cross_entropy_listed(p, law, parent, step) for law in (q, p)))
        except KeyboardInterrupt:
            if found is None:
                raise
            return found
        finer = 0.8 * step * min(0.5, sqrt(width / found.width)) if found.width > width else step
        spent = (monotonic() - began) * step / max(finer, FINEST)
        if found.width <= width or finer < FINEST or monotonic() + spent > end:
            return found
        step = finer


def cross_entropy_listed(p: TreeLaw, q: TreeLaw, parent: IntArray, step: float) -> Interval:
    """Bounds of -E_p log q(X) on a listed tree; q with two states, p with any number.

    Subtrees that are alike are done once. One step for all grids of log z, so that children add up exactly.
    """
    q = with_two_states(q, len(parent))
    kinds: dict[tuple[bytes, tuple[tuple[int, int], ...]], int] = {}
    messages: list[Below] = []
    children: list[dict[int, int]] = [{} for _ in parent]
    for u in reversed(range(len(parent))):
        counts = tuple(sorted(children[u].items()))
        if u == 0:
            below = _together(counts, messages, len(p.initial))
            how = {"method": "messages spread on a grid of log-odds", "step": step, "subtrees": len(kinds)}
            return at_root(below, p, q, how)
        own = b"".join(np.ascontiguousarray(part[u]).tobytes() for law in (p, q) for part in law[1:])
        kind = kinds.setdefault((own, counts), len(kinds))
        if kind == len(messages):
            if kind >= KINDS:
                raise NotApplicable(f"the tree has more than {KINDS} different subtrees")
            messages.append(messages_up(_together(counts, messages, len(p.initial)), p, q, u, 0, step))
        above = children[int(parent[u])]
        above[kind] = above.get(kind, 0) + 1
    raise AssertionError("a tree has a root")


def _together(counts: tuple[tuple[int, int], ...], messages: list[Below], n_states: int) -> Below:
    """The messages of all children of a node, so many of each kind."""
    found: Below | None = None
    for kind, count in counts:
        these = together(messages[kind], count)
        found = these if found is None else _joined(found, these)
    return nothing_below(n_states) if found is None else found


def _joined(one: Below, other: Below) -> Below:
    moved = sum_of_two(one.grid, other.grid)
    return Below(
        moved.grid,
        one.cost + other.cost + moved.cost,
        one.loss + other.loss,
        one.rounding + other.rounding + moved.rounding,
    )
