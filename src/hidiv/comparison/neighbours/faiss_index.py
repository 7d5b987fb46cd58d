"""Candidates for the nearest models from a faiss index of inner products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hidiv.arguments import whole
from hidiv.comparison.collection.by_shape import by_shape, checked_tree
from hidiv.comparison.pairwise.joint_pairs import joint_operands
from hidiv.comparison.pairwise.operands import Operand
from hidiv.comparison.pairwise.product import counts_of, logs_of
from hidiv.errors import HidivError, IncompatibleModels, MissingExtra, refuse
from hidiv.types import Array, IntArray
from hidiv.values import restore

TRAINED = 64  # models a list that its centre is learnt from
OFFERED = 8  # candidates for each neighbour wanted
FAR = -70.0  # stands for the logarithm of 0: less than any probability met in practice


@dataclass(frozen=True, eq=False)
class FaissIndex:
    """An index over the logarithms of models; `scale` (F,) makes both sides of the inner product alike."""

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
    """An index to hand to `nearest` again and again; the tree tells which groups are used.

    Without `lists` every model is looked at, in single precision. With it models are sorted into that many lists and a
    search looks at `probes` of them (a sixteenth): much quicker, and models that lie in no clusters are often missed.
    """
    shelves = by_shape(models)
    if len(shelves.groups) > 1:
        refuse(HidivError, "models", "an index needs models of one shape")
    if lists is not None:
        lists = whole("lists", lists, 1, len(shelves), of="models")
    side = joint_operands(shelves, shelves, checked_tree(shelves, shelves, tree))[1][0]
    return build_index(side, side, lists, probes)


def build_index(q: Operand, other: Operand, lists: int | None = None, probes: int | None = None) -> FaissIndex:
    """The logarithms of q, centred: what all models share does not change which one is nearest."""
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
    """(Q, c): models an index offers; where it offers too few, the first models stand in."""
    counts = counts_of(p)
    if counts is None or counts.shape[1] != len(index.scale):
        refuse(IncompatibleModels, "index", "the queries do not have the shape of the models it was made for")
    wanted = min(index.n_models, max(OFFERED * k, 64))
    _, found = index.index.search(np.ascontiguousarray(counts / index.scale, dtype=np.float32), wanted)
    for row in found:
        lacking = np.flatnonzero(row < 0)
        if lacking.size:
            row[lacking] = np.setdiff1d(np.arange(wanted), row)[: lacking.size]
    return np.asarray(found, dtype=np.int64)
