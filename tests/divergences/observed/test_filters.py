"""Filters of many sequences against plain loops, in the range of doubles and far outside it."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences.observed.sampled.draws import weigh
from hidiv.recursions.filters import Weights, run_backward, run_both
from tests.divergences.observed.models import models


def run_filters(initial, moves, weights):
    return run_both((initial,), (moves,), (weights,))[0]


def test_against_smoothing_and_likelihood():
    p, _ = models("dirichlet", 1, 4, (3, 3))
    tree = hd.Tree.chain(12)
    x = hd.sample(p, tree, size=5, seed=0)[1]
    filters = run_filters(p.initial, p.transitions, weigh(p, tree, x[:, :, None]))
    smoothed, _ = run_backward(p.transitions, filters)
    for i, one in enumerate(x):
        assert filters.log_prob[:, i].sum() == pytest.approx(hd.log_likelihood(p, one), rel=1e-13)
        assert smoothed[:, :, i] == pytest.approx(hd.smooth(p, one).marginals, abs=1e-13)
        for t in (0, 3, 11):
            so_far = hd.smooth(p, one[: t + 1]).marginals[-1]
            assert filters.updated[t, :, i] == pytest.approx(so_far, abs=1e-13)


def test_together_as_apart_and_by_node():
    p, q = models("sticky", 2, 4, (3, 2))
    tree = hd.Tree.chain(9)
    x = hd.sample(p, tree, size=4, seed=1)[1][:, :, None]
    weights = weigh(p, tree, x), weigh(q, tree, x)
    both = run_both((p.initial, q.initial), (p.transitions, q.transitions), weights)
    by_node = np.broadcast_to(p.transitions, (9, 3, 3))
    for found, apart in (
        (both[0], run_filters(p.initial, p.transitions, weights[0])),
        (both[1], run_filters(q.initial, q.transitions, weights[1])),
        (both[0], run_filters(p.initial, by_node, weights[0])),
    ):
        for one, other in zip(found, apart, strict=True):
            assert one == pytest.approx(other, abs=1e-15)


def test_weights_that_underflow_are_weighed_in_logs():
    """Left to right: the state that explains x best cannot be reached, the others are 1e-900 of it."""
    initial, moves = np.array([1.0, 0.0]), np.array([[[0.5, 0.5], [0.0, 1.0]]])
    logs = np.array([[-2000.0, 0.0], [-3000.0, -1.0]])[:, :, None]
    top = logs.max(axis=1)
    filters = run_filters(initial, moves, Weights(np.exp(logs - top[:, None, :]), top))
    assert filters.log_prob[0, 0] == -np.inf  # exp(-2000) is no double: the weights were given rescaled
    near = logs / 10
    top = near.max(axis=1)
    filters = run_filters(initial, moves, Weights(np.exp(near - top[:, None, :]), top))
    assert filters.log_prob[:, 0] == pytest.approx([-200.0, np.log(0.5) - 0.1], rel=1e-13)
    assert filters.updated[0, :, 0] == pytest.approx([1.0, 0.0])


def test_impossible_sequences_are_minus_infinity():
    initial, moves = np.array([0.5, 0.5]), np.array([[[1.0, 0.0], [0.0, 1.0]]])
    value = np.array([[1.0, 0.0], [0.0, 1.0]])[:, :, None]
    filters = run_filters(initial, moves, Weights(value, None))
    assert filters.log_prob[:, 0].tolist() == [np.log(0.5), -np.inf]
    assert np.isfinite(filters.updated).all()
