"""Tolerances, budgets, counts and seeds that callers get wrong: one sentence each, before any work is done."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np
import pytest

import hidiv as hd

P = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]]))
Q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], hd.Categorical([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rtol", -1.0),
        ("rtol", nan),
        ("rtol", inf),
        ("rtol", "a"),
        ("atol", -1e-9),
        ("atol", True),
        ("max_samples", 1),
        ("max_samples", 1.5),
        ("max_samples", -5),
        ("max_seconds", -1),
        ("max_seconds", nan),
        ("max_seconds", "1"),
    ],
)
def test_limits_of_the_observed_divergence(name: str, value: Any) -> None:
    for method in ("auto", "certified", "montecarlo"):
        with pytest.raises(hd.HidivError, match=rf"^{name}: must be "):
            hd.observed_kl(P, Q, 5, method=method, **{name: value})
        with pytest.raises(hd.HidivError, match=rf"^{name}: must be "):
            hd.observed_kl_rate(P, Q, method=method, **{name: value})


@pytest.mark.parametrize("width", [-1.0, nan, "x", None])
def test_width_of_a_rate(width: Any) -> None:
    with pytest.raises(hd.HidivError, match="^width: must be a number from 0"):
        hd.observed_kl_rate(P, Q, width=width)


def test_no_time_at_all_still_gives_what_holds() -> None:
    for seconds in (0, 0.0, np.float64(0), inf):
        assert hd.observed_kl(P, Q, 5, method="certified", max_seconds=seconds).status == "certified"
    with pytest.raises(hd.HidivError, match="^max_seconds: "):
        hd.compare(P, Q, 5, max_seconds=-1)
    with pytest.raises(hd.HidivError, match="^max_seconds: "):
        hd.samples_to_tell_apart(P, Q, max_seconds=nan)


@pytest.mark.parametrize("seed", ["x", -1, 1.5, True, [1, -2]])
def test_seeds(seed: Any) -> None:
    x = [0, 1, 2, 0, 1]
    for work in (
        lambda: hd.sample(P, 5, seed=seed),
        lambda: hd.sample_posterior(P, x, seed=seed),
        lambda: hd.montecarlo(P, Q, 5, seed=seed),
        lambda: hd.observed_kl(P, Q, 50, method="montecarlo", seed=seed),
        lambda: hd.observed_kl_rate(P, Q, method="montecarlo", seed=seed),
        lambda: hd.fit(x, None, 2, "categorical", n_init=1, seed=seed),
    ):
        with pytest.raises(hd.HidivError, match="^seed: must be a whole number from 0, a numpy Generator or None"):
            work()


def test_seeds_that_are_numbers_of_numpy() -> None:
    assert np.array_equal(hd.sample(P, 9, seed=np.int64(3))[1], hd.sample(P, 9, seed=3)[1])


TWO = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Gaussian([0.0, 1.0], std=[1.0, 1.0]))
IMAGINARY, TIMES = np.array([1.0 + 2.0j, 0.5]), np.array([1, 0], dtype="m8[s]")
HIDDEN = np.ma.masked_array([0.5, 0.5], [True, False])


@pytest.mark.parametrize("values", [IMAGINARY, TIMES, "12", b"12"], ids=["complex", "times", "text", "bytes"])
@pytest.mark.parametrize(
    "read",
    [
        lambda x: hd.log_likelihood(TWO, x),
        lambda x: hd.Evidence(lower=x),
        lambda x: hd.fit(x, None, 1, n_init=1),
        lambda x: hd.Gaussian([0.0, 1.0], std=[1.0, 1.0]).log_prob(x),
    ],
    ids=["likelihood", "bounds", "fit", "density"],
)
def test_observations_that_are_no_numbers(read: Any, values: Any) -> None:
    # numpy casts them all: the imaginary part went, seconds became numbers, and "12" one number without a shape.
    with pytest.raises(hd.HidivError, match="must be an array of numbers"):
        read(values)


@pytest.mark.parametrize("values", [IMAGINARY, TIMES], ids=["complex", "times"])
def test_sequences_of_a_batch_that_are_no_numbers(values: Any) -> None:
    with pytest.raises(hd.HidivError, match="must be an array of numbers"):
        hd.posterior_kl_batch(TWO, TWO, [values])


@pytest.mark.parametrize("values", [TIMES, HIDDEN], ids=["times", "masked"])
@pytest.mark.parametrize(
    "read",
    [
        lambda x: hd.Model(x, [[0.9, 0.1], [0.2, 0.8]], hd.Silent(2)),
        lambda x: hd.Gaussian(x, std=[1.0, 1.0]),
        lambda x: hd.Model([0.5, 0.5], np.ma.stack([x, x]) if np.ma.isMaskedArray(x) else [x, x], hd.Silent(2)),
    ],
    ids=["initial", "mean", "transition"],
)
def test_parameters_that_are_no_numbers(read: Any, values: Any) -> None:
    # What lies under a mask is not to be used.
    with pytest.raises(hd.HidivError, match="must be a rectangular array of numbers"):
        read(values)


@pytest.mark.parametrize("states", [[2], [-1], [0.5], ["a"], [1j], [float("nan")], [[0, 1]]])
def test_states_that_there_are_not(states: Any) -> None:
    with pytest.raises(hd.HidivError, match="states: must be a list of whole numbers from 0 to 1"):
        TWO.emission.sample(states, np.random.default_rng(0))
    assert TWO.emission.sample([], np.random.default_rng(0)).shape == (0,)


@pytest.mark.parametrize("perm", [[True, False], [1.0, 0.0], ["1", "0"], [1j, 0], [None, 0]])
def test_orders_of_states_that_are_no_whole_numbers(perm: Any) -> None:
    with pytest.raises(hd.HidivError, match="perm: must be a permutation"):
        TWO.relabel(perm)


@pytest.mark.parametrize("alpha", ["0.5", 0.5j, None, [0.5]])
def test_orders_of_renyi_that_are_no_numbers(alpha: Any) -> None:
    with pytest.raises(hd.HidivError, match="alpha: must lie in"):
        hd.joint_renyi(TWO, TWO, 3, alpha)
