"""The ways of doing a batch in lanes: expected log-ratios, products, term by term; each kept where it holds."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.emissions.families.gaussian import Gaussian, tables
from hidiv.recursions.terms import log_ratio
from tests.oracle.arithmetic import mp
from tests.recursions import posterior_truth as truth
from tests.recursions import trees


@pytest.mark.parametrize("apart", [1e-9, 1e-6, 1e-3, 0.1, 0.3, None])
@pytest.mark.parametrize(
    ("sticky", "sharp"), [(None, None), (0.99, None), (0.999999, None), (None, 1e-3), (0.99, 1e-6)]
)
@pytest.mark.parametrize("states", [2, 5, 10])
def test_every_distance_keeps_its_digits(kernels, states, sticky, sharp, apart):
    if not kernels.is_compiled:
        pytest.skip("the twin does one sequence after another")
    rng = np.random.default_rng(states)
    lengths = np.array([1, 2, 64, 65, 66, 130, 300, 40, 90, 200, 129])
    start = np.concatenate([[0], np.cumsum(lengths)])
    made = truth.problem(rng, int(start[-1]), states, states + 1, apart, sticky=sticky, sharp=sharp)
    _, (_, _, row_of), *rest = truth.arrays(made)
    values, found = kernels.posterior_sequences(start, (None, None, row_of), *rest, None)
    assert (found == -1).all()
    for i, n in enumerate(lengths):
        part = row_of[start[i] : start[i + 1]].copy()
        alone = kernels.posterior_value(int(n), (None, None, part), *rest, None, False)
        assert np.allclose(values[i], alone[:3], rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("apart", [1e-9, 1e-4, 0.05, None])
@pytest.mark.parametrize("states", [2, 3, 6])
def test_against_fifty_digits(kernels, states, apart):
    made = truth.problem(np.random.default_rng(states), 90, states, 3, apart, sticky=0.9)
    _, (_, _, row_of), *rest = truth.arrays(made)
    values, _ = kernels.posterior_sequences(np.array([0, 90]), (None, None, row_of), *rest, None)
    with mp.workdps(50):
        wanted = mp.fsum(truth.posterior(made)[0])
        assert abs(values[0, 0] - wanted) <= 1e-12 * wanted


@pytest.mark.parametrize("apart", [1e-3, None])
@pytest.mark.parametrize("symbols", [8, 9, 40, 5000])
@pytest.mark.parametrize("states", [2, 3, 4])
def test_lanes_read_rows_in_any_order(kernels, states, symbols, apart):
    """Eight rows may begin and end as neighbours do and be none; those of few symbols often are."""
    if not kernels.is_compiled:
        pytest.skip("the twin has no lanes")
    rng = np.random.default_rng([states, symbols])
    made = truth.problem(rng, 20_000, states, symbols, apart, parent=trees.anyhow(20_000, rng))
    n_nodes, (parent, _, row_of), *rest = truth.arrays(made)
    wanted = kernels.posterior_value(n_nodes, (parent, None, row_of), *rest, None, True)  # by node: no lanes
    found = kernels.posterior_value(n_nodes, (parent, None, row_of), *rest, None, False)
    assert np.allclose(found[:3], wanted[:3], rtol=1e-12, atol=0.0)
    start = np.arange(0, 20_001, 500)
    values, _ = kernels.posterior_sequences(start, (None, None, row_of), *rest, None)
    for i, value in enumerate(values):
        part = row_of[start[i] : start[i + 1]].copy()
        alone = kernels.posterior_value(500, (None, None, part), *rest, None, True)
        assert np.allclose(value, alone[:3], rtol=1e-12, atol=0.0)


def normal_problem(rng, n, states, features, apart):
    """Two models of normal laws and observations: what `posterior_normal_sequences` takes beside where they start."""
    p = rng.dirichlet(np.ones(states)), rng.dirichlet(np.ones(states), (1, states))
    mean, std = 2 * rng.normal(size=(states, features)), rng.uniform(0.5, 2, (states, features))
    if apart is None:
        q = rng.dirichlet(np.ones(states)), rng.dirichlet(np.ones(states), (1, states))
        other = Gaussian(2 * rng.normal(size=(states, features)), std=std)
    else:
        moved = p[1] * (1 + apart * rng.uniform(-1, 1, p[1].shape))
        q = p[0].copy(), moved / moved.sum(axis=-1, keepdims=True)
        other = Gaussian(mean + apart * rng.normal(size=mean.shape), std=std * (1 + apart))
    pair = tables(Gaussian(mean, std=std), other)
    ratio = log_ratio(p[0], q[0]), log_ratio(p[1], q[1])
    return p, q, ratio, (3 * rng.normal(size=(n, features)), pair.p, pair.q, pair.between)


@pytest.mark.parametrize("apart", [1e-9, 1e-3, 0.3, None])
@pytest.mark.parametrize(("states", "features"), [(1, 1), (2, 1), (4, 3), (10, 1), (16, 2), (17, 1)])
def test_normal_laws_as_from_their_tables(kernels, states, features, apart):
    rng = np.random.default_rng(states)
    start = np.concatenate([[0], np.cumsum([1, 2, 65, 130, 64, 7, 33, 20, 90, 12])])
    p, q, ratio, normal = normal_problem(rng, int(start[-1]), states, features, apart)
    values, found = kernels.posterior_normal_sequences(start, p, q, ratio, normal, 4096.0)
    assert (found == -1).all()
    log_p, log_q, between, odd = kernels.normal_tables(*normal, True)
    assert not odd
    laws = (*p, log_p), (*q, log_q), (*ratio, between)
    wanted, _ = kernels.posterior_sequences(start, (None, None, None), *laws, None)
    assert np.allclose(values, wanted, rtol=1e-12, atol=1e-25)
    for threads in (1, 2, 3):
        again, _ = kernels.posterior_normal_sequences(start, p, q, ratio, normal, 4096.0, threads)
        assert np.array_equal(again, values)


@pytest.mark.parametrize("odd", [np.nan, np.inf, 1e6])
@pytest.mark.parametrize("where", [0, 5, 29])
def test_numbers_that_need_tables_are_told(kernels, odd, where):
    p, q, ratio, normal = normal_problem(np.random.default_rng(3), 30, 3, 1, 1e-3)
    normal[0][where] = odd
    assert kernels.posterior_normal_sequences(np.array([0, 10, 30]), p, q, ratio, normal, 4096.0) is None


@pytest.mark.parametrize("states", [2, 3, 8])
def test_a_tree_of_one_node_reads_no_records(states):
    """Memory that earlier calls gave back holds their numbers."""
    rng = np.random.default_rng(states)
    p, q = (
        hd.Model(
            *(rng.dirichlet(np.ones(states), size) for size in (None, states)), hd.Poisson(rng.uniform(1, 9, states))
        )
        for _ in range(2)
    )
    wanted = hd.posterior_kl(p, q, [4.0], hd.Tree.chain(1)).value
    for nodes in (3, 50, 1000):
        hd.posterior_kl(p, q, rng.integers(0, 9, nodes).astype(float), hd.Tree(trees.anyhow(nodes, rng)))
        assert hd.posterior_kl(p, q, [4.0], hd.Tree([-1])).value == pytest.approx(wanted, rel=1e-12, abs=0)
