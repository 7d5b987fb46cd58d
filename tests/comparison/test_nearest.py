"""The nearest models against the whole matrix, by every way to find them."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.comparison.neighbours import nearest as module
from hidiv.errors import HidivError, IncompatibleModels, InvalidModel
from tests.comparison.many import model, moved, stacked
from tests.comparison.test_pairwise_joint import with_zeros


def expected(matrix, k):
    order = np.lexsort((np.broadcast_to(np.arange(matrix.shape[1]), matrix.shape), matrix), axis=1)[:, :k]
    return order, np.take_along_axis(matrix, order, axis=1)


@pytest.mark.parametrize("index", ["exact", "faiss"])
def test_the_nearest_of_many(index, monkeypatch):
    monkeypatch.setattr(module, "MODELS", 100)  # many blocks
    monkeypatch.setattr(module, "QUERIES", 3)
    queries, models = stacked(7, 1), stacked(450, 2)
    indices, values = expected(np.asarray(hd.pairwise_kl(queries, 100, models)), 5)
    found = hd.nearest(queries, models, 100, 5, index=index)
    assert (found.indices == indices).all()
    np.testing.assert_allclose(found.values, values, rtol=1e-11)
    first, second = found
    assert first is found.indices
    assert second is found.values
    if index == "faiss":
        assert found.recall == 1.0
        assert found.notes[0] == "flat faiss index; 64 candidates ranked exactly; recall 1.000 over 7 queries"


def test_one_query_gives_vectors():
    models = stacked(20, 3)
    indices, values = hd.nearest(models[4], models, 10, 3)
    assert indices.shape == values.shape == (3,)
    assert indices[0] == 4
    assert values[0] == 0.0
    indices, values = hd.nearest([models[4]], list(models), 10, 3)
    assert indices.shape == (1, 3)


def test_an_index_is_used_again_and_its_recall_is_honest():
    models, queries = stacked(2000, 4), stacked(6, 5)
    index = hd.faiss_index(models, 100, lists=60, probes=1)
    found = hd.nearest(queries, models, 100, 10, index=index)
    truth, _ = hd.nearest(queries, models, 100, 10)
    shared = np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(found.indices, truth, strict=True)])
    assert found.recall == pytest.approx(shared, abs=1e-12)
    assert found.recall < 0.9  # one list of sixty, and models in no clusters
    every = hd.nearest(queries, models, 100, 10, index=hd.faiss_index(models, 100, lists=60, probes=60))
    assert every.recall == 1.0
    assert (every.indices == truth).all()


@pytest.mark.parametrize("index", ["exact", "faiss"])
def test_missing_support_is_infinitely_far(index):
    models = with_zeros()
    matrix = np.asarray(hd.pairwise_kl(models, 20))
    indices, values = expected(matrix, 5)
    found = hd.nearest(models, models, 20, 5, index=index)
    assert np.isinf(values).any()
    assert (np.isinf(found.values) == np.isinf(values)).all()
    finite = np.isfinite(values)
    assert (found.indices[finite] == indices[finite]).all()
    np.testing.assert_allclose(found.values[finite], values[finite], rtol=1e-11)


def test_close_models_and_ties():
    rng = np.random.default_rng(6)
    base = model(rng, "categorical")
    models = [moved(rng, base, 1e-7), base, moved(rng, base, 1e-9), base, model(rng, "categorical")]
    indices, values = hd.nearest([base], models, 50, 4)
    assert indices[0].tolist() == [1, 3, 2, 0]
    assert values[0][:2].tolist() == [0.0, 0.0]
    assert values[0][2] == pytest.approx(hd.joint_kl(base, models[2], 50).value, rel=1e-11)


def test_models_of_several_shapes_and_trees():
    rng = np.random.default_rng(7)
    tree = hd.Tree([-1, 0, 0, 1, 1], [0, 1, 2, 1, 2])
    models = [model(rng, "gaussian", 2, groups) for groups in (1, 3, 3, 1, 3)]
    matrix = np.array([[hd.joint_kl(p, q, tree).value for q in models] for p in models])
    indices, values = expected(matrix, 3)
    found = hd.nearest(models, models, tree, 3)
    assert (found.indices == indices).all()
    np.testing.assert_allclose(found.values, values, rtol=1e-11)


def test_what_is_refused():
    rng = np.random.default_rng(8)
    two, three = model(rng, k=2), model(rng, k=3)
    laplace = [model(rng, "laplace", 2) for _ in range(3)]
    for arguments, options, error, sentence in (
        (([two], [two, two], 5, 3), {}, HidivError, "k: must be a whole number from 1 to the 2 models, got 3"),
        (([two], [two, two], 5, True), {}, HidivError, "k: must be a whole number from 1 to the 2 models, got True"),
        (([three], [two], 5, 1), {}, IncompatibleModels, "queries[0]: has 3 states and models[0] has 2"),
        (([two], [two], 5, 1), {"index": "tree"}, HidivError, 'index: must be "exact", "faiss" or an index'),
        (([], [two], 5, 1), {}, InvalidModel, "queries: at least one model is needed"),
        ((laplace, laplace, 5, 1), {"index": "faiss"}, IncompatibleModels, "index: needs families with sufficient"),
        (([two], [two, model(rng, k=2, groups=3)], hd.Tree.chain(2, [0, 1]), 1), {"index": "faiss"}, HidivError,
         "index: an index needs models of one shape"),
        (([two], [two, two], 5, 1), {"index": hd.faiss_index([two], 5)}, HidivError, "index: was made for 1 model,"),
    ):  # fmt: skip
        with pytest.raises(error) as caught:
            hd.nearest(*arguments, **options)
        assert str(caught.value).startswith(sentence)
    with pytest.raises(HidivError, match="lists: must be a whole number from 1 to the 1 model, got 3"):
        hd.faiss_index([two], 5, lists=3)


def test_options_of_a_measure_go_along():
    """Symbols have no distance of their own: the nearest by transport need one, and those by kernels a power."""
    models = list(stacked(6, 7))

    def apart(a, b):
        return 0.5 * np.abs(a.probs[:, None] - b.probs[None]).sum(axis=2)

    matrix = np.asarray(hd.pairwise(models, None, measure="aggregated_wasserstein", ground=apart))
    found = hd.nearest(models[:2], models, None, 3, quantity="aggregated_wasserstein", ground=apart)
    np.testing.assert_array_equal(found.indices, expected(matrix[:2], 3)[0])
    kernels = np.asarray(hd.pairwise(models, 5, measure="product_kernel", beta=0.5))
    found = hd.nearest(models[0], models, 5, 2, quantity="product_kernel", beta=0.5)
    np.testing.assert_allclose(found.values, np.sort(kernels[0])[::-1][:2], rtol=1e-14)
    with pytest.raises(HidivError, match='^beta: is no option of quantity="joint"'):
        hd.nearest(models[0], models, 5, 2, beta=0.5)
