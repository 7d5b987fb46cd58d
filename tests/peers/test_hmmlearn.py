"""Chains against hmmlearn: likelihood, posteriors and best paths, with the same numbers on both sides."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hmmlearn.hmm import CategoricalHMM, GaussianHMM, PoissonHMM
from threadpoolctl import threadpool_limits

import hidiv as hd
from tests.peers.drawn import covariances, laws
from tests.peers.paths import lead, log_joint

N_NODES = 100
N_FEATURES = 3
N_SYMBOLS = 4

# Relative for log probabilities, absolute for posteriors. hmmlearn exponentiates differences of logarithms as large as
# the whole log-likelihood, here up to 1e3: it can be no better than 1e-13 itself.
TOLERANCE = 1e-12


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """hmmlearn solves with matrices of 3 x 3, for which the threads of BLAS only wait for each other."""
    with threadpool_limits(1):
        yield


def given(peer, initial, transition, **parameters):
    """The hmmlearn model with its parameters set by hand, as if fitted."""
    peer.startprob_, peer.transmat_ = initial, transition
    for name, value in parameters.items():
        setattr(peer, name, value)
    return peer


def categorical(rng, n_states, initial, transition):
    probs = laws(rng, n_states, N_SYMBOLS)
    peer = given(CategoricalHMM(n_states), initial, transition, emissionprob_=probs)
    peer.n_features = N_SYMBOLS
    return peer, hd.Model(initial, transition, hd.Categorical(probs))


def poisson(rng, n_states, initial, transition):
    rate = rng.uniform(0.5, 12, size=(n_states, N_FEATURES))
    peer = given(PoissonHMM(n_states), initial, transition, lambdas_=rate)
    return peer, hd.Model(initial, transition, hd.Poisson(rate))


def gaussian(covariance_type):
    """Both sides with one of hmmlearn's four shapes of covariances; hidiv's own forms are var and cov."""

    def build(rng, n_states, initial, transition):
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
        peer = GaussianHMM(n_states, covariance_type=covariance_type)
        given(peer, initial, transition, means_=mean, covars_=covars)
        return peer, hd.Model(initial, transition, hd.Gaussian(mean, **same))

    return build


BUILDERS = {
    "categorical": categorical,
    "poisson": poisson,
    **{f"gaussian {kind}": gaussian(kind) for kind in ("spherical", "diag", "tied", "full")},
}


@cache
def built(family, n_states, seed):
    """(hmmlearn's model, hidiv's, observations drawn by hmmlearn)."""
    rng = np.random.default_rng([seed, n_states])
    initial, transition = laws(rng, n_states), laws(rng, n_states, n_states)
    peer, model = BUILDERS[family](rng, n_states, initial, transition)
    x, _ = peer.sample(N_NODES, random_state=seed)
    return peer, model, x


def with_every_model(test):
    test = pytest.mark.parametrize("seed", range(3))(test)
    test = pytest.mark.parametrize("n_states", [2, 3, 5])(test)
    return pytest.mark.parametrize("family", list(BUILDERS))(test)


def check_likelihood_and_posteriors(peer, model, x):
    """hidiv against both of hmmlearn's forward-backward recursions."""
    value, marginals = hd.log_likelihood(model, x), hd.smooth(model, x).marginals
    for implementation in ("log", "scaling"):
        peer.implementation = implementation
        assert value == pytest.approx(peer.score(x), rel=TOLERANCE)
        assert np.abs(marginals - peer.predict_proba(x)).max() <= TOLERANCE


def check_path(peer, model, x):
    """The best path and its log probability; whether there is only one."""
    log_probability, path = peer.decode(x)
    states, found = hd.viterbi(model, x)
    seen = model.emission.log_prob(x)
    assert found == pytest.approx(log_probability, rel=TOLERANCE)
    # Whichever way ties fall, both paths are best.
    assert log_joint(model, seen, states) == pytest.approx(found, rel=TOLERANCE)
    assert log_joint(model, seen, path) == pytest.approx(found, rel=TOLERANCE)
    unique = lead(model, seen, states) > 1e-9
    assert not unique or (states == path).all()
    return unique


@with_every_model
def test_likelihood_and_posteriors(family, n_states, seed):
    check_likelihood_and_posteriors(*built(family, n_states, seed))


@with_every_model
def test_viterbi(family, n_states, seed):
    unique = check_path(*built(family, n_states, seed))
    # Symbols repeat, and then a detour may cost the same a little earlier.
    assert unique or family == "categorical"


def test_viterbi_of_symbols_is_often_unique():
    """So that the paths were compared there too."""
    cases = [built("categorical", n_states, seed) for n_states in (2, 3, 5) for seed in range(3)]
    assert sum(check_path(*case) for case in cases) >= 6


@pytest.mark.parametrize("family", list(BUILDERS))
def test_one_node(family):
    peer, model, x = built(family, 3, seed=3)
    check_likelihood_and_posteriors(peer, model, x[:1])
    assert check_path(peer, model, x[:1])


@pytest.mark.parametrize("family", list(BUILDERS))
def test_zeros(family):
    """A chain that starts in state 0 and only moves on, as in speech."""
    initial = np.array([1.0, 0, 0, 0])
    transition = np.array([[0.75, 0.25, 0, 0], [0, 0.875, 0.125, 0], [0, 0, 0.5, 0.5], [0, 0, 0, 1]])
    peer, model = BUILDERS[family](np.random.default_rng(4), 4, initial, transition)
    x, _ = peer.sample(30, random_state=4)
    check_likelihood_and_posteriors(peer, model, x)
    check_path(peer, model, x)


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
