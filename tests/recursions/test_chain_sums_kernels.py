"""Sums along chains: kernel against twin, both against plain loops, and what is refused."""

from __future__ import annotations

from itertools import pairwise
from math import log

import numpy as np
import pytest

from hidiv.recursions.kernels import twins
from tests.recursions.conftest import compiled


def arguments(states=(2, 3), points=4, n=21, length=13, zeros=0.0, densities=False, seed=1, last=4):
    """Random laws; symbols, or a row of weights for every node and points that are no observations."""
    rng = np.random.default_rng(seed)

    def rows(count, columns):
        table = rng.dirichlet(np.ones(columns), count) * (rng.random((count, columns)) >= zeros)
        table[:, 0] += 1e-3
        return table / table.sum(axis=1, keepdims=True)

    initial, moves, probs = ([rows(m, k) for k, m in zip(sizes, counts, strict=True)] for sizes, counts in (
        (states, (1, 1)), (states, states), ((points, points), states),
    ))  # fmt: skip
    scale = rng.normal(size=points) if densities else np.zeros(points)
    given = probs[0], np.ascontiguousarray(probs[1] * np.exp(-scale)), scale, np.ones(points)
    if densities:
        row_of = np.arange(n * length).reshape(n, length)
        weights = [rng.random((n * length, k)) for k in states]
        logs = tuple(np.log(w) + 1.0 for w in weights)
    else:
        row_of = rng.integers(points, size=(n, length))
        weights, logs = [np.ascontiguousarray(table.T) for table in probs], None
    laws = [(initial[i][0], moves[i], weights[i]) for i in range(2)]
    following = tuple(np.ascontiguousarray(m @ e) for m, e in zip(moves, (probs[0], given[1]), strict=True))
    return [*laws, row_of, given, following, logs, not densities, True, last]


