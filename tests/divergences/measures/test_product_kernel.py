"""Product kernels: plain loops, laws, long chains, close models, every family."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hidiv as hd
from hidiv.errors import HidivError
from tests.divergences.measures.words import close_model, powers, random_model

TREES = [hd.Tree.chain(1), hd.Tree.chain(4), hd.Tree([-1, 0, 0, 1]), hd.Tree([-1, 0, 0])]
seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("beta", [1.0, 0.5, 0.3])
@pytest.mark.parametrize("states", [(1, 1), (2, 3), (3, 3)])
@pytest.mark.parametrize("tree", TREES, ids=["node", "chain", "tree", "star"])
def test_against_words_and_paths(beta, states, tree):
    rng = np.random.default_rng(3)
    p, q = (random_model(rng, k, zeros=0.2) for k in states)
    a, b = (powers(m, tree, beta) for m in (p, q))
    assert hd.product_kernel(p, q, tree, beta, normalized=False).value == pytest.approx(a @ b, rel=1e-13)
    expected = a @ b / np.sqrt((a @ a) * (b @ b))
    found = hd.product_kernel(p, q, tree, beta)
    assert found.value == pytest.approx(expected, rel=1e-12)
    assert found.log == pytest.approx(np.log(expected), rel=1e-11, abs=1e-14)


def test_regular_trees_are_listed_trees():
    rng = np.random.default_rng(4)
    p, q = random_model(rng, 2), random_model(rng, 3)
    for tree in (hd.Tree.regular(2, 3), hd.Tree.regular(3, 3)):
        listed = hd.Tree(tree.parent)
        for beta in (1.0, 0.5):
            found = [hd.product_kernel(p, q, t, beta).log for t in (tree, listed)]
            assert found[0] == pytest.approx(found[1], rel=1e-13)


def test_groups_are_told_apart():
    rng = np.random.default_rng(5)
    steps = [None, *rng.dirichlet(np.ones(2), (2, 2))]
    p = hd.Model([0.3, 0.7], steps, [hd.Categorical(rng.dirichlet(np.ones(2), 2)) for _ in range(3)])
    tree = hd.Tree.regular(2, 3)
    q = hd.Model([0.5, 0.5], rng.dirichlet(np.ones(2), 2), hd.Categorical(rng.dirichlet(np.ones(2), 2)))
    found = hd.product_kernel(p, q, tree).log
    assert found == pytest.approx(hd.product_kernel(p, q, hd.Tree(tree.parent, tree.group)).log, rel=1e-13)


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_laws(seed):
    rng = np.random.default_rng(seed)
    p, q = random_model(rng, 1 + seed % 3, zeros=0.3), random_model(rng, 1 + seed % 2, zeros=0.3)
    beta, n = (1.0, 0.5)[seed % 2], int(rng.integers(1, 30))
    one, two = hd.product_kernel(p, q, n, beta), hd.product_kernel(q, p, n, beta)
    assert 0.0 <= one.value <= 1.0
    assert 0.0 <= one.complement <= 1.0
    assert one.value == pytest.approx(two.value, rel=1e-11, abs=1e-300)
    assert hd.product_kernel(p, p.relabel(rng.permutation(p.n_states)), n, beta).complement <= 1e-13
    assert hd.product_kernel(p, p, n, beta).value == 1.0
    assert one.value == pytest.approx(hd.product_kernel(p, q, hd.Tree(np.arange(-1, n - 1)), beta).value, rel=1e-11)


def test_long_chains_neither_underflow_nor_lose_digits():
    rng = np.random.default_rng(6)
    p, q = random_model(rng, 3), random_model(rng, 2)
    rate = hd.product_kernel(p, q, None)
    assert rate.per == "step"
    logs = [hd.product_kernel(p, q, n).log for n in (10**6, 2 * 10**6)]
    assert logs[1] - logs[0] == pytest.approx(10**6 * rate.value, rel=1e-11)
    assert hd.product_kernel(p, q, 10**6).value == 0.0
    assert "e^-" in repr(hd.product_kernel(p, q, 10**6))
    assert hd.coemission(p, q, 10**6).log < -(10**5)


def test_left_to_right_chains_settle_on_the_right_rate():
    # State 0 is left for ever: the messages of its cells grow at another rate than the others for a while.
    p = hd.Model([1.0, 0.0], [[0.99, 0.01], [0.0, 1.0]], hd.Categorical([[0.9, 0.1], [0.5, 0.5]]))
    q = hd.Model([1.0, 0.0], [[0.9, 0.1], [0.0, 1.0]], hd.Categorical([[0.9, 0.1], [0.5, 0.5]]))
    tables = [np.kron(a.transitions[0], b.transitions[0]) for a, b in ((p, q), (p, p), (q, q))]
    probs = np.array([[0.9, 0.1], [0.5, 0.5]])
    phi = (probs @ probs.T).ravel()
    n, logs = 3000, []
    for step in tables:
        row, scale = np.array([1.0, 0, 0, 0]) * phi, 0.0
        for _ in range(n - 1):
            row = (row @ step) * phi
            scale, row = scale + np.log(row.sum()), row / row.sum()
        logs.append(scale + np.log(row.sum()))
    expected = logs[0] - 0.5 * (logs[1] + logs[2])
    assert hd.product_kernel(p, q, n).log == pytest.approx(expected, rel=1e-8)  # the loops cancel


@pytest.mark.parametrize("size", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("beta", [1, 2])
def test_close_models_keep_their_digits(size, beta):
    """Against exact fractions, beta = 1 and 2, chain and tree."""
    rng = np.random.default_rng(7)
    p = random_model(rng, 2, 2)
    q = close_model(rng, p, size)
    for tree in (hd.Tree.chain(3), hd.Tree([-1, 0, 0])):
        a, b = (_exact_powers(m, tree, beta) for m in (p, q))
        cross, own, other = (sum(x * y for x, y in zip(c, d, strict=True)) for c, d in ((a, b), (a, a), (b, b)))
        square = 1 - cross * cross / (own * other)  # = (1 - K)(1 + K)
        found = hd.product_kernel(p, q, tree, float(beta)).complement
        assert found * (2.0 - found) == pytest.approx(float(square), rel=1e-11)


def _exact_powers(model, tree, beta):
    initial, steps, probs = (
        np.vectorize(Fraction, otypes=[object])(t)
        for t in (model.initial, model.transitions[0], model.emissions[0].probs)
    )
    found, parent = [], tree.parent
    for word in itertools.product(range(probs.shape[1]), repeat=len(parent)):
        total = Fraction(0)
        for path in itertools.product(range(model.n_states), repeat=len(parent)):
            mass = initial[path[0]] * probs[path[0], word[0]]
            for u in range(1, len(parent)):
                mass *= steps[path[parent[u]], path[u]] * probs[path[u], word[u]]
            total += mass**beta
        found.append(total)
    return found


def test_close_gaussian_models_keep_their_digits():
    """1 - K is of second order: a step ten times as small gives a hundredth of it."""
    found = []
    for size in (1e-4, 1e-5, 1e-6):
        p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Gaussian([0.0, 2.0], std=[1.0, 0.5]))
        q = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Gaussian([size, 2.0], std=[1.0, 0.5 + size]))
        found.append(hd.product_kernel(p, q, 100_000).complement / size**2)
    assert found[1] == pytest.approx(found[2], rel=1e-4)
    assert found[0] == pytest.approx(found[2], rel=1e-2)
    # One state, one node: N(0, s) against N(d, s), 1 - exp(-d^2 / (4 s^2)).
    one, two = (hd.Model([1.0], [[1.0]], hd.Gaussian([m], std=[2.0])) for m in (0.0, 1e-6))
    assert hd.product_kernel(one, two, 1).complement == pytest.approx(1e-12 / 16.0, rel=1e-9)


def test_a_precomputed_kernel_of_a_support_vector_machine():
    rng = np.random.default_rng(8)
    models = [random_model(rng, 1 + i % 3) for i in range(12)]
    table = np.array([[hd.product_kernel(p, q, 50).value for q in models] for p in models])
    assert np.linalg.eigvalsh(table).min() > -1e-12
    assert (np.diag(table) == 1.0).all()


def test_disjoint_models_have_nothing_in_common():
    p, q = (hd.Model([1.0], [[1.0]], hd.Categorical([row])) for row in ([0.5, 0.5, 0.0], [0.0, 0.0, 1.0]))
    found = hd.product_kernel(p, q, 3)
    assert (found.value, found.log, found.complement) == (0.0, -np.inf, 1.0)
    assert hd.product_kernel(p, q, None).value == -np.inf


def test_what_is_refused():
    p = random_model(np.random.default_rng(0), 2)
    for beta in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(HidivError, match="beta"):
            hd.product_kernel(p, p, 3, beta)
    sharp = hd.Model([1.0], [[1.0]], hd.Gamma([0.3], [1.0]))
    with pytest.raises(HidivError, match="no finite integral"):
        hd.product_kernel(sharp, sharp, 3)
    assert hd.product_kernel(sharp, sharp, 3, 0.5).value == 1.0
    ending = hd.Model([1.0], [[0.5]], hd.Silent(1), end=[0.5])
    with pytest.raises(HidivError, match="known size"):
        hd.product_kernel(ending, ending, hd.UNTIL_END)
