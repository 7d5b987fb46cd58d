"""Divergences of all pairs of many models."""

from __future__ import annotations

from dataclasses import replace
from math import isqrt
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hidiv.arguments import seed_number
from hidiv.comparison.collection.by_shape import Shelves, check_states, checked_tree, shelves_of
from hidiv.comparison.collection.fingerprint import digest_of_tree, fingerprint
from hidiv.comparison.pairwise.aligned_pairs import aligned_pairs
from hidiv.comparison.pairwise.executors import Executor, fill
from hidiv.comparison.pairwise.joint_pairs import joint_pairs
from hidiv.comparison.pairwise.labels import note_on_labels
from hidiv.comparison.pairwise.matrix import PairwiseMatrix, Quantity, Status
from hidiv.comparison.pairwise.observed_choice import Asked, Method, checked_asked, observed_way
from hidiv.comparison.pairwise.observed_draws import EstimatedPlan
from hidiv.comparison.pairwise.plan import Pairs, Plan
from hidiv.comparison.pairwise.posterior_pairs import posterior_pairs
from hidiv.comparison.pairwise.storage import in_memory, in_store
from hidiv.errors import HidivError, IncompatibleModels, counted, refuse
from hidiv.models.tree import Tree
from hidiv.models.until_end import UntilEnd
from hidiv.progress import Wanted
from hidiv.types import Array

MEMORY = 1 << 28  # bytes that a block being computed may take
PER_PAIR = 64  # bytes of a block for each of its pairs
SMALLEST = 16  # edge of a block: smaller ones do not pay, larger ones of slow pairs are lost to Ctrl-C


class Way(NamedTuple):
    """How the pairs of one direction are computed, and what is to be said of it."""

    pairs: dict[tuple[int, int], Pairs]
    notes: list[str]
    status: Status


