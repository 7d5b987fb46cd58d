"""What "auto" does depends on operations, not on the clock: the same result on a slow and on a fast machine."""

from __future__ import annotations

from math import inf
from time import monotonic

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences.observed import budget as counting
from hidiv.divergences.observed import choose
from hidiv.divergences.observed.budget import Effort
from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.observed.sampled import stopping
from hidiv.divergences.observed.sampled.draws import Drawn, Draws, Fitted


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


def test_a_trial_that_the_clock_cuts_short_is_not_taken_for_the_result(monkeypatch):
    """Eight draws with a fitted control say less than the 128 before them."""
    now = 0.0

    def draw(size, rng, lean=True, likely=None):
        values = rng.normal(1.0, 1.0, size)
        return Drawn(values, values, np.zeros((size, 0)), np.zeros((size, 0)))

    def fitted(rng):
        nonlocal now
        now = 10.0
        return Fitted(draw, 1.0, 8)

    monkeypatch.setattr(stopping, "monotonic", lambda: now)
    budget = counting.Budget(1e-6, 0.0, seed=1, max_seconds=5.0)
    found = stopping.stopped_estimate(Draws(draw, "", "", 8, fitted=fitted), budget, workers=1)
    assert found.n_samples == 128
    assert "the time" in found.notes[0]


def test_draws_end_early_enough_to_fit_their_controls(monkeypatch):
    """Time for a fit is kept: here each takes as long as the draws themselves."""
    now, drawn = 0.0, 0

    def draw(size, rng, lean):
        nonlocal now, drawn
        now, drawn = now + 0.01 * size, drawn + size
        values = rng.normal(1.0, 1.0, size)
        return Drawn(values, values, np.zeros((size, 0)), np.zeros((size, 0)))

    class Slow(stopping.ControlledDraws):
        def mean(self, settle):
            nonlocal now
            now += 0.01 * drawn
            return super().mean(settle)

    monkeypatch.setattr(stopping, "monotonic", lambda: now)
    monkeypatch.setattr(stopping, "ControlledDraws", Slow)
    stopping.stopped_estimate(Draws(draw, "", "", 8), counting.Budget(1e-6, 0.0, seed=1, max_seconds=60.0), workers=1)
    assert 40.0 < now < 66.0


def test_auto_gives_each_method_what_those_before_it_left(monkeypatch):
    clock, given = iter((0.0, 0.5, 1.0, 1.75, 3.0)), []

    def tried(pair, method, budget):
        given.append(budget.max_seconds)
        raise NotApplicable("nothing is tried here")

    monkeypatch.setattr(choose, "monotonic", lambda: next(clock))
    monkeypatch.setattr(choose, "_quick_or_narrow", tried)
    with pytest.raises(NotApplicable):
        hd.observed_kl(drawn(3, 3), drawn(3, 4), 40, max_seconds=2)
    assert given == [1.5, 1.0, 0.25, 0.0]


def test_sweeps_are_no_more_than_the_clock_leaves_time_for(monkeypatch):
    monkeypatch.setattr(counting, "monotonic", lambda: 1.0)
    effort = Effort(end=1.5, spent=100.0, began=0.0)
    assert [effort.fitting(8, operations) for operations in (1.0, 10.0, 20.0, 1000.0)] == [8, 5, 2, 1]
    assert Effort().fitting(8, 1e30) == 8
