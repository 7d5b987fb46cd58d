"""Evidence far in the tails, where weights underflow and their logarithms lose what tells the states apart."""

from __future__ import annotations

from itertools import product

import mpmath
import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import InvalidEvidence
from tests.sanitize.extremes import one_round

RTOL = 1e-12
FAR = [1e2, 1e6, 1e8, 1e10, 1e100]


def gaussian(seed, spread=1.0):
    """Three states whose means and widths are `spread` apart."""
    rng = np.random.default_rng(seed)
    mean, std = rng.normal(size=3) * spread, np.exp(0.3 * spread * rng.normal(size=3))
    return hd.Model(rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3), hd.Gaussian(mean, std=std))


def configurations(model, x):
    """P(S, x) of every configuration of a chain, in so many digits that nothing is lost."""
    with mpmath.workdps(260):
        exact = [[mpmath.mpf(float(v)) for v in part.ravel()] for part in (model.initial, model.transition)]
        law = model.emissions[0]
        k = model.n_states

        def density(value, s):
            mean, std = mpmath.mpf(float(law.mean[s])), mpmath.mpf(float(law.std[s]))
            return mpmath.exp(-(((mpmath.mpf(float(value)) - mean) / std) ** 2) / 2) / std

        weights = [[density(value, s) if np.isfinite(value) else mpmath.mpf(1) for s in range(k)] for value in x]
        joint = {}
        for states in product(range(k), repeat=len(x)):
            value = exact[0][states[0]]
            for u, s in enumerate(states):
                value *= weights[u][s] * (exact[1][k * states[u - 1] + s] if u else 1)
            joint[states] = value
        total = mpmath.fsum(joint.values())
        return {states: value / total for states, value in joint.items()}


def divergence(p, q):
    with mpmath.workdps(260):
        return mpmath.fsum(value * mpmath.log(value / q[states]) for states, value in p.items())


@pytest.mark.parametrize("spread", [1.0, 1e-6])
@pytest.mark.parametrize("far", FAR)
def test_influence_keeps_its_digits(far, spread):
    # At spread 1e-6 and 1e6 standard deviations the states still differ by a factor of e or so.
    model, x = gaussian(1, spread), [far, 0.3, -far]
    found = hd.influence(model, x)
    for j in range(3):
        without = [np.nan if u == j else value for u, value in enumerate(x)]
        exact = float(divergence(configurations(model, x), configurations(model, without)))
        assert abs(found[j] - exact) <= RTOL * exact


@pytest.mark.parametrize("spread", [1.0, 1e-6])
@pytest.mark.parametrize("far", FAR)
def test_smoothing_and_posterior_keep_their_digits(far, spread):
    p, q, x = gaussian(1, spread), gaussian(2, spread), [far, 0.3, -far, 1.0]
    exact_p, exact_q = configurations(p, x), configurations(q, x)
    marginals = hd.smooth(p, x).marginals
    for u, s in product(range(4), range(3)):
        exact = float(mpmath.fsum(value for states, value in exact_p.items() if states[u] == s))
        assert abs(marginals[u, s] - exact) <= 1e-11
    entropy = -float(mpmath.fsum(value * mpmath.log(value) for value in exact_p.values()))
    assert abs(hd.entropy_profile(p, x).sum() - entropy) <= 1e-11 * entropy
    exact = float(divergence(exact_p, exact_q))
    found = hd.posterior_kl(p, q, x)
    assert abs(found.value - exact) <= 1e-11 * exact
    assert abs(found.by_node.sum() - exact) <= 1e-11 * exact
    assert abs(hd.posterior_kl_batch(p, q, [x, [0.0]])[0] - exact) <= 1e-11 * exact
    states, log_probability = hd.viterbi(p, x)
    assert tuple(states.tolist()) == max(exact_p, key=exact_p.get)
    assert log_probability <= hd.log_likelihood(p, x)
    assert hd.posterior_kl(p, p, x).value == 0


@pytest.mark.parametrize("seed", range(5))
def test_states_drawn_are_states(seed):
    rng = np.random.default_rng(seed)
    law = hd.Gaussian(rng.normal(size=20), std=np.exp(rng.normal(size=20)))
    model = hd.Model(np.full(20, 0.05), rng.dirichlet(np.ones(20), 20), law)
    drawn = hd.sample_posterior(model, [1e10, 1e10, 0, 0], size=3, seed=1)
    widest = int(np.argmax(law.std))
    assert drawn.min() >= 0
    assert drawn.max() < 20
    assert (drawn[:, :2] == widest).all()


def test_a_likelihood_below_every_number_is_one_sentence():
    model = gaussian(1)
    with pytest.raises(InvalidEvidence, match="^evidence: its log-probability is below -1.8e308"):
        hd.log_likelihood(model, np.full(2000, 1e153))
    assert np.isfinite(hd.entropy_profile(model, np.full(2000, 1e153))).all()


def test_subnormal_transitions_keep_viterbi_below_the_likelihood():
    rows = [[1.0, 7e-324], [3e-323, 1.0]]
    model = hd.Model([1.0, 0.0], rows, hd.Categorical([[1.0, 0.0], [0.0, 1.0]]))
    x = [0, 1, 0, 1, 1, 0]
    states, best = hd.viterbi(model, x)
    assert states.tolist() == x
    assert best == pytest.approx(hd.log_likelihood(model, x), rel=1e-15)


def test_an_infinite_divergence_has_an_infinite_profile():
    # State 1 has probability 1e-400 given the evidence: not zero, and q cannot go there.
    common = [0.5, 0.5], hd.Gaussian([0.0, 43.0], std=[1.0, 1.0])
    p = hd.Model(common[0], [[0.5, 0.5], [0.5, 0.5]], common[1])
    q = hd.Model(common[0], [[1.0, 0.0], [0.5, 0.5]], common[1])
    found = hd.posterior_kl(p, q, [0.0, 0.0, 0.0])
    assert found.value == np.inf
    assert np.isinf(found.by_node).tolist() == [False, True, True]


def test_where_q_underflows_the_profile_stays_finite():
    # At node 1 q gives the state p is in a probability of 1e-400: finite there, infinite at node 2 alone.
    p = hd.Model([1.0, 0.0], [[0.5, 0.5], [0.5, 0.5]], hd.Gaussian([0.0, 43.0], std=[1.0, 1.0]))
    q = hd.Model([1.0, 0.0], [[0.5, 0.5], [0.0, 1.0]], hd.Gaussian([43.0, 0.0], std=[1.0, 1.0]))
    found = hd.posterior_kl(p, q, [0.0, 0.0, 0.0])
    assert found.value == np.inf
    assert np.isinf(found.by_node).tolist() == [False, False, True]
    assert 900 < found.by_node[1] < 930


@pytest.mark.parametrize("i", range(60))
def test_no_answer_is_nan(i):
    one_round((7, i))


def test_means_whose_squares_overflow():
    cov = [[[2.0, 0.1], [0.1, 1.0]], [[1.0, 0.3], [0.3, 1.0]]]
    p, q = (
        hd.Model([0.1, 0.9], [[0.3, 0.7], [0.6, 0.4]], hd.Gaussian([[mean, 2.0], [1.0, 2.0]], cov=cov))
        for mean in (0.1, 1e160)
    )
    assert hd.posterior_kl(p, q, [[0.1, 2.0], [1.0, 2.0], [0.2, 1.9]]).value == np.inf
