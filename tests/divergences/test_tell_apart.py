"""samples_to_tell_apart: Wald's approximation from the observed rates, beside sequential tests run on draws."""

from __future__ import annotations

import json
from math import inf, log

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences import sequential_test
from hidiv.divergences.sequential_test import run_tests
from hidiv.errors import HidivError, IncompatibleModels

P = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]), name="one")
Q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))


def plain_tests(true, other, error, count, seed):
    """Sequential tests one observation at a time: (mean length, standard error, share that erred)."""
    rng = np.random.default_rng(seed)
    limit, lengths, wrong = log((1 - error) / error), [], 0
    for _ in range(count):
        state = rng.choice(true.n_states, p=true.initial)
        laws = [np.array(true.initial), np.array(other.initial)]
        ratio, n = 0.0, 0
        while abs(ratio) < limit:
            symbol = rng.choice(true.emission.probs.shape[1], p=true.emission.probs[state])
            gains = []
            for i, model in enumerate((true, other)):
                weighted = laws[i] * model.emission.probs[:, symbol]
                gains.append(log(weighted.sum()))
                laws[i] = weighted / weighted.sum() @ model.transition
            ratio, n = ratio + gains[0] - gains[1], n + 1
            state = rng.choice(true.n_states, p=true.transition[state])
        lengths.append(n)
        wrong += ratio < 0
    return np.mean(lengths), np.std(lengths) / np.sqrt(count), wrong / count


@pytest.mark.parametrize("error", [1e-3, 1e-5])
def test_within_a_tenth_of_a_plain_sequential_test(error):
    found = hd.samples_to_tell_apart(P, Q, error)
    for (true, other), side in zip(((P, Q), (Q, P)), (found.under_p, found.under_q), strict=True):
        mean, std_error, wrong = plain_tests(true, other, error, 500, 12)
        assert side.value == pytest.approx(mean, rel=0.1)
        assert abs(side.simulated.mean - mean) < 4 * np.hypot(std_error, side.simulated.std_error)
        assert wrong <= side.simulated.wrong + 0.01 <= 0.02


RNG = np.random.default_rng(7)


def random_pair(kind, states):
    """Chains whose tests overshoot: sharp emissions, sticky states."""
    models = []
    for _ in range(2):
        moves, shown = RNG.dirichlet(np.ones(states), states), RNG.dirichlet(np.ones(3), states)
        if kind == "sticky":
            moves = 0.9 * np.eye(states) + 0.1 * moves
        if kind == "sharp":
            shown = 0.95 * np.eye(3)[np.arange(states) % 3] + 0.05 * shown
        models.append(hd.Model(RNG.dirichlet(np.ones(states)), moves, hd.Categorical(shown)))
    return models


PAIRS = [random_pair(kind, states) for kind in ("plain", "sticky", "sharp") for states in (2, 3)]


@pytest.mark.parametrize("pair", PAIRS)
def test_random_pairs_are_within_a_tenth_too(pair):
    found = hd.samples_to_tell_apart(*pair, 1e-3, seed=5)
    for true, other, side in ((*pair, found.under_p), (*pair[::-1], found.under_q)):
        mean = run_tests(true, other, 1e-3, 2000, 11, 10.0)
        assert abs(side.value / mean.mean - 1.0) < 0.1 + 2 * mean.std_error / mean.mean
        assert side.corrected == (side.value != side.wald)
        assert side.lower <= side.value <= side.upper


def test_gaussian_emissions_are_within_a_tenth_too():
    p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Gaussian([0.0, 2.0], std=[1.0, 1.0]))
    q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Gaussian([0.0, 1.0], std=[1.0, 1.5]))
    found = hd.samples_to_tell_apart(p, q, 1e-3)
    for true, other, side in ((p, q, found.under_p), (q, p, found.under_q)):
        mean = run_tests(true, other, 1e-3, 1000, 3, 10.0)
        assert abs(side.value / mean.mean - 1.0) < 0.1 + 2 * mean.std_error / mean.mean
    assert found.under_p.corrected
    assert "of which Wald's approximation of 81.8 is" in repr(found)


def test_some_random_pairs_are_corrected_and_some_need_not_be():
    sides = [side for pair in PAIRS for side in vars(hd.samples_to_tell_apart(*pair, 1e-3, seed=5)).values()]
    corrected = {side.corrected for side in sides if hasattr(side, "corrected")}
    assert corrected == {True, False}
    loose = hd.samples_to_tell_apart(*PAIRS[-1], 0.05)
    assert not loose.under_p.corrected
    assert loose.under_p.value == loose.under_p.wald


