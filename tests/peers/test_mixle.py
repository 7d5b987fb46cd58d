"""Trees against mixle's hidden Markov tree: log-density and posteriors, with the same numbers on both sides."""

from __future__ import annotations

import numpy as np
import pytest
from mixle.stats import (
    GaussianDistribution,
    IntegerCategoricalDistribution,
    PoissonDistribution,
    TreeHiddenMarkovModelDistribution,
)

import hidiv as hd
from tests.peers.drawn import laws, parents

TREES = {
    "root alone": [-1],
    "chain": list(range(-1, 39)),
    "star": [-1] + [0] * 40,
    "binary": [-1] + [(u - 1) // 2 for u in range(1, 63)],
    **{f"drawn {seed}": parents(np.random.default_rng(seed), 60) for seed in range(3)},
}


def categorical(rng, n_states):
    probs = laws(rng, n_states, 4)
    return [IntegerCategoricalDistribution(0, row) for row in probs], hd.Categorical(probs)


def gaussian(rng, n_states):
    mean, var = rng.normal(size=n_states), rng.uniform(0.5, 2, size=n_states)
    return [GaussianDistribution(*of) for of in zip(mean, var, strict=True)], hd.Gaussian(mean, var=var)


def poisson(rng, n_states):
    rate = rng.uniform(0.5, 12, size=n_states)
    return [PoissonDistribution(of) for of in rate], hd.Poisson(rate)


@pytest.mark.parametrize("n_states", [2, 3, 5])
@pytest.mark.parametrize("family", [categorical, gaussian, poisson])
@pytest.mark.parametrize("shape", list(TREES))
def test_log_density_and_posteriors(shape, family, n_states):
    rng = np.random.default_rng([7, n_states])
    initial, transition = laws(rng, n_states), laws(rng, n_states, n_states)
    topics, emission = family(rng, n_states)
    # Without a law of the number of children, the tree is given, as it is for hidiv.
    peer = TreeHiddenMarkovModelDistribution(topics, initial, transition, use_numba=False)
    model = hd.Model(initial, transition, emission)
    tree = hd.Tree(TREES[shape])
    _, x = hd.sample(model, tree, seed=8)

    # mixle: ((node, parent), value), the root's parent -1.
    values = [float(v) if family is gaussian else int(v) for v in np.ravel(x)]
    listed = [((u, parent), value) for u, (parent, value) in enumerate(zip(TREES[shape], values, strict=True))]
    smoothed = hd.smooth(model, x, tree)

    expected = peer.log_density(listed)
    assert hd.log_likelihood(model, x, tree) == pytest.approx(expected, rel=1e-12)
    assert smoothed.log_likelihood == pytest.approx(expected, rel=1e-12)
    (posterior,) = peer.seq_posterior(peer.dist_to_encoder().seq_encode([listed]))
    assert np.abs(smoothed.marginals - posterior).max() <= 1e-12
