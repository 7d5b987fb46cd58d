"""Measures of stationary states: aggregated Wasserstein and Sahraeian-Yoon, against plain loops; saved results."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hidiv as hd
from hidiv.divergences.measures.aggregated_wasserstein import transport
from hidiv.errors import HidivError, IncompatibleModels
from tests.divergences.measures.words import random_model

seeds = st.integers(0, 2**32 - 1)


def gaussian_model(rng, k):
    return hd.Model(
        rng.dirichlet(np.ones(k)),
        rng.dirichlet(np.ones(k), k),
        hd.Gaussian(rng.normal(0, 3, k), std=rng.uniform(0.5, 2, k)),
    )


def line_cost(a, b, x):
    """Optimal transport on a line: the integral of the difference of the distribution functions."""
    order = np.argsort(x)
    return float(np.abs(np.cumsum((a - b)[order]))[:-1] @ np.diff(x[order]))


def test_transport_on_a_line():
    rng = np.random.default_rng(0)
    for k in (1, 2, 5):
        a, b, x = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k)), rng.normal(size=k)
        cost = np.abs(x[:, None] - x)
        assert (transport([a], [b], [cost])[0] * cost).sum() == pytest.approx(line_cost(a, b, x), abs=1e-12)


@settings(max_examples=8, deadline=None)
@given(seeds)
def test_laws_of_the_aggregated_wasserstein(seed):
    rng = np.random.default_rng(seed)
    p, q = gaussian_model(rng, 1 + seed % 3), gaussian_model(rng, 2)
    found = hd.aggregated_wasserstein(p, q)
    assert found.value >= 0.0
    assert found.value == pytest.approx(hd.aggregated_wasserstein(q, p).value, rel=1e-9, abs=1e-9)
    order = rng.permutation(2)
    assert found.value == pytest.approx(hd.aggregated_wasserstein(p, q.relabel(order)).value, rel=1e-9, abs=1e-9)
    assert hd.aggregated_wasserstein(q, q.relabel(order)).value <= 1e-12
    ends = [hd.aggregated_wasserstein(p, q, alpha).value for alpha in (0.0, 1.0)]
    assert found.value == pytest.approx(0.5 * sum(ends), rel=1e-9, abs=1e-12)


def test_one_state_is_the_distance_of_two_normal_laws():
    p, q = (hd.Model([1.0], [[1.0]], hd.Gaussian([m], std=[s])) for m, s in ((0.0, 1.0), (3.0, 5.0)))
    assert hd.aggregated_wasserstein(p, q, 0.0).value == pytest.approx(5.0, rel=1e-12)
    full = [
        hd.Model([1.0], [[1.0]], hd.Gaussian([[0.0, m]], cov=[np.diag([s * s, 1.0])]))
        for m, s in ((0.0, 1.0), (3.0, 5.0))
    ]
    assert hd.aggregated_wasserstein(*full, 0.0).value == pytest.approx(5.0, rel=1e-12)


def test_the_formula_where_states_correspond():
    """Far states: the plan is the diagonal, and rows are compared as they are."""
    x = np.array([0.0, 100.0])
    t, other = np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([[0.7, 0.3], [0.3, 0.7]])
    p, q = (hd.Model([0.5, 0.5], steps, hd.Gaussian(x, std=[1.0, 1.0])) for steps in (t, other))
    rows = sum(0.5 * line_cost(t[i], other[i], x) for i in range(2))
    assert hd.aggregated_wasserstein(p, q, 1.0).value == pytest.approx(2.0 * rows, rel=1e-10)
    assert hd.aggregated_wasserstein(p, q.relabel([1, 0]), 1.0).value == pytest.approx(2.0 * rows, rel=1e-10)
    assert hd.aggregated_wasserstein(p, q, 1.0, rows="across").value == pytest.approx(2.0 * rows, rel=1e-10)


def test_any_family_with_a_ground_distance():
    rng = np.random.default_rng(1)
    p, q = random_model(rng, 2), random_model(rng, 3)
    with pytest.raises(HidivError, match="ground"):
        hd.aggregated_wasserstein(p, q)

    def ground(a, b):
        return 0.5 * np.abs(a.probs[:, None] - b.probs[None]).sum(axis=2)

    assert 0.0 < hd.aggregated_wasserstein(p, q, ground=ground).value < 2.0
    with pytest.raises(HidivError, match="table"):
        hd.aggregated_wasserstein(p, q, ground=lambda a, b: np.zeros(3))
    with pytest.raises(HidivError, match="alpha"):
        hd.aggregated_wasserstein(p, q, 1.5, ground)
    with pytest.raises(HidivError, match="across"):
        hd.aggregated_wasserstein(p, q, ground=ground, rows="across")


@settings(max_examples=8, deadline=None)
@given(seeds)
def test_sahraeian_yoon_against_loops(seed):
    rng = np.random.default_rng(seed)
    p, q = gaussian_model(rng, 1 + seed % 3), gaussian_model(rng, 3)
    a, b = p.emissions[0], q.emissions[0]
    table = np.zeros((p.n_states, q.n_states))
    for i in range(p.n_states):
        for j in range(q.n_states):
            one, two = a.take([i]), b.take([j])
            apart = 0.5 * (one.kl(two)[0] + two.kl(one)[0])
            table[i, j] = p.stationary()[i] * q.stationary()[j] * np.exp(-apart)
    total = table.sum()

    def index(u):
        n, s = len(u), u.sum()
        if n == 1 or s == 0:
            return 0.0
        return n / (n - 1) * (1 - 2 * sum(v / s * (n - k + 0.5) / n for k, v in enumerate(sorted(u), 1)))

    rows, columns = ([index(u) for u in each] for each in (table / total, (table / total).T))
    found = hd.sahraeian_yoon(p, q)
    assert 0.0 <= found.value <= 1.0
    if total > 1e-250:
        assert found.value == pytest.approx(0.5 * (np.mean(rows) + np.mean(columns)), abs=1e-10)
    assert found.value == pytest.approx(hd.sahraeian_yoon(q, p).value, abs=1e-12)
    assert found.value == pytest.approx(hd.sahraeian_yoon(p, q.relabel(rng.permutation(3))).value, abs=1e-12)


def test_states_without_a_counterpart():
    p, q = (hd.Model([1.0], [[1.0]], hd.Categorical([row])) for row in ([1.0, 0.0], [0.0, 1.0]))
    assert hd.sahraeian_yoon(p, q).value == 0.0
    pair = [hd.Model([0.5, 0.5], [[0.5, 0.5]] * 2, hd.Categorical([[1, 0], [0, 1]])) for _ in range(2)]
    assert hd.sahraeian_yoon(*pair).value == 1.0
    assert hd.sahraeian_yoon(*pair, k="inverse").value == 1.0
    with pytest.raises(HidivError, match="k"):
        hd.sahraeian_yoon(p, q, k=0.0)


def test_the_example_of_juang_and_rabiner():
    """Their four states as transcribed publicly; Falkhausen's value is the joint rate, with the right sign."""
    p, q = juang_rabiner()
    assert hd.joint_kl_rate(p, q).value == pytest.approx(0.6941472872879, rel=1e-12)
    widths = ((p, q), 9.9e-5), ((q, p), 5.9e-5)
    there, back = (hd.observed_kl_rate(*pair, method="certified", width=width) for pair, width in widths)
    assert there.lower >= 0.10207
    assert there.upper <= 0.10217
    assert back.lower >= 0.07137
    assert back.upper <= 0.07143


