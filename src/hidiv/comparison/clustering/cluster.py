"""Clusters of models that lie close together, from a matrix of divergences: by linkage, or k-medoids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hidiv.arguments import whole
from hidiv.comparison.pairwise.matrix import PairwiseMatrix
from hidiv.errors import HidivError, counted, refuse
from hidiv.types import Array, IntArray
from hidiv.values import Value

Method = Literal["average", "complete", "single", "medoids"]

MOST_TRIED = 10  # clusters, where their number is chosen by the silhouette


@dataclass(frozen=True, eq=False)
class Clusters(Value):
    """Which cluster each model is in, as `cluster` returns it.

    Parameters
    ----------
    labels : ndarray of shape (M,)
        The cluster of each model; clusters are numbered by the place of their first model.
    medoids : ndarray of shape (C,)
        The model of each cluster with the smallest sum of divergences to the others.
    silhouette : float
        How well the clusters are separated, -1 to 1: the mean over all models; 0 for one cluster.
    silhouettes : ndarray of shape (M,)
        The same for each model.
    linkage : ndarray of shape (M - 1, 4) or None
        The tree of clusters as scipy writes it; None with medoids.
    method : str
        How the clusters were found.

    Examples
    --------
    >>> import hidiv as hd
    >>> hd.cluster([[0.0, 1.0, 9.0], [1.0, 0.0, 9.0], [9.0, 9.0, 0.0]], 2).labels
    array([0, 0, 1])
    """

    labels: IntArray
    medoids: IntArray
    silhouette: float
    silhouettes: Array
    linkage: Array | None
    method: str

    @property
    def n_clusters(self) -> int:
        return len(self.medoids)

    def __repr__(self) -> str:
        sizes = ", ".join(str(n) for n in np.bincount(self.labels))
        return (
            f"{counted(self.n_clusters, 'cluster')} of {sizes} models ({self.method}), silhouette {self.silhouette:.3f}"
        )


def cluster(matrix: Any, n_clusters: int | None = None, *, method: Method = "average", seed: int = 0) -> Clusters:
    """Clusters of models from their divergences.

    Parameters
    ----------
    matrix : PairwiseMatrix or (M, M) array
        Divergences of all pairs; one that is not symmetric is added to its transpose. Of a matrix of similarities, such
        as product kernels, `PairwiseMatrix.dissimilarities` are taken.
    n_clusters : int, default None
        How many; None takes the number up to ten with the largest silhouette.
    method : {"average", "complete", "single", "medoids"}, default "average"
        SciPy's linkages, or k-medoids, with swaps until none helps.
    seed : int, default 0
        Of the starts of k-medoids.

    Returns
    -------
    Clusters
        Labels, medoids, silhouettes and, but for medoids, the linkage.

    Raises
    ------
    HidivError
        No square matrix of numbers from 0, or arguments out of range.

    Notes
    -----
    Jeffreys' divergence D(p || q) + D(q || p) (definitions (3.7)) is what is clustered; infinite divergences count as
    twice the largest finite one.

    Examples
    --------
    >>> import numpy as np
    >>> far = np.array([[0, 1, 9, 9], [1, 0, 9, 9], [9, 9, 0, 1], [9, 9, 1, 0]])
    >>> cluster(far).labels
    array([0, 0, 1, 1])
    """
    table = jeffreys(matrix)
    m = len(table)
    if method not in ("average", "complete", "single", "medoids"):
        refuse(HidivError, "method", 'must be "average", "complete", "single" or "medoids"', method)
    if n_clusters is not None:
        n_clusters = whole("n_clusters", n_clusters, 1, m, of="models")
    tree = None if method == "medoids" or m < 2 else _linkage(table, method)

    def cut(count: int) -> IntArray:
        if m < 2:
            return np.zeros(m, dtype=np.int64)
        return pam(table, count, seed) if tree is None else _cut(tree, count)

    if n_clusters is not None:
        labels = _in_order(cut(n_clusters))
    elif m < 3:
        labels = np.zeros(m, dtype=np.int64)
    else:
        tried = [_in_order(cut(count)) for count in range(2, min(MOST_TRIED, m - 1) + 1)]
        labels = max(tried, key=lambda each: float(silhouettes(table, each).mean()))
    each = silhouettes(table, labels)
    return Clusters(labels, medoids_of(table, labels), float(each.mean()), each, tree, method)


def jeffreys(matrix: Any) -> Array:
    """(M, M): the matrix, or the sum with its transpose where it is not symmetric; finite, zero on the diagonal."""
    try:
        unlike = matrix.dissimilarities() if isinstance(matrix, PairwiseMatrix) else matrix
        if np.iscomplexobj(unlike):
            raise TypeError
        table = np.array(unlike, dtype=np.float64)
    except (TypeError, ValueError):
        refuse(HidivError, "matrix", "must be a square matrix of divergences", type(matrix).__name__)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not table.size:
        refuse(HidivError, "matrix", "must be a square matrix of divergences", f"shape {table.shape}")
    if np.isnan(table).any() or (table < 0).any():
        refuse(HidivError, "matrix", "divergences are numbers from 0")
    if not (table == table.T).all():
        table = table + table.T
    finite = table[np.isfinite(table)]
    table[np.isinf(table)] = 2.0 * finite.max(initial=0.0) or 1.0
    np.fill_diagonal(table, 0.0)
    return table


def silhouettes(table: Array, labels: IntArray) -> Array:
    """(M,): (b - a) / max(a, b), a the mean divergence to the own cluster, b to the nearest other; 0 when alone."""
    count = int(labels.max()) + 1
    if count < 2:
        return np.zeros(len(labels))
    member = np.eye(count)[labels]
    sums, sizes = table @ member, member.sum(axis=0)
    own = np.arange(len(labels)), labels
    a = sums[own] / np.maximum(sizes[labels] - 1, 1)
    others = sums / sizes
    others[own] = np.inf
    b = others.min(axis=1)
    largest = np.maximum(a, b)
    value = np.divide(b - a, largest, out=np.zeros_like(a), where=largest > 0)
    return np.where(sizes[labels] > 1, value, 0.0)


def _linkage(table: Array, method: str) -> Array:
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    return np.asarray(linkage(squareform(table, checks=False), method))


def _cut(tree: Array, count: int) -> IntArray:
    from scipy.cluster.hierarchy import cut_tree

    return np.asarray(cut_tree(tree, count)[:, 0], dtype=np.int64)


def _in_order(labels: IntArray) -> IntArray:
    """The same clusters, numbered by the place of their first model."""
    _, first, which = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[which.ravel()], dtype=np.int64)


def pam(table: Array, count: int, seed: int) -> IntArray:
    """(M,): the nearest of `count` medoids, swapped one by one for as long as the sum of divergences falls.

    Ten starts drawn as k-means++ does; the best is kept.
    """
    rng = np.random.default_rng(seed)
    results = [_descend(table, _start(table, count, rng)) for _ in range(10)]
    best = min(results, key=lambda medoids: float(table[:, medoids].min(axis=1).sum()))
    return np.asarray(table[:, best].argmin(axis=1), dtype=np.int64)


def medoids_of(table: Array, labels: IntArray) -> IntArray:
    """(C,): of each cluster the model with the smallest sum of divergences to the rest of it."""
    chosen = []
    for c in range(int(labels.max()) + 1):
        inside = np.flatnonzero(labels == c)
        chosen.append(inside[table[np.ix_(inside, inside)].sum(axis=1).argmin()])
    return np.array(chosen, dtype=np.int64)


def _start(table: Array, count: int, rng: np.random.Generator) -> IntArray:
    chosen = [int(rng.integers(len(table)))]
    while len(chosen) < count:
        nearest = table[:, chosen].min(axis=1)
        nearest[chosen] = 0.0
        total = nearest.sum()
        left = np.setdiff1d(np.arange(len(table)), chosen)
        chosen.append(int(rng.choice(len(table), p=nearest / total) if total > 0 else left[0]))
    return np.array(chosen, dtype=np.int64)


def _descend(table: Array, medoids: IntArray) -> IntArray:
    """The best swap of a medoid for any other model, again and again."""
    cost = float(table[:, medoids].min(axis=1).sum())
    while True:
        best = None
        for i in range(len(medoids)):
            rest = np.delete(medoids, i)
            kept = table[:, rest].min(axis=1) if rest.size else np.full(len(table), np.inf)
            costs = np.minimum(kept[:, None], table).sum(axis=0)  # of every candidate in place of medoid i
            at = int(costs.argmin())
            if costs[at] < cost * (1.0 - 1e-12) and (best is None or costs[at] < best[0]):
                best = float(costs[at]), i, at
        if best is None:
            return medoids
        cost, i, at = best
        medoids = medoids.copy()
        medoids[i] = at
