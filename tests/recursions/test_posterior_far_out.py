"""Observations so far out that log-weights have hundreds of millions of nats: the small numbers keep their digits."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest

import hidiv as hd
from hidiv.recursions.kernels import instruction_set


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


def in_logarithms(p, q, x):
    """The posterior divergence of two normal chains, every path listed, in 100 digits."""
    with mpmath.workdps(100):
        mpf = mpmath.mpf
        total, rows = [mpf(0), mpf(0)], []
        for path in itertools.product(range(p.n_states), repeat=len(x)):
            weights = []
            for m in (p, q):
                weight = mpf(m.initial[path[0]])
                for before, after in itertools.pairwise(path):
                    weight *= mpf(m.transition[before, after])
                for s, value in zip(path, x, strict=True):
                    weight *= mpmath.exp(-((mpf(value) - mpf(m.emission.mean[s])) ** 2) / 2)
                weights.append(weight)
            total = [a + b for a, b in zip(total, weights, strict=True)]
            rows.append(weights)
        return float(sum(a / total[0] * mpmath.log(a * total[1] / (b * total[0])) for a, b in rows))


@pytest.mark.parametrize("apart", [10.0, 12.0, 14.0, 18.0])
@pytest.mark.parametrize("states", [2, 3, 5])
def test_states_that_are_almost_known_keep_the_digits_of_what_is_left(states, apart):
    """Values from 1e-19 to 1e-70: shares of states that sum to one up to rounding had left 1e-31."""
    rng = np.random.default_rng(states)
    even = np.full((states, states), 1.0 / states)
    other = np.round(rng.dirichlet(np.full(states, 4.0), states) * 2.0**20)
    other[:, 0] += 2.0**20 - other.sum(axis=1)
    emission = hd.Gaussian(apart * np.arange(states), std=np.ones(states))
    p, q = hd.Model(even[0], even, emission), hd.Model(even[0], other / 2.0**20, emission)
    sequences = [apart * rng.integers(0, states, n) + 0.1 * rng.normal(size=n) for n in (2, 3, 4)]
    expected = [in_logarithms(p, q, x) for x in sequences]
    np.testing.assert_allclose([hd.posterior_kl(p, q, x).value for x in sequences], expected, rtol=1e-12)
    trees = [hd.Tree([-1, *range(len(x) - 1)]) for x in sequences]
    np.testing.assert_allclose(
        [hd.posterior_kl(p, q, x, t).value for x, t in zip(sequences, trees, strict=True)], expected, rtol=1e-12
    )
    np.testing.assert_allclose(hd.posterior_kl_batch(p, q, sequences), expected, rtol=1e-12)
    with_missing = [np.append(x, np.nan) for x in sequences]  # by tables
    np.testing.assert_allclose(
        hd.posterior_kl_batch(p, q, with_missing), [hd.posterior_kl(p, q, x).value for x in with_missing], rtol=1e-12
    )


def near_ones(columns):
    rng = np.random.default_rng(7)
    mean, transition = 2.0 * rng.normal(size=(4, columns)), rng.dirichlet(np.ones(4), 4)
    p = hd.Model("stationary", transition, hd.Gaussian(mean, std=np.ones((4, columns))))
    q = hd.Model(p.initial, transition, hd.Gaussian(mean + 1e-9 * rng.normal(size=mean.shape), std=np.ones(mean.shape)))
    return p, q


@pytest.mark.skipif(instruction_set() is None, reason="numpy kernels have no other way")
@pytest.mark.parametrize("columns", [20, 39])
def test_near_models_do_not_go_the_long_way(monkeypatch, columns):
    """What rounding leaves is squared: of log-ratios of 1e-9 nothing shows."""
    p, q = near_ones(columns)
    x = hd.sample(p, 40_000, seed=1)[1]
    by_node = hd.posterior_kl(p, q, x).by_node
    assert 0.0 < by_node.sum() < 1e-20 * len(x)
    monkeypatch.setattr("hidiv.divergences.posterior.kl.pair_tables", None)
    monkeypatch.setattr("hidiv.divergences.posterior.batch._of_tables", None)
    assert abs(hd.posterior_kl(p, q, x).value - by_node.sum()) < 1e-40 * len(x)
    found = hd.posterior_kl_batch(p, q, x, [400] * 100)
    assert (found < 1e-18).all()
    assert (found >= 0.0).all()
