"""Rates by the last steps of many chains, against certified ones and against quadrature for numbers."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences.observed.sampled.chain_draws import ChainPair
from hidiv.divergences.observed.sampled.last_steps import FEWEST_FIRST, LONGEST, LastSteps, steps_to_forget
from hidiv.divergences.observed.sampled.rare_moves import drawn_of
from hidiv.divergences.observed.sampled.rate_estimate import classes_of
from hidiv.divergences.observed.sampled.tree_estimate import TreePair
from tests.divergences.observed.models import P, Q, gaussian_pair, models


@pytest.mark.parametrize(("p", "q"), [(P, Q), (Q, P), models("sticky", 3), models("sharp", 4)])
def test_last_steps_agree_with_certified_rates(p, q):
    certified = hd.observed_kl_rate(p, q, method="certified")
    found = hd.observed_kl_rate(p, q, method="montecarlo", seed=1, max_samples=20_000)
    assert found.status == "estimate"
    assert found.per == "step"
    assert abs(found.value - certified.value) < 4 * found.std_error
    assert found.std_error < 0.05 * found.value


def test_chains_in_each_closed_class():
    """Two closed classes, one entered from a transient state and by itself, the other a single state."""
    p = hd.Model(
        [0.3, 0.3, 0.4, 0.0],
        [[0.9, 0.1, 0, 0], [0.2, 0.8, 0, 0], [0.1, 0.1, 0.2, 0.6], [0, 0, 0, 1.0]],
        hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7], [0.3, 0.3, 0.4], [0.2, 0.2, 0.6]]),
    )
    shares = [(share, part.n_states) for share, part in classes_of(p)]
    assert shares == [(pytest.approx(0.7), 2), (pytest.approx(0.3), 1)]
    found = hd.observed_kl_rate(p, Q, method="montecarlo", seed=1)
    assert found.notes[0] == "p ends in one of 2 closed classes, with probabilities 0.7, 0.3"
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


def test_same_seed_same_chains():
    """FEWEST chains are drawn, however few steps are asked for."""
    values = [hd.observed_kl_rate(P, Q, method="montecarlo", seed=seed, max_samples=2).value for seed in (1, 1, 2)]
    assert values[0] == values[1] != values[2]


def test_a_rate_of_numbers():
    p, q = gaussian_pair()
    found = hd.observed_kl_rate(p, q, method="montecarlo", seed=7, max_samples=10_000)
    assert abs(found.value - 0.0842694620932) < 4 * found.std_error


def sticky(moves, emission=((0.7, 0.2, 0.1), (0.1, 0.3, 0.6))):
    stay = np.eye(2)
    return hd.Model([0.5, 0.5], (1 - moves) * stay + moves * (1 - stay), hd.Categorical(emission))


def test_chains_are_as_long_as_the_memory():
    """What is left of the start when the last steps begin is far below any error of an estimate."""
    first = [steps_to_forget(sticky(moves), sticky(moves)) for moves in (0.5, 0.05, 0.005)]
    assert first[0] == FEWEST_FIRST < first[1] < first[2] < LONGEST
    slow, other = sticky(0.005), sticky(0.01, ((0.6, 0.2, 0.2), (0.2, 0.3, 0.5)))
    found = hd.observed_kl_rate(slow, other, method="montecarlo", seed=3, rtol=0.5)
    assert abs(found.value - hd.observed_kl_rate(slow, other).value) < 4 * found.std_error


def test_a_start_that_is_never_forgotten_is_said():
    """A cycle whose states all emit alike: the filters stay as far apart as they began."""
    turn = [[0.0, 1.0], [1.0, 0.0]]
    p = hd.Model([0.5, 0.5], turn, hd.Categorical([[0.4, 0.6], [0.4, 0.6]]))
    q = hd.Model([0.5, 0.5], turn, hd.Categorical([[0.3, 0.7], [0.3, 0.7]]))
    assert steps_to_forget(p, q) == LONGEST
    found = hd.observed_kl_rate(p, q, method="montecarlo", seed=1, rtol=0.1)
    assert "have not forgotten how they started" in found.notes[-1]
    assert found.value == pytest.approx(0.4 * np.log(4 / 3) + 0.6 * np.log(6 / 7), rel=1e-9)


@pytest.mark.parametrize("kind", ["points", "ratio", "close"])
def test_last_steps_are_all_steps_less_the_first(kind):
    """Value and controls of the same draws, for points of one column, plain ratios of vectors, and close vectors."""
    p, q = gaussian_pair()
    if kind != "points":
        p = hd.Model([0.5, 0.5], P.transition, hd.Gaussian([[0.0, 2.0], [1.0, 1.0]], std=[[1.0, 1.0], [2.0, 1.0]]))
        far = 1e-9 if kind == "close" else 0.5
        q = hd.Model([0.5, 0.5], P.transition, hd.Gaussian([[0.0, 2.0 + far], [1.0, 1.0]], std=p.emission.std))
    last = LastSteps.of(p, q, 20)
    assert type(last.whole) is (TreePair if kind == "close" else ChainPair)
    assert last.n_last == 256
    drawn = last.draw(400, np.random.default_rng(1))
    states, x = drawn_of(p, hd.Tree.chain(276), 400, np.random.default_rng(2), None)
    whole, first = last.whole.along(states, x), last.first.along(states[:, :20].copy(), x[:, :20].copy())
    again = last._along(states, x, False, None)
    assert again.base == pytest.approx((whole.base - first.base) / 256, rel=1e-12)
    assert again.plain == pytest.approx((whole.plain - first.plain) / 256, rel=1e-12)
    error = drawn.plain.std() / np.sqrt(400)
    assert abs(drawn.plain.mean() - again.plain.mean()) < 6 * error
    if drawn.controls.shape[1]:
        spread = drawn.controls.std(axis=0) / np.sqrt(400)
        assert (np.abs(drawn.controls.mean(axis=0)) < 6 * spread + 1e-12).all()


def test_a_rare_state_is_drawn_often_enough():
    """One state that is entered once in ten thousand steps makes most of the rate's spread."""
    moves = [[0.7, 0.2999, 1e-4], [0.3, 0.6999, 1e-4], [0.2, 0.2, 0.6]]
    p = hd.Model("stationary", moves, hd.Gaussian([0.0, 2.0, 9.0], std=np.ones(3)))
    q = hd.Model("stationary", moves, hd.Gaussian([0.3, 2.3, 2.0], std=np.ones(3)))
    found = [hd.observed_kl_rate(p, q, method="montecarlo", seed=seed, rtol=0.01) for seed in range(20)]
    truth = hd.observed_kl_rate(p, q, method="montecarlo", seed=99, rtol=2e-4)
    off = np.array([(each.value - truth.value) / np.hypot(each.std_error, truth.std_error) for each in found])
    assert np.abs(off).max() < 5
    assert np.sqrt((off**2).mean()) < 2


