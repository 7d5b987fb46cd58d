"""The joint divergence: growth with the length of a chain, and the upward kernel on a large tree."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import hidiv as hd
from benchmarks.models import random_model
from benchmarks.timing import Row, interleaved
from hidiv.recursions.inward import inward
from hidiv.recursions.kernels import twins


def rows() -> Iterator[Row]:
    rng = np.random.default_rng(1)
    p, q = (random_model(rng, 4, 10) for _ in range(2))
    yield interleaved(
        "joint_kl, chain of 1e12, K=4", lambda: hd.joint_kl(p, q, 10**12),
        "chain of 1e3", lambda: hd.joint_kl(p, q, 10**3), goal=5, repeat=50,
    )  # fmt: skip
    tree = hd.Tree.regular(4, 11)
    parent = tree.parent
    group = rng.integers(0, 100, tree.n_nodes)
    transition = rng.dirichlet(np.ones(2), (100, 2))
    own, root = rng.random((100, 2)), rng.random(2)
    yield interleaved(
        f"upward kernel, quad-tree of {tree.n_nodes} nodes, 100 random groups, K=2",
        lambda: inward(parent, group, transition, own, root),
        "level-vectorised numpy in plain doubles",
        lambda: plain_inward(parent, tree.level, group, transition, own, root),
        goal=0.1,
        rounds=5,
    )
    yield interleaved(
        "the same",
        lambda: inward(parent, group, transition, own, root),
        "level-vectorised numpy doing the same, doubled precision",
        lambda: twins["inward"](parent, group, transition, own, root),
        goal=0.1,
        rounds=3,
    )
    # What kernels/runtime/memory.cpp is worth. Of five results in a row four find the block of the one before, or none.
    small = hd.Tree.regular(4, 10)
    arrays = small.parent, group[: small.n_nodes], transition, own, root
    kept: list[object] = []
    yield interleaved(
        f"upward kernel, quad-tree of {small.n_nodes} nodes, each result given back before the next",
        lambda: inward(*arrays),
        "results kept, each in fresh memory",
        lambda: kept.append(inward(*arrays)),
        goal=0.9,
        repeat=5,
    )


def plain_inward(parent, level, group, transition, own, root):  # type: ignore[no-untyped-def]
    """The quickest numpy we know: all nodes of a level at once, plain doubles, children added by bincount."""
    n, k = len(parent), own.shape[1]
    bounds = np.searchsorted(level, np.arange(level[-1] + 2))
    out, below = np.empty((n, k)), np.zeros((n, k))
    for top in range(level[-1], 0, -1):
        nodes = slice(bounds[top], bounds[top + 1])
        out[nodes] = own[group[nodes]] + np.einsum("nrs,ns->nr", transition[group[nodes]], below[nodes])
        above = slice(bounds[top - 1], bounds[top])
        for s in range(k):
            below[above, s] = np.bincount(
                parent[nodes] - bounds[top - 1], out[nodes, s], minlength=bounds[top] - bounds[top - 1]
            )
    out[0] = root + below[0]
    return out
