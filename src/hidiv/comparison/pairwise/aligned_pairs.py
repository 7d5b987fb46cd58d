"""All aligned divergences: joint ones, the states of q in the order that brings it nearest to p, pair by pair."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np

from hidiv.comparison.collection.by_shape import ModelsByShape
from hidiv.comparison.pairwise.direct import refuse_beyond
from hidiv.comparison.pairwise.joint_pairs import JointPairs
from hidiv.comparison.pairwise.matrix_product import factors_of
from hidiv.comparison.pairwise.operands import Operand, joint_operands
from hidiv.comparison.pairwise.plan import DirectedPairs, PairsByShape
from hidiv.divergences.alignment.align import EXHAUSTIVE, align
from hidiv.errors import HidivError, refuse
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.models.until_end import UntilEnd
from hidiv.types import Array

BY_PRODUCT = 5  # states: up to 120 orders, each of them a product of all pairs


@dataclass(frozen=True, eq=False)
class EveryOrderPairs:
    """Pairs of models with few states: the smallest value over all orders of q's states, all pairs at once."""

    p: Operand
    q: Operand

    def part(self, first: slice, second: slice) -> EveryOrderPairs:
        return EveryOrderPairs(self.p.take(first), self.q.take(second))

    def packed(self) -> EveryOrderPairs:
        return self

    def fill(self, out: Array, alike: bool) -> int:
        out[...] = np.inf
        one, beyond = np.empty(out.shape), np.zeros(out.shape, dtype=np.bool_)
        everyone = np.arange(len(self.q))
        for order in permutations(range(self.q.n_states)):
            q = self.q.relabelled(everyone, np.tile(order, (len(everyone), 1)))
            beyond |= JointPairs(self.p, q, factors_of(self.p, q), out.shape).fill_or_beyond(one)
            np.minimum(out, one, out=out)
        refuse_beyond(beyond & np.isinf(out))
        return 0


@dataclass(frozen=True, eq=False)
class SearchedPairs:
    """Pairs of models with many states: each by `align`."""

    p: tuple[Model, ...]
    q: tuple[Model, ...]
    tree: Tree | UntilEnd

    def part(self, first: slice, second: slice) -> SearchedPairs:
        return SearchedPairs(self.p[first], self.q[second], self.tree)

    def packed(self) -> SearchedPairs:
        return self

    def fill(self, out: Array, alike: bool) -> int:
        for i, p in enumerate(self.p):
            for j, q in enumerate(self.q):
                out[i, j] = 0.0 if alike and i == j else align(p, q, self.tree).value
        return 0


def aligned_pairs(
    left: ModelsByShape, right: ModelsByShape, tree: Tree | UntilEnd, level_weights: Array | None = None
) -> DirectedPairs:
    """The pairs of every shape group of p with every one of q, notes on how they are computed, and their status."""
    n_states = left.groups[0].models.n_states
    pairs: PairsByShape = {}
    if n_states <= BY_PRODUCT:
        ps, qs = joint_operands(left, right, tree, level_weights)
        pairs = {(a, b): EveryOrderPairs(p, q) for a, p in enumerate(ps) for b, q in enumerate(qs)}
        return DirectedPairs(pairs, ["q's states in the best of all orders, pair by pair"], "exact")
    if level_weights is not None:
        rule = f"the aligned divergence takes them for at most {BY_PRODUCT} states"
        refuse(HidivError, "level_weights", rule, f"{n_states} states")
    of_p = [tuple(group.models) for group in left.groups]
    of_q = of_p if right is left else [tuple(group.models) for group in right.groups]
    pairs = {(a, b): SearchedPairs(p, q, tree) for a, p in enumerate(of_p) for b, q in enumerate(of_q)}
    if n_states <= EXHAUSTIVE:
        return DirectedPairs(pairs, ["q's states in the best of all orders, pair by pair"], "exact")
    note = "q's states in the best order found, pair by pair: not every order was tried, so entries are upper bounds"
    return DirectedPairs(pairs, [note], "approximation")
