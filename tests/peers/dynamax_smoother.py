"""Chains against dynamax's smoother, in an environment of its own because jax is heavy: make test-peers.

Prints the largest differences of the marginals, the pairs and the log-likelihood; fails beyond the tolerance.
"""

from __future__ import annotations

import sys

import dynamax
import jax
import numpy as np
from dynamax.hidden_markov_model import CategoricalHMM, GaussianHMM, hmm_smoother

import hidiv as hd
from tests.peers.drawn import covariances, laws

N_NODES = 200
N_FEATURES = 3
N_SYMBOLS = 4

# dynamax lifts probabilities below 1e-15 to 1e-15, at every node; jax takes single precision unless told.
TOLERANCE = 1e-12
jax.config.update("jax_enable_x64", True)


def categorical(rng, n_states, **chain):
    probs = laws(rng, n_states, N_SYMBOLS)
    peer = CategoricalHMM(n_states, emission_dim=1, num_classes=N_SYMBOLS)
    parameters, _ = peer.initialize(**chain, emission_probs=jax.numpy.asarray(probs[:, None]))
    return peer, parameters, hd.Categorical(probs)


def gaussian(rng, n_states, **chain):
    mean, cov = rng.normal(size=(n_states, N_FEATURES)), covariances(rng, n_states, N_FEATURES, N_FEATURES)
    peer = GaussianHMM(n_states, emission_dim=N_FEATURES)
    parameters, _ = peer.initialize(
        **chain, emission_means=jax.numpy.asarray(mean), emission_covariances=jax.numpy.asarray(cov)
    )
    return peer, parameters, hd.Gaussian(mean, cov=cov)


def differences(build, n_states, seed):
    """Largest differences by name; log-likelihoods relatively, the others absolutely."""
    rng = np.random.default_rng([seed, n_states])
    initial, transition = laws(rng, n_states), laws(rng, n_states, n_states)
    peer, parameters, emission = build(
        rng, n_states, initial_probs=jax.numpy.asarray(initial), transition_matrix=jax.numpy.asarray(transition)
    )
    model = hd.Model(initial, transition, emission)
    _, x = hd.sample(model, N_NODES, seed=seed)
    seen = jax.numpy.asarray(np.reshape(x, (N_NODES, -1)))
    smoothed = hd.smooth(model, x)

    whole = peer.smoother(parameters, seen)
    # One matrix a step keeps the pairs of every step apart; a single one has them added up.
    densities = jax.numpy.stack(
        [peer.emission_distribution(parameters, state).log_prob(seen) for state in range(n_states)], axis=1
    )
    steps = jax.numpy.broadcast_to(transition, (N_NODES - 1, n_states, n_states))
    stepwise = hmm_smoother(jax.numpy.asarray(initial), steps, densities)

    def largest(a, b):
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype == np.float64
        assert a.shape == b.shape
        return float(np.abs(a - b).max())

    log_likelihood = hd.log_likelihood(model, x)
    return {
        "marginals": largest(smoothed.marginals, whole.smoothed_probs),
        "pairs": largest(smoothed.pairs[1:], stepwise.trans_probs),
        "pairs added up": largest(smoothed.pairs.sum(axis=0), whole.trans_probs) / N_NODES,
        "log-likelihood": abs(log_likelihood - float(whole.marginal_loglik)) / abs(log_likelihood),
    }


def main():
    print(f"hidiv {hd.__version__} against dynamax {dynamax.__version__} on jax {jax.__version__}, {N_NODES} nodes")
    worst = 0.0
    for build in (categorical, gaussian):
        found = [differences(build, n_states, seed) for n_states in (2, 3, 5) for seed in range(3)]
        for name in found[0]:
            largest = max(case[name] for case in found)
            worst = max(worst, largest)
            print(f"  {build.__name__:12} {name:15} {largest:.1e}")
    if not worst <= TOLERANCE:
        sys.exit(f"{worst:.1e} is beyond the tolerance of {TOLERANCE:.0e}")


if __name__ == "__main__":
    main()
