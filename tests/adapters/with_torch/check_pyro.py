"""Pyro's own log_prob of random sequences is our log-likelihood of the same DiscreteHMM."""

from __future__ import annotations

import numpy as np
import pyro
import pyro.distributions as dist
import pytest
import torch

import hidiv as hd
from hidiv.errors import InvalidModel
from tests.adapters.agreement import N_NODES, agree
from tests.peers.drawn import covariances, laws

K = 3


def spread(rng, *shape):
    return rng.uniform(0.5, 2.0, shape)


OBSERVATIONS = {
    "Categorical": lambda rng, t: dist.Categorical(t(laws(rng, K, 4))),
    "Categorical logits": lambda rng, t: dist.Categorical(logits=t(rng.normal(size=(K, 4)))),
    "Categorical columns": lambda rng, t: dist.Categorical(t(laws(rng, K, 2, 4))).to_event(1),
    "Bernoulli": lambda rng, t: dist.Bernoulli(t(rng.uniform(0.1, 0.9, K))),
    "Bernoulli columns": lambda rng, t: dist.Bernoulli(logits=t(rng.normal(size=(K, 3)))).to_event(1),
    "Normal": lambda rng, t: dist.Normal(t(rng.normal(size=K)), t(spread(rng, K))),
    "Normal, one scale": lambda rng, t: dist.Normal(t(rng.normal(size=K)), t(1.5)),
    "Normal columns": lambda rng, t: dist.Normal(t(rng.normal(size=(K, 2))), t(spread(rng, K, 2))).to_event(1),
    "MultivariateNormal": lambda rng, t: dist.MultivariateNormal(
        t(rng.normal(size=(K, 2))), t(covariances(rng, K, 2, 2))
    ),
    "Poisson": lambda rng, t: dist.Poisson(t(spread(rng, K))),
    "Poisson columns": lambda rng, t: dist.Poisson(t(spread(rng, K, 3))).to_event(1),
    "Exponential": lambda rng, t: dist.Exponential(t(spread(rng, K))),
    "Gamma": lambda rng, t: dist.Gamma(t(spread(rng, K) + 1), t(spread(rng, K))),
    "Geometric": lambda rng, t: dist.Geometric(t(rng.uniform(0.2, 0.8, K))),
    "Binomial": lambda rng, t: dist.Binomial(6, t(rng.uniform(0.2, 0.8, K)), validate_args=False),
    "NegativeBinomial": lambda rng, t: dist.NegativeBinomial(t(spread(rng, K)), t(rng.uniform(0.2, 0.8, K))),
    "Laplace": lambda rng, t: dist.Laplace(t(rng.normal(size=K)), t(spread(rng, K))),
    "LogNormal": lambda rng, t: dist.LogNormal(t(rng.normal(size=K)), t(spread(rng, K))),
    "VonMises": lambda rng, t: dist.VonMises(t(rng.normal(size=K)), t(spread(rng, K))),
    "Beta": lambda rng, t: dist.Beta(t(spread(rng, K) + 1), t(spread(rng, K) + 1)),
    "Multinomial": lambda rng, t: dist.Multinomial(5, t(laws(rng, K, 3)), validate_args=False),
}
# torch's normaliser of the von Mises law is a polynomial good to 1e-7.
ROUGH = {"VonMises": 1e-6}


@pytest.mark.parametrize("name", OBSERVATIONS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["double", "single"])
def test_likelihood(name, dtype):
    for seed in range(3):
        rng = np.random.default_rng(seed)

        def tensor(value):
            return torch.tensor(value, dtype=dtype)

        initial, transition = tensor(np.log(laws(rng, K))), tensor(np.log(laws(rng, K, K)))
        theirs = dist.DiscreteHMM(initial, transition, OBSERVATIONS[name](rng, tensor), validate_args=False)
        _, x = hd.sample(theirs, N_NODES, seed=seed)
        seen = tensor(x)
        ours = hd.log_likelihood(theirs, seen.double().numpy())
        tolerance = 2e-6 if dtype is torch.float32 else ROUGH.get(name, 1e-12)
        agree(f"pyro {pyro.__version__} {name}, {str(dtype)[6:]}", theirs.log_prob(seen), ours, tolerance)


def test_time_and_batch_axes_of_one():
    rng = np.random.default_rng(0)
    t = torch.tensor
    initial, transition = t(np.log(laws(rng, K))), t(np.log(laws(rng, 1, K, K)))
    theirs = dist.DiscreteHMM(initial, transition, dist.Poisson(t(spread(rng, 1, K))), validate_args=False)
    _, x = hd.sample(theirs, N_NODES, seed=0)
    agree("pyro axes of one", theirs.log_prob(t(x)), hd.log_likelihood(theirs, x), 1e-12)


def test_the_chain_moves_before_the_first_observation():
    """The trap, on one observation: the law of the first state is initial times transition."""
    t = torch.tensor
    theirs = dist.DiscreteHMM(t([0.0, -700.0]), t([[-700.0, 0.0], [0.0, -700.0]]), dist.Poisson(t([1.0, 9.0])))
    np.testing.assert_allclose(hd.as_model(theirs).initial, [0.0, 1.0], atol=1e-12)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda t: (t([0.5, 0.5]), torch.zeros(5, 2, 2), dist.Poisson(t([1.0, 2.0]))), "transition_logits: laws vary"),
        (lambda t: (t([0.5, 0.5]), torch.zeros(2, 2), dist.Poisson(torch.ones(5, 2))), "observation_dist: laws vary"),
        (lambda t: (torch.zeros(3, 2), torch.zeros(2, 2), dist.Poisson(t([1.0, 2.0]))), "initial_logits: laws vary"),
        (lambda t: (t([0.5, 0.5]), torch.zeros(2, 2), dist.Cauchy(t([1.0, 2.0]), t(1.0))), "cannot be read, got Cauchy"),
        (
            lambda t: (t([0.5, 0.5]), torch.zeros(2, 2), dist.Poisson(t([1.0, 2.0])).mask(False)),
            "cannot be read, got MaskedDistribution",
        ),
    ],
)
def test_what_cannot_be_represented_is_refused(build, said):
    with pytest.raises(InvalidModel, match=said):
        hd.as_model(dist.DiscreteHMM(*build(torch.tensor), validate_args=False))


def test_other_distributions_are_refused():
    with pytest.raises(InvalidModel, match="known are DiscreteHMM"):
        hd.as_model(dist.Normal(0.0, 1.0))
