"""Where plain doubles drift: a million levels, a million children, chains that hardly mix. Truth in 60 digits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from hidiv.recursions.kernels import twins
from tests.recursions import trees

RTOL = 1e-15

# Rows whose doubles do not sum to one exactly; the sticky ones forget their start after about a million levels.
CHAINS = {
    "mixing": [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.6, 0.3, 0.1]],
    "sticky": [[1 - 1e-6, 1e-6, 0.0], [1e-6, 1 - 3e-6, 2e-6], [0.0, 3e-6, 1 - 3e-6]],
    "periodic": [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]],
    "reducible": [[1.0, 0.0, 0.0], [1e-5, 0.9, 0.09999], [0.0, 0.1, 0.9]],
}
OWN = np.array([1e-9, 0.7, 3.1])  # a state that hardly differs beside two that do
START = np.array([0.2, 0.3, 0.5])


@pytest.fixture(params=CHAINS)
def transition(request):
    return np.array(CHAINS[request.param])


@pytest.fixture(autouse=True)
def digits():
    with mpmath.workdps(60):
        yield


def exact_rows(matrix):
    found = mpmath.matrix(matrix.tolist())
    for r in range(found.rows):
        total = mpmath.fsum(found[r, :])
        for s in range(found.cols):
            found[r, s] /= total
    return found


def power_and_sum(matrix, m):
    """T^m and I + T + ... + T^(m-1)."""
    if m == 0:
        return mpmath.eye(matrix.rows), mpmath.zeros(matrix.rows)
    power, total = power_and_sum(matrix, m // 2)
    power, total = power * power, total + power * total
    return (power * matrix, total + power) if m % 2 else (power, total)


def close(found, exact, rtol=RTOL):
    return all(abs(float(f) - e) <= rtol * abs(e) for f, e in zip(found, exact, strict=True))


def length(kernels):
    return 1_000_000 if kernels.is_compiled else 5_000  # the twins take a step a level


def test_a_long_chain_inward(kernels, transition):
    n = length(kernels)
    found = kernels.inward(trees.chain(n), np.zeros(n, dtype=np.int64), transition[None], OWN[None], np.zeros(3))
    _, total = power_and_sum(exact_rows(transition), n - 1)
    assert close(found[1], total * mpmath.matrix(OWN.tolist()))
    np.testing.assert_array_equal(found[0], found[1])


def test_a_long_chain_downward(kernels, transition):
    n = length(kernels)
    group = np.zeros(n, dtype=np.int64)
    laws = kernels.downward(START, trees.chain(n), group, transition[None])
    start = exact_rows(START[None])
    power, total = power_and_sum(exact_rows(transition), n - 1)
    assert close(laws[-1], start * power)
    assert np.abs(laws.sum(axis=1) - 1.0).max() < 4e-16
    edges, nodes = kernels.visits(START, trees.chain(n), group, transition[None])
    assert close(edges[0], start * total)
    assert close(nodes[0], start * (total + power))


def test_many_levels_with_counts(kernels, transition):
    n = 1_000_000
    count = 1.0 + np.arange(n) % 3
    found = kernels.level_visits(START, transition, count)
    matrix = exact_rows(transition)
    # Levels l = 3k, 3k + 1, 3k + 2 have 1, 2, 3 nodes; n = 3 * 333333 + 1.
    power, total = power_and_sum(matrix**3, 333_333)
    exact = exact_rows(START[None]) * (total * (mpmath.eye(3) + 2 * matrix + 3 * matrix**2) + power)
    # The twin doubles in plain precision, a few roundings for each of its 20 steps.
    assert close(found, exact, RTOL if kernels.is_compiled else 1e-14)


def test_a_large_star(kernels):
    n = 1_000_000
    group = np.arange(n) % 3
    own = np.array([[0.1, 1e-7], [0.7, 1e9], [1 / 3, 0.2]])
    transition = np.array([[[0.9, 0.1], [0.3, 0.7]]] * 3)
    found = kernels.inward(trees.star(n), group, transition, own, np.array([0.3, 0.4]))
    times = np.bincount(group[1:]).tolist()
    for s, root in enumerate((0.3, 0.4)):
        exact = Fraction(root) + sum(m * Fraction(value) for m, value in zip(times, own[:, s].tolist(), strict=True))
        assert abs(found[0, s] - exact) <= RTOL * exact
    np.testing.assert_array_equal(found[1:], own[group[1:]])
    _, nodes = kernels.visits(np.array([0.1, 0.9]), trees.star(n), np.zeros(n, dtype=np.int64), transition[:1])
    exact = Fraction(0.1) / (Fraction(0.1) + Fraction(0.9))
    zero = Fraction(0.9) / (Fraction(0.9) + Fraction(0.1))  # the row [0.9, 0.1], scaled
    third = Fraction(0.3) / (Fraction(0.3) + Fraction(0.7))
    exact += (n - 1) * (exact * zero + (1 - exact) * third)
    assert abs(nodes[0, 0] - exact) <= RTOL * exact


def test_a_long_caterpillar(kernels):
    # Two children a level: every level adds, none may lose.
    n = length(kernels) + 1
    own, transition = np.array([[0.1, 0.3]]), np.array([[[0.9, 0.1], [0.3, 0.7]]])
    found = kernels.inward(trees.caterpillar(n), np.zeros(n, dtype=np.int64), transition, own, np.zeros(2))
    # A spine node gives own + T (own of its leaf + the next spine node's).
    matrix, column = exact_rows(transition[0]), mpmath.matrix(own[0].tolist())
    power, total = power_and_sum(matrix, (n - 2) // 2)
    exact = total * (column + matrix * column) + power * (column + (matrix * column if n % 2 else 0 * column))
    assert close(found[0], exact)


def test_classes_of_very_different_size(kernels):
    # State 0 never leaves and adds nothing: nothing may leak into it from the huge ones.
    n = length(kernels)
    transition = np.array([[[1.0, 0.0, 0.0], [0.0, 0.3, 0.7], [0.0, 0.6, 0.4]]])
    own = np.array([[0.0, 1e12, 1e-3]])
    found = kernels.inward(trees.chain(n), np.zeros(n, dtype=np.int64), transition, own, np.zeros(3))
    np.testing.assert_array_equal(found[:, 0], 0.0)
    laws = kernels.downward(np.array([1.0, 0.0, 0.0]), trees.chain(n), np.zeros(n, dtype=np.int64), transition)
    np.testing.assert_array_equal(laws, np.broadcast_to([1.0, 0.0, 0.0], (n, 3)))


@pytest.mark.parametrize("kind", ["quad-tree", "anyhow", "by level", "stretched"])
def test_large_trees_equal_their_twins(kernels, kind):
    rng = np.random.default_rng(11)
    n = {"stretched": 3_000, "by level": 150_000}.get(kind, 60_000)  # the largest is shared by threads
    parent, group = trees.all_kinds(n, rng)[kind], rng.integers(0, 100, n)
    transition, own = rng.dirichlet(np.ones(4), (100, 4)), rng.random((100, 4))
    given = {
        "levels": (parent,),
        "inward": (parent, group, transition, own, own[0]),
        "downward": (transition[0, 0], parent, group, transition),
        "visits": (transition[0, 0], parent, group, transition),
        "reach": (own[0] > 0.5, parent, group, transition > 0.4),
    }
    for name, arguments in given.items():
        found, expected = getattr(kernels, name)(*arguments), twins[name](*arguments)
        np.testing.assert_allclose(np.array(found, dtype=float), np.array(expected, dtype=float), rtol=RTOL)
