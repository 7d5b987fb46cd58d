from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import HidivError, IncompatibleModels
from hidiv.wavelets import WaveletModel, dual_tree, fit_bands, pairwise
from tests.wavelets.made import drawn, truth


@pytest.fixture(scope="module")
def models() -> list[WaveletModel]:
    rng = np.random.default_rng(1)
    images = [rng.normal(size=(32, 32)), rng.normal(size=(32, 32)), rng.normal(size=(32, 32)).cumsum(axis=0)]
    return [fit_bands(dual_tree(image, 3), max_iter=8) for image in images]


def by_hand(p: WaveletModel, q: WaveletModel, tree: hd.Tree, quantity: str) -> float:
    total = 0.0
    for one, two in zip(p.models, q.models, strict=True):
        for a, b in ((one, two), (two, one)):
            if quantity == "joint":
                total += hd.joint_kl(a, b, tree).value
            else:
                total += hd.observed_kl(a, b, tree, method="variational").value
    return total


@pytest.mark.parametrize("quantity", ["joint", "observed"])
def test_equal_levels_are_a_path_and_nodes_the_tree(models: list[WaveletModel], quantity: str) -> None:
    trees = {"equal": hd.Tree.chain(3, group=[0, 1, 2]), None: models[0].tree}
    for weights, tree in trees.items():
        found = pairwise(models, quantity=quantity, level_weights=weights)
        expected = [[by_hand(p, q, tree, quantity) for q in models] for p in models]
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)  # all pairs at once: a matrix product


def test_the_nearest_is_of_the_same_kind(models: list[WaveletModel]) -> None:
    found = pairwise(models)
    np.testing.assert_allclose(found, found.T, rtol=1e-12)
    np.testing.assert_allclose(np.diag(found), 0.0, atol=1e-12)
    assert found[0, 1] < 0.2 * found[0, 2]


def test_others_give_a_part_of_the_matrix(models: list[WaveletModel]) -> None:
    np.testing.assert_allclose(pairwise(models[:1], models[1:]), pairwise(models)[:1, 1:], rtol=1e-12)


def test_aligned_is_the_least_over_labels_tree_by_tree() -> None:
    model = truth([(1.0, 9.0), (1.0, 9.0)])
    one, two = (fit_bands(drawn(model, 8, seed), max_iter=10) for seed in (1, 2))
    turned = WaveletModel(tuple(each.relabel([1, 0]) for each in two.models), two.tree, two.log_likelihood)
    labelled = pairwise([one], [turned], quantity="joint", level_weights=None)
    aligned = pairwise([one], [turned], quantity="joint", level_weights=None, aligned=True)
    assert aligned[0, 0] < 0.5 * labelled[0, 0]
    back = pairwise([one], [two], quantity="joint", level_weights=None)
    np.testing.assert_allclose(aligned, back, rtol=1e-10)
    np.testing.assert_allclose(pairwise([one], [turned]), pairwise([one], [two]), rtol=1e-10)  # sees no labels


def test_refused(models: list[WaveletModel]) -> None:
    noise = np.random.default_rng(2).normal(size=(32, 32))
    other = fit_bands(dual_tree(noise, 2), max_iter=1)
    with pytest.raises(IncompatibleModels, match=r"others\[0\]: must have the orientations and scales of the first"):
        pairwise(models, [other])
    with pytest.raises(IncompatibleModels, match="must not be empty"):
        pairwise([])
    six = fit_bands(dual_tree(noise, 1), 6, max_iter=1)
    with pytest.raises(IncompatibleModels, match="at most 5 states, got 6"):
        pairwise([six], quantity="joint", aligned=True)
    two = fit_bands(dual_tree(noise, 1), 2, max_iter=1)
    with pytest.raises(IncompatibleModels, match="aligned: needs models of 2 states like the first, got 6"):
        pairwise([two], [six], quantity="joint", aligned=True)
    with pytest.raises(
        IncompatibleModels, match=r"models\[1\]: must be a WaveletModel, as `fit_bands` returns it, got int"
    ):
        pairwise([two, 3])  # type: ignore[list-item]
    with pytest.raises(HidivError, match='quantity: must be "joint" or "observed", got aligned'):
        pairwise([two], quantity="aligned")  # type: ignore[arg-type]
