"""compare: the quantities side by side, how they add up, and what is said where one is missing or infinite."""

from __future__ import annotations

import json

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences.posterior.expected import expected_posterior
from hidiv.errors import ImpossibleEvidence, IncompatibleModels, InvalidEvidence, InvalidTree

P = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]), name="one")
Q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))
NARROW = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.7, 0.0], [0.6, 0.2, 0.2]]))
TWO_SYMBOLS = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.7, 0.0], [0.6, 0.4, 0.0]]))
THREE = hd.Model([0.2, 0.3, 0.5], np.full((3, 3), 1 / 3), hd.Categorical(np.full((3, 3), 1 / 3)))


def enumerated_expected_posterior(p: hd.Model, q: hd.Model, length: int) -> float:
    """sum over words of p(x) D( p(S | x) || q(S | x) ): the term itself, not the difference."""
    total = 0.0
    for word in np.ndindex(*(3,) * length):
        total += np.exp(hd.log_likelihood(p, list(word))) * hd.posterior_kl(p, q, list(word)).value
    return total


def test_the_chain_rule_against_every_word() -> None:
    found = hd.compare(P, Q, 4)
    assert found.joint.value == hd.joint_kl(P, Q, 4).value
    assert found.observed.value == hd.observed_kl(P, Q, 4, method="exact").value
    assert found.expected_posterior.status == found.observed.status == "exact"
    assert found.expected_posterior.value == pytest.approx(enumerated_expected_posterior(P, Q, 4), rel=1e-12)
    assert found.chain_rule.startswith("joint 2.236")


def test_every_quantity_is_the_one_its_function_gives() -> None:
    x = [0, 2, 1, 1, 0, 2]
    found = hd.compare(P, Q.relabel([1, 0]), evidence=x)
    q = Q.relabel([1, 0])
    assert found.joint.value == hd.joint_kl(P, q, 6).value
    assert found.joint_per_node.value == hd.joint_kl(P, q, 6, per_node=True).value
    assert found.alignment.permutation == hd.align(P, q, 6).permutation == (1, 0)
    assert found.joint_aligned.value == found.alignment.value == hd.joint_kl(P, Q, 6).value < found.joint.value
    assert found.posterior.value == hd.posterior_kl(P, q, x).value
    assert found.do_bound.value == pytest.approx(found.joint.value, rel=1e-14)
    assert found.rates.joint.value == hd.joint_kl_rate(P, q).value
    assert found.rates["observed"].value == hd.observed_kl_rate(P, q).value
    assert found.rates.expected_posterior.value == pytest.approx(
        found.rates.joint.value - found.rates.observed.value, rel=1e-12
    )
    assert found.infinite == []
    assert found.undefined == {}


def test_certified_bounds_carry_over() -> None:
    found = hd.compare(P, Q, 100)
    assert found.expected_posterior.status == found.observed.status == "certified"
    room = 1e-12 * found.joint.value
    assert found.expected_posterior.lower == found.joint.value - found.observed.upper - room
    assert found.expected_posterior.upper == found.joint.value - found.observed.lower + room
    assert found.expected_posterior.certificate["observed"] == found.observed.certificate


def test_the_error_of_an_estimate_carries_over() -> None:
    p, q = (
        hd.Model([0.5, 0.5], m.transition, hd.Gaussian([[0.0, 1.0], [1.0, 0.0]], std=[[1.0, 1.0], [s, 1.0]]))
        for m, s in ((P, 1.0), (Q, 2.0))
    )
    found = hd.compare(p, q, 4, max_seconds=0.2)
    assert found.observed.status == found.expected_posterior.status == "estimate"
    assert found.expected_posterior.std_error == found.observed.std_error > 0
    assert found.expected_posterior.value == found.joint.value - found.observed.value
    assert found.expected_posterior.lower == found.joint.value - found.observed.upper
    again = hd.compare(p, q, 4, max_seconds=0.0)
    assert again.observed.value == hd.compare(p, q, 4, max_seconds=0.0).observed.value


def test_equal_posteriors_leave_nothing() -> None:
    """Silent transitions alike and emissions that tell the state: joint and observed agree."""
    sharp = [hd.Categorical([[a, 1 - a, 0, 0], [0, 0, a, 1 - a]]) for a in (0.3, 0.6)]
    p, q = (hd.Model([0.5, 0.5], P.transition, emission) for emission in sharp)
    left = hd.compare(p, q, 5).expected_posterior
    assert 0 <= left.value < 1e-14
    assert any("rounding" in note for note in left.notes)


