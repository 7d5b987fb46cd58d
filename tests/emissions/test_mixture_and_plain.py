"""A mixture held against a plain family, which is a mixture of one, and sets of symbols seen of mixtures."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import IncompatibleModels, InvalidEvidence, InvalidModel, OutOfRange

MOVES = [[0.8, 0.2], [0.3, 0.7]]
PLAIN = hd.Gaussian([0.0, 2.0], std=[1.0, 1.5])
OTHER = hd.Gaussian([0.5, 1.0], std=[1.2, 1.0])
ONE = hd.Mixture([[1.0], [1.0]], [PLAIN])
TWO = hd.Mixture([[0.3, 0.7], [0.6, 0.4]], [PLAIN, OTHER])


def chain(emission):
    return hd.Model([0.4, 0.6], MOVES, emission)


def test_a_mixture_of_one_is_its_component():
    x = np.linspace(-3.0, 5.0, 9)[:, None]
    for a, b in ((ONE, OTHER), (OTHER, ONE)):
        first, second = (PLAIN if f is ONE else f for f in (a, b))
        np.testing.assert_allclose(a.kl(b), first.kl(second), rtol=1e-10)
        np.testing.assert_allclose(a.log_ratio(b, x), first.log_ratio(second, x), rtol=1e-10, atol=1e-12)
        assert hd.joint_kl(chain(a), chain(b), 7).value == pytest.approx(
            hd.joint_kl(chain(first), chain(second), 7).value, rel=1e-12
        )
        evidence = hd.Evidence.from_list([{"x": 0.3}, {"between": [0.0, 2.0]}, {"x": 1.1}, None])
        for target in ("states", "unobserved"):
            found, expected = (
                hd.posterior_kl(*map(chain, models), evidence, target=target).value
                for models in ((a, b), (first, second))
            )
            assert found == pytest.approx(expected, rel=1e-9)


def test_the_divergence_of_a_mixture_from_a_plain_law_is_its_integral():
    x = np.linspace(-20.0, 25.0, 200_001)[:, None]
    for a, b in ((TWO, OTHER), (OTHER, TWO)):
        logs = [np.asarray(f.log_prob(x[:, 0])) for f in (a, b)]
        expected = (np.exp(logs[0]) * (logs[0] - logs[1])).sum(axis=0) * (x[1, 0] - x[0, 0])
        np.testing.assert_allclose(a.kl(b), expected, rtol=1e-8)
    found = hd.observed_kl(chain(TWO), chain(OTHER), 5, method="montecarlo", seed=1, max_samples=2000)
    assert found.value > 0


def test_what_cannot_be_paired_says_so():
    with pytest.raises(IncompatibleModels, match="2 and 1 components, which cannot be paired"):
        hd.joint_kl(chain(TWO), chain(OTHER), 3)
    with pytest.raises(IncompatibleModels, match="cannot be compared in closed form"):
        TWO.kl(hd.VonMises([0.0, 1.0], [1.0, 1.0]))
    with pytest.raises(InvalidModel, match="must not be a mixture itself"):
        hd.Mixture([[1.0], [1.0]], [TWO])


SYMBOLS = [
    hd.Mixture([[0.3, 0.7], [0.5, 0.5]], [hd.Categorical([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]]), hd.Categorical(table)])
    for table in ([[0.1, 0.1, 0.8], [0.3, 0.3, 0.4]], [[0.5, 0.2, 0.3], [0.2, 0.7, 0.1]])
]
SETS = hd.Evidence.from_list([{"in": [0, 2]}, {"x": 1}, {"in": [1]}, None])


def test_sets_of_symbols_seen_of_mixtures():
    """The states see the law of the symbols alone, which is categorical."""
    merged = [
        chain(hd.Categorical(np.einsum("kc,ckm->km", f.weights, [c.probs for c in f.components]))) for f in SYMBOLS
    ]
    mixed = [chain(f) for f in SYMBOLS]
    assert hd.log_likelihood(mixed[0], SETS) == pytest.approx(hd.log_likelihood(merged[0], SETS), rel=1e-13)
    assert hd.posterior_kl(*mixed, SETS, target="states").value == pytest.approx(
        hd.posterior_kl(*merged, SETS, target="states").value, rel=1e-11
    )


def test_what_is_left_of_component_and_symbol_by_listing():
    """One state, one node, X in {0, 2}: the KL of (component, symbol) given that."""
    p, q = (hd.Model([1.0], [[1.0]], f.take([0])) for f in SYMBOLS)
    laws = []
    for model in (p, q):
        law = np.array(
            [w * c.probs[0, [0, 2]] for w, c in zip(model.emission.weights[0], model.emission.components, strict=True)]
        )
        laws.append((law / law.sum()).ravel())
    expected = float((laws[0] * np.log(laws[0] / laws[1])).sum())
    evidence = hd.Evidence.from_list([{"in": [0, 2]}])
    assert hd.posterior_kl(p, q, evidence, target="unobserved").value == pytest.approx(expected, rel=1e-12)


def test_sets_of_symbols_need_symbols():
    with pytest.raises(InvalidEvidence, match="a set of symbols needs categorical emissions"):
        hd.log_likelihood(chain(TWO), SETS)


FAR_APART = [
    (hd.Gaussian([-1e6], std=[12.0]), hd.Gaussian([1.0], std=[2.0])),
    (hd.Gaussian([0.0], std=[1.0]), hd.Gaussian([50.0], std=[0.9])),
    (hd.Poisson([10.0]), hd.Poisson([0.01])),
    (hd.Poisson([10.0]), hd.Poisson([1e5])),
    (hd.Laplace([0.0], [1.0]), hd.Laplace([1e4], [3.0])),
]


@pytest.mark.parametrize(("p", "q"), FAR_APART, ids=lambda family: family.name)
@pytest.mark.parametrize("alpha", [0.3, 0.5, 2.0])
def test_renyi_of_far_laws_is_found_where_neither_has_mass(p, q, alpha):
    a, b = (hd.Mixture([[1.0, 0.0]], [family, family]) for family in (p, q))
    np.testing.assert_allclose(a.renyi(b, alpha), p.renyi(q, alpha), rtol=1e-9)


def test_laws_that_doubles_cannot_follow_are_refused():
    narrow = hd.Mixture([[0.5, 0.5]], [hd.Gaussian([-1e30], std=[0.5]), hd.Gaussian([3.75], std=[1.0])])
    wide = hd.Mixture([[0.5, 0.5]], [hd.Gaussian([0.0], std=[1.0]), hd.Gaussian([1.0], std=[2.0])])
    many = hd.Mixture([[1e-8, 1 - 1e-8]], [hd.Poisson([1e19]), hd.Poisson([1.0])])
    few = hd.Mixture([[0.5, 0.5]], [hd.Poisson([2.0]), hd.Poisson([1.0])])
    for p, q in ((narrow, wide), (wide, narrow), (many, few), (few, many)):
        with pytest.raises(OutOfRange, match="beyond the range of doubles"):
            p.kl(q)
        with pytest.raises(OutOfRange, match="beyond the range of doubles"):
            p.renyi(q, 0.5)


def test_a_component_that_q_all_but_rules_out_leaves_a_finite_ratio():
    p, q = (hd.Mixture([[0.5, 0.5]], [hd.Poisson([0.25]), hd.Poisson([rate])]) for rate in (0.25, 5e-324))
    ratio = p.complete().log_ratio(q.complete(), np.array([[0.0], [1.0], [2.0]]))
    alone = hd.Poisson([0.25]).log_ratio(hd.Poisson([5e-324]), np.array([[0.0], [1.0], [2.0]]))
    np.testing.assert_allclose(ratio, 0.5 * alone, rtol=1e-12)
