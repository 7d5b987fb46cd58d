"""Observed divergences of chains that stop by themselves, against sums over words and closed forms."""

from __future__ import annotations

from math import inf, log

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences.observed.sampled.until_end_estimate import EndPair
from hidiv.errors import IncompatibleModels, InvalidModel, OutOfRange


def ending(seed, states, symbols=2, zeros=False):
    """A random model that ends soon."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(states + 1), states)
    stop = 0.55 + 0.3 * rng.random(states)
    moves = (1 - stop[:, None]) * rows[:, :-1] / rows[:, :-1].sum(axis=1, keepdims=True)
    shown = rng.dirichlet(np.ones(symbols), states)
    if zeros:
        shown[0] = np.eye(symbols)[0]
    return hd.Model(rng.dirichlet(np.ones(states)), moves, hd.Categorical(shown), end=stop)


def listed(p, q, longest):
    """(sum over words of p log p/q, probability of the longer ones): words by what they leave of the states."""
    total, left = 0.0, 1.0
    fronts = [(m.initial[:, None] * m.emission.probs).T for m in (p, q)]
    for _ in range(longest):
        a, b = (front @ m.end for front, m in zip(fronts, (p, q), strict=True))
        there = a > 0
        total += float(a[there] @ np.log(a[there] / b[there]))
        left -= float(a.sum())
        fronts = [
            ((front @ m.transition)[:, None, :] * m.emission.probs.T).reshape(-1, m.n_states)
            for front, m in zip(fronts, (p, q), strict=True)
        ]
    return total, left


def drawn(p, q, **how):
    return hd.observed_kl(p, q, hd.UNTIL_END, method="montecarlo", **how)


@pytest.mark.parametrize(("states", "zeros"), [((2, 2), False), ((2, 3), False), ((3, 1), False), ((2, 2), True)])
def test_estimate_is_the_sum_over_words(states, zeros):
    p, q = ending(3, states[0], zeros=zeros), ending(4, states[1])
    value, left = listed(p, q, 18)
    found = drawn(p, q, seed=1, rtol=2e-3)
    assert found.status == "estimate"
    assert abs(found.value - value) < 4 * found.std_error + 60 * left
    assert found.std_error < 5e-3 * value


def test_controls_have_mean_zero_and_help():
    batch = EndPair.of(ending(3, 2), ending(4, 3)).draw(4000, np.random.default_rng(1))
    size = np.sqrt(len(batch.controls) * batch.controls.var(axis=0))
    assert (np.abs(batch.controls.sum(axis=0)) <= 4.5 * size + 1e-9).all()
    found = hd.observed_kl(
        ending(3, 2), ending(4, 3), hd.UNTIL_END, method="montecarlo", seed=1, max_samples=4000, rtol=0
    )
    gain = float(found.notes[2].split("would take ")[1].split(" times")[0].replace(",", ""))
    assert gain > 100


def test_controls_of_one_portion_have_mean_zero():
    """Those of a single chain included, which is the longest of its portion."""
    pair = EndPair.of(ending(3, 2), ending(4, 3))
    controls = np.concatenate([pair.draw(1, np.random.default_rng(i)).controls for i in range(500)])
    size = np.sqrt(len(controls) * controls.var(axis=0))
    assert (np.abs(controls.sum(axis=0)) <= 4.5 * size + 1e-9).all()


def test_coverage():
    p, q = ending(5, 2), ending(6, 2)
    value, left = listed(p, q, 18)
    assert left < 1e-5
    found = [drawn(p, q, seed=s, max_samples=256, rtol=0) for s in range(60)]
    assert sum(f.lower <= value <= f.upper for f in found) >= 51  # of 60 intervals of 95 %


def test_one_state_is_known_in_closed_form():
    """What is shown is all there is to know, so that the joint divergence is the observed one."""
    p, q = (
        hd.Model([1.0], [[1 - stop]], hd.Gaussian([m], std=[1.0]), end=[stop]) for m, stop in ((0.0, 0.25), (0.5, 0.4))
    )
    joint = hd.joint_kl(p, q, hd.UNTIL_END).value
    found = hd.observed_kl(p, q, hd.UNTIL_END, seed=2, rtol=1e-3)
    assert abs(found.value - joint) < 4 * found.std_error + 1e-12
    assert "at most" in found.notes[-1]
    silent = [hd.Model([1.0], [[1 - stop]], hd.Silent(1), end=[stop]) for stop in (0.25, 0.5)]
    expected = log(0.25 / 0.5) + 3 * log(0.75 / 0.5)
    found = hd.observed_kl(*silent, hd.UNTIL_END, seed=2)
    assert abs(found.value - expected) < 4 * found.std_error + 1e-12


def test_columns_of_numbers_have_the_log_ratio():
    p, q = (hd.Model([1.0], [[0.6]], hd.Gaussian([[m, 0.0]], cov=[np.eye(2)]), end=[0.4]) for m in (0.0, 0.7))
    found = drawn(p, q, seed=3, max_samples=20_000, rtol=1e-2)
    assert abs(found.value - hd.joint_kl(p, q, hd.UNTIL_END).value) < 4 * found.std_error
    assert "log p/q of whole chains" in found.notes[0]


def test_bounds_hold_and_say_that_they_are_wide():
    p, q = ending(3, 2), ending(4, 2)
    value, _ = listed(p, q, 18)
    found = hd.observed_kl(p, q, hd.UNTIL_END, method="certified")
    assert 0.9 * value < found.lower <= value + 1e-6
    assert found.upper >= value
    assert found.upper == pytest.approx(hd.align(p, q, hd.UNTIL_END).value, rel=1e-9)
    assert "wide" in found.notes[0]
    gaussian = [hd.Model([1.0], [[0.5]], hd.Gaussian([m], std=[1.0]), end=[0.5]) for m in (0.0, 1.0)]
    assert hd.observed_kl(*gaussian, hd.UNTIL_END, method="certified").lower == 0.0


def test_infinite_where_q_cannot_follow_or_cannot_end():
    p = hd.Model([1.0], [[0.5]], hd.Categorical([[0.5, 0.5]]), end=[0.5])
    cannot_show = hd.Model([1.0], [[0.5]], hd.Categorical([[1.0, 0.0]]), end=[0.5])
    never_short = hd.Model([1.0, 0.0], [[0.0, 1.0], [0.0, 0.5]], hd.Categorical([[0.5, 0.5]] * 2), end=[0.0, 0.5])
    for method in ("auto", "montecarlo", "certified"):
        found = hd.observed_kl(p, cannot_show, hd.UNTIL_END, method=method)
        assert found.value == inf
        assert "p emits the word 1" in found.infinite[0]
        found = hd.observed_kl(p, never_short, hd.UNTIL_END, method=method)
        assert found.value == inf
        assert "and ends, and q cannot" in found.infinite[0]
    assert hd.observed_kl(never_short, p, hd.UNTIL_END).value < inf


def test_zero_on_itself_and_relabelled():
    p = ending(8, 3)
    for q in (p, p.relabel([2, 0, 1])):
        assert hd.observed_kl(p, q, hd.UNTIL_END, seed=0).value == pytest.approx(0, abs=1e-12)


def test_same_for_a_seed():
    p, q = ending(3, 2), ending(4, 2)
    one, two = (drawn(p, q, seed=7, max_samples=900, rtol=0) for _ in range(2))
    assert one.value == two.value
    assert one.std_error == two.std_error


def test_in_compare():
    found = hd.compare(ending(3, 2), ending(4, 2), hd.UNTIL_END, seed=1)
    assert found.observed.status == "estimate"
    assert found.expected_posterior.value > 0


def test_what_is_refused():
    p, q = ending(3, 2), ending(4, 2)
    for method in ("exact", "variational"):
        with pytest.raises(IncompatibleModels, match="needs a tree of known size"):
            hd.observed_kl(p, q, hd.UNTIL_END, method=method)
    with pytest.raises(IncompatibleModels, match="does not apply here"):
        hd.observed_kl(p, ending(4, 3), hd.UNTIL_END, method="certified")
    endless = hd.Model([1.0, 0.0], [[0.5, 0.5], [0.0, 1.0]], p.emission, end=[0.0, 0.0])
    with pytest.raises(InvalidModel, match="can never end"):
        hd.observed_kl(endless, q, hd.UNTIL_END)
    long = hd.Model([1.0], [[1 - 1e-7]], hd.Categorical([[0.5, 0.5]]), end=[1e-7])
    with pytest.raises(OutOfRange, match="too long to be drawn"):
        hd.observed_kl(long, q, hd.UNTIL_END)
    with pytest.raises(IncompatibleModels, match="UNTIL_END needs models with end"):
        hd.observed_kl(
            hd.Model([1.0], [[1.0]], p.emission.take([0])), hd.Model([1.0], [[1.0]], p.emission.take([0])), hd.UNTIL_END
        )
