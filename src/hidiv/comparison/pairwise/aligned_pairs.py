"""All joint divergences with the states of every q put in the order that suits the p beside it best."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np

from hidiv.comparison.collection.by_shape import Shelves
from hidiv.comparison.pairwise.joint_block import JointBlock
from hidiv.comparison.pairwise.joint_pairs import joint_sides
from hidiv.comparison.pairwise.operands import Side
from hidiv.comparison.pairwise.plan import Pairs
from hidiv.comparison.pairwise.product import factors_of
from hidiv.divergences.alignment.align import EXHAUSTIVE, align
from hidiv.errors import HidivError, refuse
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.models.until_end import UntilEnd
from hidiv.types import Array

BY_PRODUCT = 5  # states: up to 120 orders, each of them a product of all pairs


@dataclass(frozen=True, eq=False)
class AlignedBlock:
    """A few states: the smallest over every order of q's states, order by order for all pairs."""

    p: Side
    q: Side

    def part(self, first: slice, second: slice) -> AlignedBlock:
        return AlignedBlock(self.p.take(first), self.q.take(second))

    def packed(self) -> AlignedBlock:
        return self

    def fill(self, out: Array, alike: bool) -> int:
        out[...] = np.inf
        one = np.empty(out.shape)
        for order in permutations(range(self.q.n_states)):
            q = self.q.relabel(np.array(order))
            JointBlock(self.p, q, factors_of(self.p, q), out.shape).fill(one, False)
            np.minimum(out, one, out=out)
        return 0


@dataclass(frozen=True, eq=False)
class SearchedBlock:
    """Many states: each pair by `align`."""

    p: tuple[Model, ...]
    q: tuple[Model, ...]
    tree: Tree | UntilEnd

    def part(self, first: slice, second: slice) -> SearchedBlock:
        return SearchedBlock(self.p[first], self.q[second], self.tree)

    def packed(self) -> SearchedBlock:
        return self

    def fill(self, out: Array, alike: bool) -> int:
        for i, p in enumerate(self.p):
            for j, q in enumerate(self.q):
                out[i, j] = 0.0 if alike and i == j else align(p, q, self.tree).value
        return 0


def aligned_pairs(
    left: Shelves, right: Shelves, tree: Tree | UntilEnd, level_weights: Array | None = None
) -> tuple[dict[tuple[int, int], Pairs], list[str]]:
    """The pairs of every shelf of p with every shelf of q, and what is to be said of how they are computed."""
    n_states = left.shelves[0].models.n_states
    found: dict[tuple[int, int], Pairs] = {}
    if n_states <= BY_PRODUCT:
        ps, qs = joint_sides(left, right, tree, level_weights)
        found = {(a, b): AlignedBlock(p, q) for a, p in enumerate(ps) for b, q in enumerate(qs)}
        return found, ["q's states in the best of all orders, pair by pair"]
    if level_weights is not None:
        rule = f"the aligned divergence takes them for at most {BY_PRODUCT} states"
        refuse(HidivError, "level_weights", rule, f"{n_states} states")
    of_p = [tuple(shelf.models) for shelf in left.shelves]
    of_q = of_p if right is left else [tuple(shelf.models) for shelf in right.shelves]
    found = {(a, b): SearchedBlock(p, q, tree) for a, p in enumerate(of_p) for b, q in enumerate(of_q)}
    if n_states <= EXHAUSTIVE:
        return found, ["q's states in the best of all orders, pair by pair"]
    return found, ["q's states in the best order found, pair by pair: not every order was tried, so entries are bounds"]
