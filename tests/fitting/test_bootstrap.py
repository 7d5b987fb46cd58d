"""The error of a divergence: against its size for one state, where it is known, and the same whoever runs it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import HidivError
from hidiv.fitting.forest import forest_of
from hidiv.fitting.simulation import redrawn

P = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1.0, 8.0]))


def test_one_state_has_a_known_error():
    """KL of two normal laws of known spread is (a - b)^2/2 a node: its error is |a - b| sqrt(1/n + 1/m) a node."""
    law = hd.Gaussian([0.0], std=[1.0])
    n, m = 80, 120
    x, y = np.random.default_rng(0).normal(size=n), 1.0 + np.random.default_rng(1).normal(size=m)
    x, y = [[each] for each in x], [[each] for each in y]  # many trees of one node
    p, q = (hd.fit(each, None, 1, law, fixed="std", n_init=1).model for each in (x, y))
    found = hd.bootstrap_divergence(p, q, x, y, on=1, replicates=100, seed=2, fixed="std")
    apart = p.emission.mean[0] - q.emission.mean[0]
    assert abs(found.value - apart**2 / 2) < 1e-12
    # A standard deviation of 100 draws is known to 7 percent.
    assert abs(found.std_error / (abs(apart) * np.sqrt(1 / n + 1 / m)) - 1) < 0.2
    assert found.lower < found.value < found.upper
    assert found.p_value == 1 / 101
    assert "more than chance" in repr(found)


def test_no_difference_is_told():
    xs = hd.sample(P, hd.Tree.regular(2, 6), size=2, seed=4)[1]
    tree = hd.Tree.regular(2, 6)
    p, q = (hd.fit(x, tree, start=P) for x in xs)
    found = hd.bootstrap_divergence(p, q, *xs, tree, tree, replicates=30, seed=0, tol=1e-4)
    assert found.p_value > 0.05
    assert "no more than chance" in repr(found)
    assert hd.bootstrap_divergence(p, q, *xs, tree, tree, replicates=2, seed=0, null=False, max_iter=2).p_value is None


def test_executors_give_the_same_numbers():
    xs = hd.sample(P, 40, size=2, seed=4)[1]
    settings = {"replicates": 4, "seed": 1, "max_iter": 5, "divergence": "aligned"}
    first = hd.bootstrap_divergence(P, P, *xs, **settings)
    with ThreadPoolExecutor(1) as pool:
        again = hd.bootstrap_divergence(P, P, *xs, executor=pool, **settings)
    assert np.array_equal(first.replicates, again.replicates)
    assert np.array_equal(first.null, again.null)


def test_trees_and_functions():
    tree = hd.Tree.regular(2, 5)
    xs = hd.sample(P, tree, size=3, seed=0)[1]
    found = hd.bootstrap_divergence(
        P, P, list(xs), list(xs), tree, tree, divergence=lambda p, q: hd.joint_kl_rate(p, q).value, replicates=3,
        seed=0, max_iter=3,
    )  # fmt: skip
    assert found.value == 0
    assert (found.replicates > 0).all()


def test_draws_are_shown_as_the_evidence_was():
    """Missing stays missing; a draw inside a known interval is hidden in it, one outside is seen."""
    evidence = hd.Evidence([1.0, np.nan, np.nan, 2.0], lower=[-np.inf, -np.inf, 3.0, -np.inf])
    model = hd.Model([1.0], [[1.0]], hd.Gaussian([3.0], std=[1.0]))
    inside = 0
    for seed in range(200):
        drawn = redrawn(model, forest_of(evidence, None, None, None), np.random.default_rng(seed)).evidence
        assert np.isnan(drawn.x[1, 0])
        assert not np.isnan(drawn.x[[0, 3], 0]).any()
        hidden = np.isnan(drawn.x[2, 0])
        assert drawn.lower[2, 0] == (3.0 if hidden else -np.inf)
        assert hidden or drawn.x[2, 0] < 3.0
        inside += hidden
    assert 70 < inside < 130


def test_states_are_drawn_as_the_model_says():
    forest = forest_of([np.zeros(4), np.zeros(7)], [hd.Tree.chain(4), hd.Tree.regular(2, 3)], None, None)
    model = hd.Model([1.0, 0.0], [[0.0, 1.0], [1.0, 0.0]], hd.Poisson([0.0, 50.0]))
    x = redrawn(model, forest, np.random.default_rng(0)).evidence.x[:, 0]
    assert ((x > 0) == [0, 1, 0, 1, 0, 1, 1, 0, 0, 0, 0]).all()


@pytest.mark.parametrize("bad", [{"replicates": 1}, {"divergence": "nearest"}])
def test_refused(bad):
    with pytest.raises(HidivError):
        hd.bootstrap_divergence(P, P, [0, 1], [1, 2], **bad)
