"""method="certified" and "auto" on models of any number of states: what stops them, what they say, what they refuse."""

from __future__ import annotations

import signal
import threading
from math import inf
from time import monotonic

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences.observed.alphabets import FiniteChain, finite_chain
from hidiv.divergences.observed.budget import Budget, Effort
from hidiv.divergences.observed.certified import joint_bound, refining
from hidiv.divergences.observed.certified.chains import observed_chain
from hidiv.divergences.observed.certified.cheap_bounds import block_below, variational_above
from hidiv.divergences.observed.certified.joint_bound import _no_order_fits, joint_above
from hidiv.divergences.observed.certified.rates import refiners_entropy
from hidiv.divergences.observed.interval import Interval
from hidiv.divergences.pair import Pair
from hidiv.errors import HidivError

P = hd.Model("stationary", [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]))


def drawn(n_states, seed, n_symbols=3, stay=0.0):
    rng = np.random.default_rng([seed, n_states])
    transition = stay * np.eye(n_states) + (1 - stay) * rng.dirichlet(np.ones(n_states), n_states)
    return hd.Model("stationary", transition, hd.Categorical(rng.dirichlet(np.ones(n_symbols), n_states)))


@pytest.mark.parametrize("n_states", [2, 3, 5, 8])
def test_a_relabelling_is_certified_zero(n_states):
    p = drawn(n_states, 1)
    q = p.relabel(np.random.default_rng(0).permutation(n_states))
    for found in (
        hd.observed_kl_rate(p, q, method="certified"),
        hd.observed_kl_rate(p, q),
        hd.observed_kl(p, q, 1000, method="certified"),
        hd.observed_kl(p, q, hd.Tree.regular(2, 9), method="certified"),
        hd.observed_kl(p, q, hd.Tree([-1, 0, 0, 1, 1, 1, 2] * 1), method="certified"),
    ):
        assert (found.lower, found.value, found.upper) == (0.0, 0.0, 0.0)
        assert found.status == "certified"
        assert "relabellings" in found.certificate["method"]


def test_the_joint_rate_as_labelled_is_not_zero():
    p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]))
    assert hd.joint_kl_rate(p, p.relabel([1, 0])).value > 0.19
    assert hd.observed_kl_rate(p, p.relabel([1, 0]), method="certified").upper == 0.0


def test_the_joint_bound_is_asked_for_only_where_it_can_help(monkeypatch):
    asked = []
    for name in ("alignment", "same_process"):
        work = getattr(joint_bound, name)
        monkeypatch.setattr(joint_bound, name, lambda pair, name=name, work=work: asked.append(name) or work(pair))
    for seed in range(5):
        p, q = drawn(2, 2 * seed), drawn(2, 2 * seed + 1)
        rate, chain = hd.observed_kl_rate(p, q), hd.observed_kl(p, q, 100, method="certified")
        assert min(rate.lower, chain.lower) > 0
        assert asked == []
    for close in (P, P.relabel([1, 0])):
        assert hd.observed_kl_rate(P, close).upper == hd.observed_kl(P, close, 100, method="certified").upper == 0
    assert "alignment" in asked


def test_symbols_as_frequent_under_other_moves_are_no_zero():
    """Two fair coins, tossed alike and in runs: every symbol is as frequent, the processes differ."""
    runs, tosses = (hd.Model([0.5, 0.5], [[a, 1 - a], [1 - a, a]], hd.Categorical([[0.9, 0.1], [0.1, 0.9]]))
                    for a in (0.8, 0.5))  # fmt: skip
    rate, chain = hd.observed_kl_rate(runs, tosses), hd.observed_kl(runs, tosses, 12, method="certified")
    assert 0 < rate.lower < rate.upper < rate.lower + 1e-12
    assert chain.lower <= hd.observed_kl(runs, tosses, 12, method="exact").value <= chain.upper


