"""Fitting against hmmlearn: the same log-likelihood after every iteration, and restarts that come as far."""

from __future__ import annotations

import numpy as np
import pytest
from hmmlearn.hmm import CategoricalHMM, GaussianHMM, PoissonHMM
from threadpoolctl import threadpool_limits

import hidiv as hd
from tests.peers.drawn import covariances, laws

K = 3
LENGTHS = [60, 1, 45, 80]
ITERATIONS = 12
STARTS = 10
# hmmlearn reads the parameters back as float64 after normalising them; iterations carry its rounding on.
TOLERANCE = 1e-8  # of the log-likelihood itself, in nats: the issue's

NO_PRIORS = {"means_prior": 0, "means_weight": 0, "covars_prior": 0, "covars_weight": 0, "min_covar": 0}


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    with threadpool_limits(1):
        yield


def categorical(rng, **settings):
    probs = laws(rng, K, 4)
    peer = CategoricalHMM(K, n_features=4, emissionprob_prior=1, **settings)
    peer.emissionprob_ = probs
    return peer, hd.Categorical(probs)


def diagonal(rng, **settings):
    mean, var = rng.normal(size=(K, 2)) * 3, rng.uniform(0.5, 2, size=(K, 2))
    peer = GaussianHMM(K, "diag", **NO_PRIORS, **settings)
    peer.means_, peer.covars_ = mean, var
    return peer, hd.Gaussian(mean, var=var)


def full(rng, **settings):
    mean, cov = rng.normal(size=(K, 2)) * 3, covariances(rng, K, 2, 2)
    peer = GaussianHMM(K, "full", **NO_PRIORS, **settings)
    peer.means_, peer.covars_ = mean, cov
    return peer, hd.Gaussian(mean, cov=cov)


def poisson(rng, **settings):
    rate = rng.uniform(0.5, 12, size=(K, 2))
    peer = PoissonHMM(K, lambdas_prior=0, lambdas_weight=0, **settings)
    peer.lambdas_ = rate
    return peer, hd.Poisson(rate)


FAMILIES = {"categorical": categorical, "diagonal": diagonal, "full": full, "poisson": poisson}


def drawn_from(family, rng, lengths=LENGTHS, stay=0.0):
    """Sequences of a model whose states differ clearly from those of the start."""
    model = hd.Model(laws(rng, 1, K)[0], stay * np.eye(K) + (1 - stay) * laws(rng, K, K), family)
    return [hd.sample(model, n, seed=int(rng.integers(2**31)))[1] for n in lengths]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("seed", [0, 1])
def test_every_iteration(name, seed):
    rng = np.random.default_rng(seed)
    _, truth = FAMILIES[name](rng)
    xs = drawn_from(truth, rng)
    initial, transition = laws(rng, 1, K)[0], laws(rng, K, K)
    peer, family = FAMILIES[name](rng, init_params="", n_iter=ITERATIONS, tol=-np.inf)
    peer.startprob_, peer.transmat_ = initial, transition
    stacked = np.concatenate([x.reshape(len(x), -1) for x in xs])
    peer.fit(stacked.astype(int) if name in ("categorical", "poisson") else stacked, LENGTHS)
    found = hd.fit(xs, start=hd.Model(initial, transition, family), max_iter=ITERATIONS, tol=0.0)
    assert len(peer.monitor_.history) == ITERATIONS
    assert np.abs(np.array(peer.monitor_.history) - found.history[:ITERATIONS]).max() < TOLERANCE
    assert np.abs(found.model.transition - peer.transmat_).max() < TOLERANCE
    by_lengths = hd.fit(
        stacked if stacked.shape[1] > 1 else stacked[:, 0], lengths=LENGTHS,
        start=hd.Model(initial, transition, family), max_iter=ITERATIONS, tol=0.0,
    )  # fmt: skip
    assert by_lengths.history == found.history


@pytest.mark.parametrize("name", ["categorical", "diagonal", "poisson"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_restarts_come_as_far(name, seed):
    """Few observations of states that do not last, so that there are many tops; from as many starts.

    The mark is hmmlearn's best, and what that leads to when climbed to its end. Its priors are as they come for normal
    laws: without them it follows states that collapse onto one value, to any likelihood one likes.
    """
    rng = np.random.default_rng(seed)
    _, truth = FAMILIES[name](rng)
    lengths = [10] * 8  # short: without compiled kernels every level costs
    xs = drawn_from(truth, rng, lengths)
    stacked = np.concatenate([x.reshape(len(x), -1) for x in xs])
    stacked = stacked.astype(int) if name in ("categorical", "poisson") else stacked
    peers = []
    for start in range(STARTS):
        plain = {"n_iter": 200, "tol": 1e-4, "random_state": start}
        peer = GaussianHMM(K, "diag", **plain) if name == "diagonal" else FAMILIES[name](rng, **plain)[0]
        peers.append(peer.fit(stacked, lengths))
    best = max(peers, key=lambda peer: peer.score(stacked, lengths))
    marks = [best.score(stacked, lengths)]
    on = hd.fit(xs, start=best)
    if not on.notes:  # a state that collapses without the prior is no mark
        marks.append(on.log_likelihood)
    found = hd.fit(xs, None, K, truth, n_init=STARTS, seed=seed)
    assert found.notes == ()
    assert found.log_likelihood > max(marks) - 1e-6
