from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import InvalidModel
from hidiv.wavelets import coefficient_trees, discrete, dual_tree, fit_bands
from hidiv.wavelets.wavelet_model import observed
from tests.wavelets.made import drawn, truth


def test_a_known_model_is_found_again() -> None:
    model = truth([(1.0, 9.0), (1.0, 9.0), (0.5, 8.0)])
    bands = drawn(model, 16, 1)
    found = fit_bands(bands, pseudo_count=0.0, max_iter=200)
    (fitted,) = found.models
    tree, x = coefficient_trees(bands)
    at_truth = sum(hd.log_likelihood(model, each, tree) for each in np.abs(x) ** 2)
    assert found.log_likelihood > at_truth
    assert found.log_likelihood < at_truth + 20  # 11 parameters gain about half a unit each
    for family, (low, high) in zip(fitted.emissions, [(1.0, 9.0), (1.0, 9.0), (0.5, 8.0)], strict=True):
        rate: Any = family.parameters()["rate"][:, 0]
        np.testing.assert_allclose(1.0 / rate, [low, high], rtol=0.5)  # 256 roots and their children
    np.testing.assert_allclose(fitted.transitions[2], [[0.9, 0.1], [0.2, 0.8]], atol=0.1)


def test_one_state_is_the_mean_power_of_each_scale() -> None:
    bands = dual_tree(np.random.default_rng(2).normal(size=(32, 32)), 3)
    found = fit_bands(bands, n_states=1)
    for way, model in enumerate(found.models):
        for family, band in zip(model.emissions, bands.details, strict=True):
            power = float((np.abs(band[way]) ** 2).mean())
            assert family.parameters()["rate"].item() == pytest.approx(1.0 / power, rel=1e-12)


def test_real_states_have_mean_zero_and_the_variance_of_the_scale() -> None:
    signal = np.random.default_rng(3).normal(size=256).cumsum()
    bands = discrete(signal, "db2", 3)
    (one,) = fit_bands(bands, n_states=1).models
    (two,) = fit_bands(bands, n_states=2).models
    for family, band in zip(one.emissions, bands.details, strict=True):
        assert family.parameters()["var"].item() == pytest.approx(float((band**2).mean()), rel=1e-12)
    for family in two.emissions:
        np.testing.assert_array_equal(family.parameters()["mean"], 0.0)
        assert (family.parameters()["var"] > 0).all()


def test_generalised_gaussian_states_find_the_shape() -> None:
    rng = np.random.default_rng(4)
    laplace = hd.GeneralizedGaussian([2.0], [1.0])
    bands = discrete(rng.normal(size=512), "db1", 1, boundary="periodic")
    bands.details[0][0] = laplace.sample(np.zeros(256, dtype=int), rng)
    (model,) = fit_bands(bands, 1, "generalized_gaussian").models
    found = model.emissions[0].parameters()
    assert found["shape"].item() == pytest.approx(1.0, abs=0.25)  # 256 values
    assert found["scale"].item() == pytest.approx(2.0, abs=0.6)


def test_squared_moduli_stand_for_circular_complex_gaussians() -> None:
    """Same divergence, and a likelihood that differs by the same constant for all models."""
    z = np.random.default_rng(5).normal(size=(7, 2)) @ [1.0, 1j]
    one, two = np.array([0.5, 3.0]), np.array([1.5, 2.0])
    parts = [hd.Gaussian(np.zeros((2, 2)), var=np.stack([v, v], axis=1) / 2) for v in (one, two)]
    powers = [hd.Exponential(1.0 / v) for v in (one, two)]
    np.testing.assert_allclose(parts[0].kl(parts[1]), powers[0].kl(powers[1]), rtol=1e-12)
    as_parts = parts[0].log_prob(observed(z[:, None], "generalized_gaussian"))
    np.testing.assert_allclose(as_parts + np.log(np.pi), powers[0].log_prob(observed(z, "gaussian")), rtol=1e-12)


def test_all_orientations_together_and_local_means() -> None:
    image = np.random.default_rng(6).normal(size=(32, 32)).cumsum(axis=1)
    bands = dual_tree(image, 2)
    together = fit_bands(bands, 3, together=True, max_iter=5)
    assert len(together.models) == 1
    assert together.models[0].emissions[0].n_features == 6
    with_means = fit_bands(bands, 3, together=True, means=True, max_iter=5)
    assert with_means.models[0].emissions[0].n_features == 7
    assert len(fit_bands(bands, means=True, max_iter=2).models) == 6
    family: Any = with_means.models[0].emissions[1]
    assert len(set(family.parameters()["families"][1].mean.ravel().round(6))) == 3
    assert repr(with_means) == "WaveletModel: one tree model of 2 scales, 3 states"


def test_one_scale_is_enough() -> None:
    found = fit_bands(dual_tree(np.random.default_rng(7).normal(size=(16, 16)), 1), max_iter=3)
    assert found.tree.n_nodes == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_states": 0}, "n_states: must be a whole number from 1, got 0"),
        ({"n_states": True}, "n_states"),
        ({"states": "laplace"}, 'states: must be "gaussian" or "generalized_gaussian", got laplace'),
    ],
)
def test_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidModel, match=words):
        fit_bands(dual_tree(np.eye(16), 1), **options)


def test_bands_that_say_nothing_are_refused() -> None:
    with pytest.raises(InvalidModel, match="must not be 0 throughout a scale"):
        fit_bands(dual_tree(np.zeros((16, 16)), 1))
    noise = np.random.default_rng(8).normal(size=(16, 16))
    for bands in (dual_tree(1e-160 * noise, 1), dual_tree(1e-200 * noise, 1), discrete(1e-200 * noise, levels=1)):
        with pytest.raises(InvalidModel, match=r"bands: must reach 1e-100 in every scale .*; standardise the values"):
            fit_bands(bands)
    with pytest.raises(InvalidModel, match="means: need complex coefficients"):
        fit_bands(discrete(noise, levels=1), means=True)
    flat = np.tile([[1.0, -1.0], [-1.0, 1.0]], (8, 8)) + 1e-3 * np.kron(np.eye(8), [[1, -1], [-1, 1]])
    with pytest.raises(InvalidModel, match="means: must vary"):
        fit_bands(dual_tree(flat, 1), means=True)
