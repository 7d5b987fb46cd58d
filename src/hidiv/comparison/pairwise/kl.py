"""Divergences of all pairs of many models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import isqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from hidiv.arguments import seed_number
from hidiv.comparison.collection.by_shape import ModelsByShape, by_shape, check_states, checked_tree
from hidiv.comparison.late_notes import Notes
from hidiv.comparison.pairwise.aligned_pairs import aligned_pairs
from hidiv.comparison.pairwise.executors import Executor, fill
from hidiv.comparison.pairwise.joint_pairs import joint_pairs, whole_matrix
from hidiv.comparison.pairwise.label_note import note_on_labels
from hidiv.comparison.pairwise.matrix import PairwiseMatrix, Quantity, Status
from hidiv.comparison.pairwise.observed_choice import (
    Method,
    ObservedOptions,
    ObservedProblem,
    checked_options,
    observed_plan,
)
from hidiv.comparison.pairwise.observed_draws import MonteCarloPlan
from hidiv.comparison.pairwise.plan import DirectedPairs, Plan
from hidiv.comparison.pairwise.posterior_pairs import posterior_pairs
from hidiv.comparison.pairwise.storage import digest_of_tree, fingerprint, in_memory, in_store
from hidiv.errors import HidivError, IncompatibleModels, counted, refuse
from hidiv.models.tree import Tree
from hidiv.models.until_end import UntilEnd
from hidiv.progress import Wanted, reporting
from hidiv.types import Array, Flags

MEMORY = 1 << 28  # bytes that a block being computed may take
PER_PAIR = 64  # bytes of a block for each of its pairs
SMALLEST = 16  # edge of a block: smaller ones do not pay, larger ones of slow pairs are lost to Ctrl-C


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
    """Divergences of every model from every other, or of every model from each of `others`.

    Parameters
    ----------
    models : list of models, or Collection
        The M models p of the rows. Fitted models of other libraries are converted.
    tree : Tree, int or UNTIL_END
        What the models describe; an int is the length of a chain. None with `evidence` is a chain of its length.
    others : list of models, or Collection, default None
        The M' models q of the columns; None for those of the rows.
    symmetric : bool, default False
        Jeffreys' divergence D(p || q) + D(q || p) instead of D(p || q).
    quantity : {"joint", "aligned", "observed", "posterior"}, default "joint"
        "joint" pairs states by label; separate fits number their states by chance, so for those take "aligned" (the
        joint divergence with q's states in the order that suits p best, as `align` finds it) or "observed" (of what
        is seen, no labels). "posterior": of the hidden states given `evidence`.
    evidence : Evidence or array, default None
        What is known, for quantity="posterior" alone.
    method : {"auto", "variational", "montecarlo"}, default "auto"
        Of the observed divergence. "variational": the deterministic approximation as it is, unchecked. "montecarlo":
        draws. "auto": the approximation, kept between 0 and the joint divergence, where it holds on some pairs that
        are drawn; draws where it does not.
    samples : int, default None
        Draws from each p (64 where draws are used); given, it asks for plain draws. Each p is drawn once for all q.
    rtol : float, default None
        Standard error of an entry as a share of it (0.1 where draws are used); pairs that are less accurate are drawn
        again with control variates. Given, it asks for draws.
    seed : int, default None
        Of the draws; None is 0. The same seed gives the same numbers.
    level_weights : (depth,) array or "equal", default None
        What each level of the tree counts in place of its number of nodes, "equal" one each (joint and observed).
    executor : {None, "serial", "processes"} or a Dask client, default None
        Where blocks are computed; None is threads of this process. The same `memory` gives the same bits everywhere.
    store : path, default None
        A zarr store: blocks (and their standard errors) are written once, and a second run computes what is left.
    memory : int, default 2**28
        Bytes that a block being computed may take.
    progress : bool or function, default None
        True for a line on the terminal, or a function of the number of blocks done and of all blocks.
    keep_finished : bool, default False
        After Ctrl-C return the matrix with the pairs that are finished, which `.finished` (M, M') marks, if there are
        any, instead of raising KeyboardInterrupt.

    Returns
    -------
    PairwiseMatrix
        (M, M') in nats, an array with `.status` and `.notes` that say how the entries were computed; +inf where p
        reaches what q lacks. Joint entries have relative error 1e-11, and a model is at exactly 0 from itself. More
        than 8 states aligned are an "approximation" from above, as not every order is tried.

    Raises
    ------
    IncompatibleModels
        Models that cannot be compared: numbers of states, observations, groups, ends or symbol names.
    HidivError
        Arguments out of range, or a store begun with other models, another tree or other options.

    Notes
    -----
    Joint divergences are one matrix product of expected counts and logarithms (definitions (3.6)); pairs too close for
    it are computed directly. Jeffreys' divergence is definitions (3.7), the variational approximation (5.7), Monte
    Carlo (5.8).

    Examples
    --------
    >>> import hidiv as hd
    >>> one = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1, 4]))
    >>> two = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Poisson([2, 4]))
    >>> matrix = hd.pairwise_kl([one, two], 100)
    >>> matrix
    2 x 2 joint divergences in nats, D(row || column), exact
    >>> bool(abs(matrix[0, 1] - hd.joint_kl(one, two, 100).value) < 1e-10)
    True
    """
    left = by_shape(models)
    right = left if others is None or others is models else by_shape(others, "others")
    if quantity != "posterior" and evidence is not None:
        refuse(HidivError, "evidence", 'belongs to quantity="posterior"', quantity)
    options = ObservedOptions(method, samples, rtol, 0 if seed is None else seed_number(seed) or 0)
    if quantity != "observed" and options != ObservedOptions(seed=options.seed):
        what = "samples" if samples is not None else "rtol" if rtol is not None else "method"
        refuse(HidivError, what, 'belongs to quantity="observed"', quantity)
    edge = block_edge(left, right, memory)
    plan: Plan | MonteCarloPlan
    more: dict[str, Any] = {}
    if quantity == "observed":
        nodes = _tree_of_known_size(left, right, tree)
        options = checked_options(options._replace(level_weights=checked_weights(level_weights, nodes)))
        # A function counts blocks; what is done before there are any is shown on the terminal alone.
        with reporting(False if callable(progress) else progress):
            problem = ObservedProblem(left, right, nodes, symmetric, edge, executor)
            plan, notes, status, more = observed_plan(problem, options)
    else:
        pairs, notes, status = _directed(left, right, tree, quantity, evidence, level_weights)
        plain = executor is None and store is None and (progress is None or progress is False)
        if quantity == "joint" and plain and (right is left or not symmetric):
            whole = whole_matrix(pairs, right is left, edge)
            if whole is not None:
                values, direct = whole
                values = values + values.T if symmetric else values
                told = _with_labels((*notes, *_note_on_direct(direct, Plan.direct_words)), left, right, tree)
                return PairwiseMatrix(values, quantity, status, symmetric, told, None, left.names, right.names)
        reverse = None
        if symmetric and right is left:
            reverse = pairs
        elif symmetric:
            reverse = _directed(right, left, tree, quantity, evidence, level_weights).pairs
        plan = Plan(left, right, pairs, reverse, edge, right is left)
    weights = None if level_weights is None else np.asarray(level_weights).tolist()
    described: dict[str, Any] = {"quantity": quantity, "symmetric": symmetric, "level_weights": weights}
    matrix = computed(
        plan, (left, right), described | more, tree, (quantity, status, symmetric, tuple(notes)), evidence,
        executor=executor, store=store, progress=progress, keep_finished=keep_finished,
    )  # fmt: skip
    if quantity == "joint" and matrix.finished is None:
        return replace(matrix, notes=_with_labels(matrix.notes, left, right, tree))
    return matrix


def _with_labels(notes: Notes, left: ModelsByShape, right: ModelsByShape, tree: Any) -> Callable[[], Notes]:
    """The notes and, when they are read, one on labels that do not seem to be common."""
    labels = note_on_labels(left, right, tree)
    return lambda: (*notes, *labels())


def _note_on_direct(direct: int, words: str) -> list[str]:
    return [f"{counted(direct, 'pair')} {words}"] if direct else []


def block_edge(left: ModelsByShape, right: ModelsByShape, memory: int) -> int:
    """Rows and columns of a block that takes at most `memory` bytes."""
    if not isinstance(memory, int) or memory < PER_PAIR:
        refuse(HidivError, "memory", f"must be a number of bytes, at least {PER_PAIR}", memory)
    return min(isqrt(memory // PER_PAIR), max(SMALLEST, -(-max(len(left), len(right)) // 4)))


def computed(
    plan: Plan | MonteCarloPlan,
    lists: tuple[ModelsByShape, ModelsByShape],
    described: dict[str, Any],
    tree: Any,
    what: tuple[Quantity, Status, bool, tuple[str, ...]],
    evidence: Any = None,
    *,
    executor: Executor,
    store: Any,
    progress: Wanted,
    keep_finished: bool,
) -> PairwiseMatrix:
    """The matrix of a plan, in memory or in a store; described: what a store must agree with."""
    (left, right), estimated = lists, isinstance(plan, MonteCarloPlan)
    if store is None:
        storage = in_memory(plan, estimated)
    else:
        rows, columns = plan.shape
        described = described | {"tree": digest_of_tree(tree), "rows": rows, "columns": columns, **_block_size(plan)}
        mark = fingerprint(left, right, described, evidence)
        storage = in_store(plan, store, mark, described, estimated)
    stopped = False
    try:
        fill(storage, plan, executor, progress)
    except KeyboardInterrupt:
        stopped = bool(storage.todo(plan))
        if stopped and not (keep_finished and np.any(storage.written[...])):
            raise
    quantity, status, symmetric, notes = what
    notes = (*notes, *_note_on_direct(int(np.sum(storage.direct[...])), plan.direct_words))
    matrix = PairwiseMatrix(storage.values, quantity, status, symmetric, notes, storage.errors, left.names, right.names)
    return _interrupted(matrix, storage.finished(plan)) if stopped else matrix


def _block_size(plan: Plan | MonteCarloPlan) -> dict[str, Any]:
    """What a store remembers of its blocks; a square one has one edge."""
    height, width = plan.edges
    return {"edge": height} if isinstance(plan, Plan) else {"edges": [height, width]}


def _interrupted(matrix: PairwiseMatrix, finished: Flags) -> PairwiseMatrix:
    """The matrix of an interrupted run: NaN where a pair is missing."""
    note = f"interrupted: {np.sum(finished)} of {finished.size} pairs are finished, the others are missing"
    errors = None if matrix.std_error is None else np.where(finished, np.asarray(matrix.std_error), np.nan)
    values = np.where(finished, matrix, np.nan)
    return replace(matrix, values=values, std_error=errors, notes=(*matrix.notes, note), finished=finished)


def _directed(
    left: ModelsByShape, right: ModelsByShape, tree: Any, quantity: str, evidence: Any, level_weights: Any
) -> DirectedPairs:
    """The pairs of one direction of the joint, the aligned or the posterior divergence."""
    if quantity not in ("joint", "aligned", "posterior"):
        refuse(HidivError, "quantity", 'must be "joint", "aligned", "observed" or "posterior"', quantity)
    check_states(left, right, quantity)
    if quantity == "posterior":
        if evidence is None:
            refuse(HidivError, "evidence", 'is needed with quantity="posterior"')
        if level_weights is not None:
            refuse(HidivError, "level_weights", "belong to the joint and the observed divergence")
        return posterior_pairs(left, right, evidence, tree)
    nodes = checked_tree(left, right, tree)
    pairs_of = joint_pairs if quantity == "joint" else aligned_pairs
    return pairs_of(left, right, nodes, checked_weights(level_weights, nodes))


def _tree_of_known_size(left: ModelsByShape, right: ModelsByShape, tree: Any) -> Tree:
    nodes = checked_tree(left, right, tree)
    if isinstance(nodes, UntilEnd):
        refuse(IncompatibleModels, "tree", "the observed divergence needs a tree of known size", "UNTIL_END")
    return nodes


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
