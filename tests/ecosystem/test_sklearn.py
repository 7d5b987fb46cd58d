"""Distances of sequences inside scikit-learn: its own checks, and what people build from them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import DBSCAN
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import hidiv as hd
from hidiv.errors import HidivError
from hidiv.sklearn import HMMDistances


@parametrize_with_checks([HMMDistances(n_states=1, n_init=1, quantity="aligned")])
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def sequences(count=6, n=120):
    """Two kinds of chains, alternating: slow and quick switching between the same two states."""
    slow = hd.Model([0.5, 0.5], [[0.95, 0.05], [0.05, 0.95]], hd.Gaussian([0.0, 4.0], std=[1.0, 1.0]))
    quick = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], hd.Gaussian([0.0, 4.0], std=[1.0, 1.0]))
    drawn = [hd.sample((slow, quick)[i % 2], n + i, seed=i)[1] for i in range(count)]
    return drawn, np.arange(count) % 2


@pytest.fixture(scope="module")
def distances():
    x, y = sequences()
    transformer = HMMDistances(n_init=2, random_state=0).fit(x)
    return transformer, transformer.transform(x), y


def test_neighbours_and_clusters_of_distances(distances):
    _, matrix, y = distances
    assert matrix.shape == (6, 6)
    np.testing.assert_allclose(np.diag(matrix), 0, atol=1e-9)
    assert (KNeighborsClassifier(1, metric="precomputed").fit(matrix, y).predict(matrix) == y).all()
    near = np.where(np.eye(6, dtype=bool), np.inf, matrix).argmin(axis=1)
    assert (y[near] == y).all()
    groups = DBSCAN(eps=np.median(matrix), min_samples=2, metric="precomputed").fit_predict(matrix)
    assert len(set(groups)) >= 2


def test_a_pipeline_with_a_kernel(distances):
    transformer, matrix, y = distances
    kernel = FunctionTransformer(lambda d: np.exp(-d / np.median(matrix)))
    assert (make_pipeline(kernel, SVC(kernel="precomputed")).fit(matrix, y).predict(matrix) == y).all()
    assert clone(transformer).get_params() == transformer.get_params()


def test_tables_come_out_with_names():
    import pandas as pd

    x = np.random.default_rng(0).normal(size=(3, 40))
    table = HMMDistances(n_states=1, n_init=1).set_output(transform="pandas").fit_transform(x)
    assert isinstance(table, pd.DataFrame)
    assert list(table.columns) == ["hmmdistances0", "hmmdistances1", "hmmdistances2"]


def test_a_sequence_that_cannot_be_fitted_is_named():
    with pytest.raises(HidivError, match="sequence 1: "):
        HMMDistances(emission="poisson").fit([np.ones(5), -np.ones(4)])
