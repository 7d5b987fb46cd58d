"""Posterior marginals of nodes and of parent-child pairs, root to leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hidiv.recursions.kernels import ranged_kernel
from hidiv.recursions.tables import Law, Layout, Places, Tables
from hidiv.recursions.upward import conditional_rows, root_law, upward
from hidiv.types import Array


@dataclass(frozen=True, eq=False)
class Marginals:
    """marginals (n, K); pairs (n, K, K) as (parent, own), row 0 zeros, or None; impossible as in Upward."""

    log_likelihood: float
    marginals: Array
    pairs: Array | None
    impossible: int | None = None


def smooth(tables: Tables, layout: Layout, with_pairs: bool = True) -> Marginals:
    """P(S_u = s | E) and P(S_parent = r, S_u = s | E) for every node."""
    value, marginals, pairs, failed = smoothed(layout.n_nodes, layout.places, tables.arrays, with_pairs)
    if failed >= 0:
        return Marginals(-np.inf, marginals[:0], None, failed)
    return Marginals(value + tables.taken_out(layout), marginals, pairs)


@ranged_kernel
def smoothed(n_nodes: int, places: Places, law: Law, with_pairs: bool) -> tuple[float, Array, Array | None, int]:
    """(log-likelihood, marginals (n, K), pairs (n, K, K) or None, failing node or -1)."""
    tables, layout = Tables(*law), Layout(n_nodes, *places)
    up = upward(tables, layout)
    n, k = n_nodes, tables.n_states
    marginals = np.zeros((n, k))
    if up.impossible is not None:
        return -np.inf, marginals, None, up.impossible
    pairs = np.zeros((n, k, k)) if with_pairs else None
    marginals[0] = root_law(tables, up)
    for nodes in layout.downward(k * k):
        joint = marginals[layout.parents(nodes)][:, :, None] * conditional_rows(tables, layout, up, nodes)
        marginals[nodes] = joint.sum(axis=1)
        if pairs is not None:
            pairs[nodes] = joint
    return up.log_likelihood, marginals, pairs, -1


def entropy_profile(tables: Tables, layout: Layout) -> tuple[Array, int | None]:
    """(n,): H(S_u | S_parent, E), the root's own entropy at 0; sums to H(S | E). And the failing node or None."""
    profile, failed = entropies(layout.n_nodes, layout.places, tables.arrays)
    return profile, None if failed < 0 else failed


@ranged_kernel
def entropies(n_nodes: int, places: Places, law: Law) -> tuple[Array, int]:
    """(profile (n,), failing node or -1)."""
    tables, layout = Tables(*law), Layout(n_nodes, *places)
    up = upward(tables, layout)
    n, k = n_nodes, tables.n_states
    if up.impossible is not None:
        return np.zeros(n), up.impossible
    marginals, profile = np.zeros((n, k)), np.zeros(n)
    marginals[0] = root_law(tables, up)
    profile[0] = entropy(marginals[0])
    for nodes in layout.downward(k * k):
        rows = conditional_rows(tables, layout, up, nodes)
        weight = marginals[layout.parents(nodes)]
        profile[nodes] = (weight * entropy(rows)).sum(axis=1)
        marginals[nodes] = (weight[:, :, None] * rows).sum(axis=1)
    return profile, -1


def entropy(p: Array) -> Array:
    """- sum p log p over the last axis, 0 log 0 = 0; near p = 1 by log1p of what the other states hold."""
    rest = p.sum(axis=-1, keepdims=True) - p
    rest = np.where(p > 0.5, others(p), rest)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_p = np.where(p > 0.5, np.log1p(-np.minimum(rest, 0.5)), np.log(p))
    return np.asarray(np.where(p > 0, -p * np.where(p > 0, log_p, 0.0), 0.0).sum(axis=-1) + 0.0)


def others(p: Array) -> Array:
    """(..., K): the sum of all entries but the largest, repeated for every entry; nothing is subtracted from one."""
    largest = p.argmax(axis=-1)[..., None]
    rest = np.where(np.arange(p.shape[-1]) == largest, 0.0, p).sum(axis=-1, keepdims=True)
    return np.broadcast_to(rest, p.shape)