def juang_rabiner():
    first = hd.Model(
        [0.75, 0.15, 0.05, 0.05],
        [[0.8, 0.15, 0.05, 0], [0.07, 0.75, 0.12, 0.06], [0.05, 0.14, 0.8, 0.01], [0.001, 0.089, 0.11, 0.8]],
        hd.Categorical([[0.3, 0.4, 0.2, 0.1], [0.5, 0.3, 0.1, 0.1], [0.1, 0.2, 0.4, 0.3], [0.4, 0.3, 0.1, 0.2]]),
    )
    second = hd.Model(
        [0.4, 0.25, 0.15, 0.2],
        [[0.4, 0.25, 0.15, 0.2], [0.27, 0.45, 0.22, 0.06], [0.35, 0.14, 0.4, 0.11], [0.111, 0.119, 0.23, 0.54]],
        hd.Categorical([[0.1, 0.15, 0.65, 0.1], [0.2, 0.3, 0.4, 0.1], [0.3, 0.3, 0.1, 0.3], [0.15, 0.25, 0.4, 0.2]]),
    )
    return first, second


def test_a_measure_is_its_number_and_can_be_saved(tmp_path):
    rng = np.random.default_rng(2)
    p, q = random_model(rng, 2), random_model(rng, 3)
    for result in (hd.product_kernel(p, q, 1000), hd.bayes_error(p, q, 100, seed=1), hd.jensen_shannon(p, q, 4)):
        assert float(result) == result == result.value
        assert result + 1.0 == result.value + 1.0
        for again in (
            copy.deepcopy(result),
            pickle.loads(pickle.dumps(result)),
            hd.Measure.from_dict(result.to_dict()),
        ):
            assert vars(again) == vars(result)
        hd.save(result, tmp_path / "m.json")
        assert vars(hd.load(tmp_path / "m.json")) == vars(result)
    described = hd.coemission(p, q, 3).to_dict()
    for key, value in (("status", "sure"), ("value", "large"), ("notes", "none"), ("name", 3)):
        with pytest.raises(HidivError, match=key):
            hd.Measure.from_dict(described | {key: value})


def test_signatures_are_those_of_the_contract():
    names = {
        hd.product_kernel: "(p, q, tree, beta=1.0, normalized=True)",
        hd.coemission: "(p, q, tree)",
        hd.aggregated_wasserstein: "(p, q, alpha=0.5, ground=None",
        hd.sahraeian_yoon: "(p, q, k=1.0)",
        hd.pairwise: "(models, tree, others=None, *, measure='joint'",
    }
    for function, expected in names.items():
        given = inspect.signature(function)
        plain = given.replace(
            parameters=[each.replace(annotation=inspect.Parameter.empty) for each in given.parameters.values()],
            return_annotation=inspect.Signature.empty,
        )
        assert str(plain).startswith(expected)
    for function in (hd.bhattacharyya, hd.hellinger, hd.total_variation, hd.bayes_error, hd.jensen_shannon):
        assert list(inspect.signature(function).parameters)[:3] == ["p", "q", "tree"]
        assert {"seed", "rtol"} <= set(inspect.signature(function).parameters)


@pytest.mark.parametrize("name", ["aggregated_wasserstein", "sahraeian_yoon"])
def test_models_without_a_stationary_chain_are_refused(name):
    law = hd.Gaussian([0.0, 2.0], std=[1.0, 1.0])
    grouped = hd.Model([0.5, 0.5], [None, [[0.9, 0.1], [0.2, 0.8]]], [law, law])
    ending = hd.Model([1.0, 0.0], [[0.5, 0.4], [0.5, 0.3]], law, end=[0.1, 0.2])
    with pytest.raises(IncompatibleModels, match=f"^{name}: .*one law for all steps, got 2 groups; use product_k"):
        getattr(hd, name)(grouped, grouped)
    with pytest.raises(IncompatibleModels, match=f"^{name}: .*have none; use joint_kl"):
        getattr(hd, name)(ending, ending)