@pytest.mark.parametrize("n_nodes", [1, 2, 200])
def test_only_the_start_tells_two_chains_apart(n_nodes):
    """The rate is zero; a chain keeps some of what the first states tell, and more nodes never tell less."""
    p, q = (hd.Model(start, [[0.9, 0.1], [0.2, 0.8]], P.emission) for start in ([0.5, 0.5], [0.9, 0.1]))
    rate, chain = hd.observed_kl_rate(p, q), hd.observed_kl(p, q, n_nodes, method="certified")
    assert (rate.lower, rate.upper) == (0.0, 0.0)
    first = hd.observed_kl(p, q, min(n_nodes, 2), method="exact").value
    assert first * (1 - 1e-9) <= chain.upper < chain.lower + 1e-10 < 0.5 * np.log(0.5 / 0.9) + 0.5 * np.log(0.5 / 0.1)


@pytest.mark.parametrize("stay", [0.9999, 0.01])
def test_a_start_that_is_long_remembered_leaves_a_rate_of_zero(stay):
    """After many steps the symbols still differ in frequency, and yet no relabelling changes the process."""
    moves = [[stay, 1 - stay], [1 - stay, stay]]
    p, q = (hd.Model(start, moves, P.emission) for start in ([0.5, 0.5], [0.9, 0.1]))
    for other in (q, q.relabel([1, 0])):
        found = hd.observed_kl_rate(p, other, method="certified")
        assert (found.lower, found.upper) == (0.0, 0.0)


def test_a_close_model_is_below_its_joint_divergence():
    p = drawn(3, 2)
    q = hd.Model("stationary", p.transitions[0] * (1 - 1e-6) + 1e-6 / 3, p.emissions[0])
    found = hd.observed_kl_rate(p, q, method="certified", max_seconds=0.5)
    assert 0.0 <= found.lower <= found.upper <= hd.joint_kl_rate(p, q).value * (1 + 1e-11)


@pytest.mark.parametrize("states", [(3, 3), (2, 3), (3, 2)])
def test_rate_reaches_its_width(states):
    p, q = drawn(states[0], 3), drawn(states[1], 4)
    found = hd.observed_kl_rate(p, q, method="certified", width=1e-3, max_seconds=60)
    assert found.upper - found.lower <= 1e-3
    assert found.certificate["stopped"] == "the wanted width"
    assert set(found.certificate) >= {"cross_entropy", "entropy"}
    narrower = hd.observed_kl_rate(p, q, method="certified", width=1e-4, max_seconds=60)
    assert found.lower <= narrower.upper
    assert narrower.lower <= found.upper


def test_the_time_stops_it_and_it_says_so():
    p, q = drawn(4, 3, stay=0.9), drawn(4, 4, stay=0.9)
    found = hd.observed_kl_rate(p, q, method="certified", width=1e-9, max_seconds=0.5)
    assert found.certificate["stopped"] == "the time"
    assert found.upper - found.lower > 1e-9
    assert "wider than the 1e-09 asked for" in found.notes
    assert found.lower <= found.value <= found.upper


def test_an_interrupt_returns_what_it_has():
    p, q = drawn(4, 3, stay=0.9), drawn(4, 4, stay=0.9)
    threading.Timer(1.0, signal.raise_signal, [signal.SIGINT]).start()
    began = monotonic()
    found = hd.observed_kl_rate(p, q, method="certified", width=1e-12, max_seconds=600)
    assert monotonic() - began < 60
    assert found.certificate["stopped"] == "an interrupt"
    assert 0.0 <= found.lower <= found.upper < 1.0


def test_an_interrupt_before_the_first_step_leaves_the_cheap_bound():
    def step(effort):
        raise KeyboardInterrupt

    parts = [refining.Part(1.0, Interval(0.0, 9.0), [refining.Refiner("none", step, 2.0, 0.5)]) for _ in range(2)]

    def cut(interval):
        return Interval(interval.lower, 0.5, interval.how)

    found = refining.narrowed(parts[:1], parts[1:], lambda interval: False, Effort.lasting(10), cut)
    assert (found.lower, found.upper, found.how["stopped"]) == (0.0, 0.5, "an interrupt")


