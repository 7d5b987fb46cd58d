"""deeptime's own log-likelihood of random sequences is ours of the same object."""

from __future__ import annotations

import numpy as np
import pytest
from deeptime.markov import BayesianMSMPosterior
from deeptime.markov.hmm import (
    BayesianHMMPosterior,
    DiscreteOutputModel,
    GaussianOutputModel,
    HiddenMarkovModel,
    MaximumLikelihoodHMM,
)
from deeptime.markov.msm import MarkovStateModel

import hidiv as hd
from hidiv.errors import InvalidModel
from tests.peers.drawn import laws


def chain(rng, n_states):
    return laws(rng, n_states, n_states), laws(rng, n_states)


@pytest.mark.parametrize("n_states", [2, 3, 5])
def test_discrete_outputs(n_states):
    rng = np.random.default_rng(n_states)
    transition, initial = chain(rng, n_states)
    theirs = HiddenMarkovModel(transition, laws(rng, n_states, 4), initial)
    for _ in range(3):
        x = rng.integers(0, 4, 100).astype(np.int32)
        expected = theirs.compute_observation_likelihood(x)
        assert hd.log_likelihood(theirs, x) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n_states", [2, 3])
def test_gaussian_outputs(n_states):
    rng = np.random.default_rng(n_states)
    transition, initial = chain(rng, n_states)
    outputs = GaussianOutputModel(n_states, means=rng.normal(size=n_states), sigmas=rng.uniform(0.5, 2, n_states))
    theirs = HiddenMarkovModel(transition, outputs, initial)
    x = rng.normal(size=100)
    assert hd.log_likelihood(theirs, x) == pytest.approx(theirs.compute_observation_likelihood(x), rel=1e-12)


def test_a_fitted_model_and_no_initial_law():
    rng = np.random.default_rng(0)
    start = HiddenMarkovModel(laws(rng, 2, 2), laws(rng, 2, 3))
    x = rng.integers(0, 3, 200).astype(np.int32)
    estimator = MaximumLikelihoodHMM(start, lagtime=1, maxit=5)
    fitted = estimator.fit([x]).fetch_model()
    assert hd.log_likelihood(fitted, x) == pytest.approx(fitted.compute_observation_likelihood(x), rel=1e-12)
    assert hd.as_model(start).initial.tolist() == [0.5, 0.5]
    with pytest.raises(InvalidModel, match=r"is an estimator; give what fetch_model\(\) returns"):
        hd.as_model(estimator)


def test_single_precision():
    rng = np.random.default_rng(3)
    transition, initial = chain(rng, 3)
    given = [np.asarray(part, dtype=np.float32) for part in (transition, laws(rng, 3, 4), initial)]
    steps = MarkovStateModel(given[0], transition_matrix_tolerance=1e-6)
    theirs = HiddenMarkovModel(steps, DiscreteOutputModel(given[1]), given[2])
    x = rng.integers(0, 4, 50).astype(np.int32)
    # Single precision throughout: 6e-8 a step.
    assert hd.log_likelihood(theirs, x) == pytest.approx(theirs.compute_observation_likelihood(x), rel=1e-5)


def test_what_is_no_single_model_is_refused():
    rng = np.random.default_rng(0)
    one = HiddenMarkovModel(laws(rng, 2, 2), laws(rng, 2, 3))
    with pytest.raises(InvalidModel, match="holds many models; give its .prior"):
        hd.as_model(BayesianHMMPosterior(one, [one]))
    with pytest.raises(InvalidModel, match="deeptime BayesianMSMPosterior: class: cannot be read"):
        hd.as_model(BayesianMSMPosterior())
