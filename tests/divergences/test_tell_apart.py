"""samples_to_tell_apart: the mean of sequential tests run on draws, beside Wald's approximation."""

from __future__ import annotations

import json
from math import inf, log

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences.telling_apart import sequential_test, tell_apart
from hidiv.divergences.telling_apart.sequential_test import Chains, walks
from hidiv.errors import HidivError, IncompatibleModels
from tests.seeds import LONG

P = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]), name="one")
Q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))


def run_tests(true, other, error, paths, seed, max_seconds):
    """Tests on chains drawn from `true`, each until log true(x)/other(x) leaves +-log((1 - error)/error)."""
    walked = walks(
        Chains(true, other, paths, np.random.default_rng(seed)), paths, log((1 - error) / error), max_seconds
    )
    return None if walked is None else walked.simulated()


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


@pytest.mark.parametrize("error", [0.2, 0.05, 1e-3])
def test_the_value_is_that_of_plain_sequential_tests(error):
    """At every error rate, whose interval holds it; Wald's approximation is 6 to 40 % short of it."""
    found = hd.samples_to_tell_apart(P, Q, error)
    for (true, other), side in zip(((P, Q), (Q, P)), (found.under_p, found.under_q), strict=True):
        mean, std_error, wrong = plain_tests(true, other, error, 300, 12)
        assert abs(side.value - mean) < 4 * np.hypot(std_error, side.simulated.std_error)
        assert side.lower < side.value < side.upper < 1.1 * side.lower
        assert side.value == side.simulated.mean
        assert side.wald < 0.97 * side.value
        assert max(wrong, side.simulated.wrong) < error + 0.02


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


@pytest.mark.parametrize(
    ("pair", "error"),
    [(pair, error) for i, pair in enumerate(PAIRS) for j, error in enumerate((0.05, 1e-3)) if LONG or (i + j) % 2],
)
def test_the_interval_holds_for_random_pairs_too(pair, error):
    found = hd.samples_to_tell_apart(*pair, error, seed=5)
    for true, other, side in ((*pair, found.under_p), (*pair[::-1], found.under_q)):
        mean = run_tests(true, other, error, 2000, 11, 10.0)
        assert abs(side.value - mean.mean) < 4 * np.hypot(mean.std_error, side.simulated.std_error)
        assert side.corrected
        assert side.lower <= side.value <= side.upper


def test_gaussian_emissions_that_one_observation_tells_apart():
    """Wald's approximation is far below one observation, which no test can be."""
    p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Gaussian([0.0, 1.0], std=[1.0, 1.0]))
    q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Gaussian([20.0, 21.0], std=[1.0, 1.5]))
    found = hd.samples_to_tell_apart(p, q, 0.05, max_seconds=1.0)
    assert tuple(found) == (1.0, 1.0)
    assert (found.under_p.lower, found.under_p.upper) == (1.0, 1.0)
    assert found.under_p.wald < 0.1


def test_tests_too_long_to_run_are_extrapolated_from_shorter_ones(monkeypatch):
    """The same pair both ways: run in full, and up to a limit that takes 20 observations instead of 160."""
    near = hd.Model([0.9, 0.1], [[0.8, 0.2], [0.3, 0.7]], hd.Categorical([[0.2, 0.3, 0.5], [0.3, 0.2, 0.5]]))
    full = hd.samples_to_tell_apart(P, near)
    monkeypatch.setattr(tell_apart, "STEPS", 5000)
    monkeypatch.setattr(tell_apart, "SHORTER", 20)
    short = hd.samples_to_tell_apart(P, near)
    for one, two in ((full.under_p, short.under_p), (full.under_q, short.under_q)):
        assert two.extrapolated
        assert not one.extrapolated
        assert two.lower < two.value < two.upper
        assert two.lower < one.upper
        assert one.lower < two.upper
    assert "up to a smaller limit" in repr(short)


def test_what_cannot_be_simulated_has_no_upper_bound():
    found = hd.samples_to_tell_apart(P, Q, max_seconds=0.0).under_p
    assert (found.simulated, found.value, found.upper) == (None, found.wald, inf)
    assert "not simulated" in repr(hd.samples_to_tell_apart(P, Q, tree=hd.Tree.regular(2, 40), max_seconds=0.0))


def plain_trees(true, other, trees, error, count, seed):
    """Sequential tests one draw of all trees at a time: (mean, standard error)."""
    rng = np.random.default_rng(seed)
    limit, lengths = log((1 - error) / error), []
    for _ in range(count):
        ratio, n = 0.0, 0
        while abs(ratio) < limit:
            for tree in trees:
                _, x = hd.sample(true, tree, seed=rng)
                ratio += hd.log_likelihood(true, x, tree) - hd.log_likelihood(other, x, tree)
            n += 1
        lengths.append(n)
    return np.mean(lengths), np.std(lengths) / np.sqrt(count)


GROUPED = hd.Model([0.5, 0.5], [None, P.transition, [[0.6, 0.4], [0.3, 0.7]]], P.emission)