def test_the_better_method_is_asked_and_intersected():
    asked = []

    def method(name, ends):
        steps = iter(ends)

        def step(effort):
            asked.append(name)
            ends = next(steps, None)
            return None if ends is None else Interval(*ends, {"method": name})

        return refining.Refiner(name, step, 1.5, 0.5)

    stuck = method("stuck", [(0.0, 2.0), (0.1, 1.9)])
    good = method("good", [(0.5, 2.5), (0.9, 1.4), (1.0, 1.2), (1.05, 1.1)])
    part = refining.Part(1.0, Interval(0.0, 9.0), [stuck, good])
    known = refining.Part(1.0, Interval(0.5, 0.5), [])
    found = refining.narrowed([part], [known], lambda interval: interval.width < 0.06, Effort.lasting(10))
    assert asked.count("good") == 4
    assert found.lower == pytest.approx(0.55, abs=1e-12)
    assert found.upper == pytest.approx(0.6, abs=1e-12)
    assert [used["method"] for used in found.how["cross_entropy"]["methods"]] == ["good"]


def test_auto_certifies_where_it_can_and_estimates_else():
    p, q = drawn(3, 3), drawn(3, 4)
    assert hd.observed_kl_rate(p, q).status == "certified"
    assert hd.observed_kl(p, q, 40).status == "certified"
    assert hd.observed_kl(p, q, 4).status == "exact"
    hard = drawn(6, 3, stay=0.95), drawn(6, 4, stay=0.95)
    found = hd.observed_kl_rate(*hard, rtol=1e-9, seed=1, max_samples=50, max_seconds=1.0)
    assert found.status == "estimate"
    assert any("are wider apart than asked for" in note for note in found.notes)


def test_certified_finite_chain_asks_for_the_tolerance():
    p, q = drawn(3, 3), drawn(2, 4)
    found = hd.observed_kl(p, q, 30, method="certified", rtol=1e-3)
    assert found.upper - found.lower <= 2e-3 * found.lower
    exact = hd.observed_kl(p, q, 8, method="exact").value
    short = hd.observed_kl(p, q, 8, method="certified", rtol=1e-3)
    assert short.lower <= exact <= short.upper


@pytest.mark.parametrize("n_states", [2, 3])
def test_cheap_bounds_hold(n_states):
    p, q = drawn(n_states, 5, 2), drawn(n_states, 6, 2)
    for tree in (hd.Tree.chain(9), hd.Tree.regular(2, 3), hd.Tree([-1, 0, 0, 1, 1, 2, 2, 2])):
        exact = hd.observed_kl(p, q, tree, method="exact").value
        assert exact <= joint_above(Pair.of(p, q, tree))
        assert exact <= variational_above(p, q, tree)
        assert 0.0 <= block_below(p, q, tree) <= exact


def test_variational_bound_on_a_long_chain_adds_up():
    p, q = drawn(3, 5), drawn(2, 6)
    rate = hd.observed_kl_rate(p, q, method="certified", width=1e-3).lower
    assert variational_above(p, q, hd.Tree.chain(10**6)) >= 1e6 * rate - 10


def test_trees_without_a_narrow_certificate_get_a_wide_one():
    p, q = drawn(3, 5), drawn(3, 6)
    found = hd.observed_kl(p, q, hd.Tree.regular(3, 4), method="certified")
    assert found.status == "certified"
    assert 0 < found.lower < found.upper
    assert any("wider than asked" in note for note in found.notes)


def test_listed_trees_with_two_states():
    q = hd.Model("stationary", [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))
    tree = hd.Tree([-1, 0, 0, 0, 1, 1, 2])
    exact = hd.observed_kl(P, q, tree, method="exact").value
    found = hd.observed_kl(P, q, tree, method="certified")
    assert found.lower <= exact <= found.upper
    assert found.upper - found.lower < 2e-6


def test_nothing_above_is_refused_not_returned():
    p = hd.Model([1.0], [[1.0]], hd.Gaussian([0.0], std=[1.0]))
    q = hd.Model([1.0], [[1.0]], hd.Exponential([1.0]))
    with pytest.raises(HidivError):
        hd.observed_kl(p, q, 5, method="certified")


