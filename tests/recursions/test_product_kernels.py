"""The recursion of product kernels: twin and kernels against plain steps, with zeros and numbers of every size."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences.measures.product_kernel import subtrees_of
from hidiv.recursions.subtrees import structure
from tests.recursions.conftest import compiled

TREES = {
    "a node": hd.Tree.chain(1),
    "two nodes": hd.Tree.chain(2),
    "a chain": hd.Tree.chain(60),
    "a regular tree": hd.Tree.regular(2, 5),
    "a listed tree": hd.Tree([-1, 0, 0, 1, 1, 4], [0, 1, 2, 1, 2, 2]),
}


def tables(rng, m, n, kp, kq, groups, zeros, wide):
    def rows(*shape):
        table = rng.dirichlet(np.ones(shape[-1]), shape[:-1])
        return np.where(rng.random(table.shape) < zeros, 0.0, table)

    left = rows(m, kp), rows(m, groups, kp, kp)
    right = rows(n, kq), rows(n, groups, kq, kq)
    phi = wide * rng.normal(size=(groups, m, kp, kq, n))
    phi[rng.random(phi.shape) < zeros] = -np.inf
    return left, (np.ascontiguousarray(right[0].T), np.ascontiguousarray(np.moveaxis(right[1], 0, -1))), phi


def plain(tree, left, right, phi, i, j):
    """Logarithms node by node, from the leaves up."""
    groups = phi.shape[0]
    group = np.zeros(tree.n_nodes, dtype=int) if groups == 1 else tree.group
    below = [phi[g, i, :, :, j].copy() for g in group]
    with np.errstate(divide="ignore"):
        for u in range(tree.n_nodes - 1, 0, -1):
            a, b = np.log(left[1][i, group[u]]), np.log(right[1][group[u], :, :, j])
            terms = a[:, None, :, None] + b[None, :, None, :] + below[u][None, None]
            below[tree.parent[u]] += np.logaddexp.reduce(terms.reshape(*terms.shape[:2], -1), axis=2)
        first = np.log(left[0][i])[:, None] + np.log(right[0][:, j]) + below[0]
    return np.logaddexp.reduce(first, axis=None)


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("case", [(1, 2, 0.0, 1.0), (2, 2, 0.3, 1.0), (3, 4, 0.0, 300.0)], ids=["few", "zeros", "wide"])
def test_every_pair_against_logarithms(kernels, name, case):
    kp, kq, zeros, wide = case
    tree = TREES[name]
    groups = 3 if tree.group is not None and tree.kind == "listed" else 1
    rng = np.random.default_rng(1)
    left, right, phi = tables(rng, 2, 11, kp, kq, groups, zeros, wide)
    found = kernels.product_pairs(structure(subtrees_of(tree, groups > 1)), left, right, phi)
    expected = np.array([[plain(tree, left, right, phi, i, j) for j in range(11)] for i in range(2)])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_a_very_long_chain_adds_the_same_again_and_again(kernels):
    rng = np.random.default_rng(2)
    left, right, phi = tables(rng, 2, 9, 3, 2, 1, 0.0, 1.0)
    logs = [
        kernels.product_pairs(structure(subtrees_of(hd.Tree.chain(n), False)), left, right, phi)
        for n in (10_000, 20_000, 10**12)
    ]
    np.testing.assert_allclose((logs[2] - logs[0]) / (10**12 - 10_000), (logs[1] - logs[0]) / 10_000, rtol=1e-11)


def test_cells_that_die_out_at_their_own_rate(kernels):
    """State 1 never reaches state 0, whose emissions are the likelier: what is small must not be lost."""
    left = np.array([[0.0, 1.0]]), np.array([[[[0.5, 0.5], [0.0, 1.0]]]])
    right = np.array([[0.0], [1.0]]), np.array([[[[0.5], [0.5]], [[0.0], [1.0]]]])
    phi = np.log(np.array([[0.9, 1e-3], [1e-3, 1e-6]])).reshape(1, 1, 2, 2, 1)
    n = 300
    found = kernels.product_pairs(structure(subtrees_of(hd.Tree.chain(n), False)), left, right, phi)
    assert found[0, 0] == pytest.approx(n * np.log(1e-6), rel=1e-12)


@pytest.mark.skipif(compiled is None, reason="no compiled kernels")
def test_shapes_are_checked():
    rng = np.random.default_rng(3)
    left, right, phi = tables(rng, 2, 3, 2, 2, 1, 0.0, 1.0)
    kinds = structure(subtrees_of(hd.Tree.chain(5), False))
    for bad in (
        (kinds, (left[0][:, :1], left[1]), right, phi),
        (kinds, left, (right[0][:1], right[1]), phi),
        (kinds, left, right, np.ascontiguousarray(phi[:, :1])),
    ):
        with pytest.raises((ValueError, TypeError)):
            compiled.product_pairs(*bad)
