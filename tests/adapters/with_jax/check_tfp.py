"""TensorFlow Probability's own log_prob of random sequences is our log-likelihood of the same HiddenMarkovModel."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow_probability.substrates.jax as tfp

import hidiv as hd
from hidiv.errors import InvalidModel
from tests.adapters.agreement import N_NODES, agree
from tests.peers.drawn import covariances, laws

jax.config.update("jax_enable_x64", True)
tfd = tfp.distributions

K = 3


def spread(rng, *shape):
    return rng.uniform(0.5, 2.0, shape)


OBSERVATIONS = {
    "Categorical": lambda rng, t: tfd.Categorical(probs=t(laws(rng, K, 4))),
    "Categorical logits": lambda rng, t: tfd.Categorical(logits=t(rng.normal(size=(K, 4)))),
    "Categorical columns": lambda rng, t: tfd.Independent(tfd.Categorical(probs=t(laws(rng, K, 2, 4))), 1),
    "Bernoulli": lambda rng, t: tfd.Bernoulli(probs=t(rng.uniform(0.1, 0.9, K))),
    "Bernoulli logits": lambda rng, t: tfd.Independent(tfd.Bernoulli(logits=t(rng.normal(size=(K, 2)))), 1),
    "Normal": lambda rng, t: tfd.Normal(t(rng.normal(size=K)), t(spread(rng, K))),
    "Normal, one scale": lambda rng, t: tfd.Normal(t(rng.normal(size=K)), t(1.5)),
    "Normal columns": lambda rng, t: tfd.Independent(tfd.Normal(t(rng.normal(size=(K, 2))), t(spread(rng, K, 2))), 1),
    "MultivariateNormalDiag": lambda rng, t: tfd.MultivariateNormalDiag(
        t(rng.normal(size=(K, 2))), t(spread(rng, K, 2))
    ),
    "MultivariateNormalTriL": lambda rng, t: tfd.MultivariateNormalTriL(
        t(rng.normal(size=(K, 2))), t(np.linalg.cholesky(covariances(rng, K, 2, 2)))
    ),
    "Poisson": lambda rng, t: tfd.Poisson(t(spread(rng, K))),
    "Poisson log rates": lambda rng, t: tfd.Independent(tfd.Poisson(log_rate=t(rng.normal(size=(K, 2)))), 1),
    "Exponential": lambda rng, t: tfd.Exponential(t(spread(rng, K))),
    "Gamma": lambda rng, t: tfd.Gamma(t(spread(rng, K) + 1), t(spread(rng, K))),
    "Gamma log rates": lambda rng, t: tfd.Gamma(t(spread(rng, K) + 1), log_rate=t(rng.normal(size=K))),
    "Geometric": lambda rng, t: tfd.Geometric(probs=t(rng.uniform(0.2, 0.8, K))),
    "Binomial": lambda rng, t: tfd.Binomial(t(6.0), probs=t(rng.uniform(0.2, 0.8, K))),
    "NegativeBinomial": lambda rng, t: tfd.NegativeBinomial(t(spread(rng, K)), probs=t(rng.uniform(0.2, 0.8, K))),
    "Laplace": lambda rng, t: tfd.Laplace(t(rng.normal(size=K)), t(spread(rng, K))),
    "LogNormal": lambda rng, t: tfd.LogNormal(t(rng.normal(size=K)), t(spread(rng, K))),
    "VonMises": lambda rng, t: tfd.VonMises(t(rng.normal(size=K)), t(spread(rng, K))),
    "Beta": lambda rng, t: tfd.Beta(t(spread(rng, K) + 1), t(spread(rng, K) + 1)),
    "Multinomial": lambda rng, t: tfd.Multinomial(t(5.0), probs=t(laws(rng, K, 3))),
}


def chain(rng, observation, t, **more):
    initial, transition = tfd.Categorical(probs=t(laws(rng, K))), tfd.Categorical(probs=t(laws(rng, K, K)))
    return tfd.HiddenMarkovModel(initial, transition, observation, num_steps=N_NODES, **more)


@pytest.mark.parametrize("name", OBSERVATIONS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["double", "single"])
def test_likelihood(name, dtype):
    for seed in range(2):
        rng = np.random.default_rng(seed)

        def array(value):
            return jnp.asarray(value, dtype=dtype)

        theirs = chain(rng, OBSERVATIONS[name](rng, array), array)
        _, x = hd.sample(theirs, N_NODES, seed=seed)
        seen = array(x).astype(theirs.dtype)
        ours = hd.log_likelihood(theirs, np.asarray(seen, dtype=np.float64))
        tolerance = 2e-6 if dtype is np.float32 else 1e-12
        agree(f"tfp {tfp.__version__} {name}, {dtype.__name__}", theirs.log_prob(seen), ours, tolerance)


POISSON = OBSERVATIONS["Poisson"]


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (
            lambda rng, t: tfd.HiddenMarkovModel(
                tfd.Categorical(probs=t(laws(rng, K))),
                tfd.Categorical(probs=t(laws(rng, 4, K, K))),
                POISSON(rng, t),
                num_steps=5,
                time_varying_transition_distribution=True,
            ),
            "transitions vary with time",
        ),
        (
            lambda rng, t: chain(
                rng, tfd.Poisson(t(spread(rng, N_NODES, K))), t, time_varying_observation_distribution=True
            ),
            "observations vary with time",
        ),
        (lambda rng, t: chain(rng, POISSON(rng, t), t, mask=jnp.zeros(N_NODES, bool)), "mask: is evidence"),
        (lambda rng, t: chain(rng, tfd.Poisson(t(spread(rng, 2, K))), t), "batch_shape: must be one model"),
        (lambda rng, t: chain(rng, tfd.Cauchy(t(spread(rng, K)), t(1.0)), t), "cannot be read, got Cauchy"),
        (lambda rng, t: POISSON(rng, t), "known are HiddenMarkovModel"),
    ],
)
def test_what_cannot_be_represented_is_refused(build, said):
    with pytest.raises(InvalidModel, match=said):
        hd.as_model(build(np.random.default_rng(0), jnp.asarray))
