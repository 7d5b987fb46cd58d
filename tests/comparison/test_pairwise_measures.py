"""All pairs by any measure: what each pair is alone, executors, stores, nearest, clusters, maps, kernel matrices."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences.measures.names import MEASURES, function_of
from hidiv.errors import HidivError
from hidiv.wavelets import average_retrieval, discrete, fit_bands
from tests.divergences.measures.words import random_model

TREE = hd.Tree.regular(2, 2)


@pytest.fixture(scope="module")
def models():
    rng = np.random.default_rng(21)
    return [random_model(rng, 1 + i % 3, 2) for i in range(7)]


def options(name):
    if name == "aggregated_wasserstein":
        return {"ground": lambda a, b: np.abs(a.probs[:, None] - b.probs[None]).sum(axis=2)}
    return {}


@pytest.mark.parametrize("name", MEASURES)
def test_every_pair_is_what_it_is_alone(models, name):
    known = MEASURES[name]
    models = models[:4] if name == "aggregated_wasserstein" else models
    place = (TREE,) if known.on_tree else ()
    matrix = hd.pairwise(models, TREE, measure=name, **options(name))
    expected = [[float(function_of(name)(p, q, *place, **options(name))) for q in models] for p in models]
    np.testing.assert_allclose(matrix, expected, rtol=1e-11, atol=1e-9)
    assert (np.asarray(matrix) == np.asarray(matrix).T).all()
    assert (matrix.quantity, matrix.status, matrix.symmetric) == (name, "exact", True)
    some = hd.pairwise(models[:2], TREE, models[2:], measure=name, **options(name))
    np.testing.assert_allclose(some, np.array(expected)[:2, 2:], rtol=1e-11, atol=1e-9)
    found = hd.nearest(models[:1], models, TREE, 3, quantity=name) if not options(name) else None
    if found is not None:
        best = np.sort(expected[0])[:: -1 if known.largest_is_nearest else 1][:3]
        np.testing.assert_allclose(found.values[0], best, rtol=1e-11, atol=1e-9)
    assert hd.cluster(matrix, 2).n_clusters == 2
    assert hd.embed(matrix).shape == (len(models), 2)
    assert (matrix.condensed() >= 0).all()


def test_divergences_are_those_of_pairwise_kl(models):
    two = [m for m in models if m.n_states == 2]
    for name in ("joint", "aligned"):
        assert (
            np.asarray(hd.pairwise(two, 9, measure=name)) == np.asarray(hd.pairwise_kl(two, 9, quantity=name))
        ).all()
    symmetric = hd.pairwise(two, 9, measure="joint", symmetric=True)
    assert (np.asarray(symmetric) == np.asarray(hd.pairwise_kl(two, 9, symmetric=True))).all()


@pytest.mark.parametrize("name", ["product_kernel", "hellinger"])
def test_executors_and_stores_give_the_same(models, name, tmp_path):
    whole = np.asarray(hd.pairwise(models, 6, measure=name, executor="serial"))
    small = hd.pairwise(models, 6, measure=name, memory=64 * 9)  # blocks of three
    np.testing.assert_allclose(small, whole, rtol=1e-13, atol=1e-14)
    stored = hd.pairwise(models, 6, measure=name, store=tmp_path / "m.zarr")
    np.testing.assert_array_equal(stored, whole)
    np.testing.assert_array_equal(hd.pairwise(models, 6, measure=name, store=tmp_path / "m.zarr"), whole)
    with pytest.raises(HidivError):
        hd.pairwise(models, 7, measure=name, store=tmp_path / "m.zarr")
    with pytest.raises(HidivError):
        hd.pairwise(models, 6, measure="coemission", store=tmp_path / "m.zarr")


@pytest.mark.parametrize("name", ["bhattacharyya", "hellinger", "total_variation", "bayes_error", "jensen_shannon"])
def test_shared_draws_are_what_each_pair_is_alone(name, tmp_path):
    rng = np.random.default_rng(26)
    models = [
        hd.Model(
            rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), k), hd.Gaussian(rng.normal(size=k), std=[1.0] * k)
        )
        for k in (1, 2, 2, 1, 3)
    ]
    models.append(models[1])
    wanted = {"measure": name, "rtol": 0.05, "seed": 3}
    matrix = hd.pairwise(models, 5, executor="serial", **wanted)
    assert matrix.status == "estimate"
    errors = np.asarray(matrix.std_error)
    assert (errors == errors.T).all()
    assert errors[1, 5] == errors[2, 2] == 0.0
    assert matrix[1, 5] == matrix[2, 2] == MEASURES[name].equal
    for i in range(5):
        for j in range(i):
            alone = getattr(hd, name)(models[i], models[j], 5, method="montecarlo", seed=9, rtol=0.02)
            assert abs(alone.value - matrix[i, j]) <= 5.0 * np.hypot(errors[i, j], alone.std_error)
            assert errors[i, j] <= 0.0501 * max(matrix[i, j], 1e-3) or matrix[i, j] < 0.05
    for other in (
        hd.pairwise(models, 5, memory=64 * 9, **wanted),
        hd.pairwise(models, 5, store=tmp_path / "m.zarr", **wanted),
        hd.pairwise(models, 5, store=tmp_path / "m.zarr", **wanted),
    ):
        np.testing.assert_array_equal(other, matrix)
        np.testing.assert_array_equal(other.std_error, errors)
    some = hd.pairwise(models[:2], 5, models[2:], **wanted)
    assert (np.abs(np.asarray(some) - np.asarray(matrix)[:2, 2:]) <= 6.0 * errors[:2, 2:] + 1e-12).all()
    with pytest.raises(HidivError, match="no argument"):
        hd.pairwise(models, 5, measure=name, alpha=1.0)


def test_what_draws_do_not_see_lies_between_bounds():
    far = [hd.Model([1.0], [[1.0]], hd.Gaussian([mean], std=[1.0])) for mean in (0.0, 5.0)]
    matrix = hd.pairwise(far, 20, measure="bayes_error", seed=1)
    assert "1 pair hardly seen by draws" in matrix.notes[-1]
    certain = hd.bayes_error(*far, 20, method="certified")
    assert matrix[0, 1] == certain.value
    assert matrix.std_error[0, 1] == 0.5 * (certain.upper - certain.lower)


def test_gaussian_models_of_different_sizes_on_a_grouped_tree():
    rng = np.random.default_rng(22)
    models = []
    for k in (1, 2, 2):
        steps = [None, rng.dirichlet(np.ones(k), k)]
        emissions = [hd.Gaussian(rng.normal(size=k), std=rng.uniform(0.5, 1.0, k)) for _ in range(2)]
        models.append(hd.Model(rng.dirichlet(np.ones(k)), steps, emissions))
    tree = hd.Tree.regular(3, 2)
    matrix = hd.pairwise(models, tree, measure="product_kernel", beta=0.5)
    expected = [[hd.product_kernel(p, q, tree, 0.5).value for q in models] for p in models]
    np.testing.assert_allclose(matrix, expected, rtol=1e-12)


def test_a_kernel_matrix_trains_a_support_vector_machine(models):
    from sklearn import svm

    rng = np.random.default_rng(23)
    kinds = [hd.Model([1.0], [[1.0]], hd.Gaussian([m], std=[1.0])) for m in rng.normal(np.repeat([0.0, 3.0], 10), 0.2)]
    kernel = hd.pairwise(kinds, 5, measure="product_kernel")
    assert np.linalg.eigvalsh(np.asarray(kernel)).min() > -1e-12
    labels = np.repeat([0, 1], 10)
    machine = svm.SVC(kernel="precomputed").fit(kernel, labels)
    assert (machine.predict(kernel) == labels).all()


def test_files_remember_the_measure(models, tmp_path):
    matrix = hd.pairwise(models, 6, measure="product_kernel")
    for name in ("m.json", "m.npz"):
        hd.save(matrix, tmp_path / name)
        again = hd.load(tmp_path / name)
        assert (again.quantity, again.unit, repr(again)) == ("product_kernel", "", repr(matrix))
        np.testing.assert_array_equal(again, matrix)


def test_what_is_refused(models):
    with pytest.raises(HidivError, match="measure"):
        hd.pairwise(models, 6, measure="distance")
    with pytest.raises(HidivError, match="beta"):
        hd.pairwise(models, 6, measure="product_kernel", beta=0.0)
    with pytest.raises(HidivError, match="no argument"):
        hd.pairwise(models, 6, measure="coemission", beta=0.5)
    with pytest.raises(HidivError, match="seed: is no argument of sahraeian_yoon; it takes k"):
        hd.pairwise(models, 6, measure="sahraeian_yoon", seed=1)
    ending = [hd.Model([1.0], [[0.5]], hd.Silent(1), end=[0.5])] * 2
    with pytest.raises(HidivError, match="known size"):
        hd.pairwise(ending, hd.UNTIL_END, measure="product_kernel")


def test_speakers_of_a_digit_are_found_among_each_other():
    """Left-to-right chains of Gaussian states, moved for each speaker, states in any order."""
    rng = np.random.default_rng(24)
    models, digits = [], np.repeat(np.arange(3), 3)
    for digit in range(3):
        for _ in range(3):
            steps = np.diag([0.8, 0.7]) + np.diag([0.2], 1) + np.diag([0.3], -1)
            means = 6.0 * np.array([digit, digit + 1.5]) + rng.normal(0.0, 0.2, 2)
            model = hd.Model([1.0, 0.0], steps, hd.Gaussian(means, std=rng.uniform(0.9, 1.1, 2)))
            models.append(model.relabel(rng.permutation(2)))
    for name, more in (
        ("product_kernel", {}),
        ("bhattacharyya", {"method": "certified"}),
        ("total_variation", {"max_samples": 200}),
        ("aggregated_wasserstein", {}),
    ):
        table = hd.pairwise(models, 6, measure=name, **more).dissimilarities()
        assert average_retrieval(table, digits) == 1.0, name


def test_textures_are_found_among_each_other():
    """Wavelet trees of smooth and of rough images, the parameters by level."""
    rng = np.random.default_rng(25)
    images = rng.normal(size=(6, 32, 32))
    images[3:] = images[3:].cumsum(axis=1).cumsum(axis=2)
    fits = [fit_bands(discrete(image / image.std(), levels=2)) for image in images]
    models, tree = [fit.models[0] for fit in fits], fits[0].tree
    for name, more in (("product_kernel", {"beta": 0.5}), ("hellinger", {"method": "certified"})):
        table = hd.pairwise(models, tree, measure=name, **more).dissimilarities()
        assert average_retrieval(table, [0, 0, 0, 1, 1, 1]) == 1.0, name
