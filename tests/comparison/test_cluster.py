"""Clusters, medoids, silhouettes and maps."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import HidivError
from tests.comparison.many import model, moved


def planted(seed, sizes=(5, 3, 4), distance=0.02):
    """Models scattered around a few, and which one each of them belongs to."""
    rng = np.random.default_rng(seed)
    bases = [model(rng, "categorical") for _ in sizes]
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return [moved(rng, bases[i], distance) for i in labels], labels


@pytest.mark.parametrize("method", ["average", "complete", "single", "medoids"])
def test_planted_clusters_are_found(method):
    models, labels = planted(1)
    order = np.random.default_rng(2).permutation(len(models))
    matrix = hd.pairwise_kl([models[i] for i in order], 50, symmetric=True)
    for count in (None, 3):
        found = hd.cluster(matrix, count, method=method)
        assert found.n_clusters == 3
        together = found.labels[:, None] == found.labels
        assert (together == (labels[order][:, None] == labels[order])).all()
        assert found.silhouette > 0.9
        for c, medoid in enumerate(found.medoids):
            inside = np.flatnonzero(found.labels == c)
            sums = np.asarray(matrix)[np.ix_(inside, inside)].sum(axis=1)
            assert medoid == inside[sums.argmin()]
    assert (found.linkage is None) == (method == "medoids")
    assert found.labels[0] == 0  # clusters by their first model
    assert repr(found).startswith("3 clusters of ")


def test_one_direction_is_symmetrised():
    models, _ = planted(3)
    matrix = np.asarray(hd.pairwise_kl(models, 50))
    assert (hd.cluster(matrix, 3).labels == hd.cluster(matrix + matrix.T, 3).labels).all()
    assert np.array_equal(hd.embed(matrix), hd.embed(matrix + matrix.T))


def test_medoids_are_the_best_there_are():
    rng = np.random.default_rng(4)
    for _ in range(5):
        points = rng.normal(size=(9, 2))
        table = ((points[:, None] - points) ** 2).sum(axis=2)
        labels = hd.cluster(table, 3, method="medoids").labels
        medoids = hd.cluster(table, 3, method="medoids").medoids
        best = min(table[:, list(some)].min(axis=1).sum() for some in combinations(range(9), 3))
        assert table[np.arange(9), medoids[labels]].sum() == pytest.approx(best, rel=1e-12)


def test_silhouettes_by_hand():
    table = np.array([[0.0, 1, 8, 9], [1, 0, 7, 6], [8, 7, 0, 2], [9, 6, 2, 0]])
    found = hd.cluster(table, 2)
    assert found.labels.tolist() == [0, 0, 1, 1]
    expected = [(8.5 - 1) / 8.5, (6.5 - 1) / 6.5, (7.5 - 2) / 7.5, (7.5 - 2) / 7.5]
    np.testing.assert_allclose(found.silhouettes, expected, rtol=1e-12)
    assert found.silhouette == pytest.approx(np.mean(expected), rel=1e-12)
    alone = hd.cluster(table, 4)
    assert (alone.silhouettes == 0).all()
    assert hd.cluster(table, 1).silhouette == 0


def test_small_and_infinite():
    assert hd.cluster([[0.0]]).labels.tolist() == [0]
    assert hd.cluster([[0.0, 3.0], [3.0, 0.0]]).labels.tolist() == [0, 0]
    inf = np.inf
    apart = np.array([[0, 1, inf, inf], [1, 0, inf, inf], [inf, inf, 0, 1], [inf, inf, 1, 0]])
    assert hd.cluster(apart).labels.tolist() == [0, 0, 1, 1]
    assert np.isfinite(hd.embed(apart)).all()
    same = np.zeros((4, 4))
    assert hd.cluster(same, 2, method="medoids").n_clusters <= 2
    assert (hd.embed(same) == 0).all()


def test_the_map_keeps_squared_distances():
    rng = np.random.default_rng(5)
    points = rng.normal(size=(8, 2))
    table = ((points[:, None] - points) ** 2).sum(axis=2)
    found = hd.embed(table)
    again = ((found[:, None] - found) ** 2).sum(axis=2)
    np.testing.assert_allclose(again, table, rtol=1e-10, atol=1e-12)  # eigenvectors
    assert (found[np.abs(found).argmax(axis=0), [0, 1]] > 0).all()


def test_what_is_refused():
    good = np.array([[0.0, 1.0], [1.0, 0.0]])
    for matrix, options, sentence in (
        ([[0.0, 1.0]], {}, "matrix: must be a square matrix of divergences, got shape (1, 2)"),
        ("abc", {}, "matrix: must be a square matrix of divergences"),
        ([], {}, "matrix: must be a square matrix"),
        ([[0.0, np.nan], [1.0, 0.0]], {}, "matrix: divergences are numbers from 0"),
        ([[0.0, -1.0], [1.0, 0.0]], {}, "matrix: divergences are numbers from 0"),
        (good, {"n_clusters": 3}, "n_clusters: must be a whole number from 1 to the 2 models, got 3"),
        (good, {"method": "ward"}, 'method: must be "average", "complete", "single" or "medoids", got ward'),
    ):
        with pytest.raises(HidivError) as caught:
            hd.cluster(matrix, **options)
        assert str(caught.value).startswith(sentence)
    with pytest.raises(HidivError, match="dimensions: must be a whole number from 1 to the 2 models, got 3"):
        hd.embed(good, 3)


def test_matrices_without_a_finite_number_and_complex_ones():
    assert hd.cluster(np.full((3, 3), np.inf)).labels.shape == (3,)
    for read in (hd.cluster, hd.embed):
        with pytest.raises(HidivError, match="matrix: must be a square matrix of divergences"):
            read(np.array([[0.0, 1.0 + 1.0j], [1.0, 0.0]]))
