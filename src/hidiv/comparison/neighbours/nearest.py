"""The models nearest to a query: the largest inner products, block by block, never the whole matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from hidiv.adapters.as_model import is_one_model
from hidiv.arguments import whole
from hidiv.comparison.collection.by_shape import ModelsByShape, by_shape, check_states, checked_tree
from hidiv.comparison.late_notes import LateNotes, settled_state
from hidiv.comparison.neighbours.faiss_index import FaissIndex, build_index, candidates
from hidiv.comparison.pairwise.direct import direct_joint
from hidiv.comparison.pairwise.executors import one_blas_thread, processors
from hidiv.comparison.pairwise.joint_pairs import JointPairs
from hidiv.comparison.pairwise.label_note import note_on_labels
from hidiv.comparison.pairwise.matrix import PairwiseMatrix, Quantity, Status
from hidiv.comparison.pairwise.matrix_product import factors_of
from hidiv.comparison.pairwise.operands import Operand, joint_operands
from hidiv.comparison.pairwise.pairwise import pairwise
from hidiv.divergences.measures.names import MEASURES
from hidiv.errors import HidivError, counted, refuse
from hidiv.progress import Progress, Wanted, reported
from hidiv.types import Array, IntArray
from hidiv.values import Value

QUERIES, MODELS = 256, 1 << 15  # of one block


@dataclass(frozen=True, eq=False)
class Nearest(Value):
    """The nearest models and how far away they are, as `nearest` returns them; it unpacks as indices and values.

    Parameters
    ----------
    indices : ndarray of shape (Q, k)
        The models nearest to each query, nearest first.
    values : ndarray of shape (Q, k)
        Their divergences D(query || model).
    recall : float or None, default None
        The share of the true k nearest that an index found, for some of the queries; None without an index.
    notes : tuple of str, default ()
        How the divergences were computed.
    quantity : str, default "joint"
        Which divergence or measure it is.
    status : {"exact", "approximation", "estimate"}, default "exact"
        How far the values can be trusted.
    std_error : ndarray of shape (Q, k) or None, default None
        The standard errors of estimates.

    Examples
    --------
    >>> import hidiv as hd
    >>> models = [hd.Model([1.0], [[1.0]], hd.Poisson([rate])) for rate in (1, 2, 3)]
    >>> hd.nearest(hd.Model([1.0], [[1.0]], hd.Poisson([2.9])), models, 10, k=2).indices
    array([2, 1])
    """

    indices: IntArray
    values: Array
    recall: float | None = None
    notes: LateNotes = LateNotes()  # noqa: RUF009 - a descriptor, which is the same for all
    quantity: Quantity = "joint"
    status: Status = "exact"
    std_error: Array | None = None

    def __getstate__(self) -> dict[str, Any]:
        return settled_state(self)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.indices, self.values))

    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> Any:
        return (self.indices, self.values)[i]


@reported
def nearest(
    queries: Any, models: Any, tree: Any, k: int, *, quantity: Quantity = "joint", index: Any = "exact",
    sampled: int = 32, evidence: Any = None, rtol: float | None = None, seed: int | None = None,
    progress: Wanted = None, **options: Any,
) -> Nearest:  # fmt: skip
    """The k models with the smallest divergence from each query.

    Parameters
    ----------
    queries : list of models, Collection, or one model
        The Q models p that others are compared with; one model alone gives vectors.
    models : list of models, or Collection
        The models q that are searched.
    tree : Tree, int or UNTIL_END
        What the models describe; an int is the length of a chain.
    k : int
        How many models to return for each query.
    quantity : str, default "joint"
        A measure as in `pairwise`; of similarities, such as product kernels, the largest are nearest. "joint" pairs
        states by label; for models that were fitted separately take "observed" or "aligned", which do not depend on
        labels.
    index : {"exact", "faiss"} or an index made by `faiss_index`, default "exact"
        "exact" compares each query with every model. An index (joint alone) offers candidates by inner product, which
        are ranked by their exact divergences.
    sampled : int, default 32
        Queries that are searched both ways to measure `.recall` of an index; 0: not measured.
    evidence : Evidence or array, default None
        What is known, for quantity="posterior" alone.
    rtol : float, default None
        Of the observed divergence, as in `pairwise_kl`.
    seed : int, default None
        Of the draws of the observed divergence, as in `pairwise_kl`.
    progress : bool or function, default None
        True for a line on the terminal, or a function of what is done and of how much there is.
    **options
        Further arguments of a measure, as in `pairwise`: ground of "aggregated_wasserstein", beta of "product_kernel".

    Returns
    -------
    Nearest
        Indices and divergences in nats, each (Q, k), nearest first; it unpacks as the two. Models that lack support
        the query needs are infinitely far.

    Raises
    ------
    IncompatibleModels
        Models that cannot be compared.
    HidivError
        Arguments out of range.

    Notes
    -----
    All joint divergences are one product (definitions (3.6)), computed block by block, never the whole matrix.

    Examples
    --------
    >>> import hidiv as hd
    >>> models = [hd.Model([1.0], [[1.0]], hd.Poisson([rate])) for rate in (1, 2, 3, 4, 5)]
    >>> indices, values = hd.nearest([hd.Model([1.0], [[1.0]], hd.Poisson([2.9]))], models, 10, k=2)
    >>> indices
    array([[2, 3]])
    """
    single = is_one_model(queries)
    left, right = by_shape([queries] if single else queries, "queries"), by_shape(models)
    k, sampled = whole("k", k, 1, len(right), of="models"), whole("sampled", sampled, 0)
    if not (isinstance(index, FaissIndex) or index in ("exact", "faiss")):
        refuse(HidivError, "index", 'must be "exact", "faiss" or an index made by faiss_index', index)
    if quantity == "joint":
        if options:
            refuse(HidivError, next(iter(options)), 'is no option of quantity="joint"')
        result = _joint(left, right, tree, k, index, sampled)
    elif index != "exact":
        refuse(HidivError, "index", 'belongs to quantity="joint"', quantity, 'use index="exact"')
    else:
        given = {"evidence": evidence, "rtol": rtol, "seed": seed}
        options |= {key: value for key, value in given.items() if value is not None}
        matrix = pairwise(left, tree, right, measure=quantity, progress=progress, **options)
        result = _of_matrix(matrix, k)
    if single:
        error = None if result.std_error is None else result.std_error[0]
        late = partial(getattr, result, "notes")  # not read yet
        return replace(result, indices=result.indices[0], values=result.values[0], std_error=error, notes=late)
    return result


def _joint(left: ModelsByShape, right: ModelsByShape, tree: Any, k: int, index: Any, sampled: int) -> Nearest:
    """The nearest by the joint divergence, searched exactly or with an index."""
    check_states(right, left, "joint", ("models", "queries"))
    nodes = checked_tree(left, right, tree, ("queries", "models"))
    operands = joint_operands(left, right, nodes)
    exact = isinstance(index, str) and index == "exact"
    result = _exact(left, right, *operands, k) if exact else _by_index(right, *operands, k, index, sampled)
    labels = note_on_labels(left, right, nodes)
    return replace(result, notes=lambda: (*result.notes, *labels()))


def _of_matrix(matrix: PairwiseMatrix, k: int) -> Nearest:
    """The k smallest entries of each row of a computed matrix."""
    table = np.asarray(matrix)
    nearest_first = -1.0 if matrix.quantity in MEASURES and MEASURES[matrix.quantity].largest_is_nearest else 1.0
    columns = np.broadcast_to(np.arange(table.shape[1]), table.shape)
    indices, values = _smallest(columns, nearest_first * table, k)
    values = nearest_first * values
    error = None if matrix.std_error is None else np.take_along_axis(np.asarray(matrix.std_error), indices, axis=1)
    return Nearest(indices, values, None, matrix.notes, matrix.quantity, matrix.status, error)


def _exact(left: ModelsByShape, right: ModelsByShape, ps: list[Operand], qs: list[Operand], k: int) -> Nearest:
    """The k nearest of every query, some queries at a time."""
    indices, values = np.zeros((len(left), k), dtype=np.int64), np.full((len(left), k), np.inf)
    total = len(left) * len(right)
    with Progress("nearest models") as bar:
        done = 0
        for group, p in zip(left.groups, ps, strict=True):
            for start in range(0, len(p), QUERIES):
                places = group.places[start : start + QUERIES]

                def show(pairs: int, before: int = done) -> None:
                    bar.show(before + pairs, f"{before + pairs} of {total} pairs", total)

                indices[places], values[places] = _of_some(p.take(slice(start, start + QUERIES)), right, qs, k, show)
                done += len(places) * len(right)
    return Nearest(indices, values)


def _of_some(
    p: Operand, right: ModelsByShape, qs: list[Operand], k: int, show: Callable[[int], None] = lambda pairs: None
) -> tuple[IntArray, Array]:
    """The k nearest of a few queries: the k nearest of each block of models, then the k nearest of those.

    show: called with the number of pairs compared so far.
    """

    def block(piece: tuple[IntArray, Operand, slice]) -> tuple[IntArray, Array]:
        places, models, columns = piece
        q = models.take(columns)
        out = np.empty((len(p), len(q)))
        JointPairs(p, q, factors_of(p, q), out.shape).fill_or_beyond(out)
        return _smallest(np.broadcast_to(places[columns], out.shape), out, k)

    pieces = [
        (group.places, q, slice(start, min(start + MODELS, len(q))))
        for group, q in zip(right.groups, qs, strict=True)
        for start in range(0, len(q), MODELS)
    ]
    best = np.zeros((len(p), 0), dtype=np.int64), np.zeros((len(p), 0))
    done = 0
    with one_blas_thread(), ThreadPoolExecutor(processors()) as pool:
        for (_, _, columns), (indices, values) in zip(pieces, pool.map(block, pieces), strict=True):
            best = _smallest(np.hstack([best[0], indices]), np.hstack([best[1], values]), k)
            done += len(p) * (columns.stop - columns.start)
            show(done)
    return best


def _smallest(indices: IntArray, values: Array, k: int) -> tuple[IntArray, Array]:
    """Indices and values of the k smallest of each row, in ascending order; equal values by index."""
    if values.shape[1] > k:
        # All that are as small as the k-th, so that ties are broken by the index and not by chance.
        limit = np.partition(values, k - 1, axis=1)[:, k - 1 : k]
        width = int((values <= limit).sum(axis=1).max())
        if width < values.shape[1] and width <= 4 * k:
            among = np.argpartition(values, width - 1, axis=1)[:, :width]
            indices, values = np.take_along_axis(indices, among, axis=1), np.take_along_axis(values, among, axis=1)
    order = np.lexsort((indices, values), axis=1)[:, :k]
    return np.take_along_axis(indices, order, axis=1), np.take_along_axis(values, order, axis=1)


def _by_index(right: ModelsByShape, ps: list[Operand], qs: list[Operand], k: int, index: Any, sampled: int) -> Nearest:
    """The nearest of the candidates an index offers, and the share of the true ones among them."""
    if len(ps) > 1 or len(qs) > 1:
        refuse(HidivError, "index", "an index needs models of one shape", remedy='use index="exact"')
    p, q = ps[0], qs[0]
    built = index if isinstance(index, FaissIndex) else build_index(q, p)
    if built.n_models != len(q):
        refuse(HidivError, "index", f"was made for {counted(built.n_models, 'model')}, not for these", len(q))
    offered = candidates(built, p, k)
    values = direct_joint(p, q, np.repeat(np.arange(len(p)), offered.shape[1]), offered.ravel()).reshape(offered.shape)
    indices, values = _smallest(offered, values, k)
    note = f"{built.words}; {offered.shape[1]} candidates ranked exactly"
    if sampled < 1:
        return Nearest(indices, values, None, (f"{note}; recall not measured",))
    some = np.unique(np.linspace(0, len(p) - 1, sampled).astype(int))
    truth, _ = _of_some(p.take(some), right, qs, k)
    hits = sum(len(np.intersect1d(a, b)) for a, b in zip(truth, indices[some], strict=True))
    recall = hits / truth.size
    return Nearest(indices, values, recall, (f"{note}; recall {recall:.3f} over {len(some)} queries",))
