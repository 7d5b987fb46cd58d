"""Expected counts: sums of the smoothed marginals and pairs of every tree, whatever the number of threads."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hidiv.recursions.kernels import twins


def forest(rng, states, zeros, size=30, trees=6):
    """Random trees with their tables; parents count in the forest."""
    groups = int(rng.integers(1, 4))
    sizes = rng.integers(1, size, trees)
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    n = int(start[-1])
    parent = None
    if rng.random() < 0.7:
        parent = np.concatenate(
            [[-1, *(int(rng.integers(u)) + s for u in range(1, k))] for k, s in zip(sizes, start, strict=False)]
        )
        parent = parent.astype(np.int64)

    def rows(*shape):
        drawn = rng.dirichlet(np.ones(shape[-1]), size=shape[:-1])
        if zeros:
            drawn = np.where(rng.random(drawn.shape) < 0.3, 0.0, drawn)
            drawn[..., 0] += 1e-6
        return drawn / drawn.sum(axis=-1, keepdims=True)

    shared = rng.random() < 0.5
    count = 7 if shared else n
    log_weight = -(10.0 ** rng.integers(-2, 4)) * rng.random((count, states))
    row_of = rng.integers(0, count, n).astype(rng.choice([np.int32, np.int64])) if shared else None
    transition_of = rng.integers(0, groups, n) if groups > 1 else None
    return start, (parent, transition_of, row_of), (rows(states), rows(groups, states, states), log_weight)


def by_smoothing(start, places, law):
    """The same sums from the marginals and pairs of one tree after the other."""
    parent, transition_of, row_of = places
    rows = np.arange(start[-1]) if row_of is None else row_of
    which = np.zeros(start[-1], dtype=int) if transition_of is None else transition_of
    values, initial = [], np.zeros(len(law[0]))
    edges, by_row = np.zeros(law[1].shape), np.zeros(law[2].shape)
    for first, end in itertools.pairwise(start):
        up = None if parent is None else np.where(parent[first:end] < 0, -1, parent[first:end] - first)
        part = (up, which[first:end].astype(np.int64), rows[first:end].astype(np.int64))
        value, marginals, pairs, _ = twins["smoothed"](int(end - first), part, law, True)
        values.append(value)
        initial += marginals[0]
        np.add.at(edges, which[first + 1 : end], pairs[1:])
        np.add.at(by_row, rows[first:end], marginals)
    return np.array(values), initial, edges, by_row


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("states", [1, 2, 3, 4, 5, 9, 17, 33, 70])
def test_sums_of_what_smoothing_gives(kernels, states, zeros):
    rng = np.random.default_rng(states)
    for _ in range(3 if states > 16 else 6):
        made = forest(rng, states, zeros)
        found, wanted = kernels.expected_counts(*made), by_smoothing(*made)
        for part, other in zip(found, wanted, strict=True):
            # Counts of a hundred nodes, through messages of thirty levels and weights as far apart as e^1000.
            assert np.allclose(part, other, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("far", [1e8, 1e17, 1e250])
@pytest.mark.parametrize("zeros", [False, True])
def test_weights_far_from_one_leave_the_counts_as_they_are(kernels, far, zeros):
    """A factor common to all states of a node, however small, changes the likelihood alone; in the twin too."""
    rng = np.random.default_rng(8)
    for _ in range(4):
        start, places, (initial, transition, near) = forest(rng, 3, zeros)
        near = rng.integers(-4, 1, near.shape).astype(float) * 64  # so that the sums with 1e17 are exact
        scale = -far * rng.integers(1, 4, (len(near), 1)).astype(float)
        wanted = twins["expected_counts"](start, places, (initial, transition, near))
        for kernel in (kernels.expected_counts, twins["expected_counts"]):
            found = kernel(start, places, (initial, transition, near + scale))
            if found is None:  # beyond the compiled one's range
                continue
            if far < 1e200:
                for part, other in zip(found[1:], wanted[1:], strict=True):
                    assert np.allclose(part, other, rtol=1e-12, atol=1e-12)
            assert np.allclose(
                [part.sum() for part in found[1:]], [len(start) - 1, start[-1] - len(start) + 1, start[-1]]
            )


def test_threads_do_not_show(kernels):
    made = forest(np.random.default_rng(3), 12, False, size=400, trees=40)
    once = kernels.expected_counts(*made, 1)
    for threads in (2, 3, 0):
        again = kernels.expected_counts(*made, threads)
        assert all(np.array_equal(a, b) for a, b in zip(once, again, strict=True))


def test_an_impossible_tree_adds_nothing(kernels):
    law = (np.array([1.0, 0.0]), np.array([[[0.5, 0.5], [0.0, 1.0]]]), np.log([[0.5, 0.5], [1e-300, 1.0]]))
    law[2][1, 0] = -np.inf
    start, rows = np.array([0, 2, 4]), np.array([1, 0, 0, 1])
    values, initial, edges, by_row = kernels.expected_counts(start, (None, None, rows), law)
    assert values[0] == -np.inf
    assert np.isfinite(values[1])
    assert initial.sum() == 1.0
    assert edges.sum() == 1.0
    assert by_row.sum() == 2.0


def test_a_star_of_a_hundred_thousand_leaves(kernels):
    """Products of so many messages leave the range of doubles at every few leaves."""
    n = 100_001 if kernels.is_compiled else 2_001
    rng = np.random.default_rng(0)
    parent = np.zeros(n, dtype=np.int64)
    parent[0] = -1
    law = (np.array([0.5, 0.5]), np.array([[[0.9, 0.1], [0.2, 0.8]]]), np.log(rng.dirichlet([1, 1], size=5)))
    places = (parent, None, rng.integers(0, 5, n))
    values, _, edges, by_row = kernels.expected_counts(np.array([0, n]), places, law)
    wanted = twins["likelihood_value"](n, places, law)[0]
    assert abs(values[0] / wanted - 1) < 1e-12
    assert abs(edges.sum() - (n - 1)) < 1e-6
    assert abs(by_row.sum() - n) < 1e-6


def test_bad_forests_are_refused(kernels):
    if not kernels.is_compiled:
        return
    law = (np.array([1.0]), np.ones((1, 1, 1)), np.zeros((3, 1)))
    with pytest.raises(ValueError, match="start must"):
        kernels.expected_counts(np.array([0, 2, 1, 3]), (None, None, None), law)
    with pytest.raises(ValueError, match="parent must"):
        kernels.expected_counts(np.array([0, 2, 3]), (np.array([-1, 0, 0]), None, None), law)
