"""The posterior divergence on trees: against numpy doing the same recursion level by level, and in any node order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import hidiv as hd
from benchmarks.timing import Row, interleaved


def rows() -> Iterator[Row]:
    rng = np.random.default_rng(3)
    quad = hd.Tree(hd.Tree.regular(4, 11).parent)
    p, q = (
        hd.Model(
            rng.dirichlet([3, 3]), rng.dirichlet([3, 3], 2), hd.Gaussian(rng.normal(size=2), std=rng.uniform(1, 2, 2))
        )
        for _ in range(2)
    )
    x = rng.normal(size=quad.n_nodes)
    tables = prepared(p, q, x, quad)
    yield interleaved(
        f"posterior kernel, quad-tree of {quad.n_nodes} nodes, K=2", lambda: compiled(*tables),
        "level-vectorised numpy", lambda: level_by_level(p, q, x, quad), 1 / 40, rounds=3,
    )  # fmt: skip
    yield interleaved(
        "posterior_kl on it, weights included", lambda: hd.posterior_kl(p, q, x, quad),
        "level-vectorised numpy", lambda: level_by_level(p, q, x, quad), rounds=3,
    )  # fmt: skip
    drawn = hd.Tree(
        np.concatenate([[-1], (rng.random(quad.n_nodes - 1) * np.arange(1, quad.n_nodes)).astype(np.int64)])
    )
    in_any_order = prepared(p, q, x, drawn)
    yield interleaved(
        "the kernel, parents drawn at random", lambda: compiled(*in_any_order),
        "level-sorted quad-tree", lambda: compiled(*tables), 3, rounds=5,
    )  # fmt: skip


def prepared(p: hd.Model, q: hd.Model, x: np.ndarray, tree: hd.Tree):  # type: ignore[no-untyped-def]
    """Tables and layout of the recursion, so that the kernel is timed alone."""
    from hidiv.divergences.posterior.kl import pair_tables
    from hidiv.inference.rows import evidence_and_tree

    return pair_tables(p, q, *evidence_and_tree(x, tree), "states", None)


def compiled(pair, layout):  # type: ignore[no-untyped-def]
    """The recursion as chosen by HIDIV_KERNELS."""
    from hidiv.recursions.posterior_sweep import posterior

    return posterior(pair, layout)


def level_by_level(p: hd.Model, q: hd.Model, x: np.ndarray, tree: hd.Tree) -> float:
    """Plain numpy: upward messages of both models and the inward quantities, all nodes of a level at once."""
    log_p, log_q = (model.emission.log_prob(x) for model in (p, q))
    weight_p, weight_q = (np.exp(w - w.max(axis=1, keepdims=True)) for w in (log_p, log_q))
    level, parent = tree.level, tree.parent
    bounds = np.searchsorted(level, np.arange(level[-1] + 2))
    inward = np.zeros_like(weight_p)
    for top in range(level[-1], 0, -1):
        nodes, above = slice(bounds[top], bounds[top + 1]), slice(bounds[top - 1], bounds[top])
        joint_p = p.transition[None] * weight_p[nodes][:, None, :]
        joint_q = q.transition[None] * weight_q[nodes][:, None, :]
        mass_p, mass_q = joint_p.sum(axis=2), joint_q.sum(axis=2)
        rows_p, rows_q = joint_p / mass_p[:, :, None], joint_q / mass_q[:, :, None]
        quantity = (rows_p * (np.log(rows_p / rows_q) + inward[nodes][:, None, :])).sum(axis=2)
        first = parent[nodes] - bounds[top - 1]
        for s in range(2):
            inward[above, s] += np.bincount(first, quantity[:, s], minlength=bounds[top] - bounds[top - 1])
            for weight, mass in ((weight_p, mass_p), (weight_q, mass_q)):
                sums = np.bincount(first, np.log(mass[:, s]), minlength=bounds[top] - bounds[top - 1])
                weight[above, s] *= np.exp(sums)
        for weight in (weight_p, weight_q):
            weight[above] /= weight[above].max(axis=1, keepdims=True)
    law_p, law_q = (m.initial * w[0] / (m.initial * w[0]).sum() for m, w in ((p, weight_p), (q, weight_q)))
    return float((law_p * (np.log(law_p / law_q) + inward[0])).sum())
