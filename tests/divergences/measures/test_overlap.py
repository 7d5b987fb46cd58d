"""Bhattacharyya, Hellinger, total variation, Bayes error and Jensen-Shannon: words, bounds, draws, laws."""

from __future__ import annotations

import re
from math import erfc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hidiv as hd
from hidiv.divergences.measures.bhattacharyya_bounds import bracket, log_upper
from hidiv.divergences.pair import Pair
from hidiv.errors import HidivError
from tests.divergences.measures.words import close_model, powers, random_model

seeds = st.integers(0, 2**32 - 1)
NAMES = ("bhattacharyya", "hellinger", "total_variation", "bayes_error", "jensen_shannon")


def plain(p, q, tree):
    """All five from the words."""
    a, b = (powers(m, tree) for m in (p, q))
    m = 0.5 * (a + b)
    with np.errstate(divide="ignore", invalid="ignore"):
        halves = [np.where(x > 0, x * np.log(x / m), 0.0).sum() for x in (a, b)]
    bc, tv = np.sqrt(a * b).sum(), 0.5 * np.abs(a - b).sum()
    values = (bc, np.sqrt(max(1.0 - bc, 0.0)), tv, 0.5 * (1.0 - tv), 0.5 * sum(halves))
    return dict(zip(NAMES, values, strict=True))


@pytest.mark.parametrize("states", [(1, 1), (2, 3), (3, 3)])
@pytest.mark.parametrize("tree", [hd.Tree.chain(4), hd.Tree([-1, 0, 0, 1])], ids=["chain", "tree"])
@pytest.mark.parametrize("zeros", [0.0, 0.4])
def test_against_words(states, tree, zeros):
    rng = np.random.default_rng(11)
    p, q = (random_model(rng, k, zeros=zeros) for k in states)
    for name, expected in plain(p, q, tree).items():
        found = getattr(hd, name)(p, q, tree)
        assert found.status == "exact"
        assert found.value == pytest.approx(expected, rel=1e-10, abs=1e-13)
        certain = getattr(hd, name)(p, q, tree, method="certified")
        assert certain.lower - 1e-13 <= expected <= certain.upper + 1e-13
        drawn = getattr(hd, name)(p, q, tree, method="montecarlo", seed=1, max_samples=1000)
        assert drawn.status == "estimate"
        assert abs(drawn.value - expected) <= 5.0 * drawn.std_error + 1e-12


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_laws_of_the_bounds(seed):
    rng = np.random.default_rng(seed)
    p, q = (random_model(rng, k, 2, zeros=0.2) for k in (1 + seed % 3, 2))
    n = int(rng.integers(1, 9))
    found = {name: getattr(hd, name)(p, q, n) for name in NAMES}
    bc, h, tv, error, js = (float(found[name]) for name in NAMES)
    assert 0.0 <= bc <= 1.0
    assert bc == pytest.approx(float(hd.bhattacharyya(q, p, n)), rel=1e-12, abs=1e-300)
    assert h**2 == pytest.approx(1.0 - bc, abs=1e-12)
    assert 1.0 - bc <= tv + 1e-12
    assert tv <= np.sqrt(max(1.0 - bc**2, 0.0)) + 1e-7
    assert 0.0 <= error <= 0.5 * bc + 1e-12
    assert -1e-15 <= js <= np.log(2.0) + 1e-15
    both = [hd.observed_kl(a, b, n, method="exact").value for a, b in ((p, q), (q, p))]
    assert js <= min(both) / 2.0 + 1e-12 + 0.5 * max(min(both), 0.0)
    assert tv <= np.sqrt(0.5 * min(both)) + 1e-12  # Pinsker
    if bc > 0:
        assert -2.0 * np.log(bc) <= min(both) + 1e-10
    assert -2.0 * log_upper(Pair.of(p, q, n)) <= min(both) + 1e-10
    of = bracket(Pair.of(p, q, n))
    assert of.lower <= bc + 1e-12
    assert bc <= of.upper + 1e-12
    shuffled = q.relabel(rng.permutation(2))
    assert bc == pytest.approx(float(hd.bhattacharyya(p, shuffled, n)), rel=1e-12, abs=1e-300)


def test_bounds_of_long_chains_hold_what_is_enumerated():
    """Blocks with gaps, longer than one block: 4,096 words at once, all 2^13 words listed."""
    rng = np.random.default_rng(12)
    for _ in range(5):
        p, q = random_model(rng, 2, 2), random_model(rng, 3, 2)
        exact = hd.bhattacharyya(p, q, 13, method="exact")
        certain = hd.bhattacharyya(p, q, 13, method="certified")
        assert certain.lower <= exact.value <= certain.upper
        assert certain.upper < 1.0
        long = hd.bhattacharyya(p, q, 10**6, method="certified")
        assert long.log < -100.0
        assert np.isfinite(long.log)