def test_infinite_joint_and_finite_observed() -> None:
    found = hd.compare(P, NARROW, 5)
    assert np.isinf(found.joint.value)
    assert np.isfinite(found.observed.value)
    assert found.expected_posterior.value == np.inf
    assert found.chain_rule is None
    assert any(
        "joint; joint aligned; Do's bound; joint rate: infinite because emission: state 0 emits symbol 2" in reason
        for reason in found.infinite
    )
    assert any("the joint divergence is infinite and the observed one is not" in reason for reason in found.infinite)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["joint"]["value"] == "inf"


def test_both_infinite_leaves_the_difference_open() -> None:
    found = hd.compare(P, TWO_SYMBOLS, 5)
    assert found.observed.value == np.inf
    assert found.expected_posterior is None
    assert "both infinite" in found.undefined["expected_posterior"]
    assert any(reason.startswith("observed; observed rate: infinite because one emits") for reason in found.infinite)


@pytest.mark.parametrize(("p", "q"), [(P, THREE), (THREE, P)])
def test_different_numbers_of_states(p: hd.Model, q: hd.Model) -> None:
    found = hd.compare(p, q, 5, evidence=[0, 1, 2, 0, 0], max_seconds=0.1)
    assert found.observed.value == hd.observed_kl(p, q, 5).value
    assert found.rates.observed is not None
    for name in ("joint", "joint_aligned", "expected_posterior", "posterior", "alignment", "do_bound"):
        assert getattr(found, name) is None
        assert name == "alignment" or f"{p.n_states} and {q.n_states} states" in found.undefined[name]
    assert "posterior" not in hd.compare(p, q, 5, max_seconds=0.1).undefined


def test_without_a_tree_the_rates_alone() -> None:
    found = hd.compare(P, Q)
    assert found.rates.joint.value == hd.joint_kl_rate(P, Q).value
    assert found.joint is found.observed is found.posterior is None
    assert "no tree and no evidence" in found.undefined["joint"]


def test_models_that_end() -> None:
    ending = [hd.Model(m.initial, 0.9 * m.transition, m.emission, end=[0.1, 0.1]) for m in (P, Q)]
    found = hd.compare(*ending)
    assert found.joint.value == hd.joint_kl(*ending, hd.UNTIL_END).value
    assert set(found.undefined) == {"rates", "do_bound"}
    assert found.observed.status == "estimate"
    assert found.observed.value < found.joint.value


GAMMA = hd.Model([0.5, 0.5], P.transition, hd.Gamma([1.0, 2.0], [1.0, 1.0]))
LOG_NORMAL = hd.Model([0.5, 0.5], Q.transition, hd.LogNormal([0.0, 1.0], [1.0, 1.0]))


def test_families_without_a_closed_form() -> None:
    found = hd.compare(GAMMA, LOG_NORMAL, 3, evidence=[0.5, 1.0, 2.0])
    assert found.joint is found.do_bound is found.rates.joint is None
    assert "closed form" in found.undefined["joint"]
    assert found.observed.value == pytest.approx(hd.observed_kl(GAMMA, LOG_NORMAL, 3).value, rel=1e-9)
    assert "closed form" in found.undefined["posterior"]


def test_trees_of_any_size() -> None:
    found = hd.compare(P, Q, hd.Tree.regular(2, 10_000))
    assert found.joint is found.observed is None
    assert found.joint_per_node.value == pytest.approx(found.rates.joint.value, rel=1e-12)
    assert "beyond the range of doubles" in found.undefined["joint"]
    gauss = hd.Model([0.5, 0.5], P.transition, hd.Gaussian([0.0, 1.0], std=[1.0, 1.0]))
    other = hd.Model([0.5, 0.5], Q.transition, hd.Gaussian([0.0, 1.0], std=[1.0, 1.0]))
    large = hd.compare(gauss, other, hd.Tree.chain(10**12), max_seconds=0.1)
    assert large.joint.value > 1e10
    assert large.observed.status == "certified"
    assert large.observed.lower <= 1e12 * large.rates.observed.value <= large.observed.upper
    unbounded = hd.compare(GAMMA, LOG_NORMAL, hd.Tree.chain(10**12), max_seconds=0.1)
    assert "nothing is drawn on more than 100000 nodes" in unbounded.undefined["observed"]
    long = hd.compare(P, Q, hd.Tree.chain(10**12))
    assert long.observed.status == "certified"


def test_what_it_says() -> None:
    said = repr(hd.compare(P, Q, 10))
    assert said.splitlines()[0] == "comparison D(one || q) on a chain of 10 nodes"
    assert "  joint: 5.662866895 nats, exact" in said
    assert "  joint 5.662866895 = observed 4.724678071 + expected posterior 0.9381888239" in said
    assert "joint; joint aligned; expected posterior; Do's bound: none, because the models have 2 and 3" in repr(
        hd.compare(P, THREE, 3, max_seconds=0.1)
    ).replace("; joint rate; expected posterior rate", "")


