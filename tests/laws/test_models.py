"""Laws of two models of any family, with ordinary and extreme parameters."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

import hidiv as hd
from hidiv.files.formats import from_text, to_text
from tests.laws.running import divergence_of, law, model_pairs, value_of

TREES = [4, hd.Tree.regular(2, 3), hd.Tree([-1, 0, 0, 2])]
CLOSE = {"rtol": 1e-11, "atol": 0.0}


@law(15)
@given(model_pairs(), st.sampled_from(TREES), st.randoms(use_true_random=False))
def test_joint(both, tree, random):
    """Not below 0, 0 on itself, unchanged by relabelling, its parts sum to it, and so do the nodes."""
    p, q = both
    own = divergence_of(lambda: hd.joint_kl(p, p, tree))
    assert own is None or own.value == 0
    found = divergence_of(lambda: hd.joint_kl(p, q, tree))
    order = list(range(p.n_states))
    random.shuffle(order)
    turned = divergence_of(lambda: hd.joint_kl(p.relabel(order), q.relabel(order), tree))
    assert (found is None) == (turned is None)
    if found is not None and turned is not None:
        np.testing.assert_allclose(turned.value, found.value, **CLOSE)
        if np.isfinite(found.value):
            np.testing.assert_allclose(
                found.parts.initial + found.parts.transition + found.parts.emission, found.value, **CLOSE
            )
    for alpha in (0.5, 2.0):
        divergence_of(lambda alpha=alpha: hd.joint_renyi(p, q, tree, alpha))


@law(20)
@given(model_pairs())
def test_rate(both):
    p, q = both
    found = divergence_of(lambda: hd.joint_kl_rate(p, q))
    own = divergence_of(lambda: hd.joint_kl_rate(p, p))
    assert own is None or own.value == 0
    assert found is None or found.value >= 0


@law(20)
@given(model_pairs())
def test_pairs_equal_the_pair(both):
    one = [[divergence_of(lambda a=a, b=b: hd.joint_kl(a, b, 4)) for b in both] for a in both]
    every = value_of(lambda: hd.pairwise_kl(list(both), 4))
    if every is not None and all(found is not None for row in one for found in row):
        np.testing.assert_allclose(every, [[found.value for found in row] for row in one], **CLOSE)


@law(20)
@given(model_pairs())
def test_aligned(both):
    p, q = both
    found, aligned = divergence_of(lambda: hd.joint_kl(p, q, 4)), value_of(lambda: hd.align(p, q, 4).value)
    if found is not None and aligned is not None:
        assert 0 <= aligned <= found.value * (1 + 1e-11)


@law(20)
@given(model_pairs())
def test_posterior(both):
    """Given what p draws: log-likelihoods, marginals that sum to one, posterior divergences not below 0."""
    p, q = both
    drawn = [value_of(lambda m=m: hd.sample(m, 4, seed=0)[1]) for m in both]
    for x in (x for x in drawn if x is not None):
        for m in both:
            level = value_of(lambda m=m, x=x: hd.log_likelihood(m, x))
            best = value_of(lambda m=m, x=x: hd.viterbi(m, x)[1])
            if level is not None and best is not None:
                assert best <= level + 1e-12 * (1 + abs(level))
            marginals = value_of(lambda m=m, x=x: hd.smooth(m, x).marginals)
            if marginals is not None:
                np.testing.assert_allclose(marginals.sum(axis=1), 1.0, rtol=1e-9)
            value_of(lambda m=m, x=x: hd.entropy_profile(m, x))
            value_of(lambda m=m, x=x: hd.influence(m, x))
        divergence_of(lambda x=x: hd.posterior_kl(p, q, x))
        part = np.array(x)
        part[1:3] = np.nan
        divergence_of(lambda part=part: hd.posterior_kl(p, q, part, target="unobserved"))
        own = divergence_of(lambda x=x: hd.posterior_kl(p, p, x))
        assert own is None or own.value == 0


@law(25)
@given(model_pairs())
def test_montecarlo(both):
    p, q = both
    found = divergence_of(lambda: hd.montecarlo(p, q, 3, samples=50, seed=0))
    exact = divergence_of(lambda: hd.joint_kl(p, q, 3))
    if found is not None and exact is not None and np.isfinite(exact.value):
        assert np.isfinite(found.value)


def two_states(transition, emission):
    return hd.Model([0.5, 0.5], transition, emission)


EVEN, THIRDS = [[0.5, 0.5], [0.5, 0.5]], [1 / 3, 1 / 3, 1 / 3]
UNLIKE = [  # deviations whose ratio or its square no double holds, and tiny rates
    [two_states(EVEN, hd.Gaussian([0.0, 0.0], std=std)) for std in ([0.25, 1e100], [0.25, 0.5])],
    [two_states(EVEN, hd.Gaussian([0.0, 0.0], std=std)) for std in ([0.25, 1e-300], [0.25, 0.25])],
    [two_states(EVEN, hd.Gaussian([0.0, 0.0], std=std)) for std in ([0.25, 0.5], [1e-300, 1e300])],
    [two_states(EVEN, hd.Poisson(rate)) for rate in ([0.25, 0.5], [1e-300, 0.5])],
]
FAINT = [  # transitions and symbols of q whose inverses overflow
    [
        two_states([[1 / 6, 5 / 6], [0.5, 0.5]], hd.Categorical([[1 / 7, 1 / 7, 5 / 7], [0.5, 0.0, 0.5]])),
        two_states([[1e-300, 1.0], [0.5, 0.5]], hd.Categorical([THIRDS, [0.5, 0.0, 0.5]])),
    ],
    [
        two_states(EVEN, hd.Categorical([THIRDS, THIRDS])),
        two_states([[5e-324, 1.0], [0.5, 0.5]], hd.Categorical([THIRDS, [0.5, 0.5, 0.0]])),
    ],
    [
        two_states(EVEN, hd.Categorical([THIRDS, THIRDS])),
        two_states([[0.0, 1.0], [0.5, 0.5]], hd.Categorical([THIRDS, [0.5, 0.5, 5e-301]])),
    ],
]


def on_each(pairs):
    """The pairs as examples of a test: each of them failed once."""

    def with_examples(test):
        for both in pairs:
            test = example(both)(test)
        return test

    return with_examples


SMALL = {"seed": 0, "max_samples": 256, "max_seconds": 1.0}


@law(8, share=0.1)
@on_each(UNLIKE)
@given(model_pairs())
def test_observed(both):
    """Between 0 and the joint divergence; an estimate within its own error of that."""
    p, q = both
    found = divergence_of(lambda: hd.observed_kl(p, q, 3, **SMALL))
    assert_below(found, divergence_of(lambda: hd.joint_kl(p, q, 3)))


@law(8, share=0.1)
@on_each(UNLIKE + FAINT)
@given(model_pairs())
def test_observed_rate(both):
    p, q = both
    found = divergence_of(lambda: hd.observed_kl_rate(p, q, **SMALL))
    assert_below(found, divergence_of(lambda: hd.joint_kl_rate(p, q)))


def assert_below(observed, joint):
    if observed is None or joint is None or joint.value == np.inf:
        return
    slack = 1e-9 * joint.value + 1e-12
    error = 6.0 * observed.std_error if observed.status == "estimate" and observed.std_error is not None else 0.0
    if observed.status == "approximation":  # by quadrature, with what refining changes
        error = 3.0 * (observed.upper - observed.lower)
    assert -error - slack <= observed.value <= joint.value + error + slack
    if observed.status == "certified":
        assert 0 <= observed.lower <= joint.value + slack


@law(20)
@given(model_pairs())
def test_files(both):
    """What is saved is loaded, bit for bit."""
    for m in both:
        again = from_text(to_text(m), "file")
        assert again.to_dict() == m.to_dict()
