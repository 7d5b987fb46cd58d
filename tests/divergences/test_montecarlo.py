"""The plain estimator beside the exact values."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.cli.demo import packaged_model
from hidiv.errors import HidivError

CHAINS = [packaged_model(f"chain_{side}.json") for side in "pq"]
TREES = [packaged_model(f"tree_{side}.json") for side in "pq"]
X = np.tile(np.repeat([0, 1, 2], 10), 2)


def within(estimate: hd.Divergence, exact: float, errors: float = 4.0) -> bool:
    return abs(estimate.value - exact) < errors * estimate.std_error


@pytest.mark.parametrize(("models", "tree"), [
    (CHAINS, 20), (TREES, hd.Tree.regular(2, 3)), (CHAINS, hd.Tree([-1, 0, 0, 1, 1, 2])),
])  # fmt: skip
def test_joint(models: list[hd.Model], tree: object) -> None:
    exact = hd.joint_kl(*models, tree).value
    found = hd.montecarlo(*models, tree, samples=20_000, seed=1)
    assert (found.status, found.quantity, found.n_samples) == ("estimate", "joint", 20_000)
    assert within(found, exact)
    assert found.lower < exact < found.upper
    assert found.std_error < 0.05 * exact
    assert found.upper - found.value == pytest.approx(1.959963984540054 * found.std_error, rel=1e-9)


def test_posterior() -> None:
    found = hd.montecarlo(*CHAINS, None, quantity="posterior", evidence=X, samples=20_000, seed=2)
    assert within(found, hd.posterior_kl(*CHAINS, X).value)
    missing = np.where(np.arange(60) % 7 == 0, np.nan, X)
    found = hd.montecarlo(*CHAINS, 60, quantity="posterior", evidence=missing, samples=20_000, seed=3)
    assert within(found, hd.posterior_kl(*CHAINS, missing).value)


def test_observed() -> None:
    found = hd.montecarlo(*CHAINS, 5, quantity="observed", samples=300, seed=4)
    assert found.quantity == "observed"
    assert within(found, 2.386926444363525)


def test_intervals_cover_as_often_as_they_should() -> None:
    exact = hd.joint_kl(*CHAINS, 10).value
    runs = [hd.montecarlo(*CHAINS, 10, samples=400, seed=seed) for seed in range(300)]
    covered = np.mean([run.lower < exact < run.upper for run in runs])
    assert 0.91 < covered < 0.98  # 95 % within three standard errors of 300 runs


def test_a_seed_gives_the_same_again() -> None:
    first, second, other = (
        hd.montecarlo(*TREES, hd.Tree.regular(2, 3), samples=50, seed=seed).value for seed in (5, 5, 6)
    )
    assert first == second != other


def test_impossible_draws_are_infinite_and_said() -> None:
    p = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], hd.Categorical([[0.5, 0.5], [0.25, 0.75]]))
    q = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], hd.Categorical([[1.0, 0.0], [0.25, 0.75]]))
    for quantity in ("joint", "observed"):
        narrow = q if quantity == "joint" else hd.Model([1.0], [[1.0]], hd.Categorical([[1.0, 0.0]]))
        found = hd.montecarlo(p, narrow, 10, quantity=quantity, samples=100, seed=1)
        assert found.value == np.inf
        assert "impossible under q" in found.infinite[0]
    found = hd.montecarlo(p, q, 2, quantity="posterior", evidence=[1, 0], samples=100, seed=1)
    assert found.value == np.inf


@pytest.mark.parametrize(("options", "said"), [
    ({"quantity": "marginal"}, "quantity: must be"),
    ({"samples": 0}, "size: must be a whole number from 1"),
    ({"evidence": [0, 1]}, "evidence: belongs to"),
    ({"quantity": "posterior"}, "evidence: is needed"),
])  # fmt: skip
def test_refusals(options: dict[str, object], said: str) -> None:
    with pytest.raises(HidivError, match=said):
        hd.montecarlo(*CHAINS, 2, **options)


def test_sums_beyond_the_doubles_are_not_taken_for_a_zero_of_q():
    p, q = (hd.Model([1.0], [[1.0]], hd.Gaussian([0.0], std=[std])) for std in (1.0, 3e-154))
    assert np.isfinite(hd.montecarlo(p, q, 2, samples=8, seed=0).value)
    with pytest.raises(HidivError, match="draws: have log-ratios beyond the range of doubles"):
        hd.montecarlo(p, q, 200, samples=8, seed=0)