def test_chains_that_q_cannot_show():
    """Counts of two trials where q has one: every chain meets one soon."""
    third = np.full((3, 3), 1.0 / 3.0)
    p, q = (hd.Model(third[0], third, hd.Multinomial(trials, third)) for trials in ([1, 1, 2], [1, 1, 1]))
    found = hd.observed_kl_rate(p, q, seed=0)
    assert found.value == np.inf
    assert found.infinite


def test_a_function_of_slow_filters_is_fitted_to_few_steps(monkeypatch):
    """Its nodes are those where the start is forgotten, not all of the chains that are drawn."""
    stay = 0.99 * np.eye(3) + 0.01 / 3
    p, q = (hd.Model("stationary", stay, hd.Poisson([low, 2.0, 4.0])) for low in (1.0, 1.1))
    steps = LastSteps.of(p, q, 1000)
    drawn = []

    def counted(model, tree, size, rng, likely):
        drawn.append(tree.n_nodes)
        return drawn_of(model, tree, size, rng, likely)

    monkeypatch.setattr("hidiv.divergences.observed.sampled.chain_draws.drawn_of", counted)
    fitted = steps.fitted(np.random.default_rng(0))
    assert fitted is not None
    assert drawn == [1000]
    assert steps.n_last == 4000
    few, plain = (draw(64, np.random.default_rng(1)) for draw in (fitted.draw, steps.draw))
    assert few.base.std() < 0.7 * plain.base.std()
    assert abs(few.base.mean() - plain.base.mean()) < 4 * plain.base.std() / 8
