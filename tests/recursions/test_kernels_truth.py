"""Every kernel, every way it can run, against plain loops in exact fractions."""

from __future__ import annotations

import numpy as np
import pytest

from tests.recursions import trees, truth

# Results are correctly rounded but for rare ties: doubled precision inside, one rounding at the end.
ROUNDING = 2.5e-16


def close(found, exact, rtol=ROUNDING):
    """Whether doubles equal fractions to `rtol`, entry by entry."""
    found, exact = np.asarray(found), np.array(exact, dtype=object)
    assert found.shape == exact.shape
    return all(abs(a - e) <= rtol * abs(e) for a, e in zip(map(float, found.flat), exact.flat, strict=True))


def rows(rng, *shape):
    """Laws along the last axis, some entries zero or tiny, off by a few ulp as anybody's are."""
    values = rng.random(shape) ** rng.integers(1, 8, shape)
    values[rng.random(shape) < 0.2] = 0.0
    values[..., 0] += 1e-3
    return values / values.sum(axis=-1, keepdims=True)


def problem(rng, n, states, groups):
    """Everything the kernels take but the tree."""
    return {
        "group": rng.integers(0, groups, n),
        "transition": rows(rng, groups, states, states),
        "initial": rows(rng, states),
        "own": rng.random((groups, states)) * 10.0 ** rng.integers(-12, 3, (groups, states)),
        "root": rng.random(states),
    }


SIZES = [(1, 1), (2, 1), (2, 5), (3, 2), (4, 3), (5, 2), (8, 2), (9, 1)]


@pytest.mark.parametrize(("states", "groups"), SIZES)
@pytest.mark.parametrize("kind", trees.all_kinds(2, np.random.default_rng(0)))
def test_kernels_agree_with_fractions(kernels, kind, states, groups):
    rng = np.random.default_rng([states, groups])
    n = 40 if states < 5 else 15
    parent = trees.all_kinds(n, rng)[kind]
    given = problem(rng, len(parent), states, groups)
    group, transition, initial, own, root = (given[key] for key in ("group", "transition", "initial", "own", "root"))

    np.testing.assert_array_equal(kernels.levels(parent), truth.levels(parent))
    assert close(
        kernels.inward(parent, group, transition, own, root), truth.inward(parent, group, transition, own, root)
    )
    assert close(
        kernels.downward(initial, parent, group, transition), truth.downward(initial, parent, group, transition)
    )
    edges, nodes = kernels.visits(initial, parent, group, transition)
    true_edges, true_nodes = truth.visits(initial, parent, group, transition)
    assert close(edges, true_edges)
    assert close(nodes, true_nodes)

    allowed, start = transition > 0.2, initial > 0.2
    np.testing.assert_array_equal(
        kernels.reach(start, parent, group, allowed), truth.reach(start, parent, group, allowed)
    )


@pytest.mark.parametrize("states", [1, 2, 3, 6])
@pytest.mark.parametrize("length", [0, 1, 2, 3, 30])
def test_level_visits_agree_with_fractions(kernels, states, length):
    rng = np.random.default_rng([states, length])
    initial, transition = rows(rng, states), rows(rng, states, states)
    count = rng.integers(0, 1000, length).astype(np.float64)
    found = kernels.level_visits(initial, transition, count)
    # The twin doubles in plain precision: a rounding for each of its few steps.
    assert close(found, truth.level_visits(initial, transition, count), 2e-15)


def test_a_group_without_a_matrix_may_hold_zeros(kernels):
    transition = np.zeros((2, 2, 2))
    transition[1] = [[0.5, 0.5], [0.25, 0.75]]
    parent, group = trees.chain(3), np.array([0, 1, 1])
    laws = kernels.downward(np.array([1.0, 0.0]), parent, group, transition)
    np.testing.assert_array_equal(laws, [[1.0, 0.0], [0.5, 0.5], [0.375, 0.625]])
    inward = kernels.inward(parent, group, transition, np.ones((2, 2)), np.zeros(2))
    np.testing.assert_array_equal(inward, [[2.0, 2.0], [2.0, 2.0], [1.0, 1.0]])


def test_what_is_given_is_left_alone(kernels):
    rng = np.random.default_rng(3)
    parent = trees.anyhow(50, rng)
    given = problem(rng, 50, 3, 2)
    for array in (parent, *given.values()):
        array.flags.writeable = False
    group, transition, initial, own, root = (given[key] for key in ("group", "transition", "initial", "own", "root"))
    kernels.levels(parent)
    kernels.inward(parent, group, transition, own, root)
    kernels.downward(initial, parent, group, transition)
    kernels.visits(initial, parent, group, transition)
    kernels.level_visits(initial, transition[0], root)
    kernels.reach(initial > 0, parent, group, transition > 0)
