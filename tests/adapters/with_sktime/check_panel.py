"""HMMPairwise in sktime: its own checks of estimators, panels in its forms, and a classifier on the distances."""

from __future__ import annotations

import doctest

import numpy as np
import pandas as pd
import pytest
from sktime.classification.distance_based import KNeighborsTimeSeriesClassifier
from sktime.utils.estimator_checks import check_estimator

import hidiv.sktime
from hidiv.sklearn import HMMDistances
from hidiv.sktime import HMMPairwise

RNG = np.random.default_rng(0)
CALM, WILD = RNG.normal(size=(4, 1, 60)), 3.0 * RNG.normal(size=(4, 1, 60))
PANEL = np.concatenate([CALM, WILD])


def test_the_checks_of_sktime():
    found = check_estimator(HMMPairwise, raise_exceptions=False)
    assert found
    assert {name: result for name, result in found.items() if result != "PASSED"} == {}


def test_the_examples():
    failed, found = doctest.testmod(hidiv.sktime)
    assert (failed, found) == (0, 4)


@pytest.mark.parametrize("n_states", [1, 2])
def test_the_same_numbers_as_for_scikit_learn(n_states):
    options = {"n_states": n_states, "quantity": "aligned", "n_init": 1}
    expected = HMMDistances(**options).fit_transform(PANEL[:, 0])
    pairwise = HMMPairwise(**options)
    np.testing.assert_allclose(pairwise.transform(PANEL), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(pairwise.transform(PANEL[:3], PANEL[3:]), expected[:3, 3:], rtol=1e-9, atol=1e-12)


def test_series_of_any_length_and_several_columns():
    frames = [pd.DataFrame(RNG.normal(size=(n, 2)), columns=["a", "b"]) for n in (30, 50, 40)]
    found = HMMPairwise(n_states=1).transform(frames)
    assert found.shape == (3, 3)
    assert (found == found.T).all()
    assert (np.diag(found) == 0.0).all()


def test_a_classifier_takes_the_distances():
    labels = np.repeat(["calm", "wild"], 4)
    machine = KNeighborsTimeSeriesClassifier(n_neighbors=1, distance=HMMPairwise(n_states=1)).fit(PANEL, labels)
    assert (machine.predict(PANEL) == labels).all()
