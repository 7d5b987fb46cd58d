"""The posterior divergence, every way it can run, against plain loops in 50 digits."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle.arithmetic import mp
from tests.recursions import posterior_truth as truth

RTOL = 1e-12


def random_parents(rng, n):
    return np.array([-1, *(rng.integers(0, u) for u in range(1, n))], dtype=np.int64)


def regular_parents(n, children):
    return np.array([-1, *((np.arange(1, n) - 1) // children)], dtype=np.int64)


def agrees(kernels, made, rtol=RTOL):
    """Value, log-likelihoods and profile against the truth, with and without the profile."""
    exact = truth.posterior(made)
    for by_node in (False, True):
        value, log_p, log_q, profile, place, failed_p, failed_q = kernels.posterior_value(
            *truth.arrays(made), None, by_node
        )
        if exact is None:
            assert failed_p >= 0 or failed_q >= 0
            continue
        assert (failed_p, failed_q) == (-1, -1)
        terms, exact_p, exact_q = exact
        total = mp.fsum(terms)
        if total == mp.inf:
            assert value == np.inf
            assert place[0] >= 0
            continue
        assert place == (-1, -1, -1)
        assert abs(value - total) <= rtol * total
        assert abs(log_p - exact_p) <= 1e-13 * abs(exact_p)
        assert abs(log_q - exact_q) <= 1e-13 * abs(exact_q)
        if by_node:
            assert abs(mp.fsum(map(float, profile)) - total) <= rtol * total
            # Entry by entry against the whole: a node's own term may be far smaller than the rounding of its marginal.
            assert max(abs(a - b) for a, b in zip(map(float, profile), terms, strict=True)) <= rtol * total


@pytest.mark.parametrize("apart", [None, 0.5, 1e-2, 1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("states", [1, 2, 3, 4, 5, 7, 8, 9, 17])
def test_chain(kernels, states, apart):
    rng = np.random.default_rng(states)
    agrees(kernels, truth.problem(rng, 90 if states < 9 else 20, states, 3, apart))


@pytest.mark.parametrize("apart", [None, 1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("states", [1, 2, 3, 4, 6, 8, 10, 17])
def test_trees(kernels, states, apart):
    rng = np.random.default_rng(states)
    for parent in (random_parents(rng, 40), regular_parents(40, 3), regular_parents(30, 29)):
        agrees(kernels, truth.problem(rng, len(parent), states, 3, apart, parent, groups=2))


@pytest.mark.parametrize("apart", [None, 1e-3, 1e-6, 1e-9])
def test_sticky_and_sharp(kernels, apart):
    rng = np.random.default_rng(7)
    for states in (2, 3):
        agrees(kernels, truth.problem(rng, 200, states, states, apart, sticky=0.999, sharp=1e-6))


@pytest.mark.parametrize("seed", range(12))
def test_zeros(kernels, seed):
    rng = np.random.default_rng(seed)
    states = 2 + seed % 3
    parent = random_parents(rng, 12) if seed % 2 else None
    agrees(kernels, truth.problem(rng, 12, states, 4, None, parent, zeros=0.25))
    same = truth.problem(rng, 12, states, 4, 1e-6, parent, zeros=0.3)  # zeros in the same places
    agrees(kernels, same)


def test_rare_but_far_state(kernels):
    # State 0 hardly ever happens and differs much; the others nearly agree: its digits must not drown theirs.
    made = truth.problem(np.random.default_rng(3), 60, 3, 4, 1e-7)
    made.p[1][:, :, 0] *= 1e-9
    made.p[1] /= made.p[1].sum(axis=-1, keepdims=True)
    made.q[1][:, :, 0] *= 3e-9
    made.q[1] /= made.q[1].sum(axis=-1, keepdims=True)
    made.p[0][0], made.q[0][0] = 1e-9, 2e-9
    made.q[2][0] = made.q[2][0][::-1].copy()
    agrees(kernels, made)


def test_long_chain(kernels):
    made = truth.problem(np.random.default_rng(4), 2000, 2, 3, 1e-6, sticky=0.999, sharp=1e-6)
    exact = mp.fsum(truth.posterior(made)[0])
    assert abs(kernels.posterior_value(*truth.arrays(made), None, False)[0] - exact) <= RTOL * exact


def test_narrow_indices(kernels):
    n, (parent, transition_of, row_of), *rest = truth.arrays(truth.problem(np.random.default_rng(5), 50, 3, 3, None))
    wide = kernels.posterior_value(n, (parent, transition_of, row_of), *rest, None, False)
    assert kernels.posterior_value(n, (parent, transition_of, row_of.astype(np.int32)), *rest, None, False) == wide


@pytest.mark.parametrize("states", [2, 3, 8, 11])
def test_far_models_on_a_long_chain(kernels, states):
    # Long enough for the expected log-ratio to be tried; the profile never takes that way.
    n = 4000 if kernels.is_compiled else 300
    made = truth.problem(np.random.default_rng(states), n, states, 5, None)
    value, log_p, log_q, *_ = kernels.posterior_value(*truth.arrays(made), None, False)
    careful, careful_p, careful_q, profile, *_ = kernels.posterior_value(*truth.arrays(made), None, True)
    assert abs(value / careful - 1) < RTOL
    assert abs(log_p / careful_p - 1) < 1e-14
    assert abs(log_q / careful_q - 1) < 1e-14
    assert abs(profile.sum() / value - 1) < RTOL


def test_neither_close_nor_far(kernels):
    # Every distance on a long chain: wherever the ways change hands the numbers go on.
    for apart in (0.1, 0.01):
        made = truth.problem(np.random.default_rng(9), 2100 if kernels.is_compiled else 200, 2, 3, apart)
        exact = mp.fsum(truth.posterior(made)[0])
        assert abs(kernels.posterior_value(*truth.arrays(made), None, False)[0] - exact) <= RTOL * exact


@pytest.mark.parametrize("apart", [1e-6, 0.3, None])
@pytest.mark.parametrize("states", [2, 3, 5])
@pytest.mark.parametrize("children", [4, 300, 20_000])
def test_many_children_of_one_parent(kernels, states, apart, children):
    # The products of many messages are far apart: an underflow must not be taken for a parent without a message.
    if not kernels.is_compiled:
        pytest.skip("the twin keeps logarithms")
    n = 20_000
    made = truth.problem(np.random.default_rng(states), n, states, 4, apart, parent=(np.arange(n) - 1) // children)
    n_nodes, places, *rest = truth.arrays(made)
    wanted = kernels.posterior_value(n_nodes, places, *rest, None, True)
    found = kernels.posterior_value(n_nodes, places, *rest, None, False)
    assert np.allclose(found[:3], wanted[:3], rtol=1e-12, atol=0.0)
