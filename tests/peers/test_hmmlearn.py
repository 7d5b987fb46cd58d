"""Chains against hmmlearn: likelihood, posteriors and best paths, with the same numbers on both sides."""

from __future__ import annotations

import numpy as np
import pytest
from hmmlearn.hmm import CategoricalHMM, GaussianHMM, PoissonHMM

import hidiv as hd
from tests.peers.drawn import covariances, laws
from tests.peers.paths import lead, log_joint

N_NODES = 200
N_FEATURES = 3
N_SYMBOLS = 4

# hmmlearn adds up logarithms as large as the whole log-likelihood, about 1e3 here, and exponentiates their differences:
# 1e3 machine epsilons a node, 200 nodes.
TOLERANCE = 1e-10


def given(peer, initial, transition, **parameters):
    """The hmmlearn model with its parameters set by hand, as if fitted."""
    peer.startprob_, peer.transmat_ = initial, transition
    for name, value in parameters.items():
        setattr(peer, name, value)
    return peer


def categorical(rng, n_states, initial, transition, implementation):
    probs = laws(rng, n_states, N_SYMBOLS)
    peer = given(CategoricalHMM(n_states, implementation=implementation), initial, transition, emissionprob_=probs)
    peer.n_features = N_SYMBOLS
    return peer, hd.Model(initial, transition, hd.Categorical(probs))


def poisson(rng, n_states, initial, transition, implementation):
    rate = rng.uniform(0.5, 12, size=(n_states, N_FEATURES))
    peer = given(PoissonHMM(n_states, implementation=implementation), initial, transition, lambdas_=rate)
    return peer, hd.Model(initial, transition, hd.Poisson(rate))


def gaussian(covariance_type):
    """Both sides with one of hmmlearn's four shapes of covariances; hidiv's own forms are var and cov."""

    def build(rng, n_states, initial, transition, implementation):
        mean = rng.normal(size=(n_states, N_FEATURES))
        if covariance_type == "spherical":
            covars = rng.uniform(0.5, 2, size=n_states)
            same = {"var": np.repeat(covars[:, None], N_FEATURES, axis=1)}
        elif covariance_type == "diag":
            covars = rng.uniform(0.5, 2, size=(n_states, N_FEATURES))
            same = {"var": covars}
        elif covariance_type == "tied":
            covars = covariances(rng, N_FEATURES, N_FEATURES)
            same = {"cov": np.repeat(covars[None], n_states, axis=0)}
        else:
            covars = covariances(rng, n_states, N_FEATURES, N_FEATURES)
            same = {"cov": covars}
        peer = GaussianHMM(n_states, covariance_type=covariance_type, implementation=implementation)
        given(peer, initial, transition, means_=mean, covars_=covars)
        return peer, hd.Model(initial, transition, hd.Gaussian(mean, **same))

    return build


BUILDERS = {
    "categorical": categorical,
    "poisson": poisson,
    **{f"gaussian {kind}": gaussian(kind) for kind in ("spherical", "diag", "tied", "full")},
}


def built(family, n_states, seed, implementation="log"):
    """(hmmlearn's model, hidiv's, observations drawn by hmmlearn)."""
    rng = np.random.default_rng([seed, n_states])
    initial, transition = laws(rng, n_states), laws(rng, n_states, n_states)
    peer, model = BUILDERS[family](rng, n_states, initial, transition, implementation)
    x, _ = peer.sample(N_NODES, random_state=seed)
    return peer, model, x


every_model = [
    pytest.mark.parametrize("seed", range(3)),
    pytest.mark.parametrize("n_states", [2, 3, 5]),
    pytest.mark.parametrize("family", list(BUILDERS)),
]


def with_every_model(test):
    for mark in every_model:
        test = mark(test)
    return test


@pytest.mark.parametrize("implementation", ["log", "scaling"])
@with_every_model
def test_log_likelihood(family, n_states, seed, implementation):
    peer, model, x = built(family, n_states, seed, implementation)
    assert hd.log_likelihood(model, x) == pytest.approx(peer.score(x), rel=TOLERANCE)


