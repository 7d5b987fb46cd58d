"""All pairs by a measure other than a divergence: product kernels in one recursion, the others pair by pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import numpy as np

from hidiv.comparison.collection.by_shape import ModelsByShape
from hidiv.comparison.collection.collection import Collection
from hidiv.comparison.pairwise.operands import by_states, models_at_once
from hidiv.comparison.pairwise.plan import Pairs, PairsByShape
from hidiv.divergences.measures.names import MEASURES, function_of
from hidiv.divergences.measures.product_kernel import subtrees_of
from hidiv.emissions.family import Family
from hidiv.emissions.product_integrals import log_products
from hidiv.errors import HidivError, refuse
from hidiv.models.tree import Tree
from hidiv.recursions.product_pairs import product_pairs
from hidiv.recursions.subtrees import Subtrees, structure
from hidiv.types import Array

OWN = 8  # models compared with each other at once to have each with itself


@dataclass(frozen=True, eq=False)
class KernelOperand:
    """m models of one shape: powers of their laws, their emissions, and log of the kernel of each with itself."""

    initial: Array  # (m, K)
    transitions: Array  # (m, G, K, K)
    families: tuple[Family, ...]  # one a group, of m K states
    own: Array  # (m,), halved; 0 where kernels are not normalised

    def take(self, which: slice) -> KernelOperand:
        """Some of the models."""
        index, k = np.arange(len(self.initial))[which], self.initial.shape[1]
        states = (index[:, None] * k + np.arange(k)).ravel()
        families = tuple(family.take(states) for family in self.families)
        return KernelOperand(self.initial[index], self.transitions[index], families, self.own[index])


@dataclass(frozen=True, eq=False)
class KernelPairs:
    """Product kernels of the models p and q of a block."""

    kinds: Subtrees
    p: KernelOperand
    q: KernelOperand
    beta: float
    normalized: bool

    def part(self, first: slice, second: slice) -> KernelPairs:
        return replace(self, p=self.p.take(first), q=self.q.take(second))

    def packed(self) -> KernelPairs:
        return self

    def fill(self, out: Array, alike: bool) -> int:
        height = models_at_once(self.p, self.q)
        for top in range(0, len(out), height):
            p = self.p if height >= len(out) else self.p.take(slice(top, top + height))
            logs = log_kernels(self.kinds, p, self.q, self.beta)
            if self.normalized:
                logs = np.minimum(logs - p.own[:, None] - self.q.own, 0.0)
            with np.errstate(over="ignore"):
                out[top : top + height] = np.exp(logs)
        return 0


def log_kernels(kinds: Subtrees, p: KernelOperand, q: KernelOperand, beta: float) -> Array:
    """(m, n): log of the product kernel of every p with every q."""

    def fill(a: Family, b: Family, out: Array) -> None:
        out[...] = log_products(a, b, beta)

    table = by_states(p, q, fill)
    laws = np.ascontiguousarray(p.initial), np.ascontiguousarray(p.transitions)
    others = np.ascontiguousarray(q.initial.T), np.ascontiguousarray(np.moveaxis(q.transitions, 0, -1))
    # One thread: blocks are the parallelism.
    return np.asarray(product_pairs(structure(kinds), laws, others, table, 1))


def kernel_pairs(
    left: ModelsByShape, right: ModelsByShape, tree: Tree, beta: float, normalized: bool
) -> dict[tuple[int, int], Pairs]:
    """The pairs of every shape group of p with every one of q; any numbers of states."""
    grouped = any(group.models.n_groups > 1 for group in (*left.groups, *right.groups))
    kinds = subtrees_of(tree, grouped)
    ps = [_operand(group.models, kinds, tree.n_groups, beta, normalized) for group in left.groups]
    qs = ps
    if right is not left:
        qs = [_operand(group.models, kinds, tree.n_groups, beta, normalized) for group in right.groups]
    return {(a, b): KernelPairs(kinds, p, q, beta, normalized) for a, p in enumerate(ps) for b, q in enumerate(qs)}


def _operand(models: Collection, kinds: Subtrees, n_groups: int | None, beta: float, normalized: bool) -> KernelOperand:
    laws = models.initial**beta, models.transitions[:, :n_groups] ** beta
    whole = KernelOperand(*laws, models.emissions[:n_groups], np.zeros(len(models)))
    if not normalized:
        return whole
    own = np.empty(len(models))
    for start in range(0, len(models), OWN):
        some = slice(start, start + OWN)
        part = whole.take(some)
        own[some] = 0.5 * np.diagonal(log_kernels(kinds, part, part, beta))
    return replace(whole, own=own)


@dataclass(frozen=True, eq=False)
class SinglePairs:
    """Pairs that are measured one by one."""

    name: str
    tree: Tree | None
    p: Collection
    q: Collection
    options: Mapping[str, Any]

    def part(self, first: slice, second: slice) -> SinglePairs:
        return replace(self, p=self.p[first], q=self.q[second])

    def packed(self) -> SinglePairs:
        return self

    def fill(self, out: Array, alike: bool) -> int:
        measure, equal = function_of(self.name), MEASURES[self.name].equal
        place = () if self.tree is None else (self.tree,)
        ps = list(self.p)
        qs = ps if alike else list(self.q)
        for i, p in enumerate(ps):
            for j, q in enumerate(qs):
                if alike and (j < i or (i == j and equal is not None)):
                    out[i, j] = equal if i == j else out[j, i]
                else:
                    out[i, j] = float(measure(p, q, *place, **self.options))
        return 0


def single_pairs(
    name: str, left: ModelsByShape, right: ModelsByShape, tree: Tree | None, options: Mapping[str, Any]
) -> PairsByShape:
    """The pairs of every shape group of p with every one of q; options that the measure does not have are refused."""
    allowed = [key for key in signature(function_of(name)).parameters if key not in ("p", "q", "tree", "progress")]
    for key in options:
        if key not in allowed:
            refuse(HidivError, key, f"is no argument of {name}", remedy=f"it takes {', '.join(allowed) or 'none'}")
    return {
        (a, b): SinglePairs(name, tree, one.models, two.models, options)
        for a, one in enumerate(left.groups)
        for b, two in enumerate(right.groups)
    }
