"""Divergences of all pairs of many models."""

from __future__ import annotations

from math import isqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hidiv.comparison.blocks import Plan
from hidiv.comparison.execution import Executor, run
from hidiv.comparison.joint_pairs import joint_pairs
from hidiv.comparison.observed_pairs import observed_pairs
from hidiv.comparison.matrix import PairwiseMatrix
from hidiv.comparison.shelves import Shelves, check_ends, check_on_tree, check_states, shelves_of
from hidiv.errors import HidivError, IncompatibleModels, refuse
from hidiv.models.tree import Tree, as_tree
from hidiv.models.until_end import UntilEnd

Array = NDArray[np.float64]
Quantity = Literal["joint", "posterior", "observed"]

MEMORY = 1 << 28  # bytes that blocks being computed may take
PER_PAIR = 64  # bytes of a block for each of its pairs, at most


def pairwise_kl(
    models: Any,
    tree: Any,
    others: Any = None,
    *,
    symmetric: bool = False,
    quantity: Quantity = "joint",
    evidence: Any = None,
    samples: int | None = None,
    seed: int = 0,
    level_weights: ArrayLike | Literal["equal"] | None = None,
    executor: Executor = None,
    store: Any = None,
    memory: int = MEMORY,
) -> PairwiseMatrix:
    """D of every model from every other, (M, M) or (M, M') with `others`: one matrix product (definitions, section 3).

    Every joint value has relative error 1e-11, a model from itself exactly 0; +inf where p reaches what q lacks.

    >>> import hidiv as hd
    >>> one = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1, 4]))
    >>> two = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Poisson([2, 4]))
    >>> matrix = hd.pairwise_kl([one, two], 100)
    >>> matrix
    2 x 2 joint divergences in nats, D(row || column), exact
    >>> bool(abs(matrix[0, 1] - hd.joint_kl(one, two, 100).value) < 1e-10)
    True
    """
    left = shelves_of(models)
    right = left if others is None or others is models else shelves_of(others, "others")
    plan, notes, status = _planned(left, right, tree, symmetric, quantity, evidence, samples, seed, level_weights, memory)
    values, slow = run(plan, executor, store)
    if slow:
        notes = [*notes, f"{slow} pairs too close for the product, computed directly"]
    return PairwiseMatrix(values, quantity, status, symmetric, tuple(notes), None, left.names, right.names)


def _planned(
    left: Shelves,
    right: Shelves,
    tree: Any,
    symmetric: bool,
    quantity: str,
    evidence: Any,
    samples: int | None,
    seed: int,
    level_weights: Any,
    memory: int,
) -> tuple[Plan, list[str], Any]:
    edge = max(1, isqrt(memory // PER_PAIR))
    if quantity != "posterior" and evidence is not None:
        refuse(HidivError, "evidence", 'belongs to quantity="posterior"', quantity)
    if quantity == "joint":
        check_states(left, right, quantity)
        on = checked_tree(left, right, tree)
        weights = checked_weights(level_weights, on)
        pairs, notes = joint_pairs(left, right, on, weights)
        back = None if not symmetric else pairs if left is right else joint_pairs(right, left, on, weights)[0]
        return Plan(left, right, pairs, back, edge, left is right), notes, "exact"
    if quantity == "observed":
        on = checked_tree(left, right, tree)
        if isinstance(on, UntilEnd):
            refuse(IncompatibleModels, "tree", "the observed divergence needs a tree of known size", "UNTIL_END")
        weights = checked_weights(level_weights, on)
        if weights is not None and not (weights > 0).all():
            refuse(HidivError, "level_weights", "must be above 0 for the observed divergence", weights.tolist())
        pairs = observed_pairs(left, right, on, weights)
        back = None if not symmetric else pairs if left is right else observed_pairs(right, left, on, weights)
        notes = ["variational recursion: deterministic, no bound"]
        return Plan(left, right, pairs, back, edge, left is right), notes, "approximation"
    refuse(HidivError, "quantity", 'must be "joint", "posterior" or "observed"', quantity)


def checked_tree(left: Shelves, right: Shelves, tree: Any) -> Tree | UntilEnd:
    """The tree, after a look at whether every model can live on it."""
    until_end = isinstance(tree, UntilEnd)
    check_ends(left, right, until_end)
    if isinstance(tree, UntilEnd):
        return tree
    on = as_tree(tree)
    check_on_tree(left, on, "models")
    if right is not left:
        check_on_tree(right, on, "others")
    return on


def checked_weights(level_weights: Any, tree: Tree | UntilEnd) -> Array | None:
    """(depth,): what each level counts altogether; None for its number of nodes."""
    if level_weights is None:
        return None
    if isinstance(tree, UntilEnd):
        refuse(IncompatibleModels, "level_weights", "need a tree of known depth", "UNTIL_END")
    if isinstance(level_weights, str) and level_weights == "equal":
        return np.ones(tree.depth)
    weights = np.asarray(level_weights, dtype=np.float64)
    if weights.shape != (tree.depth,) or not (np.isfinite(weights) & (weights >= 0)).all():
        rule = f'must be "equal" or {tree.depth} numbers from 0, one a level'
        refuse(HidivError, "level_weights", rule, weights.tolist())
    return weights
