"""What "auto" does depends on operations, not on the clock: the same result on a slow and on a fast machine."""

from __future__ import annotations

from math import inf
from time import monotonic

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences.observed import budget as counting
from hidiv.divergences.observed.budget import Effort
from hidiv.divergences.observed.sampled import stopping


def drawn(n_states, seed, n_symbols=3, stay=0.0):
    rng = np.random.default_rng([seed, n_states])
    transition = stay * np.eye(n_states) + (1 - stay) * rng.dirichlet(np.ones(n_states), n_states)
    return hd.Model("stationary", transition, hd.Categorical(rng.dirichlet(np.ones(n_symbols), n_states)))


TREE = hd.Tree([-1, 0, 0, 0, 1, 1, 2, 4, 4, 5, 5, 6, 7, 8])
CALLS = {
    "rate": lambda **how: hd.observed_kl_rate(drawn(3, 3), drawn(3, 4), **how),
    "hard rate": lambda **how: hd.observed_kl_rate(
        drawn(4, 3, stay=0.9), drawn(4, 4, stay=0.9), max_samples=4096, **how
    ),
    "chain": lambda **how: hd.observed_kl(drawn(3, 3), drawn(3, 4), 40, **how),
    "hard chain": lambda **how: hd.observed_kl(
        drawn(4, 3, stay=0.9), drawn(4, 4, stay=0.9), 40, max_samples=200, **how
    ),
    "regular tree": lambda **how: hd.observed_kl(drawn(2, 3), drawn(2, 4), hd.Tree.regular(2, 3), rtol=1e-9, **how),
    "listed tree": lambda **how: hd.observed_kl(drawn(2, 3), drawn(2, 4), TREE, rtol=1e-7, max_samples=200, **how),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_fast_and_a_slow_clock_give_the_same_result(call, monkeypatch):
    monkeypatch.setattr("hidiv.divergences.observed.budget.SOON", 2e7)  # so that some searches are given up
    results = []
    for speed in (1.0, 100.0, 0.01):
        for module in (counting, stopping):
            monkeypatch.setattr(module, "monotonic", lambda speed=speed: speed * monotonic())
        results.append(call(seed=1, max_seconds=inf).to_dict())
    assert results[0] == results[1] == results[2]


def test_the_clock_ends_a_search_and_the_result_says_so():
    p, q = drawn(4, 3, stay=0.9), drawn(4, 4, stay=0.9)
    found = hd.observed_kl_rate(p, q, method="certified", max_seconds=0.05)
    assert found.certificate["stopped"] == "the time"
    assert any("the clock ended the search" in note for note in found.notes)
    found = hd.observed_kl_rate(p, q, seed=1, max_seconds=0.1, max_samples=512)
    assert found.status == "estimate"
    assert any("the clock having ended the search" in note for note in found.notes)


def test_operations_end_a_search_before_the_clock():
    spent = Effort.lasting(inf, allowed=10.0)
    spent.spend(4.0)
    assert not spent.over()
    assert spent.left == 6.0
    spent.spend(6.0)
    assert spent.over()
    assert not spent.late
    late = Effort.lasting(-1.0)
    assert late.over()
    assert late.late
    late.spend(5.0)
    assert late.affordable() == 0.0
    assert not late.in_time(1.0)
    assert Effort().affordable() == inf
    assert 0 < Effort.lasting(1.0).affordable() < inf


def test_a_rate_looks_at_the_clock_between_portions():
    """Long chains with many points are drawn a few at a time, and drawing stops soon after its time."""
    rng = np.random.default_rng(0)
    p, q = (
        hd.Model("stationary", rng.dirichlet(np.ones(6), 6), hd.Gaussian(3.0 * rng.normal(size=6), std=np.ones(6)))
        for _ in "pq"
    )
    found = hd.observed_kl_rate(p, q, method="montecarlo", seed=1, rtol=0, atol=0, max_seconds=0.01)
    assert "ended by the time" in found.notes[0]
    assert found.n_samples <= 1 << 14
    assert np.isfinite([found.value, found.std_error, found.lower, found.upper]).all()
