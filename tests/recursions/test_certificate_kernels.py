"""Grids of filters, sweeps over them and trees of contexts: every kernel against its twin, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from hidiv.recursions.gth import stationary
from hidiv.recursions.kernels import twins
from tests.recursions.conftest import compiled

SHAPES = [(1, 1, 2, False), (2, 2, 3, False), (3, 2, 2, True), (2, 3, 4, True), (4, 3, 3, True), (3, 4, 2, False)]


def rows(rng, shape, zeros):
    table = rng.dirichlet(np.ones(shape[1]), size=shape[0])
    if zeros:
        table[rng.random(shape) < 0.25] = 0.0
        table[table.sum(axis=1) == 0] = 1.0
    return table / table.sum(axis=1, keepdims=True)


def chains(shape, seed):
    """p and q; q can emit everything from everywhere in p's support only by luck, which the kernels must survive."""
    n, k, m, zeros = shape
    rng = np.random.default_rng([seed, n, k, m])
    p = rows(rng, (n, n), zeros), rows(rng, (n, m), zeros)
    q = rows(rng, (k, k), zeros), rows(rng, (k, m), zeros)
    return p, q


def ticks(cells):
    places = 0.5 - 0.5 * np.cos(np.pi * np.arange(cells + 1) / cells)
    places[0], places[-1] = 0.0, 1.0
    return places


def grid_of(kernel, p, q, cells=6, limit=10_000):
    k = len(q[0])
    start = np.concatenate([np.full((1, k), 1.0 / k), np.eye(k)])
    return kernel(*p, *q, start, np.ones((len(start), len(p[0])), dtype=bool), ticks(cells), limit)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_grids_are_the_same(kernels, shape, seed):
    p, q = chains(shape, seed)
    mine, expected = (grid_of(kernel, p, q) for kernel in (kernels.belief_grid, twins["belief_grid"]))
    assert len(mine[0]) == len(expected[0])
    order, other = (np.lexsort(grid[0].T) for grid in (mine, expected))
    rank, rank_other = np.argsort(order), np.argsort(other)
    np.testing.assert_array_equal(mine[0][order], expected[0][other])
    np.testing.assert_array_equal(mine[5][order], expected[5][other])
    for i in (2, 3, 4):
        np.testing.assert_allclose(mine[i][order], expected[i][other], rtol=0, atol=1e-12)
    there = mine[2][order] > 1e-12  # a share that is only rounding may stand at another corner
    np.testing.assert_array_equal(rank[mine[1]][order][there], rank_other[expected[1]][other][there])
    np.testing.assert_allclose(mine[7], expected[7], rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_filter_is_the_mean_of_its_corners(kernels, shape):
    p, q = chains(shape, 7)
    points, index, weights, log_scale, excess, *_ = grid_of(kernels.belief_grid, p, q)
    np.testing.assert_allclose(points.sum(axis=1), 1.0, rtol=0, atol=1e-15)
    joint = (points @ q[0])[:, None, :] * q[1].T[None]
    there = (weights.sum(axis=2) > 0) & np.isfinite(log_scale)
    mean = (weights[..., None] * points[index]).sum(axis=2)
    np.testing.assert_allclose((mean * np.exp(log_scale)[..., None])[there], joint[there], rtol=0, atol=1e-15)
    assert (excess < 1e-12).all()


def test_too_many_points_are_none(kernels):
    p, q = chains((2, 3, 4, False), 1)
    assert grid_of(kernels.belief_grid, p, q, limit=5) is None


@pytest.mark.parametrize("shape", SHAPES)
def test_sweeps_are_the_same(kernels, shape):
    p, q = chains(shape, 3)
    points, index, weights, log_scale, _, reached, *_ = grid_of(twins["belief_grid"], p, q)
    rng = np.random.default_rng(5)
    n, k = len(p[0]), len(q[0])
    cost = rng.random((len(points), n))
    cost[0, 0] = np.inf
    values = rng.random((len(points), n))
    for logarithmic in (False, True):
        arguments = (*p, index, weights, cost, reached, values, 3, logarithmic)
        compare(kernels.spread_sweeps(*arguments), twins["spread_sweeps"](*arguments))
    slopes = rng.random((len(points), n, k)) + 0.1
    arguments = (*p, *q, points, index, weights, reached, values, slopes, 3)
    compare(kernels.tangent_sweeps(*arguments), twins["tangent_sweeps"](*arguments))
    arguments = (index, weights, np.exp(log_scale), np.abs(log_scale).clip(0, 1).sum(axis=1), values[:, 0].copy(), 4)
    compare(kernels.chance_sweeps(*arguments), twins["chance_sweeps"](*arguments))


def compare(found, expected):
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if not shape[3]])
@pytest.mark.parametrize("threshold", [1e-2, 1e-4])
def test_contexts_are_the_same(kernels, shape, threshold):
    p, q = chains(shape, 4)
    law, middle = stationary(p[0]), np.full(len(q[0]), 1.0 / len(q[0]))
    arguments = (law, *p, middle, *q, threshold, 100, 10**6)
    compare(kernels.cross_contexts(*arguments), twins["cross_contexts"](*arguments))
    arguments = (law, *p, threshold, 100, 10**6)
    compare(kernels.entropy_contexts(*arguments), twins["entropy_contexts"](*arguments))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("threshold", [1e-1, 1e-3])