@pytest.mark.parametrize(
    ("true", "tree"),
    [(P, hd.Tree([-1, 0, 0, 1])), (GROUPED, hd.Tree.regular(2, 3)), (P, [3, hd.Tree([-1, 0, 0])]), (P, 5)],
    ids=["listed", "grouped", "list", "chain"],
)
def test_trees_are_counted_whole(true, tree):
    found = hd.samples_to_tell_apart(true, Q, 0.01, tree=tree)
    trees = tree if isinstance(tree, list) else [tree]
    for (one, two), side in zip(((true, Q), (Q, true)), (found.under_p, found.under_q), strict=True):
        mean, std_error = plain_trees(one, two, trees, 0.01, 100, 3)
        assert abs(side.value - mean) < 4 * np.hypot(std_error, side.simulated.std_error)
        assert side.rate.value == pytest.approx(sum(hd.observed_kl(one, two, tree).value for tree in trees), rel=1e-9)
    assert repr(found).startswith("independent draws of ")


def test_a_list_of_one_tree_is_that_tree():
    one, alone = (hd.samples_to_tell_apart(P, Q, tree=tree) for tree in ([4], 4))
    assert tuple(one) == tuple(alone)
    assert one.counted == alone.counted == "independent draws of a chain of 4 nodes"


def test_models_with_groups_need_a_tree():
    with pytest.raises(IncompatibleModels, match="p: has groups, and so lives on a tree.*got 3 groups; give tree="):
        hd.samples_to_tell_apart(GROUPED, Q)
    with pytest.raises(IncompatibleModels, match="q: has groups"):
        hd.samples_to_tell_apart(Q, GROUPED)


def test_sequences_that_end_by_themselves():
    p, q = (hd.Model(m.initial, np.asarray(m.transition) * 0.75, m.emission, end=[0.25] * 2) for m in (P, Q))
    found = hd.samples_to_tell_apart(p, q, tree=hd.UNTIL_END, max_seconds=1.0)
    assert found.counted == "independent sequences"
    assert found.under_p.upper == inf


def test_the_formula_both_directions():
    found = hd.samples_to_tell_apart(P, Q, 0.01)
    information = 0.99 * log(99) + 0.01 * log(1 / 99)
    for side, rate in ((found.under_p, hd.observed_kl_rate(P, Q)), (found.under_q, hd.observed_kl_rate(Q, P))):
        assert side.rate.value == rate.value
        assert side.wald == pytest.approx(information / rate.value, rel=1e-13)
        assert float(side) == side.value
    assert tuple(found) == (found.under_p.value, found.under_q.value)


def test_the_labels_of_states_do_not_matter():
    assert hd.samples_to_tell_apart(P, Q.relabel([1, 0])).under_p.value == pytest.approx(
        hd.samples_to_tell_apart(P, Q).under_p.value, rel=0.05
    )


def test_zero_and_infinite_rates_are_named():
    never = hd.samples_to_tell_apart(P, P)
    assert tuple(never) == (inf, inf)
    assert "the rate is 0" in never.under_p.reason
    assert never.under_p.simulated is None
    narrow = hd.Model(Q.initial, Q.transition, hd.Categorical([[0.3, 0.7, 0.0], [0.6, 0.4, 0.0]]))
    found = hd.samples_to_tell_apart(P, narrow)
    assert found.under_p.wald == 0.0
    assert "the rate is infinite" in found.under_p.reason
    assert found.under_p.value == pytest.approx(1.55, abs=0.1)  # symbol 2 comes with probability 0.65
    assert found.under_q.reason is None


def test_families_with_densities_and_numbers_of_states():
    p = hd.Model([0.5, 0.5], P.transition, hd.Gaussian([0.0, 3.0], std=[1.0, 0.5]))
    q = hd.Model([1.0], [[1.0]], hd.Gaussian([0.5], std=[1.0]))
    found = hd.samples_to_tell_apart(p, q, max_seconds=0.5)
    assert found.under_p.rate.status == "certified"
    assert found.under_p.lower < found.under_p.value < found.under_p.upper
    assert found.under_p.simulated.mean > 1
    assert "Wald's approximation is" in repr(found)


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
    assert repr(found).startswith("observations to tell one from q with error 0.001: 15.6")
    assert "the mean of 4000 simulated tests; Wald's approximation is 14.8 when one is true" in repr(found)
    described = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert described["under_p"]["value"] == found.under_p.value
    assert described["under_q"]["simulated"]["paths"] == 4000
    assert (
        json.loads(json.dumps(hd.samples_to_tell_apart(P, P).to_dict(), allow_nan=False))["under_p"]["value"] == "inf"
    )
    assert "nothing tells them apart" in repr(hd.samples_to_tell_apart(P, P))


@pytest.mark.parametrize("error", [0.0, 0.5, -1.0, 2.0, True, "small", float("nan")])
def test_bad_errors(error):
    with pytest.raises(HidivError, match="error: must be a number between 0 and 0.5"):
        hd.samples_to_tell_apart(P, Q, error)
