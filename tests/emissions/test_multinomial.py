"""What the contract leaves out of multinomial laws: counts not seen, trials that differ, rows that are no rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import hidiv as hd
from hidiv.emissions.evidence.log_ratios import residual, weight_ratio
from hidiv.errors import InvalidEvidence, InvalidModel

TRIALS = 4
P = hd.Multinomial([TRIALS, TRIALS], [[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]])
Q = hd.Multinomial([TRIALS, TRIALS], [[0.25, 0.25, 0.5], [0.5, 0.25, 0.25]])
ROWS = np.array([row for row in itertools.product(range(TRIALS + 1), repeat=3) if sum(row) == TRIALS], dtype=float)
PARTLY = [[np.nan, 1, np.nan], [0, np.nan, np.nan], [2, 1, np.nan], [np.nan, np.nan, np.nan], [np.nan, np.nan, 4]]


def matching(seen):
    """Every row that agrees with what is seen."""
    seen = np.asarray(seen)
    return ROWS[(np.isnan(seen) | (seen == ROWS)).all(axis=1)]


@pytest.mark.parametrize("seen", PARTLY, ids=str)
def test_counts_not_seen_are_summed_over(seen):
    for family in (P, Q):
        with np.errstate(divide="ignore"):
            expected = np.log(np.exp(family.log_prob(matching(seen))).sum(axis=0))
        np.testing.assert_allclose(family.log_prob([seen])[0], expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("seen", PARTLY, ids=str)
def test_what_stays_hidden_given_what_is_seen(seen):
    """KL of the two laws of the row given the part seen, by a sum over rows; ratios of the part's weights."""
    rows = matching(seen)
    with np.errstate(divide="ignore", invalid="ignore"):
        mass_p, mass_q = np.exp(P.log_prob(rows)), np.exp(Q.log_prob(rows))
        given_p, given_q = mass_p / mass_p.sum(axis=0), mass_q / mass_q.sum(axis=0)
        expected = np.where(given_p > 0, given_p * np.log(given_p / given_q), 0.0).sum(axis=0)
        ratio = np.log(mass_q.sum(axis=0)) - np.log(mass_p.sum(axis=0))
    x = np.array([seen])
    np.testing.assert_allclose(residual(P, Q, x)[0], np.nan_to_num(expected), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(weight_ratio(P, Q, x)[0], ratio, rtol=1e-12, atol=1e-15)


def test_posterior_divergence_of_what_is_not_seen():
    """Through the whole of posterior_kl: states and hidden counts by enumeration of one node."""
    p, q = (hd.Model([0.5, 0.5], [[0.5, 0.5]] * 2, family) for family in (P, Q))
    seen = [0, np.nan, np.nan]
    rows = matching(seen)
    joint_p, joint_q = (0.5 * np.exp(family.log_prob(rows)) for family in (P, Q))
    joint_p, joint_q = joint_p / joint_p.sum(), joint_q / joint_q.sum()
    there = joint_p > 0
    expected = (joint_p[there] * np.log(joint_p[there] / joint_q[there])).sum()
    assert float(hd.posterior_kl(p, q, [seen], target="unobserved")) == pytest.approx(expected, rel=1e-12)


def test_laws_with_other_trials_have_nothing_in_common():
    other = hd.Multinomial([3, TRIALS], Q.probs)
    assert P.kl(other).tolist() == [np.inf, P.kl(Q)[1]]
    assert P.renyi(other, 0.5)[0] == np.inf
    assert P.gaps(other) == ["counts that sum to 4", None]
    assert P.log_ratio(other, [[1, 1, 2]])[0].tolist() == [-np.inf, np.inf]
    assert Q.gaps(P) == [None, "count 2 above 0"]
    assert np.isinf(residual(P, other, np.array([[1, np.nan, np.nan]]))[0, 0])


def test_refusals():
    with pytest.raises(InvalidEvidence, match=r"x\[1\]: multinomial counts must sum to 4, got 5"):
        P.log_prob([[1, 1, 2], [2, 1, 2]])
    with pytest.raises(InvalidEvidence, match=r"x\[0\]: multinomial counts must sum to 4, got 6"):
        P.log_prob([[3, 3, np.nan]])
    with pytest.raises(InvalidModel, match="probs: needs a row for each of the 1 state, got 2"):
        hd.Multinomial([1], [[0.5, 0.5]] * 2)
    model = hd.Model([0.5, 0.5], [[0.5, 0.5]] * 2, P)
    bounds = np.array([[1.0, -np.inf, -np.inf]])
    with pytest.raises(InvalidEvidence, match="intervals on multinomial counts"):
        hd.log_likelihood(model, hd.Evidence(np.full((1, 3), np.nan), lower=bounds, upper=np.full((1, 3), np.inf)))


def test_one_trial_is_a_symbol_written_as_a_row():
    probs = [[0.2, 0.3, 0.5]]
    one, symbol = hd.Multinomial([1], probs), hd.Categorical(probs)
    np.testing.assert_allclose(one.log_prob(np.eye(3)), symbol.log_prob([0, 1, 2]), rtol=1e-15)