def pairwise_kl(
    models: Any,
    tree: Any,
    others: Any = None,
    *,
    symmetric: bool = False,
    quantity: Quantity = "joint",
    evidence: Any = None,
    method: Method = "auto",
    samples: int | None = None,
    rtol: float | None = None,
    seed: int | None = None,
    level_weights: ArrayLike | Literal["equal"] | None = None,
    executor: Executor = None,
    store: Any = None,
    memory: int = MEMORY,
    progress: Wanted = None,
    keep_finished: bool = False,
) -> PairwiseMatrix:
    """D of every model from every other, (M, M), or from each of `others`, (M, M').

    joint: exact, states paired by label, one matrix product of expected counts and logarithms (definitions (3.6));
    every entry has relative error 1e-11, a model from itself is exactly 0. Separate fits number their states by chance:
    for those take a quantity that looks at no labels. aligned: the joint divergence with q's states in the order that
    suits p best, as `align` finds it. observed: what is seen. posterior: the hidden states given `evidence`, exact.
    `.status` and `.notes` say how the entries were found. +inf where p reaches what q lacks.

    The observed divergence is the variational approximation (definitions (5.7)) kept between 0 and the joint
    divergence, where it holds on some pairs that are drawn; where it does not, Monte Carlo (definitions (5.8)) with
    standard errors, every p drawn once for all q, close pairs drawn again with controls. method="variational" takes the
    approximation as it is, unchecked; method="montecarlo", `samples` (draws of each p) or `rtol` (standard error as a
    share of the entry) ask for draws. The same `seed` gives the same numbers; without one it is 0.

    symmetric=True gives Jeffreys' divergence D(p || q) + D(q || p) (definitions (3.7)). `level_weights` (depth,) is
    what each level of the tree counts in place of its number of nodes, "equal" one each (joint and observed).

    executor: None (threads of this process), "serial", "processes" or a Dask client; the same `memory` for a block
    gives the same bits. progress: True for a line on the terminal, or a function of the blocks done and all blocks.
    `store` is the path of a zarr store: blocks (and their standard errors) are written once, and a second run does what
    is left. Ctrl-C raises KeyboardInterrupt; with keep_finished=True, if any pairs are finished, it returns the matrix
    of those, and `.finished` (M, M') says which they are.

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
    names = left.names, right.names
    if not isinstance(memory, int) or memory < PER_PAIR:
        refuse(HidivError, "memory", f"must be a number of bytes, at least {PER_PAIR}", memory)
    if quantity != "posterior" and evidence is not None:
        refuse(HidivError, "evidence", 'belongs to quantity="posterior"', quantity)
    asked = Asked(method, samples, rtol, seed_number(seed) or 0)
    if quantity != "observed" and asked != Asked(seed=asked.seed):
        what = "samples" if samples is not None else "rtol" if rtol is not None else "method"
        refuse(HidivError, what, 'belongs to quantity="observed"', quantity)
    edge = min(isqrt(memory // PER_PAIR), max(SMALLEST, -(-max(len(left), len(right)) // 4)))
    plan: Plan | EstimatedPlan
    more: dict[str, Any] = {}
    if quantity == "observed":
        on = _plain_tree(left, right, tree)
        asked = checked_asked(asked._replace(level_weights=checked_weights(level_weights, on)))
        plan, notes, status, more = observed_way(left, right, on, asked, symmetric, edge, executor)
    else:
        there = _way(left, right, tree, quantity, evidence, level_weights)
        back = None
        if symmetric:
            back = there if right is left else _way(right, left, tree, quantity, evidence, level_weights)
        plan = Plan(left, right, there.pairs, None if back is None else back.pairs, edge, right is left)
        notes, status = there.notes, there.status
    estimated = isinstance(plan, EstimatedPlan)
    if store is None:
        sheet = in_memory(plan, estimated)
    else:
        described = {
            "quantity": quantity, "symmetric": symmetric, "tree": digest_of_tree(tree), "rows": plan.shape[0],
            "columns": plan.shape[1], "edge": plan.edge,
            "level_weights": None if level_weights is None else np.asarray(level_weights).tolist(),
        } | more  # fmt: skip
        mark = fingerprint(left, right, described, evidence)
        sheet = in_store(plan, store, mark, described, estimated)
    stopped = False
    try:
        fill(sheet, plan, executor, progress)
    except KeyboardInterrupt:
        stopped = bool(sheet.todo(plan))
        if stopped and not (keep_finished and np.any(sheet.written[...])):
            raise
    notes = notes + _said_of_direct(int(np.sum(sheet.direct[...])), estimated)
    if quantity == "joint":
        notes += note_on_labels(left, right, tree)
    found = PairwiseMatrix(sheet.values, quantity, status, symmetric, tuple(notes), sheet.errors, *names)
    return _without_missing(found, sheet.finished(plan)) if stopped else found


def _said_of_direct(count: int, estimated: bool) -> list[str]:
    if not count:
        return []
    pairs = counted(count, "pair")
    return [f"{pairs} drawn again" if estimated else f"{pairs} too close for the product, computed directly"]


def _without_missing(found: PairwiseMatrix, done: NDArray[np.bool_]) -> PairwiseMatrix:
    """An interrupted matrix: NaN where a pair is missing."""
    said = f"interrupted: {np.sum(done)} of {done.size} pairs are finished, the others are missing"
    errors = None if found.std_error is None else np.where(done, np.asarray(found.std_error), np.nan)
    values = np.where(done, found, np.nan)
    return replace(found, values=values, std_error=errors, notes=(*found.notes, said), finished=done)


def _way(left: Shelves, right: Shelves, tree: Any, quantity: str, evidence: Any, level_weights: Any) -> Way:
    if quantity == "joint":
        check_states(left, right, quantity)
        on = checked_tree(left, right, tree)
        return Way(*joint_pairs(left, right, on, checked_weights(level_weights, on)), "exact")
    if quantity == "aligned":
        check_states(left, right, quantity)
        on = checked_tree(left, right, tree)
        return Way(*aligned_pairs(left, right, on, checked_weights(level_weights, on)), "exact")
    if quantity == "posterior":
        check_states(left, right, quantity)
        if evidence is None:
            refuse(HidivError, "evidence", 'is needed with quantity="posterior"')
        if level_weights is not None:
            refuse(HidivError, "level_weights", "belong to the joint and the observed divergence")
        return Way(posterior_pairs(left, right, evidence, tree), [], "exact")
    refuse(HidivError, "quantity", 'must be "joint", "aligned", "observed" or "posterior"', quantity)


def _plain_tree(left: Shelves, right: Shelves, tree: Any) -> Tree:
    on = checked_tree(left, right, tree)
    if isinstance(on, UntilEnd):
        refuse(IncompatibleModels, "tree", "the observed divergence needs a tree of known size", "UNTIL_END")
    return on


def checked_weights(level_weights: Any, tree: Tree | UntilEnd) -> Array | None:
    """(depth,): what each level counts altogether; None for its number of nodes."""
    if level_weights is None:
        return None
    if isinstance(tree, UntilEnd):
        refuse(IncompatibleModels, "level_weights", "need a tree of known depth", "UNTIL_END")
    if isinstance(level_weights, str) and level_weights == "equal":
        return np.ones(tree.depth)
    try:
        weights = np.asarray(level_weights, dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.zeros(0)
    if weights.shape != (tree.depth,) or not (np.isfinite(weights) & (weights >= 0)).all():
        rule = f'must be "equal" or {tree.depth} numbers from 0, one a level'
        refuse(HidivError, "level_weights", rule, level_weights)
    return weights
