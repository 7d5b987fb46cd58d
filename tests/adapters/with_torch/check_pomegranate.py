"""pomegranate's own log_probability of random sequences is our log-likelihood of the same DenseHMM or SparseHMM."""

from __future__ import annotations

import numpy as np
import pomegranate
import pytest
import torch
from pomegranate import distributions as law
from pomegranate.gmm import GeneralMixtureModel
from pomegranate.hmm import DenseHMM, SparseHMM

import hidiv as hd
from hidiv.errors import InvalidModel
from tests.adapters.agreement import N_NODES, agree, without_end
from tests.peers.drawn import covariances, laws

K = 3
# Single precision throughout: logarithms of 40 steps, each good to 6e-8.
TOLERANCE = 2e-6


def single(value):
    return torch.tensor(value, dtype=torch.float32)


def spread(rng, n):
    return single(rng.uniform(0.5, 2.0, n))


STATES = {
    "Categorical": lambda rng: law.Categorical(single(laws(rng, 1, 4))),
    "Categorical columns": lambda rng: law.Categorical(single(laws(rng, 2, 4))),
    "Bernoulli": lambda rng: law.Bernoulli(single(rng.uniform(0.1, 0.9, 2))),
    "Exponential": lambda rng: law.Exponential(spread(rng, 2)),
    "Gamma": lambda rng: law.Gamma(spread(rng, 2), spread(rng, 2)),
    "Normal full": lambda rng: law.Normal(single(rng.normal(size=2)), single(covariances(rng, 2, 2))),
    "Normal diag": lambda rng: law.Normal(single(rng.normal(size=2)), spread(rng, 2), covariance_type="diag"),
    "GeneralMixtureModel": lambda rng: GeneralMixtureModel(
        [law.Normal(single(rng.normal(size=2)), spread(rng, 2), covariance_type="diag") for _ in range(2)],
        priors=single(laws(rng, 2)),
    ),
    "Poisson": lambda rng: law.Poisson(spread(rng, 2)),
    "IndependentComponents": lambda rng: law.IndependentComponents(
        [law.Normal(single([0.5]), spread(rng, 1), covariance_type="diag"), law.Exponential(spread(rng, 1))]
    ),
}


def check(name, theirs, seed):
    """Log-likelihoods of a sequence drawn by us; symbols are integers there."""
    _, x = hd.sample(without_end(hd.as_model(theirs)), N_NODES, seed=seed)
    seen = torch.tensor(x.reshape(1, N_NODES, -1), dtype=torch.int64 if "Categorical" in name else torch.float32)
    ours = hd.log_likelihood(theirs, seen[0].double().numpy())
    agree(f"pomegranate {pomegranate.__version__} {name}", theirs.log_probability(seen)[0], ours, TOLERANCE)


@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize("seed", range(3))
def test_dense(name, seed):
    rng = np.random.default_rng(seed)
    rows = single(laws(rng, K, K + 1))
    states = [STATES[name](rng) for _ in range(K)]
    theirs = DenseHMM(states, edges=rows[:, :-1], starts=single(laws(rng, K)), ends=rows[:, -1])
    assert hd.as_model(theirs).end is not None
    check(f"dense, {name}", theirs, seed)


@pytest.mark.parametrize("seed", range(3))
def test_sparse(seed):
    rng = np.random.default_rng(seed)
    rows = laws(rng, K, K)  # to itself, to the next, to the end
    states = [STATES["Normal full"](rng) for _ in range(K)]
    edges = [(states[i], states[(i + j) % K], float(rows[i, j])) for i in range(K) for j in range(2)]
    theirs = SparseHMM(states, edges=edges, starts=single(laws(rng, K)), ends=single(rows[:, 2]))
    assert (hd.as_model(theirs).transition == 0).sum() == K
    check("sparse, Normal full", theirs, seed)


def test_a_fitted_model_ends():
    """The trap: after a fit rows and ends sum to one together."""
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.normal(size=(4, 20, 2)) + rng.choice([0.0, 4.0], (4, 20, 1)), dtype=torch.float32)
    theirs = DenseHMM([law.Normal(covariance_type="diag") for _ in range(2)], max_iter=5, random_state=0).fit(x)
    ours = hd.as_model(theirs)
    assert ours.end.max() > 0
    check("fitted", theirs, 0)


def test_ends_nobody_gave_are_improper():
    """The other trap: rows that sum to one beside ends of 1/K, a factor that every sequence gets."""
    rng = np.random.default_rng(1)
    states = [STATES["Poisson"](rng) for _ in range(K)]
    theirs = DenseHMM(states, edges=single(laws(rng, K, K)), starts=single(laws(rng, K)))
    assert hd.as_model(theirs).end is None  # not even set
    theirs._initialize()
    assert hd.as_model(theirs).end is None
    _, x = hd.sample(theirs, N_NODES, seed=1)
    value = theirs.log_probability(torch.tensor(x[None], dtype=torch.float32))[0]
    agree("pomegranate implicit ends", float(value) + np.log(K), hd.log_likelihood(theirs, x), TOLERANCE)


def test_ends_that_leave_no_room_are_refused():
    rng = np.random.default_rng(2)
    states = [STATES["Poisson"](rng) for _ in range(K)]
    theirs = DenseHMM(states, edges=single(laws(rng, K, K)), starts=single(laws(rng, K)), ends=single([0.1, 0.2, 0.0]))
    with pytest.raises(InvalidModel, match="leave no room for ends"):
        hd.as_model(theirs)
    theirs = DenseHMM(states, edges=single(laws(rng, K, K) / 2), starts=single(laws(rng, K)), ends=single([0.1] * 3))
    with pytest.raises(InvalidModel, match="a row and its end must sum to 1"):
        hd.as_model(theirs)


@pytest.mark.parametrize(
    ("states", "said"),
    [
        ([law.Poisson([1.0]), law.Exponential([1.0])], "one kind of distribution, got Exponential, Poisson"),
        ([law.LogNormal([0.0], [1.0], covariance_type="diag")] * 2, "the density of log x, without the factor 1/x"),
        ([law.Uniform([0.0], [1.0])] * 2, "cannot be read, got Uniform"),
        ([law.Poisson([1.0]), law.Poisson([1.0, 2.0])], "must have one shape in all states"),
    ],
)
def test_what_cannot_be_represented_is_refused(states, said):
    theirs = DenseHMM(states, edges=[[0.5, 0.5], [0.5, 0.5]], starts=[0.5, 0.5])
    with pytest.raises(InvalidModel, match=said):
        hd.as_model(theirs)


def test_an_unfitted_model_is_refused():
    with pytest.raises(InvalidModel, match="is not set; fit the model"):
        hd.as_model(DenseHMM([law.Poisson(), law.Poisson()]))