def test_gaussian_models_have_bounds_and_estimates():
    p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Gaussian([0.0, 2.0], std=[1.0, 0.5]))
    q = hd.Model([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], hd.Gaussian([0.5, 2.5], std=[1.0, 0.5]))
    found = hd.bhattacharyya(p, q, 10, seed=1)
    certain = hd.bhattacharyya(p, q, 10, method="certified")
    assert found.status == "estimate"
    assert certain.lower <= found.value <= certain.upper
    alone = [hd.Model([1.0], [[1.0]], hd.Gaussian([m], std=[1.0])) for m in (0.0, 1.0)]
    exact = hd.bhattacharyya(*alone, 10)
    assert exact.status == "exact"
    assert exact.value == pytest.approx(np.exp(-10.0 / 8.0), rel=1e-13)


def test_close_models_keep_their_digits():
    rng = np.random.default_rng(13)
    p = random_model(rng, 2, 2)
    found = []
    for size in (1e-4, 1e-5, 1e-6):
        q = close_model(np.random.default_rng(14), p, size)
        exact = [getattr(hd, name)(p, q, 6) for name in NAMES]
        found.append(
            [exact[0].complement / size**2, exact[1].value / size, exact[2].value / size, exact[4].value / size**2]
        )
        assert hd.bhattacharyya(p, q, 6, method="certified").complement < 1e2 * size**2
    np.testing.assert_allclose(found[1], found[2], rtol=1e-3)
    np.testing.assert_allclose(found[0], found[2], rtol=1e-2)


def test_equal_and_disjoint_models():
    p = random_model(np.random.default_rng(15), 2)
    for tree in (5, 10**6):
        assert hd.bhattacharyya(p, p, tree).value == 1.0
        assert hd.hellinger(p, p, tree).value == 0.0
        assert hd.bayes_error(p, p, tree).value == 0.5
        assert hd.jensen_shannon(p, p, tree).value == 0.0
    a, b = (hd.Model([1.0], [[1.0]], hd.Categorical([row])) for row in ([1.0, 0.0], [0.0, 1.0]))
    assert hd.bhattacharyya(a, b, 3).value == 0.0
    assert hd.total_variation(a, b, 3).value == 1.0
    assert hd.jensen_shannon(a, b, 3).value == pytest.approx(np.log(2.0), rel=1e-15)


def test_the_sentence_of_a_bayes_error():
    p, q = (random_model(np.random.default_rng(i), 2, 2) for i in (16, 17))
    sentence = hd.bayes_error(p, q, 100, method="certified").notes[0]
    assert sentence.startswith("shown 100 observations, the best possible guess of which model made them errs")
    assert sentence.endswith("% of the time")


def test_models_that_are_easily_told_apart_have_an_error_near_zero():
    """The laws of one state have an error in closed form, which the interval holds; bounds alone said 50 %."""
    steps = [[0.9, 0.1], [0.1, 0.9]]
    p = hd.Model([0.5, 0.5], steps, hd.Gaussian([0.0, 2.0], std=[1.0, 1.0]))
    q = hd.Model([0.5, 0.5], steps, hd.Gaussian([0.0, 4.0], std=[1.0, 1.0]))
    found = hd.bayes_error(p, q, 100, seed=0)
    assert found.upper < 0.02
    assert re.search(r"errs less than [\d.]+ % of the time \(95 % interval\)$", found.notes[0])
    assert "less than" in hd.compare(p, q, 100).overlap[0]
    same = hd.Model([0.5, 0.5], steps, hd.Gaussian([0.0, 0.0], std=[1.0, 1.0]))
    for apart, n in ((1.0, 40), (1.5, 30), (3.0, 10)):
        moved = hd.Model([0.5, 0.5], steps, hd.Gaussian([apart, apart], std=[1.0, 1.0]))
        truth = 0.5 * erfc(apart * np.sqrt(n) / np.sqrt(8.0))
        every = [hd.bayes_error(same, moved, n, seed=seed, max_samples=500) for seed in range(20)]
        assert sum(found.lower <= truth <= found.upper for found in every) >= 18  # of 20 intervals of 95 %


def test_what_is_refused():
    p = random_model(np.random.default_rng(0), 2)
    with pytest.raises(HidivError, match="method"):
        hd.bhattacharyya(p, p, 3, method="guess")
    with pytest.raises(HidivError, match="rtol"):
        hd.bhattacharyya(p, p, 3, rtol=0.0)
    with pytest.raises(HidivError, match="known size"):
        hd.hellinger(p, p, None)
    with pytest.raises(HidivError, match="words"):
        hd.bhattacharyya(p, random_model(np.random.default_rng(1), 2), 100, method="exact")