def test_bits_and_dict() -> None:
    found = hd.compare(P, Q.relabel([1, 0]), 4, evidence=[0, 1, 2, 2])
    bits = found.to("bits")
    assert bits.joint.value == pytest.approx(found.joint.value / np.log(2), rel=1e-15)
    assert bits.alignment.gain == pytest.approx(found.alignment.gain / np.log(2), rel=1e-15)
    assert bits.rates.observed.unit == bits.unit == "bits"
    described = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert described["format"] == "hidiv.comparison"
    assert described["alignment"]["permutation"] == [1, 0]
    assert described["joint"]["parts"]["rows"] == found.joint.parts.rows.tolist()
    assert described["rates"]["joint"]["per"] == "step"
    assert (described["p"], described["q"]) == ("one", None)


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (InvalidEvidence, lambda: hd.compare(P, Q, 4, evidence=[0, 1])),
        (ImpossibleEvidence, lambda: hd.compare(P, TWO_SYMBOLS, evidence=[0, 2])),
        (IncompatibleModels, lambda: hd.compare(P, hd.Model(P.initial, P.transition, hd.Poisson([1.0, 2.0])), 3)),
        (IncompatibleModels, lambda: hd.compare(P, hd.Model([1.0], [[0.5]], hd.Categorical([[1.0]]), end=[0.5]), 3)),
        (InvalidTree, lambda: hd.compare(P, hd.Model(P.initial, [None, P.transition], P.emission))),
    ],
)
def test_bad_input(error: type[Exception], call: object) -> None:
    with pytest.raises(error):
        call()  # type: ignore[operator]


TWO_STEPS, MORE_STEPS = [[0.9, 0.1], [0.2, 0.8]], [[0.6, 0.4], [0.5, 0.5]]


def test_an_infinite_joint_beside_an_estimate_has_no_bounds() -> None:
    joint = hd.Divergence(np.inf, "joint", infinite=["somewhere"])
    observed = hd.Divergence(1.0, "observed", "estimate", 0.9, 1.1, 0.05, 100)
    left = expected_posterior(joint, observed)
    assert (left.value, left.lower, left.upper, left.std_error) == (np.inf, None, None, None)


def test_an_infinity_that_is_decided_is_exact() -> None:
    """The joint one by a transition that q lacks; the observed one is finite, which draws are not needed to tell."""
    rng = np.random.default_rng(3)
    for emission in (
        hd.Categorical(rng.dirichlet(np.ones(30), 3)),
        hd.Gaussian(rng.normal(size=(3, 2)), std=np.ones((3, 2))),
    ):
        p = hd.Model(np.full(3, 1 / 3), rng.dirichlet(np.ones(3), 3), emission)
        q = hd.Model(np.full(3, 1 / 3), [[0.5, 0.5, 0.0], [0.2, 0.4, 0.4], [0.3, 0.3, 0.4]], emission)
        found = hd.compare(p, q, 100, max_seconds=0.5)
        assert found.observed.status == "estimate"
        for left in (found.expected_posterior, found.rates.expected_posterior):
            assert (left.value, left.status, left.n_samples) == (np.inf, "exact", None)
            assert left.infinite == ["the joint divergence is infinite and the observed one is not"]
        assert hd.Comparison.from_dict(found.to_dict()) == found


def test_an_infinity_that_rests_on_draws_says_so() -> None:
    joint = hd.Divergence(np.inf, "joint", infinite=["somewhere"])
    drawn = expected_posterior(joint, hd.Divergence(1.0, "observed", "estimate", 0.9, 1.1, 0.05, 100))
    assert (drawn.status, drawn.n_samples) == ("estimate", 100)
    assert drawn.infinite == ["the joint divergence is infinite and the observed one, as far as draws show, is not"]
    rough = expected_posterior(joint, hd.Divergence(1.0, "observed", "approximation", error=1e-9))
    assert "as far as its approximation shows" in rough.infinite[0]
    known = hd.Divergence(1.0, "observed", "certified", 0.9, 1.1)
    assert expected_posterior(joint, known).status == "exact"


def test_where_bounds_say_little_the_overlap_is_drawn() -> None:
    p, q = (hd.Model([0.5, 0.5], t, hd.Gaussian([0.0, 2.0], std=[1.0, 1.0])) for t in (TWO_STEPS, MORE_STEPS))
    found = hd.compare(p, q, 20, max_seconds=0.2)
    for name in ("hellinger", "total_variation", "bayes_error"):
        drawn, alone = getattr(found, name), getattr(hd, name)(p, q, 20, seed=7)
        assert drawn.status == "estimate"
        assert abs(drawn.value - alone.value) <= 5.0 * np.hypot(drawn.std_error, alone.std_error)
    assert "95 % interval" in found.overlap[0]
    assert found.overlap[1].count("95 % interval") == 2
    assert hd.Comparison.from_dict(found.to_dict()) == found


