"""Many draws at once against one after the other."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

import hidiv as hd
from hidiv.cli.demo import packaged_model
from hidiv.inference.likelihood import log_likelihoods, representable

TREES = [
    hd.Tree.chain(40), hd.Tree.regular(2, 3), hd.Tree([-1, 0, 0, 1, 1, 1, 2, 4]), hd.Tree([-1] + [0] * 400),
]  # fmt: skip


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_chains_of_symbols(tree: hd.Tree) -> None:
    model = packaged_model("chain_p.json")
    _, x = hd.sample(packaged_model("chain_q.json"), tree, size=20, seed=5)
    one_by_one = [hd.log_likelihood(model, one, tree) for one in x]
    assert log_likelihoods(model, x, tree) == pytest.approx(one_by_one, rel=1e-12)


def test_groups_and_densities() -> None:
    model, tree = packaged_model("tree_p.json"), hd.Tree.regular(2, 3)
    _, x = hd.sample(model, tree, size=20, seed=6)
    one_by_one = [hd.log_likelihood(model, one, tree) for one in x]
    assert log_likelihoods(model, x, tree) == pytest.approx(one_by_one, rel=1e-12)


def test_several_columns() -> None:
    rng = np.random.default_rng(7)
    model = hd.Model([0.4, 0.6], [[0.9, 0.1], [0.3, 0.7]], hd.Gaussian(rng.normal(size=(2, 3)), std=np.ones((2, 3))))
    _, x = hd.sample(model, 30, size=10, seed=8)
    assert x.shape == (10, 30, 3)
    one_by_one = [hd.log_likelihood(model, one) for one in x]
    assert log_likelihoods(model, x, hd.Tree.chain(30)) == pytest.approx(one_by_one, rel=1e-12)


def test_impossible_is_minus_infinity_and_improbable_is_not() -> None:
    strict = hd.Model([1.0, 0.0], [[0.0, 1.0], [1.0, 0.0]], hd.Categorical([[1.0, 0.0], [0.0, 1.0]]))
    x = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert log_likelihoods(strict, x, hd.Tree.chain(3)).tolist() == [0.0, -inf]
    far = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], hd.Gaussian([0.0, 1.0], std=[1e-3, 1e-3]))
    values = np.full((1, 50), 1e4)
    found = log_likelihoods(far, values, hd.Tree.chain(50))
    assert found == pytest.approx([hd.log_likelihood(far, values[0])], rel=1e-12)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("value", [-np.inf, np.nan])
def test_a_log_probability_that_is_no_double_is_shown(value):
    with pytest.raises(hd.HidivError, match=f"below -1.8e308.*, got {value}; rescale"):
        representable(value)