def test_binary_symmetric_chain_by_contexts_and_by_a_grid():
    """Flip .1, noise .1: entropy rate 0.53136405928129, known to 14 digits."""
    p = FiniteChain(np.array([0.5, 0.5]), *(np.array([[0.9, 0.1], [0.1, 0.9]]) for _ in range(2)))
    for refiner in refiners_entropy(p):
        found = [refiner.step(Effort.lasting(5)) for _ in range(4)][-1]
        assert found.lower <= 0.53136405928129 + 1e-14
        assert found.upper >= 0.53136405928129 - 1e-14
        assert found.width < 2e-3


def test_probabilities_too_small_for_doubles_leave_a_bracket():
    p = drawn(3, 5)
    tiny = np.array([[1 - 1e-200, 1e-200, 0.0], [0.2, 0.3, 0.5], [0.3, 0.3, 0.4]])
    q = hd.Model("stationary", tiny + np.array([[0, 0, 1e-100], [0, 0, 0], [0, 0, 0]]), p.emissions[0])
    found = hd.observed_kl_rate(p, q, method="certified", max_seconds=2)
    assert found.lower <= found.upper < 1e-2 * hd.joint_kl_rate(p, q.relabel(hd.align(p, q, 1000).permutation)).value
    estimate = hd.observed_kl_rate(p, q, method="montecarlo", seed=1, max_samples=100_000)
    assert found.lower - 4 * estimate.std_error <= estimate.value <= found.upper + 4 * estimate.std_error


def test_large_alphabets_do_not_list_contexts():
    p, q = drawn(3, 5, 1000), drawn(3, 6, 1000)
    began = monotonic()
    found = hd.observed_kl_rate(p, q, method="certified", width=0.05, max_seconds=3)
    assert monotonic() - began < 60
    assert 0 < found.lower < found.upper


def test_zeros_that_no_order_of_states_fits():
    """Decided by counting the transitions of rows and columns, and never where an order is finite."""
    rng, decided = np.random.default_rng(4), 0
    for _ in range(60):
        p, q = (
            hd.Model(np.full(3, 1 / 3), rows / rows.sum(axis=1, keepdims=True), hd.Categorical(np.full((3, 2), 0.5)))
            for rows in (rng.random((2, 3, 3)) < 0.75) + 0.5 * np.eye(3)
        )
        if _no_order_fits(Pair.of(p, q, 4)):
            decided += 1
            assert hd.align(p, q, 4).value == np.inf
    assert decided > 20
    assert not _no_order_fits(Pair.of(p, p.relabel([2, 0, 1]), 4))


def _gaining(share):
    """A part whose only method leaves so much of a width at every step, each of 1e8 operations."""
    width = 4.0

    def step(effort):
        nonlocal width
        effort.spend(1e8)
        width *= share
        return Interval(5.0 - 0.5 * width, 5.0 + 0.5 * width)

    return refining.Part(1.0, Interval(0.0, 9.0), [refining.Refiner("gaining", step, 1.0, 0.5)])


@pytest.mark.parametrize(("share", "allowed", "reached"), [(0.99, 2e9, False), (0.5, 2e9, True), (0.9, inf, True)])
def test_a_search_goes_on_while_it_has_hope(share, allowed, reached):
    effort = Effort.lasting(60, allowed)
    known = refining.Part(1.0, Interval(4.0, 4.0), [])
    found = refining.narrowed([_gaining(share)], [known], lambda interval: interval.width < 0.01, effort)
    assert (found.width < 0.01) == reached
    assert reached or (effort.spent <= 3e8 and found.how["stopped"] == "the operations allowed")


def test_many_states_and_symbols_soon_give_up():
    """A grid of filters that could not be swept is not made."""
    p, q = (finite_chain(drawn(10, seed, n_symbols=32, stay=0.8)) for seed in (1, 2))
    effort = Effort.lasting(60, 2e9)
    observed_chain(p, q, 100, Budget(rtol=1e-2).narrow, effort)
    assert effort.spent <= 1e9
