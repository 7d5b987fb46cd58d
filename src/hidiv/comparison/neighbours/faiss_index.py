"""Candidates for the nearest models from a faiss index of inner products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hidiv.arguments import whole
from hidiv.comparison.collection.by_shape import by_shape, checked_tree
from hidiv.comparison.pairwise.matrix_product import counts_of, logs_of
from hidiv.comparison.pairwise.operands import Operand, joint_operands
from hidiv.errors import HidivError, IncompatibleModels, MissingExtra, refuse
from hidiv.types import Array, IntArray
from hidiv.values import restore

TRAINED = 64  # models from which the centre of each list is learnt
OFFERED = 8  # candidates for each neighbour wanted
FAR = -70.0  # in place of log 0: below the logarithm of any probability met in practice


@dataclass(frozen=True, eq=False)
class FaissIndex:
    """A faiss index over the logarithms of models, scaled feature by feature with `scale` (F,)."""

    index: Any
    scale: Array
    n_models: int
    words: str

    def __getstate__(self) -> dict[str, Any]:
        import faiss

        return vars(self) | {"index": faiss.serialize_index(self.index)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        import faiss

        restore(self, state | {"index": faiss.deserialize_index(state["index"])})


def faiss_index(models: Any, tree: Any, *, lists: int | None = None, probes: int | None = None) -> FaissIndex:
    """An index that `nearest` can use again and again.

    Parameters
    ----------
    models : list of models, or Collection
        The models to be searched, of one shape.
    tree : Tree, int or UNTIL_END
        What the models describe; it decides which groups are used.
    lists : int, default None
        Sort the models into that many lists, of which a search looks at `probes`: much quicker, and models that lie in
        no clusters are often missed. None: a search looks at every model, in single precision.
    probes : int, default None
        Lists that a search looks at; a sixteenth of them by default.

    Returns
    -------
    FaissIndex
        For `nearest(..., index=...)`.

    Raises
    ------
    HidivError
        Models of several shapes, or `lists` out of range.
    MissingExtra
        faiss is not installed.
    IncompatibleModels
        Families without sufficient statistics.

    Examples
    --------
    >>> import hidiv as hd
    >>> models = [hd.Model([1.0], [[1.0]], hd.Poisson([rate])) for rate in (1, 2, 3, 4, 5)]
    >>> index = hd.faiss_index(models, 10)
    >>> hd.nearest(models[:1], models, 10, k=2, index=index).indices
    array([[0, 1]])
    """
    searched = by_shape(models)
    if len(searched.groups) > 1:
        refuse(HidivError, "models", "an index needs models of one shape")
    if lists is not None:
        lists = whole("lists", lists, 1, len(searched), of="models")
    operand = joint_operands(searched, searched, checked_tree(searched, searched, tree))[1][0]
    return build_index(operand, operand, lists, probes)


def build_index(q: Operand, other: Operand, lists: int | None = None, probes: int | None = None) -> FaissIndex:
    """An index over the logarithms of q, centred: what all models share does not change which one is nearest."""
    try:
        import faiss
    except ModuleNotFoundError:
        refuse(MissingExtra, "index", "needs faiss", remedy="pip install 'hidiv[faiss]'")
    logs = logs_of(q, other)
    if logs is None:
        refuse(IncompatibleModels, "index", "needs families with sufficient statistics", remedy='use index="exact"')
    logs = np.where(np.isneginf(logs), FAR, logs)
    logs -= logs.mean(axis=0)
    spread = logs.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0) ** -0.5
    vectors = np.ascontiguousarray(logs * scale, dtype=np.float32)
    m, width = vectors.shape
    index: Any = faiss.IndexFlatIP(width)
    words = "flat faiss index"
    if lists is not None:
        index = faiss.IndexIVFFlat(index, width, lists, faiss.METRIC_INNER_PRODUCT)
        index.nprobe = max(1, lists // 16) if probes is None else probes
        sample = np.linspace(0, m - 1, min(m, TRAINED * lists)).astype(int)
        index.train(vectors[sample])
        words = f"faiss index, {index.nprobe} of {lists} lists looked at"
    index.add(vectors)
    return FaissIndex(index, scale, m, words)


def candidates(index: FaissIndex, p: Operand, k: int) -> IntArray:
    """(Q, c): the candidates an index offers for each query; where it offers too few, the first models fill up."""
    counts = counts_of(p)
    if counts is None or counts.shape[1] != len(index.scale):
        refuse(IncompatibleModels, "index", "the queries do not have the shape of the models it was made for")
    wanted = min(index.n_models, max(OFFERED * k, 64))
    _, offered = index.index.search(np.ascontiguousarray(counts / index.scale, dtype=np.float32), wanted)
    for row in offered:
        lacking = np.flatnonzero(row < 0)
        if lacking.size:
            row[lacking] = np.setdiff1d(np.arange(wanted), row)[: lacking.size]
    return np.asarray(offered, dtype=np.int64)
