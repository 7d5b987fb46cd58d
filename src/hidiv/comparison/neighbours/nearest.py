"""The models nearest to a query: a maximum inner product, block by block, never the whole matrix."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hidiv.arguments import whole
from hidiv.comparison.collection.by_shape import Shelves, check_states, checked_tree, shelves_of
from hidiv.comparison.neighbours.faiss_index import FaissIndex, build_index, candidates
from hidiv.comparison.pairwise.blas import one_blas_thread
from hidiv.comparison.pairwise.direct import direct_joint
from hidiv.comparison.pairwise.executors import processors
from hidiv.comparison.pairwise.joint_block import JointBlock
from hidiv.comparison.pairwise.joint_pairs import joint_sides
from hidiv.comparison.pairwise.kl import pairwise_kl
from hidiv.comparison.pairwise.labels import note_on_labels
from hidiv.comparison.pairwise.matrix import PairwiseMatrix, Quantity, Status
from hidiv.comparison.pairwise.operands import Side
from hidiv.comparison.pairwise.product import factors_of
from hidiv.errors import HidivError, counted, refuse
from hidiv.models.model import Model
from hidiv.progress import Wanted
from hidiv.types import Array, IntArray
from hidiv.values import Value

QUERIES, MODELS = 256, 1 << 15  # of one block


@dataclass(frozen=True, eq=False)
class Nearest(Value):
    """Indices and divergences, each (Q, k), nearest first; unpacks as the two. `recall` with an index."""

    indices: IntArray
    values: Array
    recall: float | None = None  # share of the true k nearest that the index found, for some of the queries
    notes: tuple[str, ...] = ()
    quantity: Quantity = "joint"
    status: Status = "exact"
    std_error: Array | None = None  # of the values, where the status is "estimate"

    def __iter__(self) -> Iterator[Any]:
        return iter((self.indices, self.values))

    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> Any:
        return (self.indices, self.values)[i]


def nearest(
    queries: Any, models: Any, tree: Any, k: int, *, quantity: Quantity = "joint", index: Any = "exact",
    sampled: int = 32, evidence: Any = None, rtol: float | None = None, seed: int | None = None,
    progress: Wanted = None,
) -> Nearest:  # fmt: skip
    """The k models with the smallest D(query || model), for every query: indices and divergences, (Q, k).

    quantity: as in `pairwise_kl`. "joint" pairs states by label, and all divergences are one product (definitions
    (3.6)); for models that were fitted separately take "observed" or "aligned", which look at no labels (`rtol` and
    `seed` of the observed one as there, `evidence` of the posterior one).
    queries: a list of models, or one model for vectors (k,). Models that lack support the query needs are infinitely
    far. index="faiss" (joint alone) asks an index for candidates (inner product) and ranks those by their exact
    divergences; `.recall` says which share of the true ones it found, from `sampled` of the queries searched both ways
    (0: not measured). An index made by `faiss_index` can be used again.

    >>> import hidiv as hd
    >>> models = [hd.Model([1.0], [[1.0]], hd.Poisson([rate])) for rate in (1, 2, 3, 4, 5)]
    >>> indices, values = hd.nearest([hd.Model([1.0], [[1.0]], hd.Poisson([2.9]))], models, 10, k=2)
    >>> indices
    array([[2, 3]])
    """
    single = isinstance(queries, Model)
    left, right = shelves_of([queries] if single else queries, "queries"), shelves_of(models)
    k, sampled = whole("k", k, 1, len(right), of="models"), whole("sampled", sampled, 0)
    if not (isinstance(index, FaissIndex) or index in ("exact", "faiss")):
        refuse(HidivError, "index", 'must be "exact", "faiss" or an index made by faiss_index', index)
    if quantity == "joint":
        found = _joint(left, right, tree, k, index, sampled)
    elif index != "exact":
        refuse(HidivError, "index", 'belongs to quantity="joint"', quantity, 'use index="exact"')
    else:
        matrix = pairwise_kl(
            left, tree, right, quantity=quantity, evidence=evidence, rtol=rtol, seed=seed, progress=progress
        )
        found = _of_matrix(matrix, k)
    if single:
        error = None if found.std_error is None else found.std_error[0]
        return replace(found, indices=found.indices[0], values=found.values[0], std_error=error)
    return found


def _joint(left: Shelves, right: Shelves, tree: Any, k: int, index: Any, sampled: int) -> Nearest:
    check_states(right, left, "joint", ("models", "queries"))
    on = checked_tree(left, right, tree, ("queries", "models"))
    sides = joint_sides(left, right, on)
    found = (
        _exact(left, right, *sides, k) if isinstance(index, str) and index == "exact"
        else _by_index(right, *sides, k, index, sampled)
    )  # fmt: skip
    return replace(found, notes=(*found.notes, *note_on_labels(left, right, on)))


def _of_matrix(matrix: PairwiseMatrix, k: int) -> Nearest:
    """The smallest entries of each row of a matrix that is there."""
    table = np.asarray(matrix)
    indices, values = _smallest(np.broadcast_to(np.arange(table.shape[1]), table.shape), table, k)
    error = None if matrix.std_error is None else np.take_along_axis(np.asarray(matrix.std_error), indices, axis=1)
    return Nearest(indices, values, None, matrix.notes, matrix.quantity, matrix.status, error)


def _exact(left: Shelves, right: Shelves, ps: list[Side], qs: list[Side], k: int) -> Nearest:
    indices, values = np.zeros((len(left), k), dtype=np.int64), np.full((len(left), k), np.inf)
    for shelf, p in zip(left.shelves, ps, strict=True):
        for start in range(0, len(p), QUERIES):
            rows = slice(start, start + QUERIES)
            indices[shelf.places[rows]], values[shelf.places[rows]] = _of_some(p.take(rows), right, qs, k)
    return Nearest(indices, values)


def _of_some(p: Side, right: Shelves, qs: list[Side], k: int) -> tuple[IntArray, Array]:
    """The k nearest of a few queries: those of every block of models, then of those."""

    def block(piece: tuple[IntArray, Side, slice]) -> tuple[IntArray, Array]:
        places, side, columns = piece
        q = side.take(columns)
        out = np.empty((len(p), len(q)))
        JointBlock(p, q, factors_of(p, q), out.shape).fill(out, False)
        return _smallest(np.broadcast_to(places[columns], out.shape), out, k)

    pieces = [
        (shelf.places, q, slice(start, start + MODELS))
        for shelf, q in zip(right.shelves, qs, strict=True)
        for start in range(0, len(q), MODELS)
    ]
    best = np.zeros((len(p), 0), dtype=np.int64), np.zeros((len(p), 0))
    with one_blas_thread(), ThreadPoolExecutor(processors()) as pool:
        for indices, values in pool.map(block, pieces):
            best = _smallest(np.hstack([best[0], indices]), np.hstack([best[1], values]), k)
    return best


def _smallest(indices: IntArray, values: Array, k: int) -> tuple[IntArray, Array]:
    """The k smallest of each row in order; equal ones by index."""
    if values.shape[1] > k:
        # All that are as small as the k-th, so that ties are broken by the index and not by chance.
        limit = np.partition(values, k - 1, axis=1)[:, k - 1 : k]
        width = int((values <= limit).sum(axis=1).max())
        if width < values.shape[1]:
            among = np.argpartition(values, width - 1, axis=1)[:, :width] if width <= 4 * k else None
            if among is not None:
                indices, values = np.take_along_axis(indices, among, axis=1), np.take_along_axis(values, among, axis=1)
    order = np.lexsort((indices, values), axis=1)[:, :k]
    return np.take_along_axis(indices, order, axis=1), np.take_along_axis(values, order, axis=1)


def _by_index(right: Shelves, ps: list[Side], qs: list[Side], k: int, index: Any, sampled: int) -> Nearest:
    if len(ps) > 1 or len(qs) > 1:
        refuse(HidivError, "index", "an index needs models of one shape", remedy='use index="exact"')
    p, q = ps[0], qs[0]
    built = index if isinstance(index, FaissIndex) else build_index(q, p)
    if built.n_models != len(q):
        refuse(HidivError, "index", f"was made for {counted(built.n_models, 'model')}, not for these", len(q))
    offered = candidates(built, p, k)
    values = direct_joint(p, q, np.repeat(np.arange(len(p)), offered.shape[1]), offered.ravel()).reshape(offered.shape)
    indices, values = _smallest(offered, values, k)
    said = f"{built.words}; {offered.shape[1]} candidates ranked exactly"
    if sampled < 1:
        return Nearest(indices, values, None, (f"{said}; recall not measured",))
    some = np.unique(np.linspace(0, len(p) - 1, sampled).astype(int))
    truth, _ = _of_some(p.take(some), right, qs, k)
    hits = sum(len(np.intersect1d(a, b)) for a, b in zip(truth, indices[some], strict=True))
    recall = hits / truth.size
    return Nearest(indices, values, recall, (f"{said}; recall {recall:.3f} over {len(some)} queries",))
