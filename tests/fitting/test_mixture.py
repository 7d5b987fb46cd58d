"""Mixtures are fitted: found again, and no worse than hmmlearn from the same start."""

from __future__ import annotations

import numpy as np
from hmmlearn.hmm import GMMHMM
from threadpoolctl import threadpool_limits

import hidiv as hd

TRUTH = hd.Model(
    [0.5, 0.5],
    [[0.9, 0.1], [0.2, 0.8]],
    hd.Mixture(
        [[0.3, 0.7], [0.6, 0.4]],
        [hd.Gaussian([0.0, 8.0], std=[1.0, 1.0]), hd.Gaussian([4.0, -6.0], std=[0.5, 1.0])],
    ),
)
X = hd.sample(TRUTH, 100, size=6, seed=2)[1]


def test_found_again_from_a_template_far_away():
    """The template's components are alike: starts must tell them apart."""
    one = hd.Gaussian([50.0], std=[1.0])
    found = hd.fit(list(X), None, 2, hd.Mixture([[0.5, 0.5]], [one, one]), n_init=2, seed=0)
    assert found.notes == ()
    assert found.log_likelihood > sum(hd.log_likelihood(TRUTH, x) for x in X)
    assert found.n_parameters == 1 + 2 + 2 + 8
    mean = np.stack([member.mean for member in found.model.emission.components], axis=1)
    mean = np.sort(mean[np.argsort(mean.max(axis=1))], axis=1)
    assert np.abs(mean - [[0.0, 4.0], [-6.0, 8.0]]).max() < 0.3


def test_weights_and_means_stay_when_fixed():
    found = hd.fit(list(X), start=TRUTH, fixed=("weights", "mean"), max_iter=5)
    assert (found.model.emission.weights == TRUTH.emission.weights).all()
    assert all(
        (a.mean == b.mean).all()
        for a, b in zip(found.model.emission.components, TRUTH.emission.components, strict=True)
    )
    assert found.log_likelihood > found.history[0]


def peer_of(start, **settings):
    """hmmlearn's model at the start, without priors."""
    peer = GMMHMM(
        2, 2, covariance_type="diag", init_params="", tol=-np.inf, min_covar=0, weights_prior=1.0,
        means_weight=0, covars_prior=-1.5, covars_weight=0, **settings,
    )  # fmt: skip
    peer.startprob_, peer.transmat_, peer.weights_ = start.initial, start.transition, start.emission.weights
    peer.means_ = np.stack([member.mean for member in start.emission.components], axis=1)[:, :, None]
    peer.covars_ = np.stack([member.var for member in start.emission.components], axis=1)[:, :, None]
    with threadpool_limits(1):
        return peer.fit(X.reshape(-1, 1), [100] * 6)


def test_as_far_as_hmmlearn():
    """With spreads held iterations are the same; hmmlearn takes spreads about the means before, so those differ."""
    parts = [hd.Gaussian([1.0, 5.0], var=[2.0, 2.0]), hd.Gaussian([3.0, -3.0], var=[2.0, 2.0])]
    start = hd.Model([0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], hd.Mixture([[0.5, 0.5]] * 2, parts))
    held = hd.fit(list(X), start=start, max_iter=10, tol=0.0, fixed="var")
    peer = peer_of(start, n_iter=10, params="stmw")
    assert np.abs(np.array(peer.monitor_.history) - held.history[:10]).max() < 1e-8
    found = hd.fit(list(X), start=start)
    assert found.log_likelihood > peer_of(start, n_iter=60).monitor_.history[-1] - 1e-6
