"""Bounds for many states: revealed states and coupled ones from above, overlaps and counts of symbols from below."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hidiv as hd
from hidiv.divergences.measures.product_kernel import half_products, log_radius, log_radius_above
from hidiv.divergences.observed.alphabets import finite_chain
from hidiv.divergences.observed.certified.many_states import coupled, revealed, tilted
from hidiv.divergences.observed.enumerated.chain_words import enumerate_chain
from hidiv.divergences.pair import Pair


def sparse(rng, n_states, n_symbols):
    """Some transitions and sometimes all but one initial probability are zero."""
    transition = rng.dirichlet(np.full(n_states, 0.5), n_states)
    transition = np.where(transition < 0.1, 0.0, transition)
    transition /= transition.sum(axis=1, keepdims=True)
    initial = np.eye(n_states)[0] if rng.random() < 0.3 else rng.dirichlet(np.ones(n_states))
    return hd.Model(initial, transition, hd.Categorical(rng.dirichlet(np.ones(n_symbols), n_states)))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4), st.integers(2, 3), st.integers(1, 7))
def test_they_hold_what_listing_all_words_gives(seed, k, width, symbols, length):
    rng = np.random.default_rng(seed)
    p, q = (finite_chain(sparse(rng, n, symbols)) for n in (k, width))
    exact = enumerate_chain(p, q, length).value
    assert tilted(p, q, length) <= exact * (1 + 1e-11) + 1e-14
    for cells in (1, 1 << 10):
        assert revealed(p, q, length, cells) >= exact * (1 - 1e-11)


@pytest.mark.parametrize("seed", range(4))
def test_rates_lie_between(seed):
    rng = np.random.default_rng(seed)
    p, q = (hd.Model("stationary", rng.dirichlet(np.ones(2), 2), hd.Categorical(rng.dirichlet(np.ones(3), 2)))
            for _ in "pq")  # fmt: skip
    rate = hd.observed_kl_rate(p, q, method="certified")
    chains = finite_chain(p), finite_chain(q)
    short, long = (revealed(*chains, None, cells) for cells in (1, 1 << 14))
    assert tilted(*chains, None) <= rate.upper
    assert rate.lower <= long <= short


def test_longer_blocks_come_near():
    """The upper bound falls to the divergence as the blocks grow; one block is the divergence itself."""
    rng = np.random.default_rng(3)
    p, q = (finite_chain(sparse(rng, 3, 2)) for _ in "pq")
    exact = enumerate_chain(p, q, 8).value
    found = [revealed(p, q, 8, cells) for cells in (1, 1 << 8, 1 << 16)]
    assert found[0] > found[1] > found[2]
    assert found[2] == pytest.approx(exact, rel=0.05)


@pytest.mark.parametrize("kind", ["gaussian", "poisson"])
def test_coupled_states_bound_numbers(kind):
    """Against certified values of two states."""
    rng = np.random.default_rng(1)
    for _ in range(2):
        p, q = (
            hd.Model(rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(2), 2),
                     hd.Gaussian(rng.normal(size=2), std=[1.0, 1.5]) if kind == "gaussian"
                     else hd.Poisson(rng.uniform(1, 5, 2)))
            for _ in "pq"
        )  # fmt: skip
        for length in (1, 30):
            assert coupled(p, q, length) >= hd.observed_kl(p, q, length, method="certified").lower
        assert coupled(p, q, None) >= hd.observed_kl_rate(p, q, method="certified").lower


def test_the_radius_is_bounded_from_above():
    rng = np.random.default_rng(2)
    for k, width in ((2, 3), (4, 4), (1, 5)):
        p, q = (
            hd.Model(
                "stationary", rng.dirichlet(np.full(n, 0.4), n), hd.Gaussian(3 * rng.normal(size=n), std=[1.0] * n)
            )
            for n in (k, width)
        )
        radius = log_radius(p, q, 0.5)
        bound = log_radius_above(p, q, half_products(Pair.of(p, q, None))[0])
        assert radius <= bound <= radius + 1e-6


def test_the_radius_of_what_is_reached():
    """States of q that it never takes are next to p: beside them those it does take are as good as nothing."""
    p = hd.Model([1.0], [[1.0]], hd.Gaussian([0.0], std=[1.0]))
    q = hd.Model([0.0, 1.0], [[1.0, 0.0], [0.0, 1.0]], hd.Gaussian([0.5, 100.0], std=[1.0, 1.0]))
    bound = log_radius_above(p, q, half_products(Pair.of(p, q, None))[0])
    np.testing.assert_allclose([bound, log_radius(p, q, 0.5)], -(100.0**2) / 8, rtol=1e-12)
    assert hd.observed_kl_rate(p, q, method="certified").lower <= 5000.0


def test_many_states_have_a_bracket():
    """What was between 0 and a large number before."""
    rng = np.random.default_rng(4)
    p, q = (sparse(rng, 8, 4) for _ in "pq")
    found = hd.observed_kl(p, q, 200, method="certified", max_seconds=0.2)
    estimate = hd.observed_kl(p, q, 200, method="montecarlo", seed=1, rtol=0.02)
    assert found.lower - 4 * estimate.std_error <= estimate.value <= found.upper + 4 * estimate.std_error
    assert found.lower > 0.1 * estimate.value
    assert found.upper < 10 * estimate.value


def test_rates_of_many_states_and_numbers_have_a_bracket():
    p, q = (
        hd.Model("stationary", np.full((3, 3), 1 / 3), hd.Gaussian(np.array([0.0, 1.0, 2.0]) + move, std=np.ones(3)))
        for move in (0.0, 5.0)
    )
    found = hd.observed_kl_rate(p, q, method="certified")
    assert found.certificate["lower"] == "overlap of the two laws"
    law = hd.observed_kl(p, q, 1, method="montecarlo", seed=1).value  # independent symbols: the rate is that of one
    assert found.lower <= law * 1.01
    assert found.upper >= law * 0.99
    assert found.lower > 0.25 * law


def test_states_next_to_infinitely_far_apart():
    p = hd.Model(
        [0.1, 0.9],
        [[1 / 3, 2 / 3], [1.0, 5e-324]],
        hd.Gaussian([[0.1, 1e154], [1.0, 2.0]], var=[[0.1, 0.2], [0.3, 4.0]]),
    )
    q = hd.Model(
        [0.1, 0.9],
        [[1 / 3, 2 / 3], [1.0, 5e-324]],
        hd.Gaussian([[0.1, 5e-324], [1.0, 2.0]], var=[[0.1, 0.2], [0.3, 4.0]]),
    )
    assert hd.observed_kl(p, q, 3, seed=0, max_samples=32).value > 1e300
    back = hd.observed_kl(q, p, 3, seed=0, max_samples=32)
    assert 1.0 < back.lower <= back.value <= back.upper < 2000.0
