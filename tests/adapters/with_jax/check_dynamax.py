"""dynamax's own marginal log-likelihood of random sequences is ours of the same (model, params)."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version

import dynamax.hidden_markov_model as dynamax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import InvalidModel
from tests.adapters.agreement import N_NODES, agree
from tests.peers.drawn import covariances, laws

jax.config.update("jax_enable_x64", True)

K = 3

MODELS = {
    "Bernoulli": lambda: dynamax.BernoulliHMM(K, 2),
    "Categorical": lambda: dynamax.CategoricalHMM(K, 1, 4),
    "Categorical columns": lambda: dynamax.CategoricalHMM(K, 2, 4),
    "DiagonalGaussian": lambda: dynamax.DiagonalGaussianHMM(K, 2),
    "DiagonalGaussianMixture": lambda: dynamax.DiagonalGaussianMixtureHMM(K, 2, 2),
    "GaussianMixture": lambda: dynamax.GaussianMixtureHMM(K, 2, 2),
    "Gamma": lambda: dynamax.GammaHMM(K),
    "Gaussian": lambda: dynamax.GaussianHMM(K, 2),
    "LowRankGaussian": lambda: dynamax.LowRankGaussianHMM(K, 3, 1),
    "Multinomial": lambda: dynamax.MultinomialHMM(K, 1, 4, num_trials=5),
    "Multinomial columns": lambda: dynamax.MultinomialHMM(K, 2, 4, num_trials=5),
    "Poisson": lambda: dynamax.PoissonHMM(K, 2),
    "SharedCovarianceGaussian": lambda: dynamax.SharedCovarianceGaussianHMM(K, 2),
    "SphericalGaussian": lambda: dynamax.SphericalGaussianHMM(K, 2),
}


@cache
def started(name):
    """A model with parameters; compiling dynamax's initialize is what takes the time here."""
    model = MODELS[name]()
    return model, model.initialize(jax.random.PRNGKey(0))[0]


def drawn(name, seed, dtype):
    """Random parameters: positive ones away from their starting values of one, too."""
    model, params = started(name)
    rng = np.random.default_rng(seed)

    def moved(path, value):
        part, value = path[-1].name, np.asarray(value)
        if part in ("scale_diags", "scales", "rates", "rate", "concentration", "cov_diag_factors"):
            value = value * rng.uniform(0.5, 2.0, value.shape)
        if part in ("covs", "cov"):
            value = covariances(rng, *value.shape)
        if part in ("means", "cov_low_rank_factors"):
            value = rng.normal(size=value.shape)
        if part in ("probs", "transition_matrix", "weights") and not isinstance(model, dynamax.BernoulliHMM):
            value = laws(rng, *value.shape)
        return jnp.asarray(value, dtype=dtype)

    return model, jax.tree_util.tree_map_with_path(moved, params)


def shaped(model, x, dtype):
    """Observations as dynamax takes them: scalars for Gamma, else rows; counts of several rows apart."""
    if isinstance(model, dynamax.GammaHMM):
        return jnp.asarray(x, dtype=dtype)
    return jnp.asarray(x, dtype=dtype).reshape(N_NODES, *model.emission_shape)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["double", "single"])
def test_likelihood(name, dtype):
    started(name)  # in double precision
    with jax.enable_x64(dtype is np.float64):
        for seed in range(2):
            model, params = drawn(name, seed, dtype)
            _, x = hd.sample((model, params), N_NODES, seed=seed)
            seen = shaped(model, x, dtype)
            ours = hd.log_likelihood((model, params), np.asarray(seen, dtype=np.float64).reshape(np.shape(x)))
            # dynamax lifts probabilities below 1e-15 to 1e-15.
            tolerance = 2e-6 if dtype is np.float32 else 1e-12
            theirs = model.marginal_log_prob(params, seen)
            agree(f"dynamax {version('dynamax')} {name}, {dtype.__name__}", theirs, ours, tolerance)


def test_score():
    """Our derivatives in the entries are those of jax through dynamax's filter."""
    for name, ours_by_theirs in (
        ("DiagonalGaussian", {"mean": "means", "std": "scale_diags"}),
        ("Gaussian", {"mean": "means", "cov": "covs"}),
        ("Poisson", {"rate": "rates"}),
        ("Gamma", {"shape": "concentration", "rate": "rate"}),
    ):
        model, params = drawn(name, 0, np.float64)
        _, x = hd.sample((model, params), N_NODES, seed=0)
        seen = shaped(model, x, np.float64)
        gradient = jax.grad(lambda at, model=model, seen=seen: model.marginal_log_prob(at, seen))(params)
        score = hd.score((model, params), x, coordinates="entries")
        np.testing.assert_allclose(score.initial, gradient.initial.probs, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(score.transition, gradient.transitions.transition_matrix, rtol=1e-8, atol=1e-9)
        for ours, theirs in ours_by_theirs.items():
            found = np.asarray(getattr(gradient.emissions, theirs))
            if ours == "cov":
                found = 0.5 * (found + found.swapaxes(1, 2))
            value = score.emission[ours].reshape(found.shape)
            np.testing.assert_allclose(value, found, rtol=1e-8, atol=1e-9, err_msg=f"{name} {ours}")


def test_scales_are_standard_deviations():
    model, params = drawn("DiagonalGaussian", 0, np.float64)
    np.testing.assert_array_equal(hd.as_model((model, params)).emission.std, np.asarray(params.emissions.scale_diags))


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (dynamax.LinearRegressionHMM(K, 2, 1), "covariates"),
        (dynamax.LogisticRegressionHMM(K, 2), "covariates"),
        (dynamax.CategoricalRegressionHMM(K, 3, 2), "covariates"),
        (dynamax.LinearAutoregressiveHMM(K, 2, 1), "depend on those before them"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_represented_is_refused(model, said):
    params, _ = model.initialize(jax.random.PRNGKey(0))
    with pytest.raises(InvalidModel, match=said):
        hd.as_model((model, params))


def test_a_model_without_its_parameters_is_refused():
    with pytest.raises(InvalidModel, match=r"give the tuple \(model, params\)"):
        hd.as_model(dynamax.GaussianHMM(K, 2))
