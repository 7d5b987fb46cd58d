"""Laws of the posterior divergence, and its agreement with enumeration for every form of evidence."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hidiv as hd
from hidiv.errors import ImpossibleEvidence
from tests.loading import tree, within
from tests.oracle.posterior import Impossible, posterior
from tests.oracle.posterior_recursion import posterior_by_recursion
from tests.strategies import LAW, chains, evidence, listed_trees, models, near_pairs, pairs, small_trees

TARGETS = st.sampled_from(["states", "unobserved"])


def built(pair):
    return [hd.Model.from_dict(model) for model in pair]


def size(shape):
    return tree(shape).n_nodes


@LAW
@given(pairs(), listed_trees(5), TARGETS, st.data())
def test_equals_enumeration(pair, shape, target, data):
    known = data.draw(evidence(pair[0], size(shape)))
    expected = posterior(*pair, shape, known, target)
    result = hd.posterior_kl(*built(pair), hd.Evidence.from_list(known), tree(shape), target=target)
    # Where all states but one are ruled out the value is zero up to the digits of the weights.
    assert abs(result.value - float(expected)) <= 1e-12 * float(expected) + 1e-28
    assert np.all(result.by_node >= 0)
    assert within(np.sum(result.by_node), result.value, 1e-12)


@LAW
@given(pairs(["categorical", "gaussian"], groups=3), listed_trees(5, groups=3), TARGETS, st.data())
def test_equals_enumeration_with_groups(pair, shape, target, data):
    known = data.draw(evidence(pair[0], size(shape)))
    expected = posterior(*pair, shape, known, target)
    result = hd.posterior_kl(*built(pair), hd.Evidence.from_list(known), tree(shape), target=target)
    assert abs(result.value - float(expected)) <= 1e-12 * float(expected) + 1e-28


@LAW
@given(pairs(), listed_trees(5), st.data())
def test_two_evidences(pair, shape, data):
    first, second = (data.draw(evidence(model, size(shape))) for model in pair)
    expected = posterior(*pair, shape, first, evidence_q=second)
    known, known_q = hd.Evidence.from_list(first), hd.Evidence.from_list(second)
    result = hd.posterior_kl(*built(pair), known, tree(shape), evidence_q=known_q)
    if expected == math.inf:
        assert result.value == math.inf
        assert result.infinite
    else:
        assert abs(result.value - float(expected)) <= 1e-12 * float(expected) + 1e-28


@LAW
@given(pairs(["categorical"], zeros=True), listed_trees(6), st.data())
def test_zeros_in_p(pair, shape, data):
    """Evidence drawn from p itself, so that it is possible."""
    p, q = built(pair)
    _, x = hd.sample(p, tree(shape), seed=data.draw(st.integers(0, 10**6)))
    known = [{"x": int(value)} for value in np.ravel(x)]
    expected = posterior(*pair, shape, known)
    assert within(hd.posterior_kl(p, q, hd.Evidence.from_list(known), tree(shape)).value, expected, 1e-12)


@LAW
@given(st.integers(2, 3), st.one_of(listed_trees(6), chains(6)), st.data())
def test_zeros_in_both(n_states, shape, data):
    """Any word at all: impossible under p, impossible under q, infinite or finite, as enumeration finds it."""
    pair = [data.draw(models(n_states, "categorical", zeros=True)) for _ in range(2)]
    known = [{"x": data.draw(st.integers(0, 2))} for _ in range(size(shape))]
    arguments = *built(pair), hd.Evidence.from_list(known), tree(shape)
    try:
        expected = posterior(*pair, shape, known)
    except Impossible as impossible:
        with pytest.raises(ImpossibleEvidence, match=rf"\b{impossible}\b"):
            hd.posterior_kl(*arguments)
        return
    result = hd.posterior_kl(*arguments)
    assert within(result.value, expected, 1e-12)
    assert bool(result.infinite) == (expected == math.inf)


@LAW
@given(near_pairs(), st.sampled_from([5, 40]), st.data())
def test_near_identical_models(pair, n_nodes, data):
    known = [{"x": data.draw(st.integers(0, 2))} for _ in range(n_nodes)]
    expected = posterior_by_recursion(*pair, {"chain": n_nodes}, known)
    value = hd.posterior_kl(*built(pair), [entry["x"] for entry in known]).value
    assert within(value, expected, 1e-11)  # the reference allows as much at these distances


@LAW
@given(pairs(), st.one_of(small_trees(), st.just({"chain": 200})))
def test_no_evidence_is_the_joint_divergence(pair, shape):
    p, q = built(pair)
    nothing = hd.Evidence.from_list([None] * size(shape))
    joint = hd.joint_kl(p, q, tree(shape)).value
    assert within(hd.posterior_kl(p, q, nothing, tree(shape), target="unobserved").value, joint, 1e-13)
    silent = [hd.Model(m.initial, m.to_dict()["transition"], hd.Silent(m.n_states)) for m in (p, q)]
    hidden = hd.joint_kl(*silent, tree(shape)).value
    assert within(hd.posterior_kl(p, q, nothing, tree(shape), target="states").value, hidden, 1e-13)


@LAW
@given(pairs(), listed_trees(6), TARGETS, st.data())
def test_zero_on_itself(pair, shape, target, data):
    p = hd.Model.from_dict(pair[0])
    known = hd.Evidence.from_list(data.draw(evidence(pair[0], size(shape))))
    assert hd.posterior_kl(p, p, known, tree(shape), target=target).value == 0


@LAW
@given(pairs(), listed_trees(6), st.data())
def test_relabelling_both_alike_changes_nothing(pair, shape, data):
    p, q = built(pair)
    known = [None if entry is None else {k: v for k, v in entry.items() if k != "states"}
             for entry in data.draw(evidence(pair[0], size(shape)))]  # fmt: skip
    known = hd.Evidence.from_list([entry or None for entry in known])
    order = [*range(1, p.n_states), 0]
    value = hd.posterior_kl(p, q, known, tree(shape)).value
    assert within(hd.posterior_kl(p.relabel(order), q.relabel(order), known, tree(shape)).value, value, 1e-12)


@LAW
@given(pairs(["categorical", "gaussian"]), st.integers(1, 30), st.data())
def test_chain_is_the_path(pair, n_nodes, data):
    p, q = built(pair)
    known = hd.Evidence.from_list(data.draw(evidence(pair[0], n_nodes)))
    value = hd.posterior_kl(p, q, known).value
    path = hd.Tree(list(range(-1, n_nodes - 1)))
    assert within(hd.posterior_kl(p, q, known, path).value, value, 1e-13)
