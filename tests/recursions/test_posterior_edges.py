"""Deep trees, wide stars, weights no double can hold: the posterior divergence where plain products would fail."""

from __future__ import annotations

from math import fsum

import numpy as np
import pytest

from tests.recursions import posterior_truth as truth


def of(kernels, made, by_node=False):
    return kernels.posterior_value(*truth.arrays(made), None, by_node)


def test_chain_is_the_path(kernels):
    made = truth.problem(np.random.default_rng(1), 500, 3, 4, None)
    chain = of(kernels, made)
    made.parent = np.arange(500) - 1
    path = of(kernels, made)
    assert np.allclose(chain[:3], path[:3], rtol=1e-13, atol=0.0)


def test_depth(kernels):
    n = 100_000 if kernels.is_compiled else 1_000
    made = truth.problem(np.random.default_rng(2), n, 2, 3, 1e-3, np.arange(n) - 1)
    value, *_, profile, _, _, _ = of(kernels, made, True)
    assert abs(fsum(profile) / value - 1) < 1e-12
    made.parent = None
    assert abs(of(kernels, made)[0] / value - 1) < 1e-12


@pytest.mark.parametrize("apart", [None, 1e-6])
def test_star(kernels, apart):
    # All leaves alike but for their symbol: the root's law is a product of powers, known in closed form.
    n = 100_001
    parent = np.zeros(n, dtype=np.int64)
    parent[0] = -1
    made = truth.problem(np.random.default_rng(3), n, 2, 2, apart, parent)
    made.row_of[1:] = np.arange(n - 1) % 2
    exact = star_value(made)
    found = of(kernels, made)
    assert abs(found[0] - exact) <= 1e-12 * exact


def star_value(made):
    """Root term plus leaves, each leaf's rows the same for its symbol."""
    mp = truth.mp
    counts = np.bincount(made.row_of[1:], minlength=2)
    laws = []
    for initial, transition, emission in (made.p, made.q):
        exact = [[mp.mpf(float(x)) for x in part.ravel()] for part in (initial, transition[0], emission)]
        joint = [[[exact[1][2 * r + s] * exact[2][2 * s + x] for s in range(2)] for r in range(2)] for x in range(2)]
        sums = [[mp.fsum(row) for row in rows] for rows in joint]
        root = [
            exact[0][r]
            * exact[2][2 * r + int(made.row_of[0])]
            * mp.fprod(sums[x][r] ** int(counts[x]) for x in range(2))
            for r in range(2)
        ]
        rows = [[[a / total for a in row] for row, total in zip(joint[x], sums[x], strict=True)] for x in range(2)]
        laws.append(([a / mp.fsum(root) for a in root], rows))
    (root_p, rows_p), (root_q, rows_q) = laws
    value = truth.row_divergence(root_p, root_q)
    for x in range(2):
        for r in range(2):
            value += int(counts[x]) * root_p[r] * truth.row_divergence(rows_p[x][r], rows_q[x][r])
    return value


def test_weights_beyond_doubles(kernels):
    # A left-to-right chain whose best-fitting state is out of reach: exp(log weight) underflows beside the largest.
    rng = np.random.default_rng(4)
    made = truth.problem(rng, 40, 3, 4, None)
    for model in (made.p, made.q):
        model[1][0] = [[0.9, 0.1, 0.0], [0.0, 0.9, 0.1], [0.0, 0.0, 1.0]]
        model[0][:] = [1.0, 0.0, 0.0]
    n, places, p, q, ratio = truth.arrays(made)
    shift = np.array([0.0, -800.0, -3000.0])  # the same for both models and every symbol
    shifted = [(law[0], law[1], law[2] + shift) for law in (p, q)]
    low = kernels.posterior_value(n, places, *shifted, ratio, None, False)
    high = kernels.posterior_value(n, places, *[(law[0], law[1], law[2] - shift) for law in (p, q)], ratio, None, False)
    for found in (low, high):
        assert np.isfinite(found[0])
        assert np.isfinite(found[1])
        assert found[0] >= 0.0
    # State 0 alone remains where leaving it costs 800 nats: with one path nothing is left to diverge.
    assert low[0] < 1e-300


def test_wild_and_dense(kernels):
    # No zeros, but weights 2000 nats apart: the scaled doubles hand over, and the numbers agree with small weights.
    made = truth.problem(np.random.default_rng(5), 200, 3, 4, 1e-3)
    n, places, p, q, ratio = truth.arrays(made)
    wild = np.zeros((4, 3))
    wild[1, 2] = -2000.0
    wild[2, :2] = -1500.0
    shifted = [(law[0], law[1], law[2] + wild) for law in (p, q)]
    found = kernels.posterior_value(n, places, *shifted, ratio, None, False)
    profile = kernels.posterior_value(n, places, *shifted, ratio, None, True)
    assert abs(found[0] / profile[0] - 1) < 1e-12
    assert abs(fsum(profile[3]) / found[0] - 1) < 1e-12


def test_impossible_evidence_is_named(kernels):
    made = truth.problem(np.random.default_rng(6), 9, 2, 3, None)
    made.q[2][:, 1] = 0.0
    made.row_of[:] = 0
    made.row_of[[2, 5]] = 1
    *_, failed_p, failed_q = of(kernels, made)
    assert (failed_p, failed_q) == (-1, 5)


