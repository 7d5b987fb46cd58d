"""Certified observed divergences of listed trees with two-state messages (definitions (5.1))."""

from __future__ import annotations

from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from hidiv.divergences.observed.alphabets import TreeLaw, no_alphabet, tree_laws
from hidiv.divergences.observed.budget import Effort
from hidiv.divergences.observed.certified.joint_bound import cut_at_joint
from hidiv.divergences.observed.certified.refining import bounded
from hidiv.divergences.observed.certified.trees.message_grid import sum_of_two
from hidiv.divergences.observed.certified.trees.regular_trees import (
    WIDTH,
    Below,
    at_root,
    messages_up,
    more_than_two,
    nothing_below,
    stopped,
    together,
    with_two_states,
)
from hidiv.divergences.observed.interval import Interval, NotApplicable, difference
from hidiv.divergences.observed.support.symbols import forbidden_configuration
from hidiv.models.tree import Tree
from hidiv.types import IntArray

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget
    from hidiv.divergences.pair import Pair
    from hidiv.divergences.result import Divergence

COARSEST, FINEST = 2.0**-6, 2.0**-20  # steps of the log-odds
KINDS = 5000  # different subtrees


def applies(pair: Pair) -> str | None:
    """Symbols of a finite alphabet, at most two states in p and in q."""
    return no_alphabet(pair) or more_than_two(pair)


def run(pair: Pair, budget: Budget) -> Divergence:
    """Bounds on a listed tree."""
    assert isinstance(pair.tree, Tree)
    p, q = pair.once(tree_laws)
    if forbidden_configuration(p, q, pair.tree.parent):
        return bounded(Interval(inf, inf, {"method": "support of configurations"}), pair, budget)
    interval = observed_listed(p, q, pair.tree.parent, WIDTH, budget.effort())
    return bounded(cut_at_joint(pair, budget, interval), pair, budget)


def observed_listed(p: TreeLaw, q: TreeLaw, parent: IntArray, width: float, effort: Effort) -> Interval:
    """Bounds of D_X on a listed tree; p and q with two states, transition (n, K, K), probabilities (n, K, M) by node.

    q must be able to emit what p does. The steps of the grids are refined until the interval is as narrow as asked,
    the effort is spent or an interrupt comes.
    """
    step, interval = COARSEST, None
    while True:
        before = effort.spent
        try:
            interval = difference(*(cross_entropy_listed(p, law, parent, step, effort) for law in (q, p)))
        except KeyboardInterrupt:
            if interval is None:
                raise
            return stopped(interval, "an interrupt")
        finer = 0.8 * step * min(0.5, sqrt(width / interval.width)) if interval.width > width else step
        if interval.width <= width or finer < FINEST:
            return stopped(interval, "the wanted width" if interval.width <= width else "the finest grid")
        ahead = (effort.spent - before) * step / finer
        if ahead > effort.left or not effort.in_time(ahead):
            return stopped(interval, "the time" if effort.late else "the operations allowed")
        step = finer


def cross_entropy_listed(p: TreeLaw, q: TreeLaw, parent: IntArray, step: float, effort: Effort) -> Interval:
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
            below = _together(counts, messages, len(p.initial))
            effort.spend(200.0 * below.grid.weights.size * p.probabilities.shape[2])
            messages.append(messages_up(below, p, q, u, 0, step))
        above = children[int(parent[u])]
        above[kind] = above.get(kind, 0) + 1
    raise AssertionError("a tree has a root")


def _together(counts: tuple[tuple[int, int], ...], messages: list[Below], n_states: int) -> Below:
    """The messages of all children of a node, so many of each kind."""
    below: Below | None = None
    for kind, count in counts:
        these = together(messages[kind], count)
        below = these if below is None else _joined(below, these)
    return nothing_below(n_states) if below is None else below


def _joined(one: Below, other: Below) -> Below:
    """The messages of two groups of children together."""
    moved = sum_of_two(one.grid, other.grid)
    return Below(
        moved.grid,
        one.cost + other.cost + moved.cost,
        one.loss + other.loss,
        one.rounding + other.rounding + moved.rounding,
    )
