"""The permutation test: exact where all ways can be listed, and not blind with few sequences."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

from hidiv.answers import permutation
from hidiv.answers.permutation import holm, memory, p_value, reference, statistic, ways

RNG = np.random.default_rng(1)
ONE = np.zeros(8, dtype=np.int64)


def whitened(scores, strata):
    """With scores of other draws as the information."""
    like = np.random.default_rng(2).normal(size=(200, scores.shape[1]))
    return permutation.whitened(scores, strata, like)


def test_the_reference_is_all_ways_to_deal():
    white = whitened(RNG.normal(size=(8, 2)), ONE)
    labels = np.repeat([0, 1], 4)
    every = []
    for chosen in combinations(range(8), 4):
        dealt = np.ones(8, dtype=np.int64)
        dealt[list(chosen)] = 0
        every.append(statistic(white, dealt, 2))
    observed = statistic(white, labels, 2)
    truth = np.mean(np.array(every) >= observed * (1 - 1e-9))
    assert p_value(observed, reference(white, labels, 2, 70, np.random.default_rng(0))) == truth
    assert p_value(observed, reference(white, labels, 2, 69, np.random.default_rng(0))) == pytest.approx(truth, abs=0.2)
    assert ways(labels, ONE) == 70


def test_every_way_within_strata_and_of_three_groups():
    labels = np.array([0, 1, 2, 0, 1, 1, 0])
    strata = np.array([0, 0, 0, 1, 1, 1, 1])
    white = whitened(RNG.normal(size=(7, 2)), strata)
    every = [
        np.array([*one, *two]) for one in set(permutations(labels[:3])) for two in set(permutations(labels[3:]))
    ]  # fmt: skip
    assert ways(labels, strata) == len(every) == 36
    expected = sorted(statistic(white, each, 3) for each in every if (each != labels).any())
    found = reference(white, labels, 3, 36, np.random.default_rng(0))
    np.testing.assert_allclose(np.sort(found), expected, rtol=1e-12)


def test_the_statistic_by_its_formula():
    scores = RNG.normal(size=(9, 3))
    labels = np.array([0, 0, 1, 1, 1, 2, 2, 2, 2])
    white = whitened(scores, np.zeros(9, dtype=np.int64))
    each = sum(
        len(z := white.scores[labels == g]) * float(np.square(z.mean(axis=0)).sum()) for g in range(3)
    )  # fmt: skip
    assert statistic(white, labels, 3) == pytest.approx(each, rel=1e-12)


def test_labels_and_units_do_not_matter():
    scores = RNG.normal(size=(8, 3))
    labels = np.repeat([0, 1], 4)
    value = statistic(whitened(scores, ONE), labels, 2)
    like, units = np.random.default_rng(2).normal(size=(200, 3)), [1e-6, 1.0, 1e6]
    scaled = permutation.whitened(scores * units, ONE, like * units)
    assert statistic(scaled, labels, 2) == pytest.approx(value, rel=1e-9)
    assert statistic(whitened(scores, ONE), 1 - labels, 2) == pytest.approx(value, rel=1e-12)


def test_more_directions_than_sequences_still_tell():
    scores = RNG.normal(size=(8, 20))
    scores[:4] += 3.0
    labels = np.repeat([0, 1], 4)
    white = whitened(scores, ONE)
    drawn = reference(white, labels, 2, 999, np.random.default_rng(0))
    assert drawn.std() > 0.01 * drawn.mean()
    assert p_value(statistic(white, labels, 2), drawn) < 0.06  # 2 of the 70 ways


def test_strata_are_kept():
    """What is between strata is no difference between groups."""
    scores = RNG.normal(size=(40, 2))
    strata = np.repeat([0, 1], 20)
    scores[strata == 1] += 10.0
    labels = np.where(np.arange(40) % 20 < np.where(strata == 1, 15, 5), 1, 0)
    within = whitened(scores, strata)
    drawn = reference(within, labels, 2, 499, np.random.default_rng(0))
    assert p_value(statistic(within, labels, 2), drawn) > 0.05
    across = whitened(scores, np.zeros(40, dtype=np.int64))
    drawn = reference(across, labels, 2, 499, np.random.default_rng(0))
    assert p_value(statistic(across, labels, 2), drawn) < 0.01
    assert ways(labels, strata) < ways(labels, np.zeros(40, dtype=np.int64))


def test_executors_give_the_same_numbers():
    white = whitened(RNG.normal(size=(8, 2)), ONE)
    labels = np.repeat([0, 1], 4)
    one, two = (reference(white, labels, 2, 500, np.random.default_rng(0), how) for how in (None, "serial"))
    np.testing.assert_array_equal(one, two)


def test_holm():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.5]) == [1.0, 1.0]


def test_memory():
    assert memory(np.array([[0.9, 0.1], [0.1, 0.9]])) == pytest.approx(np.log(0.01) / np.log(0.8))
    assert memory(np.eye(2)) == np.inf
    assert memory(np.ones((1, 1))) == 1.0
