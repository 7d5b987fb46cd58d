"""Likelihood, smoothing, Viterbi, influence and entropy of one model against enumeration, for any evidence."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import hidiv as hd
from tests.loading import tree, within
from tests.oracle.entropy import entropy_profile
from tests.oracle.influence import influence
from tests.oracle.likelihood import log_likelihood
from tests.oracle.smoothing import smooth
from tests.oracle.viterbi import viterbi
from tests.strategies import LAW, evidence, listed_trees, pairs


@st.composite
def situations(draw, max_nodes=5):
    """A model, a tree and evidence, plain and built."""
    groups = draw(st.sampled_from([1, 1, 3]))
    plain = draw(pairs(groups=groups))[0]
    shape = draw(listed_trees(max_nodes, groups=groups))
    known = draw(evidence(plain, len(shape["parent"])))
    return (plain, shape, known), (hd.Model.from_dict(plain), hd.Evidence.from_list(known), tree(shape))


def numbers(nested):
    return np.array([[float(x) for x in row] for row in nested])


@LAW
@given(situations())
def test_log_likelihood(situation):
    plain, built = situation
    # A log near zero is right to the digits of the probability.
    assert abs(hd.log_likelihood(*built) - float(log_likelihood(*plain))) <= 1e-12


@LAW
@given(situations())
def test_smoothing(situation):
    plain, built = situation
    marginals, pairs_of_states = smooth(*plain)
    smoothed = hd.smooth(*built)
    assert np.abs(smoothed.marginals - numbers(marginals)).max() <= 1e-12
    for found, expected in zip(smoothed.pairs, pairs_of_states, strict=True):
        assert np.abs(found - numbers(expected)).max() <= 1e-12
    assert abs(smoothed.log_likelihood - float(log_likelihood(*plain))) <= 1e-12


@LAW
@given(situations())
def test_viterbi(situation):
    plain, built = situation
    best, every = viterbi(*plain)
    states, log_probability = hd.viterbi(*built)
    assert abs(log_probability - float(best)) <= 1e-12
    # Ties may fall either way: the states must be as likely as the best.
    assert abs(every[tuple(int(s) for s in states)] - best) <= 1e-12


@LAW
@given(situations())
def test_influence(situation):
    plain, built = situation
    expected = [float(x) for x in influence(*plain)]
    values = hd.influence(*built)
    assert np.all(values >= 0)
    assert np.allclose(values, expected, rtol=1e-12, atol=1e-28)


@LAW
@given(situations())
def test_entropy_profile(situation):
    plain, built = situation
    expected = [float(x) for x in entropy_profile(*plain)]
    assert np.allclose(hd.entropy_profile(*built), expected, rtol=1e-12, atol=1e-14)


@LAW
@given(pairs(["categorical", "poisson"]), st.integers(0, 2**32 - 1))
def test_samples_are_possible_and_seeded(pair, seed):
    model = hd.Model.from_dict(pair[0])
    shape = hd.Tree([-1, 0, 0, 1, 1, 2])
    states, x = hd.sample(model, shape, seed=seed)
    again = hd.sample(model, shape, seed=seed)
    assert np.array_equal(states, again[0])
    assert np.array_equal(x, again[1])
    assert within(hd.log_likelihood(model, x, shape), hd.smooth(model, x, shape).log_likelihood, 1e-14)