CASES = {
    "two and three states": {},
    "one state": {"states": (1, 1)},
    "one and two": {"states": (1, 2)},
    "more than products of three": {"states": (5, 4), "points": 6},
    "zeros": {"states": (3, 3), "zeros": 0.3},
    "one node": {"length": 1},
    "two nodes": {"length": 2},
    "one sequence": {"n": 1},
    "densities": {"densities": True},
    "no last nodes": {"last": 0},
    "only last nodes": {"last": 50},
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("less", ["all", "no following", "no products", "nothing counted"])
def test_kernel_is_its_twin(kernels, name, less):
    given = arguments(**CASES[name])
    if less == "no following":
        given[4] = None
    if less == "no products":
        given[7] = False
    if less == "nothing counted":
        given[5], given[6] = None, False
    expected = twins["chain_sums"](*given)
    found = kernels.chain_sums(*given)
    assert (found is None) == (expected is None)
    if expected is not None:
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)  # sums of up to 13 terms that cancel


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("counts", [True, False])
def test_values_of_kernel_and_twin(kernels, name, counts):
    given = arguments(**CASES[name])
    states, rng = len(given[0][0]) + len(given[1][0]), np.random.default_rng(3)
    value = rng.normal(size=(3, states * (states + 3) // 2)), rng.integers(3, size=given[2].shape[1])
    expected = twins["chain_sums"](*given, 1, value, counts)
    found = kernels.chain_sums(*given, 1, value, counts)
    assert (found is None) == (expected is None)
    if expected is not None:
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
        without = np.delete(expected, 2, axis=1)
        if counts:
            np.testing.assert_allclose(without, twins["chain_sums"](*given), rtol=1e-12, atol=1e-12)


def test_some_of_the_cases_with_zeros_are_computed():
    found = [twins["chain_sums"](*arguments(states=(3, 3), zeros=0.3, seed=seed, length=2)) for seed in range(5)]
    assert any(each is not None for each in found)


def test_plain_loops(kernels):
    """Log-ratio, divergences, linear functions and counts of one sequence, by the definitions."""
    p, q, row_of, points, _, _, _, _, last = given = arguments(states=(2, 3), points=3, length=6, last=2)
    given[4], given[7] = None, False
    i, n_nodes = 4, 6
    found = kernels.chain_sums(*given)[i]
    filters = [p[0], q[0]]
    plain = base = 0.0
    linear = np.zeros((2, 3))
    paths = {(s,): p[0][s] for s in range(2)}
    for t in range(n_nodes):
        x = row_of[i, t]
        ahead = [f @ table for f, table in zip(filters, points[:2], strict=True)]
        base += sum(a * log(a / b) for a, b in zip(*ahead, strict=True))
        plain += log(ahead[0][x] / ahead[1][x])
        after = [
            [f * table[:, j] / (f @ table[:, j]) for j in range(3)]
            for f, table in zip(filters, points[:2], strict=True)
        ]
        if t < n_nodes - 1:
            free = [np.concatenate([after[0][j][:-1], after[1][j][:-1]]) for j in range(3)]
            linear[int(t >= n_nodes - 1 - last)] += free[x] - sum(ahead[0][j] * free[j] for j in range(3))
        filters = [after[m][x] @ law[1] for m, law in enumerate((p, q))]
        paths = {k: w * points[0][k[-1], x] for k, w in paths.items()}
        if t < n_nodes - 1:
            paths = {(*k, s): w * p[1][k[-1], s] for k, w in paths.items() for s in range(2)}
    total = sum(paths.values())
    first, pairs, shown = np.zeros(2), np.zeros((2, 2)), np.zeros((2, 3))
    for k, w in paths.items():
        first[k[0]] += w / total
        for r, s in pairwise(k):
            pairs[r, s] += w / total
        for t, s in enumerate(k):
            shown[s, row_of[i, t]] += w / total
    np.testing.assert_allclose(
        found, [plain, base, *linear.ravel(), *first, *pairs.ravel(), *shown.ravel()], rtol=1e-12, atol=1e-13
    )


def test_nearly_equal_laws_keep_their_digits(kernels):
    """Divergences of 1e-20: sums of second-order terms."""
    given = arguments(states=(2, 2), points=3)
    p = given[0]
    change = np.array([1e-10, -1e-10, 0.0])
    near = np.ascontiguousarray(given[3][0] + change)
    given[1] = (p[0], p[1], np.ascontiguousarray(near.T))
    given[3] = (given[3][0], near, *given[3][2:])
    expected = twins["chain_sums"](*given)[:, 1]
    # The laws themselves are rounded to 1e-16 of a difference of 1e-10.
    np.testing.assert_allclose(kernels.chain_sums(*given)[:, 1], expected, rtol=1e-5)
    assert (expected > 1e-20).all()
    assert (expected < 1e-17).all()


def test_threads_change_nothing(kernels):
    given = arguments(n=50)
    assert (kernels.chain_sums(*given, 1) == kernels.chain_sums(*given, 3)).all()


def test_what_q_cannot_emit_is_handed_back(kernels):
    given = arguments(states=(2, 2))
    weights = given[1][2].copy()
    weights[given[2][0, 0]] = 0.0
    given[1] = (*given[1][:2], weights)
    assert kernels.chain_sums(*given) is None
    given = arguments(states=(2, 2))
    at_q = given[3][1].copy()
    at_q[:, 1] = 0.0
    given[3] = (given[3][0], at_q, *given[3][2:])
    assert kernels.chain_sums(*given) is None


def bad_arguments():
    p, q, row_of, points, following, logs, *rest = arguments()
    yield "a row too far", [p, q, row_of + 4, points, following, logs, *rest]
    yield "a negative row", [p, q, row_of - 4, points, following, logs, *rest]
    yield "no sequence", [p, q, row_of[:0], points, following, logs, *rest]
    yield "rows of another type", [p, q, row_of.astype(np.int32), points, following, logs, *rest]
    yield "an initial too short", [(p[0][:1], *p[1:]), q, row_of, points, following, logs, *rest]
    yield "weights of fewer rows", [p, (*q[:2], q[2][:2].copy()), row_of, points, following, logs, *rest]
    yield "points of p for q", [p, q, row_of, (points[0], points[0], *points[2:]), following, logs, *rest]
    yield "a scale too short", [p, q, row_of, (*points[:2], points[2][:1], points[3]), following, logs, *rest]
    yield "following of others", [p, q, row_of, points, following[::-1], logs, *rest]
    yield "symbols and logs", [p, q, row_of, points, following, (p[2], q[2]), *rest]
    yield "logs of others", [p, q, row_of, points, following, (q[2], p[2]), False, *rest[1:]]
    yield "a negative last", [p, q, row_of, points, following, logs, *rest[:2], -1]


@pytest.mark.parametrize(
    ("what", "given"), [pytest.param(*bad, id=bad[0]) for bad in bad_arguments()] if compiled else []
)
def test_bad_arguments_raise(what, given):
    with pytest.raises((ValueError, TypeError)):
        compiled.chain_sums(*given)
