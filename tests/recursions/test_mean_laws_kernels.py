"""The mean laws of many chains at once, every way they can be computed."""

from __future__ import annotations

import numpy as np
import pytest

from hidiv.recursions.powers import _weights_of_doublings, mean_law
from tests.recursions.conftest import compiled


@pytest.mark.parametrize(("m", "k"), [(0, 2), (1, 1), (3, 4), (8, 2), (17, 8), (600, 3)])
@pytest.mark.parametrize(("children", "depth"), [(1, 1), (1, 2), (1, 99), (3, 6), (2, 13)])
def test_each_chain_as_level_by_level(kernels, m, k, children, depth):
    rng = np.random.default_rng([m, k, depth])
    initial, transition = rng.dirichlet(np.ones(k), m), rng.dirichlet(np.full(k, 0.3), (m, k))
    found = kernels.mean_laws(initial, transition, _weights_of_doublings(children, depth))
    total, law, share = np.zeros_like(initial), initial, np.float64(children) ** np.arange(depth)
    for weight in share / share.sum():
        total += weight * law
        law = np.einsum("mr,mrs->ms", law, transition)
    np.testing.assert_allclose(found, total, rtol=1e-13, atol=0)


def test_chains_that_stay_leave_or_return(kernels):
    initial = np.array([[1.0, 0.0], [0.25, 0.75], [1.0, 0.0]])
    transition = np.array([np.eye(2), [[0.0, 1.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    found = kernels.mean_laws(initial, transition, _weights_of_doublings(1, 10**6))
    np.testing.assert_allclose(found, [[1, 0], [0.25e-6, 1 - 0.25e-6], [0.5, 0.5]], rtol=1e-14, atol=0)


def test_a_stack_is_its_chains():
    rng = np.random.default_rng(1)
    initial, transition = rng.dirichlet(np.ones(9), 5), rng.dirichlet(np.ones(9), (5, 9))
    for k in (4, 9):  # side by side, and as products of matrices
        some = [initial[:, :k] / initial[:, :k].sum(axis=1, keepdims=True)]
        some.append(transition[:, :k, :k] / transition[:, :k, :k].sum(axis=2, keepdims=True))
        together = mean_law(some[0], some[1], 2, 50)
        for one, a, b in zip(together, *some, strict=True):
            np.testing.assert_allclose(one, mean_law(a, b, 2, 50), rtol=1e-14, atol=0)


@pytest.mark.parametrize(
    "given",
    [
        (np.ones((2, 3)), np.ones((2, 3, 2)), np.ones((1, 2))),
        (np.ones((2, 3)), np.ones((3, 3, 3)), np.ones((1, 2))),
        (np.ones((2, 3)), np.ones((2, 3, 3)), np.ones((1, 3))),
        (np.ones((2, 0)), np.ones((2, 0, 0)), np.ones((1, 2))),
    ]
    if compiled
    else [],
)
def test_arrays_that_do_not_fit_are_refused(given):
    with pytest.raises(ValueError, match="must"):
        compiled.mean_laws(*given)
