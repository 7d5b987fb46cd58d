"""The log-likelihood never falls: every family, chains and trees, values missing, censored, states known in part."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hidiv as hd
from hidiv.emissions.weighted import Weighted
from hidiv.fitting.em_steps import draft_of, expectation, maximisation, problem_of
from hidiv.fitting.evidence_forest import forest_of
from tests.fitting.families import FAMILIES

# The sum of thousands of logarithms is rounded: a fall by this much of it is none.
ROUNDING = 1e-12
# A covariance held at its least width has eigenvalues 1e8 apart, the smaller ones known to 1e-8 only.
FLAT = 1e-8

KNOWLEDGE = ["seen", "missing", "states", "interval"]
NUMERIC = {"beta", "gamma", "generalized_gaussian", "negative_binomial", "von_mises"}  # one safeguarded step at a time
REPEATS = {**dict.fromkeys(NUMERIC, 30), "mixture": 400}  # a mixture has an expectation step of its own
SLOW = {"beta", "gamma", "negative_binomial", "binomial", "generalized_gaussian", "von_mises", "poisson"}  # masses


def model_of(family, rng):
    return hd.Model(rng.dirichlet([2, 2]), rng.dirichlet([2, 2], size=2), family)


def shown(family, x, states, how, rng):
    """What is known of a draw: all of it, some entries missing, some in intervals, some states."""
    x = np.array(x, dtype=float).reshape(len(states), -1)
    if not family.n_features:
        return hd.Evidence(allowed=(rng.random((len(states), 2)) < 0.5) | np.eye(2, dtype=bool)[states])
    if how == "seen":
        return hd.Evidence(x)
    hide = rng.random(x.shape) < 0.3
    if how == "missing" or (how == "interval" and family.name == "multinomial"):  # refuses intervals
        return hd.Evidence(np.where(hide, np.nan, x))
    if how == "states":
        allowed = (rng.random((len(states), 2)) < 0.7) | np.eye(2, dtype=bool)[states]
        return hd.Evidence(np.where(hide, np.nan, x), allowed=allowed)
    hide[:, 1:] = False  # two intervals in one row of a full covariance have no closed form
    width = np.where((rng.random(x.shape) < 0.5) & (family.name != "von_mises"), np.inf, 1.0)
    lower, upper = np.where(hide, np.floor(x), -np.inf), np.where(hide, np.floor(x) + width, np.inf)
    return hd.Evidence(np.where(hide, np.nan, x), lower=lower, upper=upper)


def climbs(model, evidence, tree, group, iterations=5):
    """Plain iterations, without the guard of the climb; every gain as a part of the log-likelihood."""
    forest = forest_of(evidence, tree, None, group)
    problem, draft = problem_of(forest, model), draft_of(model)
    values = []
    for _ in range(iterations):
        counts = expectation(draft, problem)
        values.append(counts.log_likelihoods.sum())
        draft = maximisation(draft, problem, counts)
    values = np.array(values)
    return np.diff(values) / np.maximum(1.0, np.abs(values[1:]))


@pytest.mark.parametrize("name", FAMILIES)
@settings(max_examples=10, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**31), how=st.sampled_from(["seen", "missing", "states", "interval"]), shape=st.integers(0, 2)
)
def test_never_falls(name, seed, how, shape):
    rng = np.random.default_rng(seed)
    truth, start = model_of(FAMILIES[name], rng), model_of(FAMILIES[name], rng)
    size = 20 if how == "interval" and name in SLOW else 60
    trees = [
        [hd.Tree.chain(size), hd.Tree.chain(7)],
        [hd.Tree([-1, *(int(rng.integers(u)) for u in range(1, size))]), hd.Tree.chain(3)],
        [hd.Tree.regular(3, 3), hd.Tree.regular(3, 3)],
    ][shape]
    drawn = [hd.sample(truth, tree, seed=int(rng.integers(2**31))) for tree in trees]
    evidence = [shown(FAMILIES[name], x, states, how, rng) for states, x in drawn]
    group = None
    if shape == 2 and how != "interval":
        group = "level"
        start = hd.Model(start.initial, [None, *[start.transition] * 2], [start.emission] * 3)
    least = climbs(start, evidence, trees, group, 3 if how == "interval" else 6).min()
    assert least > -(FLAT if name == "full" and group == "level" else ROUNDING)


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "silent"])
def test_maximise_is_the_maximum(name):
    """No small move of the parameters is better: the step found a stationary point, after enough repeats."""
    family, rng = FAMILIES[name], np.random.default_rng(5)
    x = family.draw(rng.integers(0, 2, 80), rng)
    known = Weighted(x, rng.dirichlet([1, 1], size=80))
    found = family
    for _ in range(REPEATS.get(name, 1)):
        found = found.maximise(known)

    def value(law):
        return (known.weight * law.log_weight(x)).sum(axis=0)

    best = value(found)
    assert (best >= value(family) - 1e-9).all()
    for moved in nearby(found, rng):
        assert (value(moved) <= best + 1e-9 * np.abs(best)).all()


def nearby(family, rng):
    """The family with its parameters moved by a thousandth, in its own domain."""
    if family.name == "product":
        for member in nearby(family.families[0], rng):
            yield hd.Product([member, family.families[1]])
        return
    if family.name == "mixture":
        for member in nearby(family.components[0], rng):
            yield hd.Mixture(family.weights, [member, family.components[1]])
            weights = family.weights * (1 + 1e-3 * rng.normal(size=family.weights.shape))
            yield hd.Mixture(weights / weights.sum(axis=1, keepdims=True), family.components)
        return
    for _ in range(20):
        parameters = {}
        for key, value in family.parameters().items():
            moved = value * (1 + 1e-3 * rng.normal(size=value.shape))
            if key == "cov":
                moved = 0.5 * (moved + moved.transpose(0, 2, 1))
            if key in ("probs", "prob"):
                moved = np.clip(moved, 0, 1)
            if key == "probs" and family.name in ("categorical", "multinomial"):
                moved /= moved.sum(axis=1, keepdims=True)
            parameters[key] = value if key == "trials" else moved
        yield type(family)(**parameters)
