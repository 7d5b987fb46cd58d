"""All observed divergences between two lists of models by the variational recursion (definitions (5.7))."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from hidiv.comparison.collection.by_shape import ModelsByShape
from hidiv.comparison.collection.collection import Collection
from hidiv.comparison.pairwise.matrix_product import EPS, Factors, balance, multiply, norms, shared_statistics
from hidiv.comparison.pairwise.operands import by_states, models_at_once
from hidiv.comparison.pairwise.plan import Pairs
from hidiv.divergences.measures.product_kernel import subtrees_of
from hidiv.emissions.family import Family
from hidiv.emissions.statistics import Statistics, sizes_of
from hidiv.models.tree import Tree
from hidiv.recursions.subtrees import Subtrees, structure
from hidiv.recursions.variational_pairs import Own, own_terms, variational_pairs
from hidiv.types import Array

PORTION = 1 << 19  # pairs of states compared directly at once


@dataclass(frozen=True, eq=False)
class VariationalOperand:
    """m models of one shape; `own` terms are needed where they are p."""

    initial: Array  # (m, K)
    transitions: Array  # (m, G, K, K)
    families: tuple[Family, ...]  # one a group, of m K states
    own: Own | None

    @property
    def n_states(self) -> int:
        return int(self.initial.shape[1])

    def take(self, which: slice) -> VariationalOperand:
        """Some of the models."""
        index = np.arange(len(self.initial))[which]
        states = (index[:, None] * self.n_states + np.arange(self.n_states)).ravel()
        own = self.own
        return VariationalOperand(
            self.initial[index],
            self.transitions[index],
            tuple(family.take(states) for family in self.families),
            None if own is None else Own(own.start, own.terms[index], own.root[index]),
        )


@dataclass(frozen=True, eq=False)
class VariationalPairs:
    """Models p and q of a block, and the kinds of subtrees of their tree."""

    kinds: Subtrees
    p: VariationalOperand
    q: VariationalOperand
    root_weight: float

    def part(self, first: slice, second: slice) -> VariationalPairs:
        return replace(self, p=self.p.take(first), q=self.q.take(second))

    def packed(self) -> VariationalPairs:
        return self

    def fill(self, out: Array, alike: bool) -> int:
        m, height = len(out), models_at_once(self.p, self.q)
        q = (
            np.ascontiguousarray(self.q.initial.T),
            np.ascontiguousarray(np.moveaxis(self.q.transitions, 0, -1)),
        )
        for top in range(0, m, height):
            p = self.p if height >= m else self.p.take(slice(top, top + height))
            assert p.own is not None
            terms = p.own.start, np.ascontiguousarray(p.own.terms), np.ascontiguousarray(p.own.root)
            chains = np.ascontiguousarray(p.initial), np.ascontiguousarray(p.transitions)
            # One thread: blocks are the parallelism.
            emission = by_states(p, self.q, fill_state_table)
            values = variational_pairs(structure(self.kinds), terms, chains, q, emission, 1)
            out[top : top + height] = self.root_weight * values
        return 0


def variational_pairs_by_shape(
    left: ModelsByShape, right: ModelsByShape, tree: Tree, level_weights: Array | None = None
) -> dict[tuple[int, int], Pairs]:
    """The pairs of every shape group of p with every one of q; any numbers of states."""
    grouped = any(group.models.n_groups > 1 for group in (*left.groups, *right.groups))
    kinds = subtrees_of(tree, grouped, level_weights)
    root_weight = 1.0 if level_weights is None else float(level_weights[0])
    ps = [_operand(group.models, kinds, tree.n_groups, True) for group in left.groups]
    qs = ps if right is left else [_operand(group.models, kinds, tree.n_groups, False) for group in right.groups]
    return {(a, b): VariationalPairs(kinds, p, q, root_weight) for a, p in enumerate(ps) for b, q in enumerate(qs)}


def _operand(models: Collection, kinds: Subtrees, n_groups: int | None, is_p: bool) -> VariationalOperand:
    transitions, families = models.transitions[:, :n_groups], models.emissions[:n_groups]
    own = None
    if is_p:
        m, k = models.initial.shape
        first, second = (grid.ravel() for grid in np.indices((k, k)))
        each = np.arange(m)[:, None] * k
        tables = [
            family.take((each + first).ravel()).kl(family.take((each + second).ravel())).reshape(m, k, k)
            for family in families
        ]
        own = own_terms(kinds, models.initial, transitions, np.stack(tables, axis=1))
    return VariationalOperand(models.initial, transitions, families, own)


def fill_state_table(p: Family, q: Family, out: Array) -> None:
    """out (S, S'): KL of each state of p from each state of q, relative error 1e-11; +inf where support is missing."""
    a, b = shared_statistics(p, 1), shared_statistics(q, 1)  # every state is compared with every other
    factors = None if a is None or b is None or a.key != b.key else _factors(a, b)
    if factors is None:
        first, second = (grid.ravel() for grid in np.indices(out.shape))
    else:
        first, second = multiply(factors, out)
    for start in range(0, len(first), PORTION):
        i, j = first[start : start + PORTION], second[start : start + PORTION]
        out[i, j] = p.take(i).kl(q.take(j))


def _factors(p: Statistics, q: Statistics) -> Factors | None:
    """The product of mean statistics and natural parameters; None for numbers near the largest doubles."""
    missing = np.isneginf(q.natural)
    natural = np.where(missing, 0.0, q.natural)
    with np.errstate(invalid="ignore"):
        own = np.where(p.expected != 0, p.expected * p.natural, 0.0)
    if not (np.isfinite(p.expected).all() and np.isfinite(own).all() and np.isfinite(natural).all()):
        return None
    lacking = np.flatnonzero(missing.any(axis=0))
    sizes = sizes_of(p)
    scale = balance(sizes, natural)
    error = (4.0 + sqrt(own.shape[1])) * EPS
    return Factors(
        np.column_stack([p.expected, own.sum(axis=1)]),
        np.column_stack([-natural, np.ones(len(natural))]),
        error
        * np.column_stack(
            [norms(sizes * scale), (sizes * np.abs(np.where(p.expected != 0, p.natural, 0.0))).sum(axis=1) + 1.0]
        ),
        np.column_stack([norms(natural / scale), np.ones(len(natural))]),
        (p.expected[:, lacking] != 0).astype(np.float32) if lacking.size else None,
        missing[:, lacking].astype(np.float32) if lacking.size else None,
    )