@pytest.mark.parametrize("entropy", [False, True])
def test_contexts_of_a_chain_that_begins_are_the_same(kernels, shape, threshold, entropy):
    p, q = chains(shape, 4)
    rng = np.random.default_rng(1)
    first = [rng.dirichlet(np.ones(len(law[0]))) for law in (p, q)]
    laws = np.array([first[0] @ np.linalg.matrix_power(p[0], t) for t in range(7)])
    sums = np.ascontiguousarray(np.concatenate([np.zeros((1, len(first[0]))), np.cumsum(laws, axis=0)])[::-1])
    middle = np.full(len(q[0]), 1.0 / len(q[0]))
    arguments = (first[0], sums, *p, first[1], middle, *q, entropy, threshold, 7, 10**6)
    compare(kernels.chain_contexts(*arguments), twins["chain_contexts"](*arguments))


def test_contexts_with_zeros_are_the_same(kernels):
    """q's symbol 2 excludes a state; p's law has a zero too."""
    p = np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[0.4, 0.6, 0.0], [0.3, 0.3, 0.4]])
    q = np.array([[0.6, 0.4], [0.3, 0.7]]), np.array([[0.5, 0.5, 0.0], [0.2, 0.4, 0.4]])
    arguments = (stationary(p[0]), *p, np.array([0.5, 0.5]), *q, 1e-3, 6, 10**6)
    found = kernels.cross_contexts(*arguments)
    compare(found, twins["cross_contexts"](*arguments))
    assert 0 < found[0] < found[1]


@pytest.mark.parametrize("tiny", [5e-324, 1e-310, 1e-200])
@pytest.mark.parametrize("both", [True, False])
def test_symbols_too_rare_for_doubles_have_no_bounds_but_never_nan(kernels, tiny, both):
    """Products of such probabilities underflow: what q can emit would look impossible."""
    p = np.array([[0.5, 0.5], [0.2, 0.8]]), np.array([[0.4, 0.3, 0.3], [0.3, 0.3, 0.4]])
    q = np.array([[0.6, 0.4], [0.3, 0.7]]), np.array([[0.5, 0.5, tiny], [0.2, 0.8, tiny if both else 0.0]])
    half = np.array([0.5, 0.5])
    arguments = (stationary(p[0]), *p, half, *q, 1e-2, 6, 10**6)
    assert kernels.cross_contexts(*arguments)[:2] == twins["cross_contexts"](*arguments)[:2] == (0.0, np.inf)
    arguments = (half, np.ones((7, 2)), *p, half, half, *q, False, 1e-2, 6, 10**6)
    assert kernels.chain_contexts(*arguments)[:2] == twins["chain_contexts"](*arguments)[:2] == (0.0, np.inf)
    arguments = (stationary(q[0]), *q, 1e-2, 6, 10**6)
    compare(kernels.entropy_contexts(*arguments), twins["entropy_contexts"](*arguments))


def test_bounds_do_not_take_an_underflow_for_an_impossible_symbol(kernels):
    """After x x only the faint state 1 of q can emit y, with a probability of 1e-297 or so: the bounds say infinity
    above, and nothing that is wrong below."""
    p = np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([[0.5, 0.5], [0.5, 0.5]])
    q = np.array([[1 - 1e-99, 1e-99], [0.0, 1.0]]), np.array([[1.0, 0.0], [1e-140, 1.0]])
    arguments = (np.array([0.5, 0.5]), *p, np.array([0.5, 0.5]), *q, 1e-3, 8, 10**6)
    lower, upper, *_ = kernels.cross_contexts(*arguments)
    compare(kernels.cross_contexts(*arguments), twins["cross_contexts"](*arguments))
    assert np.isfinite(lower)
    assert upper > lower


def test_contexts_beyond_the_limit_are_not_finished(kernels):
    p, q = chains((2, 2, 3, False), 4)
    law = stationary(p[0])
    assert not kernels.cross_contexts(law, *p, np.array([0.5, 0.5]), *q, 1e-6, 100, 50)[4]
    assert not kernels.entropy_contexts(law, *p, 1e-6, 100, 50)[4]


@pytest.mark.parametrize(("shape", "depth"), [((5, 2), 5), ((6, 3), 5), ((6, 2), 1)] if compiled else [])
def test_laws_of_a_chain_that_begins_are_checked(shape, depth):
    p, q = chains((2, 2, 3, False), 4)
    half = np.full(2, 0.5)
    with pytest.raises(ValueError, match="laws must have shape"):
        compiled.chain_contexts(half, np.ones(shape), *p, half, half, *q, False, 1e-2, depth, 100)


@pytest.mark.parametrize("what", ["ticks", "start", "states", "index"] if compiled else [])
def test_wrong_arrays_are_refused(what):
    p, q = chains((2, 2, 3, False), 4)
    start, states, places = np.full((1, 2), 0.5), np.ones((1, 2), dtype=bool), ticks(4)
    if what == "index":
        points, index, weights, *_ = grid_of(compiled.belief_grid, p, q)
        index[0, 0, 0] = len(points)
        with pytest.raises(ValueError, match="index must lie in"):
            compiled.chance_sweeps(index, weights, weights[:, :, 0].copy(), points[:, 0].copy(), points[:, 0].copy(), 1)
        return
    if what == "ticks":
        places = places[::-1].copy()
    elif what == "start":
        start = start * 2
    else:
        states = np.ones((1, 3), dtype=bool)
    with pytest.raises(ValueError, match={"ticks": "ascend", "start": "sum to one", "states": "start_states"}[what]):
        compiled.belief_grid(*p, *q, start, states, places, 100)
