"""Files that an earlier version wrote (in the folder `earlier`) load, and hold what it was given."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hidiv as hd

EARLIER = Path(__file__).parent / "earlier"

P = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]), name="rain")
Q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))
MODELS = {
    "model": P,
    "product": hd.Model(
        P.initial, P.transition, hd.Product([hd.Gaussian([0.0, 2.0], std=[1.0, 1.0]), hd.Poisson([1.0, 2.0])])
    ),
    "mixture": hd.Model(
        P.initial,
        P.transition,
        hd.Mixture(
            [[0.5, 0.5], [0.2, 0.8]],
            [hd.Gaussian([0.0, 1.0], std=[1.0, 1.0]), hd.Gaussian([3.0, 4.0], std=[1.0, 2.0])],
        ),
    ),
    "end": hd.Model(
        [0.5, 0.5], [[0.7, 0.2], [0.2, 0.6]], hd.Poisson([1.0, 4.0]), end=[0.1, 0.2], state_names=["a", "b"]
    ),
}  # fmt: skip
TREES = {"regular_tree": hd.Tree.regular(2, 4), "listed_tree": hd.Tree([-1, 0, 0, 1], [0, 1, 2, 1])}


@pytest.mark.parametrize("name", sorted(path.name for path in EARLIER.iterdir()))
def test_every_file_loads_and_can_be_written_again(name, tmp_path):
    loaded = hd.load(EARLIER / name)
    hd.save(loaded, tmp_path / name)
    again = hd.load(tmp_path / name)
    assert type(again) is type(loaded)
    assert np.all(again == loaded)


@pytest.mark.parametrize("name", MODELS | TREES)
def test_models_and_trees(name):
    assert hd.load(EARLIER / f"{name}.json") == (MODELS | TREES)[name]


def test_many_models():
    assert hd.load(EARLIER / "collection.npz") == hd.Collection([P, Q])


@pytest.mark.parametrize("ending", ["json", "npz"])
def test_a_matrix(ending):
    matrix = hd.load(EARLIER / f"matrix.{ending}")
    assert matrix.quantity == "joint"
    assert np.asarray(matrix) == pytest.approx(np.asarray(hd.pairwise_kl([P, Q], 10)), rel=1e-11)


@pytest.mark.parametrize(
    ("name", "status"), [("joint", "exact"), ("observed", "exact"), ("rate", "certified"), ("estimate", "estimate")]
)
def test_divergences(name, status):
    loaded = hd.load(EARLIER / f"{name}.json")
    now = {
        "joint": lambda: hd.joint_kl(P, Q, 10),
        "observed": lambda: hd.observed_kl(P, Q, 5),
        "rate": lambda: hd.observed_kl_rate(P, Q),
        "estimate": lambda: hd.joint_kl(P, Q, 10),
    }[name]()
    assert loaded.status == status
    if status == "estimate":
        assert abs(loaded.value - now.value) < 6.0 * loaded.std_error
    else:
        assert loaded.value == pytest.approx(now.value, rel=1e-9)


def test_a_comparison_without_measures_that_came_later():
    loaded = hd.load(EARLIER / "comparison.json")
    now = hd.compare(P, Q, 10)
    assert loaded.joint.value == pytest.approx(now.joint.value, rel=1e-12)
    assert loaded.joint.value == pytest.approx(loaded.observed.value + loaded.expected_posterior.value, rel=1e-12)
    assert loaded.alignment.permutation == now.alignment.permutation
    assert loaded.hellinger is None


def test_a_fit():
    fit = hd.load(EARLIER / "fit.json")
    assert fit.model.n_states == 2
    assert fit.converged
