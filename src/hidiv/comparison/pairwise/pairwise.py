"""All pairs of many models by any measure."""

from __future__ import annotations

from typing import Any, get_args

from hidiv.arguments import number
from hidiv.comparison.collection.by_shape import ModelsByShape, by_shape, checked_tree
from hidiv.comparison.pairwise.executors import Executor
from hidiv.comparison.pairwise.kl import MEMORY, block_edge, computed, pairwise_kl
from hidiv.comparison.pairwise.matrix import PairwiseMatrix, Quantity, Status
from hidiv.comparison.pairwise.measure_pairs import kernel_pairs, single_pairs
from hidiv.comparison.pairwise.overlap_draws import OverlapPlan, overlap_plan
from hidiv.comparison.pairwise.plan import PairsByShape, Plan
from hidiv.divergences.measures.mean_ratio import few_words
from hidiv.divergences.measures.names import MEASURES
from hidiv.divergences.measures.overlap import LISTED, Method
from hidiv.divergences.pair import Pair
from hidiv.errors import HidivError, IncompatibleModels, refuse
from hidiv.models.tree import Tree
from hidiv.models.until_end import UntilEnd
from hidiv.progress import Wanted


def pairwise(
    models: Any,
    tree: Any,
    others: Any = None,
    *,
    measure: Quantity = "joint",
    executor: Executor = None,
    store: Any = None,
    memory: int = MEMORY,
    progress: Wanted = None,
    keep_finished: bool = False,
    **options: Any,
) -> PairwiseMatrix:
    """Every model compared with every other, or with each of `others`, by any measure.

    Parameters
    ----------
    models : list of models, or Collection
        The M models of the rows. Fitted models of other libraries are converted.
    tree : Tree, int or UNTIL_END
        What the models describe; an int is the length of a chain. Measures of stationary states
        (aggregated_wasserstein, sahraeian_yoon) take None.
    others : list of models, or Collection, default None
        The M' models of the columns; None for those of the rows.
    measure : str, default "joint"
        "joint", "aligned", "observed" and "posterior" are the divergences of `pairwise_kl`; the others are the
        functions of these names: "product_kernel", "coemission", "bhattacharyya", "hellinger", "total_variation",
        "bayes_error", "jensen_shannon", "aggregated_wasserstein", "sahraeian_yoon".
    executor : {None, "serial", "processes"} or a Dask client, default None
        Where blocks are computed; None is threads of this process.
    store : path, default None
        A zarr store: blocks are written once, and a second run computes what is left.
    memory : int, default 2**28
        Bytes that a block being computed may take.
    progress : bool or function, default None
        True for a line on the terminal, or a function of the number of blocks done and of all blocks.
    keep_finished : bool, default False
        After Ctrl-C return the matrix with the pairs that are finished, if there are any.
    **options
        Further arguments of the measure: symmetric, evidence, rtol, ... of `pairwise_kl`; beta and normalized of
        `product_kernel`; method, rtol, seed and max_samples of those that are drawn (seed 0 unless given); alpha,
        ground and rows of `aggregated_wasserstein`; k of `sahraeian_yoon`.

    Returns
    -------
    PairwiseMatrix
        (M, M'), an array with `.status` and `.notes`. A matrix of product kernels is what
        ``sklearn.svm.SVC(kernel="precomputed")`` takes; `cluster` and `embed` take any of them.

    Raises
    ------
    IncompatibleModels
        Models that cannot be compared by this measure.
    HidivError
        Arguments out of range, or a store begun with other models, another tree or other options.

    Examples
    --------
    >>> import hidiv as hd
    >>> coins = [hd.Model([1.0], [[1.0]], hd.Bernoulli([prob])) for prob in (0.5, 0.75)]
    >>> matrix = hd.pairwise(coins, 2, measure="product_kernel")
    >>> matrix
    2 x 2 product kernels, symmetric, exact
    >>> round(float(matrix[0, 1]), 10)
    0.8
    """
    shared: dict[str, Any] = {"executor": executor, "store": store, "progress": progress}
    shared["keep_finished"] = keep_finished
    if measure not in MEASURES:
        if measure not in get_args(Quantity):
            refuse(HidivError, "measure", f"must be one of {', '.join(get_args(Quantity))}", measure)
        return pairwise_kl(models, tree, others, quantity=measure, memory=memory, **shared, **options)
    left = by_shape(models)
    right = left if others is None or others is models else by_shape(others, "others")
    known = MEASURES[measure]
    place: Tree | None = None
    if known.on_tree:
        checked = checked_tree(left, right, tree)
        if isinstance(checked, UntilEnd):
            refuse(IncompatibleModels, "tree", f"{known.words} need a tree of known size", "UNTIL_END")
        place = checked
    edge = block_edge(left, right, memory)
    pairs: PairsByShape = {}
    status: Status = "exact"
    notes: list[str] = []
    diagonal: float | None = None
    plan: Plan | OverlapPlan | None = None
    if measure in ("product_kernel", "coemission"):
        beta, normalized = _kernel_options(measure, options)
        assert place is not None
        pairs = kernel_pairs(left, right, place, beta, normalized)
        words = "normalised " if normalized else ""
        notes = [f"{words}joint product kernels of power {beta:g}"]
        diagonal = 1.0 if normalized else None
    elif known.by_overlap and place is not None and _drawn(options, left, right, place):
        plan = overlap_plan(measure, left, right, place, options, edge)
        how = f"draws of each model shared by all its pairs, seed {plan.seed}, until the standard error is at most"
        status, notes = "estimate", [f"{how} {plan.rtol:.3g} of the value, {plan.samples} draws a pair at most"]
    else:
        if options.get("method") == "certified":
            status, notes = "approximation", ["proven bounds alone: an entry is the middle of its own"]
        pairs, diagonal = single_pairs(measure, left, right, place, options), known.equal
    if plan is None:
        plan = Plan(left, right, pairs, None, edge, right is left, diagonal, mirrored=True)
    described = {
        "quantity": measure,
        "symmetric": True,
        "options": {key: repr(options[key]) for key in sorted(options)},
    }
    return computed(plan, (left, right), described, place, (measure, status, True, tuple(notes)), **shared)


def _drawn(options: dict[str, Any], left: ModelsByShape, right: ModelsByShape, tree: Tree) -> bool:
    """Whether a measure of overlap is drawn: as asked for, or where not all words can be listed at once."""
    method = options.get("method", "auto")
    if method not in get_args(Method):
        refuse(HidivError, "method", 'must be "auto", "exact", "certified" or "montecarlo"', method)
    first = Pair(left.groups[0].models[0], right.groups[0].models[0], tree)
    return method == "montecarlo" or (method == "auto" and not few_words(first, LISTED))


def _kernel_options(measure: str, options: dict[str, Any]) -> tuple[float, bool]:
    """beta and whether to normalise; anything else is refused."""
    allowed = ("beta", "normalized") if measure == "product_kernel" else ()
    for key in options:
        if key not in allowed:
            refuse(
                HidivError, key, f"is no argument of {measure}", remedy=f"it takes {' and '.join(allowed) or 'none'}"
            )
    beta = float(number("beta", options.get("beta", 1.0)))
    if not 0 < beta < float("inf"):
        refuse(HidivError, "beta", "must be above 0", beta)
    return beta, bool(options.get("normalized", measure == "product_kernel"))
