"""The observed divergence against what other programs gave or give: jahmm, GHMM, hmmlearn."""

from __future__ import annotations

import numpy as np
import pytest
from hmmlearn.hmm import CategoricalHMM

import hidiv as hd
from hidiv.divergences.observed.sampled.chain_draws import ChainPair
from tests.divergences.observed.models import P, Q

# Rates printed by the programs when run on these models, and how many observations each drew:
# jahmm 50 sequences of 1e5, GHMM one of 1e6. The deviation of the log-ratio at one step is about 0.9.
PRINTED = [(P, Q, 0.46593, 50 * 10**5), (Q, P, 0.44508, 50 * 10**5), (P, Q, 0.4654, 10**6)]


@pytest.mark.parametrize(("p", "q", "printed", "steps"), PRINTED)
def test_printed_rates_lie_within_their_own_error(p, q, printed, steps):
    certified = hd.observed_kl_rate(p, q, method="certified")
    ratios = ChainPair.of(p, q, hd.Tree.chain(200)).draw(300, np.random.default_rng(0), lean=True).plain
    spread = ratios.std(ddof=1) / np.sqrt(200)  # of one step
    assert 0.5 < spread < 1.5
    assert abs(printed - certified.value) < 3 * spread / np.sqrt(steps)
    assert abs(printed - hd.joint_kl_rate(p, q).value) > 100 * spread / np.sqrt(steps)


def test_log_likelihood_ratios_of_hmmlearn():
    """Plain Monte Carlo with hmmlearn's sampler and scores covers the certified value and our estimate."""
    peers = []
    for model in (P, Q):
        peer = CategoricalHMM(2)
        peer.startprob_, peer.transmat_ = model.initial, model.transition
        peer.emissionprob_, peer.n_features = model.emission.probs, 3
        peers.append(peer)
    ratios = []
    for seed in range(300):
        x, _ = peers[0].sample(50, random_state=seed)
        ratios.append(peers[0].score(x) - peers[1].score(x))
    error = np.std(ratios, ddof=1) / np.sqrt(len(ratios))
    certified = hd.observed_kl(P, Q, 50, method="certified")
    assert abs(np.mean(ratios) - certified.value) < 3 * error
    found = hd.observed_kl(P, Q, 50, method="montecarlo", seed=1)
    assert abs(found.value - certified.value) < 4 * found.std_error
    assert found.std_error < 1e-2 * error


def test_scores_are_the_filters_own():
    """The log-ratio that the notes call plain is what hmmlearn scores, sequence by sequence."""
    x = hd.sample(P, 40, size=3, seed=2)[1]
    _, one, two, _, _ = ChainPair.of(P, Q, hd.Tree.chain(40)).past(x[:, :, None])
    for i, seen in enumerate(x):
        ratio = 0.0
        for model, sign in ((P, 1), (Q, -1)):
            peer = CategoricalHMM(2)
            peer.startprob_, peer.transmat_ = model.initial, model.transition
            peer.emissionprob_, peer.n_features = model.emission.probs, 3
            ratio += sign * peer.score(seen.astype(np.int64)[:, None])
        assert (one.log_prob - two.log_prob)[:, i].sum() == pytest.approx(ratio, abs=1e-12)
