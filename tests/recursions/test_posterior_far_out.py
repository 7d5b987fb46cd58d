"""Observations so far out that log-weights have hundreds of millions of nats: the small numbers keep their digits."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd


def models(states):
    """p is sure of its first state given X; q hesitates between two."""
    even = np.full((states, states), 1.0 / states)
    var_p, var_q = np.full(states, 0.25), np.full(states, 1e-2)
    var_p[0], var_q[:2] = 0.5, (1e18, 1e9)
    zero = np.zeros(states)
    return [hd.Model(even[0], even, hd.Gaussian(zero, var=var)) for var in (var_p, var_q)]


def numbers(n):
    return -1.69e4 + np.random.default_rng(n).normal(size=n)


def exact(x):
    """log(1 + q(second)/q(first)): what p gives its first state is one but for a part that no double holds."""
    return np.logaddexp(0.0, 0.5 * np.log(1e9) - 0.5 * x * x * (1e-9 - 1e-18)).sum()


@pytest.mark.parametrize("states", [2, 3, 10])
@pytest.mark.parametrize(
    "tree", [hd.Tree.chain(4), hd.Tree.chain(300), hd.Tree([-1, 0, 0, 1, 1, 2]), hd.Tree.chain(40_000)], ids=str
)
def test_q_is_not_rounded_by_what_p_thinks(states, tree):
    x = numbers(tree.n_nodes)
    np.testing.assert_allclose(hd.posterior_kl(*models(states), x, tree).value, exact(x), rtol=1e-12)


@pytest.mark.parametrize("states", [2, 3, 10])
def test_batches(states):
    sequences = [numbers(n) for n in (3, 4, 5, 6, 7, 50, 51, 52, 53)]
    found = hd.posterior_kl_batch(*models(states), sequences)
    np.testing.assert_allclose(found, [exact(x) for x in sequences], rtol=1e-12)


def test_a_divergence_below_the_range_of_doubles_is_zero():
    """The true value is 4e-353; weights kept within the range of doubles left 8e-122."""
    p = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], hd.LogNormal([0.0, 0.0], std=[0.5, 0.25]))
    q = hd.Model([0.7, 0.3], [[0.5, 0.5], [0.3, 0.7]], hd.LogNormal([-12.0, 0.0], std=[0.25, 0.25]))
    for nodes in (4, 40_000):
        found = hd.posterior_kl(p, q, np.full(nodes, 6e-6))
        assert found.value == found.by_node.sum() == 0.0