def test_infinite_place(kernels):
    made = truth.problem(np.random.default_rng(7), 9, 3, 3, None)
    made.q[1][0, 1, 2] = 0.0
    value, *_, place, _, _ = of(kernels, made)
    assert value == np.inf
    assert place == (1, 1, 2)


def test_many_groups(kernels):
    made = truth.problem(np.random.default_rng(8), 300, 2, 3, 1e-4, groups=300)
    chain = of(kernels, made)
    made.parent = np.arange(300) - 1
    assert abs(of(kernels, made)[0] / chain[0] - 1) < 1e-12


@pytest.mark.parametrize("share", [0.02, 1.0])
@pytest.mark.parametrize("states", [2, 3, 10, 17])
def test_rows_where_one_model_rules_out_what_the_other_takes(kernels, states, share):
    # Weights of thousands of nats: a state that p prefers is hopeless under q, and the other way round.
    rng = np.random.default_rng(states)
    n = 300 if kernels.is_compiled else 30  # from 256 nodes on expected log-ratios are added up
    p, q = (
        (rng.dirichlet(np.ones(states)), 0.9 * rng.dirichlet(np.ones(states), (1, states)) + 0.1 / states)
        for _ in range(2)
    )
    weights = rng.normal(size=(n, states)) - 1000.0 * rng.random((n, states)) * (rng.random((n, 1)) < share)
    apart = rng.normal(size=(n, states)) + 5000.0 * rng.normal(size=(n, states)) * (rng.random((n, 1)) < share)
    ratio = [np.log(b / a) for a, b in zip(p, q, strict=True)]
    tables = (*p, weights), (*q, weights + apart), (*ratio, apart)
    found = kernels.posterior_value(n, (None, None, None), *tables, None, False)
    exact = truth_of_chain(*tables)
    assert abs(found[0] - exact[0]) <= 1e-12 * exact[0]
    np.testing.assert_allclose([float(each) for each in found[1:3]], [float(each) for each in exact[1:]], rtol=1e-12)


@pytest.mark.parametrize("apart", [1e-9, 1.0])
@pytest.mark.parametrize("states", [2, 3, 10])
def test_states_that_one_model_hardly_takes_spoil_no_digits_of_the_others(kernels, states, apart):
    # Some states have no more than e^-280 of p's weight and more, or far less, of q's; all others nearly agree.
    rng = np.random.default_rng(states)
    n = 100 if kernels.is_compiled else 20
    p = rng.dirichlet(np.ones(states)), 0.9 * rng.dirichlet(np.ones(states), (1, states)) + 0.1 / states
    weights, ratio = rng.normal(size=(n, states)), apart * rng.normal(size=(n, states))
    light = (rng.random((n, states)) < 0.4) & (rng.random((n, 1)) < 0.7)
    light[np.arange(n), rng.integers(0, states, n)] = False
    weights -= np.where(light, 280.0 + 500.0 * rng.random(light.shape), 0.0)
    ratio += np.where(light, 400.0 * rng.normal(size=light.shape), 0.0)
    none = np.zeros(states), np.zeros((1, states, states))
    tables = (*p, weights), (*p, weights + ratio), (*none, ratio)
    found = kernels.posterior_value(n, (None, None, None), *tables, None, False)
    exact = truth_of_chain(*tables)
    assert abs(found[0] - exact[0]) <= 1e-12 * exact[0]
    np.testing.assert_allclose([float(each) for each in found[1:3]], [float(each) for each in exact[1:]], rtol=1e-12)


def truth_of_chain(p, q, ratio):
    """Value and log-likelihoods of a chain in fifty digits, all sums as they stand."""
    mp = truth.mp
    with mp.workdps(50):
        n, k = p[2].shape
        weights = [[[mp.mpf(float(p[2][u, s])) for s in range(k)] for u in range(n)]]
        weights.append([[weights[0][u][s] + mp.mpf(float(ratio[2][u, s])) for s in range(k)] for u in range(n)])
        initial = [[mp.mpf(float(x)) for x in law[0]] for law in (p, q)]
        rows = [[[mp.mpf(float(x)) for x in row] for row in law[1][0]] for law in (p, q)]
        below = [[mp.mpf(1)] * k, [mp.mpf(1)] * k]
        value = [mp.mpf(0)] * k
        for u in range(n - 1, -1, -1):
            mass = [[mp.exp(weights[m][u][s]) * below[m][s] for s in range(k)] for m in range(2)]
            parents = range(1 if u == 0 else k)
            laws = [[initial[m]] if u == 0 else rows[m] for m in range(2)]
            sums = [[mp.fsum(laws[m][r][s] * mass[m][s] for s in range(k)) for r in parents] for m in range(2)]
            new = []
            for r in parents:
                total = mp.mpf(0)
                for s in range(k):
                    first, second = (laws[m][r][s] * mass[m][s] / sums[m][r] for m in range(2))
                    total += first * (mp.log(first / second) + value[s])
                new.append(total)
            value, below = new, sums
        return value[0], mp.log(below[0][0]), mp.log(below[1][0])
