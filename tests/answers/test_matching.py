"""One labelling for many models, how sure it is, and whether they agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hidiv as hd
from hidiv.answers.matching import law_distances
from hidiv.errors import HidivError
from tests.strategies import LAW

P = hd.Model(
    [0.5, 0.3, 0.2], [[0.8, 0.1, 0.1], [0.1, 0.7, 0.2], [0.3, 0.1, 0.6]],
    hd.Gaussian([0.0, 4.0, 9.0], std=[1.0, 1.0, 2.0]), name="p",
)  # fmt: skip


@LAW
@given(st.permutations(range(3)), st.permutations(range(3)))
def test_relabelled_copies_come_back(first, second):
    found = hd.match([P, P.relabel(first), P.relabel(second)], 0)
    for model in found.models:
        assert model == P
    assert found.permutations[1] == tuple(np.argsort(first).tolist())
    assert found.weakest > 0.9
    assert all(partners == (0, 1, 2) for partners in found.partners)


def test_more_states_and_fewer():
    small = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], hd.Gaussian([9.1, 0.1], std=[2.0, 1.0]))
    large = hd.Model(np.ones(4) / 4, np.ones((4, 4)) / 4, hd.Gaussian([30.0, 9.0, 4.1, 0.0], std=[1.0, 2.0, 1.0, 1.0]))
    found = hd.match([small, large], P)
    assert found.position is None
    assert found.partners == ((0, 2), (0, 1, 2, None))
    assert found.permutations == ((1, 0), (3, 2, 1, 0))
    assert found.missing == ((1,), ())
    assert found.unmatched == ((), (3,))
    assert found.certainty[1][3] == 0.0
    said = found.summary()
    assert "1 state without a partner" in said
    assert "1 state of the reference not found" in said
    assert found == type(found).from_dict(found.to_dict())


def test_zeros_do_not_decide():
    """Trained models have zeros in other places; what states show still tells which is which."""
    p = hd.Model("stationary", [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]], hd.Poisson([1.0, 9.0, 30.0]))
    q = hd.Model("stationary", [[0.4, 0.6, 0.0], [0.6, 0.0, 0.4], [0.0, 0.3, 0.7]], hd.Poisson([31.0, 1.1, 9.2]))
    found = hd.match([p, q], 0)
    assert hd.align(p, q, 100).infinite > 0
    assert found.permutations[1] == (1, 2, 0)
    assert found.weakest > 0.5


def test_a_tie_is_in_doubt():
    twins = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], hd.Poisson([3.0, 3.0]), name="twins")
    found = hd.match([twins, twins.relabel([1, 0])], 0)
    assert found.weakest == 0.0
    assert "in doubt" in found.summary()


def test_the_reference_is_the_most_central():
    far = hd.Model(P.initial, P.transition, hd.Gaussian([5.0, 14.0, 30.0], std=[1.0, 1.0, 2.0]))
    near = hd.Model(P.initial, P.transition, hd.Gaussian([0.4, 4.6, 10.0], std=[1.0, 1.0, 2.0]))
    assert hd.match([far, P, near]).position in (1, 2)


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (hd.Poisson([1.0, 4.0]), hd.Poisson([2.0, 4.0])),
        (hd.Categorical([[0.5, 0.5], [1.0, 0.0]]), hd.Categorical([[0.2, 0.8], [0.0, 1.0]])),
        (
            hd.Mixture([[0.5, 0.5]], [hd.Gaussian([0.0], std=[1.0]), hd.Gaussian([3.0], std=[1.0])]),
            hd.Gaussian([0.0], std=[1.0]),
        ),
    ],
)
def test_distances_are_overlaps(p, q):
    def model(family):
        k = family.n_states
        return hd.Model(np.ones(k) / k, np.ones((k, k)) / k, family)

    x = (
        np.arange(60.0)
        if p.name == "poisson"
        else np.arange(2.0)
        if p.name == "categorical"
        else np.linspace(-9, 12, 2001)
    )
    step = 1.0 if p.name != "mixture" else x[1] - x[0]
    plain = np.exp(0.5 * p.log_prob(x)).T @ np.exp(0.5 * q.log_prob(x)) * step
    np.testing.assert_allclose(np.exp(-0.5 * law_distances(model(p), model(q))), plain, atol=0.02)


def test_agreement():
    other = hd.Model(P.initial, np.full((3, 3), 1 / 3), P.emission)
    found = hd.agreement([P, other, P.relabel([2, 0, 1])], nodes=4000, seed=1)
    assert found.groups == ((0, 2), (1,))
    assert found.verdict == "disagree"
    assert not found
    exact = hd.observed_kl_rate(P, other, rtol=0.05, seed=1)
    assert abs(found.divergences[0, 1] - exact.value) < 5 * found.std_errors[0, 1]
    assert "3 models disagree: 2 groups of 2, 1" in repr(found)
    apart = hd.Model(P.initial, P.transition, hd.Categorical(np.eye(3)[[0, 0, 0]]))
    never = hd.Model(P.initial, P.transition, hd.Categorical(np.eye(3)[[1, 1, 1]]))
    assert "1, 1, infinitely far apart (the same" in repr(hd.agreement([apart, never], nodes=100, seed=1))
    same = hd.agreement([P, P.relabel([2, 0, 1])], nodes=400, seed=1)
    assert same.verdict == "agree"
    assert same.divergences.max() < 1e-12
    assert same == type(same).from_dict(same.to_dict())


def test_no_two_that_agree_are_further_apart_than_they_may_be():
    """Of three in a row, neighbours within 0.01 and the ends 0.03 apart, not all agree."""
    rows = [[0.5, 0.5], [0.5, 0.5]]
    near = [hd.Model([0.5, 0.5], rows, hd.Gaussian([m, m + 9.0], std=[1.0, 1.0])) for m in (0.0, 0.125, 0.25)]
    found = hd.agreement(near, seed=1)
    assert found.divergences[0, 2] > 0.01 > max(found.divergences[0, 1], found.divergences[1, 2])
    assert not found
    assert [len(group) for group in found.groups] == [2, 1]


def test_models_by_name():
    found = hd.match({"one": P, "two": P.relabel([2, 0, 1])}, 0)
    assert found.names == ("one", "two")
    assert found.models[1].transition == pytest.approx(P.transition)
    assert hd.agreement({"one": P, "two": P.relabel([2, 0, 1])}, seed=1).equal


def test_what_one_cannot_show():
    p, q = (hd.Model([1.0], [[1.0]], hd.Categorical([row])) for row in ([0.5, 0.5], [1.0, 0.0]))
    found = hd.agreement([p, q], nodes=200, seed=1)
    assert found.divergences[0, 1] == np.inf
    assert np.isfinite(found.divergences[1, 0])


def test_agreement_on_trees_and_until_the_end():
    assert hd.agreement([P, P.relabel([1, 0, 2])], tree=hd.Tree.regular(2, 3), nodes=200, seed=1)
    ending = hd.Model([1.0, 0.0], [[0.5, 0.3], [0.2, 0.3]], hd.Poisson([1.0, 5.0]), end=[0.2, 0.5])
    assert hd.agreement([ending, ending.relabel([1, 0])], nodes=200, seed=1).verdict == "agree"


BAD = [
    (lambda: hd.match([]), "models: must not be empty"),
    (lambda: hd.match(P), "models: must be a list of models"),
    (lambda: hd.match([P], 3), "reference: must be a whole number"),
    (lambda: hd.match([P, hd.Model([1.0], [[1.0]], hd.Poisson([1.0]))]), "shows"),
    (lambda: hd.agreement([P]), "models: needs at least two models"),
    (lambda: hd.agreement([P, P], within=-1), "within: must be a number from 0"),
]


@pytest.mark.parametrize(("call", "said"), BAD)
def test_what_is_refused(call, said):
    with pytest.raises(HidivError, match=said):
        call()
