"""The variational recursion over blocks of pairs: twin against kernel, and both against one pair at a time."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences.observed.variational import emission_pairs, variational
from hidiv.recursions.subtrees import listed_subtrees, regular_subtrees, structure
from hidiv.recursions.variational_pairs import own_terms
from tests.comparison.many import model
from tests.recursions.conftest import compiled

TREES = {
    "a node": (hd.Tree.chain(1), 1),
    "two nodes": (hd.Tree.chain(2), 1),
    "a chain": (hd.Tree.chain(40), 1),
    "a regular tree": (hd.Tree.regular(2, 5), 1),
    "a regular tree by level": (hd.Tree.regular(4, 4), 4),
    "a listed tree": (hd.Tree([-1, 0, 0, 1, 1, 4], [0, 1, 2, 1, 2, 2]), 3),
}


def arguments(ps, qs, tree):
    """What the kernel takes, for two lists of models."""
    if tree.kind == "listed":
        kinds = listed_subtrees(tree.parent, tree.group, tree.level, None)
    else:
        kinds = regular_subtrees(tree.children or 1, tree.depth, ps[0].n_groups > 1, None)
    initial, transition = np.stack([p.initial for p in ps]), np.stack([p.transitions for p in ps])
    own = own_terms(kinds, initial, transition, np.stack([emission_pairs(p, p) for p in ps]))
    emission = np.stack([np.stack([emission_pairs(p, q) for q in qs], axis=-1) for p in ps], axis=1)
    of_q = np.stack([q.initial for q in qs], axis=-1), np.stack([q.transitions for q in qs], axis=-1)
    return structure(kinds), tuple(own), (initial, transition), of_q, np.ascontiguousarray(emission)


@cache
def case(name, states):
    """Models, and the divergence of every pair computed alone."""
    tree, groups = TREES[name]
    rng = np.random.default_rng(1)
    # Eleven q: full vectors of every width, and some lanes left over.
    ps, qs = ([model(rng, "gaussian", k, groups) for _ in range(m)] for k, m in zip(states, (2, 11), strict=True))
    return ps, qs, np.array([[variational(p, q, tree) for q in qs] for p in ps])


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("states", [(1, 2), (2, 2), (3, 5)])
def test_every_pair_is_what_it_is_alone(kernels, name, states):
    ps, qs, expected = case(name, states)
    found = kernels.variational_pairs(*arguments(ps, qs, TREES[name][0]))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_a_very_long_chain_adds_the_same_again_and_again(kernels):
    rng = np.random.default_rng(5)
    ps, qs = ([model(rng, "gaussian", k) for _ in range(m)] for k, m in ((2, 2), (3, 9)))
    short, longer, longest = (
        kernels.variational_pairs(*arguments(ps, qs, hd.Tree.chain(n))) for n in (1000, 2000, 10**12)
    )
    # The last digits depend on where a chain is cut short.
    np.testing.assert_allclose(longest, short + (10**12 - 1000) / 1000 * (longer - short), rtol=1e-10)


def zeros(rng, k, share=0.5):
    rows = rng.dirichlet(np.ones(k), k) * (rng.random((k, k)) > share) + np.eye(k) * 1e-3
    return rows / rows.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("n_nodes", [1, 2, 3, 50])
def test_zeros_and_what_is_far_away(kernels, n_nodes):
    rng = np.random.default_rng(2)
    laws = [
        np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]]),
        np.full((3, 3), 1 / 3),
    ]
    ms = [hd.Model([1.0, 0.0, 0.0], zeros(rng, 3), hd.Categorical(law)) for law in laws for _ in range(2)]
    far = [hd.Model([0.5, 0.5, 0.0], zeros(rng, 3), hd.Gaussian([0, 200 * x, 5], std=[1, 1, 1])) for x in (1, 2, 3)]
    for some in (ms, far):
        found = kernels.variational_pairs(*arguments(some, some, hd.Tree.chain(n_nodes)))
        expected = np.array([[variational(p, q, hd.Tree.chain(n_nodes)) for q in some] for p in some])
        assert not np.isnan(found).any()
        assert (np.isinf(found) == np.isinf(expected)).all()
        finite = np.isfinite(expected)
        np.testing.assert_allclose(found[finite], expected[finite], rtol=1e-11, atol=1e-11)
    assert np.isinf(np.array([[variational(p, q, hd.Tree.chain(n_nodes)) for q in ms] for p in ms])).any()


def test_threads_change_nothing(kernels):
    rng = np.random.default_rng(3)
    ms = [model(rng, "gaussian", 2) for _ in range(20)]
    given = arguments(ms, ms, hd.Tree.regular(2, 4))
    assert (kernels.variational_pairs(*given, 1) == kernels.variational_pairs(*given, 3)).all()


def test_subtrees_that_are_alike_are_one_kind():
    tree = hd.Tree.regular(4, 5)
    kinds = listed_subtrees(tree.parent, tree.level, tree.level, None)
    levels = regular_subtrees(4, 5, True, None)
    for a, b in zip(structure(kinds), structure(levels), strict=True):
        assert np.array_equal(a, b)
    weights = np.array([1.0, 2.0, 3.0, 2.0, 1.0])
    a, b = listed_subtrees(tree.parent, tree.level, tree.level, weights), regular_subtrees(4, 5, True, weights)
    np.testing.assert_allclose(a.count, b.count, rtol=1e-15)
    np.testing.assert_allclose(np.cumprod(a.count[::-1]), weights[1:], rtol=1e-14)


def bad_arguments():
    rng = np.random.default_rng(4)
    ms = [model(rng, "gaussian", 2, 3) for _ in range(2)]
    kinds, own, p, q, emission = arguments(ms, ms, hd.Tree([-1, 0, 0, 1], [0, 1, 2, 2]))
    group, start, child, count, repeat = kinds

    def with_kinds(*changed):
        return tuple(changed), own, p, q, emission

    yield "a child after its parent", with_kinds(group, start, child + 3, count, repeat)
    yield "a negative child", with_kinds(group, start, child - 9, count, repeat)
    yield "a group too large", with_kinds(group + 5, start, child, count, repeat)
    yield "a negative group", with_kinds(group - 5, start, child, count, repeat)
    yield "no turn", with_kinds(group, start, child, count, 0 * repeat)
    yield "turns without a child", with_kinds(group, start, child, count, 0 * repeat + 3)
    yield "a start too short", with_kinds(group, start[:-1], child, count, repeat)
    yield "a start that falls", with_kinds(group, start[::-1].copy(), child, count, repeat)
    yield "a count too short", with_kinds(group, start, child, count[:-1], repeat)
    yield "no kind", with_kinds(group[:0], start[:1], child[:0], count[:0], repeat[:0])
    yield "own terms too short", (kinds, (own[0], own[1][:, :1], own[2]), p, q, emission)
    yield "own starts too short", (kinds, (own[0][:-1], *own[1:]), p, q, emission)
    yield "own terms of others", (kinds, (own[0], own[1][:1], own[2]), p, q, emission)
    yield "transitions of others", (kinds, own, (p[0], p[1][:1]), q, emission)
    yield "transitions of q of others", (kinds, own, p, (q[0], np.ascontiguousarray(q[1][..., :1])), emission)
    yield "emissions of others", (kinds, own, p, q, np.ascontiguousarray(emission[..., :1]))
    yield "emissions of another type", (kinds, own, p, q, emission.astype(np.float32))


@pytest.mark.parametrize(
    ("what", "given"), [pytest.param(*bad, id=bad[0]) for bad in bad_arguments()] if compiled else []
)
def test_bad_arguments_raise(what, given):
    with pytest.raises((ValueError, TypeError)):
        compiled.variational_pairs(*given)