@pytest.mark.parametrize("implementation", ["log", "scaling"])
@with_every_model
def test_posteriors(family, n_states, seed, implementation):
    peer, model, x = built(family, n_states, seed, implementation)
    assert np.abs(hd.smooth(model, x).marginals - peer.predict_proba(x)).max() <= TOLERANCE


@with_every_model
def test_viterbi(family, n_states, seed):
    peer, model, x = built(family, n_states, seed)
    log_probability, path = peer.decode(x)
    states, found = hd.viterbi(model, x)
    assert found == pytest.approx(log_probability, rel=TOLERANCE)
    # Both paths are best, whichever way ties fall; where there is none they are the same.
    assert log_joint(model, x, states) == pytest.approx(found, rel=TOLERANCE)
    assert log_joint(model, x, path) == pytest.approx(found, rel=TOLERANCE)
    unique = lead(model, x, states) > 1e-9
    assert unique or family in ("categorical", "poisson")
    if unique:
        assert (states == path).all()


@pytest.mark.parametrize("family", list(BUILDERS))
def test_one_node(family):
    peer, model, x = built(family, 3, seed=3)
    assert hd.log_likelihood(model, x[:1]) == pytest.approx(peer.score(x[:1]), rel=TOLERANCE)
    assert np.abs(hd.smooth(model, x[:1]).marginals - peer.predict_proba(x[:1])).max() <= TOLERANCE
    assert hd.viterbi(model, x[:1])[0].tolist() == peer.predict(x[:1]).tolist()


@pytest.mark.parametrize("family", list(BUILDERS))
def test_zeros(family):
    """A chain that starts in state 0 and only moves on, as in speech."""
    rng = np.random.default_rng(4)
    initial = np.array([1.0, 0, 0, 0])
    transition = np.array([[0.75, 0.25, 0, 0], [0, 0.875, 0.125, 0], [0, 0, 0.5, 0.5], [0, 0, 0, 1]])
    peer, model = BUILDERS[family](rng, 4, initial, transition, "log")
    x, _ = peer.sample(30, random_state=4)
    assert hd.log_likelihood(model, x) == pytest.approx(peer.score(x), rel=TOLERANCE)
    assert np.abs(hd.smooth(model, x).marginals - peer.predict_proba(x)).max() <= TOLERANCE
    log_probability, path = peer.decode(x)
    states, found = hd.viterbi(model, x)
    assert found == pytest.approx(log_probability, rel=TOLERANCE)
    if lead(model, x, states) > 1e-9:
        assert (states == path).all()


@pytest.mark.parametrize("n_states", [2, 3, 5])
def test_missing(n_states):
    """hmmlearn knows no gaps, but it knows a further symbol that every state emits as often: it says nothing."""
    gap = 0.25
    peer, model, x = built("categorical", n_states, seed=5)
    missing = np.random.default_rng(5).random(N_NODES) < gap
    probs = np.column_stack([(1 - gap) * peer.emissionprob_, np.full(n_states, gap)])
    told = given(CategoricalHMM(n_states), peer.startprob_, peer.transmat_, emissionprob_=probs)
    with_gaps = np.where(missing[:, None], N_SYMBOLS, x)
    pattern = missing.sum() * np.log(gap) + (~missing).sum() * np.log1p(-gap)  # which nodes are missing
    evidence = hd.Evidence(x, missing=missing)

    assert hd.log_likelihood(model, evidence) == pytest.approx(told.score(with_gaps) - pattern, rel=TOLERANCE)
    assert np.abs(hd.smooth(model, evidence).marginals - told.predict_proba(with_gaps)).max() <= TOLERANCE
    assert hd.viterbi(model, evidence)[1] == pytest.approx(told.decode(with_gaps)[0] - pattern, rel=TOLERANCE)