def test_at_larger_errors_the_mean_stands_beside_an_approximation_that_is_short():
    found = hd.samples_to_tell_apart(P, Q, 0.05)
    for (true, other), side in zip(((P, Q), (Q, P)), (found.under_p, found.under_q), strict=True):
        mean, std_error, _ = plain_tests(true, other, 0.05, 1000, 5)
        assert abs(side.simulated.mean - mean) < 4 * np.hypot(std_error, side.simulated.std_error)
        assert side.simulated.wrong < 0.05
        assert 1.15 < side.simulated.mean / side.value < 1.35  # definitions, section 7: 24 % short at 0.05


def test_the_formula_both_directions():
    found = hd.samples_to_tell_apart(P, Q, 0.01)
    information = 0.99 * log(99) + 0.01 * log(1 / 99)
    for side, rate in ((found.under_p, hd.observed_kl_rate(P, Q)), (found.under_q, hd.observed_kl_rate(Q, P))):
        assert side.rate.value == rate.value
        assert float(side) == pytest.approx(information / rate.value, rel=1e-13)
        assert side.lower == pytest.approx(information / rate.upper, rel=1e-13)
        assert side.lower <= side.value <= side.upper
    assert tuple(found) == (found.under_p.value, found.under_q.value)


def test_the_labels_of_states_do_not_matter():
    assert hd.samples_to_tell_apart(P, Q.relabel([1, 0])).under_p.value == pytest.approx(
        hd.samples_to_tell_apart(P, Q).under_p.value, rel=1e-10
    )


def test_zero_and_infinite_rates_are_named():
    never = hd.samples_to_tell_apart(P, P)
    assert tuple(never) == (inf, inf)
    assert "the rate is 0" in never.under_p.reason
    assert never.under_p.simulated is None
    narrow = hd.Model(Q.initial, Q.transition, hd.Categorical([[0.3, 0.7, 0.0], [0.6, 0.4, 0.0]]))
    found = hd.samples_to_tell_apart(P, narrow)
    assert found.under_p.value == 0.0
    assert "the rate is infinite" in found.under_p.reason
    assert found.under_p.simulated.mean == pytest.approx(1.55, abs=0.1)  # symbol 2 comes with probability 0.65
    assert found.under_q.reason is None


def test_families_with_densities_and_numbers_of_states():
    p = hd.Model([0.5, 0.5], P.transition, hd.Gaussian([0.0, 3.0], std=[1.0, 0.5]))
    q = hd.Model([1.0], [[1.0]], hd.Gaussian([0.5], std=[1.0]))
    found = hd.samples_to_tell_apart(p, q, max_seconds=0.5)
    assert found.under_p.rate.status == "estimate"
    assert found.under_p.lower < found.under_p.value < found.under_p.upper
    assert found.under_p.simulated.mean > 1
    assert "by Wald's approximation" in repr(found)


def test_impossible_states_with_large_densities_do_not_underflow():
    """p starts in a state whose observations are 1e-300 times as likely as in the one it is not in."""
    turns = [[0.0, 1.0], [1.0, 0.0]]
    p, q = (hd.Model([1.0, 0.0], turns, hd.Gaussian([0.0, 40.0], std=[1.0, s])) for s in (1.0, 2.0))
    tests = run_tests(q, p, 0.001, 50, 0, 10.0)
    assert 1 < tests.mean < 40
    far = hd.Model([1.0, 0.0], turns, hd.Gaussian([40.0, 0.0], std=[1.0, 1.0]))
    assert run_tests(far, p, 0.001, 50, 0, 10.0).mean == 1.0


def test_tests_that_do_not_end_have_no_mean(monkeypatch):
    monkeypatch.setattr(sequential_test, "LONGEST", 64)
    near = hd.Model(P.initial, [[0.89, 0.11], [0.2, 0.8]], P.emission)
    assert run_tests(P, near, 0.001, 50, 0, 10.0) is None
    assert run_tests(P, Q, 0.001, 50, 0, 0.0) is None


def test_what_it_says_and_holds():
    found = hd.samples_to_tell_apart(P, Q)
    assert repr(found).startswith("observations to tell one from q with error 0.001: 14.8 by Wald")
    described = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert described["under_p"]["value"] == found.under_p.value
    assert described["under_q"]["simulated"]["paths"] == 2000
    assert (
        json.loads(json.dumps(hd.samples_to_tell_apart(P, P).to_dict(), allow_nan=False))["under_p"]["value"] == "inf"
    )
    assert "nothing tells them apart" in repr(hd.samples_to_tell_apart(P, P))


@pytest.mark.parametrize("error", [0.0, 0.5, -1.0, 2.0, True, "small", float("nan")])
def test_bad_errors(error):
    with pytest.raises(HidivError, match="error: must be a number between 0 and 0.5"):
        hd.samples_to_tell_apart(P, Q, error)


def test_models_without_a_rate():
    grouped = hd.Model(P.initial, [None, P.transition], P.emission)
    with pytest.raises(IncompatibleModels, match="one group"):
        hd.samples_to_tell_apart(grouped, Q)
