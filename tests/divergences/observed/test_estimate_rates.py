"""Rates by long paths against certified ones, and against quadrature for numbers."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences.observed.sampled.draws import Drawn
from hidiv.divergences.observed.sampled.long_paths import classes_of, paths_of
from hidiv.divergences.observed.sampled.rate_estimate import _carry, _merged
from tests.divergences.observed.models import P, Q, gaussian_pair, models


@pytest.mark.parametrize(("p", "q"), [(P, Q), (Q, P), models("sticky", 3), models("sharp", 4)])
def test_paths_agree_with_certified_rates(p, q):
    certified = hd.observed_kl_rate(p, q, method="certified")
    found = hd.observed_kl_rate(p, q, method="montecarlo", seed=1, max_samples=20_000)
    assert found.status == "estimate"
    assert found.per == "step"
    assert abs(found.value - certified.value) < 4 * found.std_error
    assert found.std_error < 0.05 * found.value


def test_one_path_for_each_closed_class():
    """Two closed classes, one entered from a transient state and by itself, the other a single state."""
    p = hd.Model(
        [0.3, 0.3, 0.4, 0.0],
        [[0.9, 0.1, 0, 0], [0.2, 0.8, 0, 0], [0.1, 0.1, 0.2, 0.6], [0, 0, 0, 1.0]],
        hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7], [0.3, 0.3, 0.4], [0.2, 0.2, 0.6]]),
    )
    shares = [(share, part.n_states) for share, part in classes_of(p)]
    assert shares == [(pytest.approx(0.7), 2), (pytest.approx(0.3), 1)]
    found = hd.observed_kl_rate(p, Q, method="montecarlo", seed=1)
    assert "2 paths" in found.notes[0]
    assert abs(found.value - hd.observed_kl_rate(p, Q, method="certified").value) < 4 * found.std_error


def test_different_numbers_of_states_and_vectors():
    p, q = models("dirichlet", 2, 4, (3, 2))
    found = hd.observed_kl_rate(p, q, method="montecarlo", seed=2)
    long = hd.observed_kl(p, q, 400, method="montecarlo", seed=3, rtol=1e-4)
    short = hd.observed_kl(p, q, 200, method="montecarlo", seed=4, rtol=1e-4)
    error = np.hypot(long.std_error, short.std_error) / 200
    assert abs(found.value - (long.value - short.value) / 200) < 4 * np.hypot(found.std_error, error)
    one = hd.Model([0.5, 0.5], P.transition, hd.Gaussian([[0.0, 2.0], [1.0, 1.0]], std=[[1.0, 1.0], [2.0, 1.0]]))
    two = hd.Model([1.0], [[1.0]], hd.Gaussian([[0.3, 1.0]], std=[[1.5, 1.0]]))
    found = hd.observed_kl_rate(one, two, method="montecarlo", seed=5, max_samples=20_000)
    again = hd.observed_kl(one, two, 60, method="montecarlo", seed=6, max_samples=3000)
    assert found.value == pytest.approx(again.value / 60, rel=0.02)  # the start of 60 steps counts for a percent


def test_same_seed_same_path():
    """As far as it goes: FEWEST batches, whatever the number of steps asked for."""
    values = [hd.observed_kl_rate(P, Q, method="montecarlo", seed=seed, max_samples=2).value for seed in (1, 1, 2)]
    assert values[0] == values[1] != values[2]


def test_batches_are_merged_and_their_correlation_is_seen():
    draws = np.arange(5000.0)
    merged = _merged(Drawn(draws, draws, draws[:, None], draws[:, None]))
    assert len(merged.base) == 625
    assert merged.base.mean() == draws.mean()
    assert _carry(draws) > 0.99
    assert abs(_carry(np.random.default_rng(0).normal(size=4000))) < 0.05


def test_a_rate_of_numbers():
    p, q = gaussian_pair()
    found = hd.observed_kl_rate(p, q, method="montecarlo", seed=7, max_samples=10_000)
    assert abs(found.value - 0.0842694620932) < 4 * found.std_error


def test_batches_are_as_long_as_the_memory():
    """Batches of 64 steps of a chain that stays for hundreds are alike, and their spread says too little."""
    stay = np.eye(2)
    emission = hd.Categorical([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    memories = []
    for moves in (0.5, 0.05, 0.005, 1e-9):
        p = hd.Model([0.5, 0.5], (1 - moves) * stay + moves * (1 - stay), emission)
        memories.append(paths_of(p, p, [np.random.default_rng(0)])[0].memory)
    assert memories == [64, 64, 512, 4096]
    slow = hd.Model([0.5, 0.5], 0.995 * stay + 0.005 * (1 - stay), emission)
    other = hd.Model([0.5, 0.5], 0.99 * stay + 0.01 * (1 - stay), hd.Categorical([[0.6, 0.2, 0.2], [0.2, 0.3, 0.5]]))
    found = hd.observed_kl_rate(slow, other, method="montecarlo", seed=3, rtol=0.5)
    assert found.n_samples >= 128 * 512
    assert abs(found.value - hd.observed_kl_rate(slow, other).value) < 4 * found.std_error
    draws = np.arange(100.0)
    assert len(_merged(Drawn(draws, draws, draws[:, None], draws[:, None]), 4096).base) == 25  # not fewer than 16