def test_bounds_on_how_well_observations_tell_the_models_apart() -> None:
    rng = np.random.default_rng(9)
    p, q = (
        hd.Model(rng.dirichlet([1, 1]), rng.dirichlet([1, 1], 2), hd.Categorical(rng.dirichlet([1, 1], 2)))
        for _ in range(2)
    )
    found = hd.compare(p, q, 8)
    for name in ("hellinger", "total_variation", "bayes_error"):
        certain, exact = getattr(found, name), getattr(hd, name)(p, q, 8)
        assert certain.status in ("certified", "exact")
        assert certain.lower - 1e-12 <= exact.value <= certain.upper + 1e-12
    assert found.bayes_error.notes[0] in repr(found)
    assert hd.Comparison.from_dict(found.to_dict()) == found
    before = {key: value for key, value in found.to_dict().items() if key not in ("hellinger", "bayes_error")}
    assert hd.Comparison.from_dict(before).hellinger is None
    assert hd.compare(p, q).bayes_error is None  # no tree


ABSENT = hd.Model([1.0, 0.0], [[0.7, 0.3], [0.0, 1.0]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]), name="q")
FITTED = hd.Model([1.0, 1e-75], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))


def test_what_is_finite_is_said_first_and_why_the_rest_is_not() -> None:
    found = hd.compare(P, ABSENT, 4)
    (note,) = found.notes
    assert note.startswith("the observed divergence is finite and the joint one is not, because q forbids")
    assert "1 of 2 first states that one has and 1 of 4 transitions that one takes" in note
    assert "hd.smoothed(q, weight)" in note
    assert repr(found).splitlines()[1].strip() == note
    assert hd.Comparison.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert np.isfinite(hd.joint_kl(P, hd.smoothed(ABSENT, 1e-6), 4).value)


def test_an_order_that_makes_the_joint_divergence_finite_is_said_first() -> None:
    p = hd.Model([0.5, 0.5], [[1.0, 0.0], [0.3, 0.7]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]))
    (note,) = hd.compare(p, p.relabel([1, 0]), 4).notes
    assert note.startswith("the observed divergence is finite, and the joint one with q's states aligned;")
    assert note.endswith("q forbids 1 of 3 transitions that p takes")


def test_forbidden_places_are_counted_where_p_gets_to() -> None:
    never = hd.Model([1.0, 0.0], [[1.0, 0.0], [0.5, 0.5]], hd.Categorical([[0.5, 0.5], [0.5, 0.5]]))
    other = hd.Model([1.0, 0.0], [[1.0, 0.0], [1.0, 0.0]], hd.Categorical([[0.4, 0.6], [1.0, 0.0]]))
    assert hd.compare(never, other, 4).notes == ()
    only_first = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], P.emission)
    assert "initial=False" in hd.compare(only_first, hd.Model([1.0, 0.0], Q.transition, Q.emission), 4).notes[0]


def test_an_initial_law_that_a_fit_left_at_almost_nothing_is_pointed_out() -> None:
    (note,) = hd.compare(P, FITTED, 10).notes
    joint = hd.joint_kl(P, FITTED, 10)
    share = 100 * joint.parts.initial / joint.value
    assert f"{share:.0f} % of the joint divergence is the initial law of q" in note
    assert 'initial="stationary" or initial=False leaves it out' in note
    assert hd.compare(P, FITTED, 10, initial=False).notes == hd.compare(P, Q, 10).notes == ()


def test_initial_laws_left_out_or_stationary() -> None:
    joint = hd.joint_kl(P, FITTED, 10)
    alike = hd.joint_kl(P, FITTED, 10, initial=False)
    assert alike.value == pytest.approx(joint.value - joint.parts.initial, rel=1e-10)
    assert alike.parts.initial == 0.0
    assert "from the start of p" in repr(alike)
    long_run = [hd.Model("stationary", m.transition, m.emission) for m in (P, FITTED)]
    for function in (hd.joint_kl, hd.observed_kl):
        assert function(P, FITTED, 6, initial="stationary").value == pytest.approx(function(*long_run, 6).value)
        assert function(P, FITTED, [3, 6], initial="stationary").value == pytest.approx(
            function(*long_run, [3, 6]).value
        )
    # The order of q's states is found without the initial laws too.
    found = hd.compare(P, FITTED.relabel([1, 0]), 10, initial=False)
    assert found.joint_aligned.value == pytest.approx(alike.value, rel=1e-12)
    assert found.alignment.permutation == (1, 0)
    assert found.observed.value <= found.joint_aligned.value
    with pytest.raises(IncompatibleModels, match="q can start as p does only"):
        hd.observed_kl(P, THREE, 4, initial=False)
    with pytest.raises(hd.HidivError, match='initial: must be True, False or "stationary"'):
        hd.joint_kl(P, Q, 4, initial="stationery")
