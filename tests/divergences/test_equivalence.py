"""The same process or not, against the probabilities of all words; and what may be merged without loss."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hidiv as hd
from hidiv.errors import HidivError
from tests.strategies import LAW

CHAIN = [[0.9, 0.1], [0.2, 0.8]]
P = hd.Model([0.5, 0.5], CHAIN, hd.Categorical([[0.9, 0.1], [0.3, 0.7]]))


def drawn(seed, n_states, n_symbols=2, zeros=0.0):
    rng = np.random.default_rng(seed)

    def rows(*shape):
        table = rng.dirichlet(np.ones(shape[-1]), shape[:-1]) * (rng.random(shape) >= zeros)
        table[..., 0] += table.sum(axis=-1) == 0
        return table / table.sum(axis=-1, keepdims=True)

    return hd.Model(rows(n_states), rows(n_states, n_states), hd.Categorical(rows(n_states, n_symbols)))


def split(model, state, seed, rows_alike=True):
    """The model with a state in two: entered in shares of their own where rows are alike, else in one proportion."""
    rng, k = np.random.default_rng(seed), model.n_states
    share = rng.uniform(0.2, 0.8, k + 2) if rows_alike else np.full(k + 2, 0.3)
    old = [*range(k), state]
    table = np.array(model.transition)[np.ix_(old, old)]
    for row in range(k + 1):
        table[row, state], table[row, k] = (table[row, state] * s for s in (share[row], 1 - share[row]))
    if not rows_alike:
        # The average of the two rows is the old one.
        shift = 0.5 * table[state].min() * np.where(np.arange(k + 1) % 2, 1, -1)
        shift -= shift.mean()
        column = {state: 0.3, k: 0.7}
        both = shift[state] + shift[k]
        for j in column:
            shift[j] = both * column[j]
        table[state] += 0.7 * shift
        table[k] -= 0.3 * shift
    initial = np.append(model.initial, model.initial[state] * (1 - share[-1]))
    initial[state] *= share[-1]
    return hd.Model(initial, table, model.emission.take(old))


def probability(model, word):
    law = model.initial * model.emission.probs[:, word[0]]
    for x in word[1:]:
        law = law @ model.transition * model.emission.probs[:, x]
    return law.sum()


def shortest(p, q, n_symbols=2, longest=5):
    """The length of the shortest word whose probabilities differ, by listing all words."""
    for n in range(1, longest + 1):
        for word in product(range(n_symbols), repeat=n):
            if abs(probability(p, word) - probability(q, word)) > 1e-9 * probability(p, word):
                return n
    return None


@LAW
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(2, 3), st.sampled_from([0.0, 0.4]))
def test_relabelled_and_split_models_are_the_same(seed, k, m, zeros):
    p = drawn(seed, k, m, zeros)
    order = np.random.default_rng(seed).permutation(k)
    assert hd.equivalent(p, p.relabel(order))
    assert hd.equivalent(p, p.relabel(order), on="trees")
    halves = split(p, seed % k, seed)
    assert hd.equivalent(p, halves)
    assert hd.equivalent(halves, p, on="trees")
    small = hd.minimal(halves)
    assert small.n_states <= hd.minimal(p).n_states <= k
    assert hd.equivalent(small.model, p)
    assert hd.order(p) == hd.order(halves) <= small.n_states
    on_trees = hd.minimal(halves, on="trees")
    assert hd.equivalent(on_trees.model, p, on="trees")


@LAW
@given(st.integers(0, 10**6), st.integers(2, 4))
def test_states_entered_in_one_proportion_are_one_on_chains(seed, k):
    p = drawn(seed, k)
    halves = split(p, seed % k, seed, rows_alike=False)
    assert hd.equivalent(p, halves)
    assert hd.minimal(halves).n_states == k


@LAW
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 3), st.integers(2, 3))
def test_the_word_is_a_shortest_one(seed, k, other, m):
    p, q = drawn(seed, k, m), drawn(seed + 1, other, m)
    found = hd.equivalent(p, q)
    length = shortest(p, q, m)
    assert found.equal == (length is None)
    if length is not None:
        assert len(found.word) == length
        assert found.probabilities == pytest.approx((probability(p, found.word), probability(q, found.word)), rel=1e-12)
        assert found.probabilities[0] != pytest.approx(found.probabilities[1], rel=1e-9)


def test_a_difference_that_only_a_long_word_shows():
    """A clock of period n: n - 1 zeros, then a symbol that differs."""
    n = 6
    step = np.roll(np.eye(n), 1, axis=1)
    start = np.eye(n)[0]
    tables = [np.array([[1.0, 0.0]] * (n - 1) + [[1 - b, b]]) for b in (0.5, 0.6)]
    p, q = (hd.Model(start, step, hd.Categorical(table)) for table in tables)
    found = hd.equivalent(p, q)
    assert not found
    assert found.word[:-1] == (0,) * (n - 1)
    assert len(found.word) == n
    assert hd.order(p) == n


def test_siblings_tell_more_than_chains():
    halves = split(P, 0, 1, rows_alike=False)
    assert hd.equivalent(P, halves)
    assert not hd.equivalent(P, halves, on="trees")
    assert "on chains, but not on trees" in repr(hd.equivalent(P, halves, on="trees"))
    # Two leaves of one root, by listing what they show.
    tree, differ = hd.Tree([-1, 0, 0]), 0.0
    for x in product(range(2), repeat=3):
        differ = max(differ, abs(hd.log_likelihood(P, list(x), tree) - hd.log_likelihood(halves, list(x), tree)))
    assert differ > 1e-6
    assert hd.minimal(halves, on="trees").n_states == 3
    assert hd.minimal(halves).n_states == 2


def test_near_and_far():
    near = [hd.Model(P.initial, [[0.9 + d, 0.1 - d], [0.2, 0.8]], P.emission) for d in (1e-8, 1e-13)]
    assert not hd.equivalent(P, near[0])
    assert hd.equivalent(P, near[1])
    assert hd.equivalent(P, near[0], tolerance=1e-6)
    assert 0 < hd.equivalent(P, near[0]).difference < 1e-7


FAMILIES = {
    "gaussian": hd.Gaussian([0.0, 1.0], std=[1.0, 2.0]),
    "gaussian columns": hd.Gaussian([[0.0, 1.0], [2.0, 1.0]], std=[[1.0, 1.0], [1.0, 3.0]]),
    "gaussian full": hd.Gaussian([[0.0, 1.0], [2.0, 1.0]], cov=[[[1.0, 0.5], [0.5, 1.0]], [[2.0, 0.0], [0.0, 1.0]]]),
    "poisson": hd.Poisson([1.0, 4.0]),
    "gamma": hd.Gamma([1.0, 2.0], [1.0, 3.0]),
    "von mises": hd.VonMises([0.0, 1.0], [0.5, 2.0]),
    "binomial": hd.Binomial([4, 6], [0.2, 0.7]),
    "negative binomial": hd.NegativeBinomial([1.5, 4.0], [0.3, 0.6]),
    "bits": hd.Bernoulli([[0.1, 0.4, 0.5], [0.6, 0.3, 0.2]]),
    "many bits": hd.Bernoulli(np.random.default_rng(0).random((2, 16))),
    "mixture": hd.Mixture([[0.5, 0.5], [0.2, 0.8]], [hd.Poisson([1.0, 3.0]), hd.Poisson([3.0, 1.0])]),
    "product": hd.Product([hd.Categorical([[0.5, 0.5], [0.1, 0.9]]), hd.Gaussian([0.0, 3.0], std=[1.0, 2.0])]),
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family(name):
    p = hd.Model([0.5, 0.5], CHAIN, FAMILIES[name])
    table = [[0.9, 0.04, 0.06], [0.2, 0.5, 0.3], [0.2, 0.7, 0.1]]
    three = hd.Model([0.5, 0.2, 0.3], table, FAMILIES[name].take([0, 1, 1]))
    assert hd.equivalent(p, three.relabel([2, 0, 1]))
    assert hd.minimal(three).merged == ((0,), (1, 2))
    assert hd.order(three) == 2
    q = hd.Model([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], FAMILIES[name])
    found = hd.equivalent(p, q)
    assert len(found.word) == 2
    for model, value in zip((p, q), found.probabilities, strict=True):
        assert np.exp(hd.log_likelihood(model, list(found.word))) == pytest.approx(value, rel=1e-9)
    assert abs(np.log(found.probabilities[0] / found.probabilities[1])) > 0.01


def test_one_law_in_two_families():
    p = hd.Model([0.5, 0.5], CHAIN, hd.Exponential([1.0, 3.0]))
    assert hd.equivalent(p, hd.Model([0.5, 0.5], CHAIN, hd.Gamma([1.0, 1.0], [1.0, 3.0])))


def test_chains_that_end():
    p, q = (hd.Model([0.5, 0.5], [[0.7 - d, 0.1], [0.2, 0.6]], P.emission, end=[0.2 + d, 0.2]) for d in (0.0, 0.1))
    found = hd.equivalent(p, q)
    assert found.ends
    assert len(found.word) == 1
    assert hd.equivalent(p, p.relabel([1, 0]))
    # Ends alone do not matter where states differ in nothing else.
    one = hd.Model([0.5, 0.5], [[0.4, 0.4], [0.3, 0.5]], P.emission.take([0, 0]), end=[0.2, 0.2])
    assert hd.minimal(one).n_states == 1


def test_what_is_never_visited():
    p = hd.Model([0.5, 0.5, 0], [[0.9, 0.1, 0], [0.2, 0.8, 0], [0.1, 0.1, 0.8]], hd.Poisson([1.0, 4.0, 9.0]))
    small = hd.minimal(p)
    assert small.unreachable == (2,)
    assert small.merged == ((0,), (1,))
    assert "state 2 never visited" in repr(small)
    assert hd.equivalent(p, small.model)


def test_groups_are_merged_where_every_group_agrees():
    emission = [hd.Poisson([1.0, 1.0, 4.0]), hd.Gaussian([0.0, 0.0, 2.0], std=[1.0, 1.0, 1.0])]
    model = hd.Model([0.2, 0.3, 0.5], [[0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.3, 0.3, 0.4]], emission)
    small = hd.minimal(model)
    assert small.merged == ((0, 1), (2,))
    assert small.order is None
    tree = hd.Tree([-1, 0, 0, 1], group=[0, 1, 1, 0])
    x = [1.0, 0.3, 0.2, 3.0]
    assert hd.log_likelihood(model, x, tree) == pytest.approx(hd.log_likelihood(small.model, x, tree), rel=1e-12)


def test_names_travel():
    named = hd.Model([0.5, 0.3, 0.2], [[0.9, 0.06, 0.04], [0.2, 0.5, 0.3], [0.2, 0.1, 0.7]], P.emission.take([0, 1, 1]),
                     state_names=["dry", "wet", "soaked"], symbol_names=["walk", "shop"], name="rain")  # fmt: skip
    assert repr(hd.minimal(named)) == "3 states are 2: states wet and soaked are one; no equal model has fewer"
    assert hd.minimal(named).model.state_names == ("dry", "wet+soaked")
    assert "the beginning shop" in repr(hd.equivalent(named, drawn(0, 2)))


BAD = [
    (lambda: hd.equivalent(P, hd.Model([1], [[1]], hd.Poisson([1.0]))), "shows"),
    (lambda: hd.equivalent(P, hd.Model([1], [[1]], hd.Categorical([[0.2, 0.3, 0.5]]))), "symbols"),
    (lambda: hd.equivalent(P, P, on="rings"), "on: must be chains or trees, got"),
    (lambda: hd.equivalent(P, P, tolerance=-1), "tolerance: must be a number from 0"),
    (lambda: hd.equivalent(*[hd.Model([1], [[1]], hd.Beta([a], [1.0])) for a in (1.0, 2.0)]), "beta laws may be sums"),
    (lambda: hd.order(hd.Model([1], [[[1]], [[1]]], hd.Silent(1))), "needs a model with one group.*2 groups"),
    (lambda: hd.equivalent(hd.Model([1], [[0.5]], hd.Silent(1), end=[0.5]), P.relabel([0, 1])), "end"),
    (lambda: hd.equivalent(*[hd.Model([1], [[0.5]], hd.Silent(1), end=[0.5])] * 2, on="trees"), "chains of random"),
    (lambda: hd.minimal("model"), "model"),
]


@pytest.mark.parametrize(("call", "said"), BAD)
def test_what_is_refused(call, said):
    with pytest.raises(HidivError, match=said):
        call()


@pytest.mark.parametrize("tree", [None, 200, hd.Tree.regular(2, 9)])
@pytest.mark.parametrize("family", [hd.Categorical([[0.9, 0.1], [0.3, 0.7]]), hd.Gaussian([0.0, 2.0], std=[1.0, 1.0])])
def test_one_process_has_an_observed_divergence_of_zero(tree, family):
    p = hd.Model([0.5, 0.5], CHAIN, family)
    table = [[0.9, 0.04, 0.06], [0.2, 0.5, 0.3], [0.2, 0.7, 0.1]]
    q = hd.Model([0.5, 0.2, 0.3], table, family.take([0, 1, 1]))
    result = hd.observed_kl_rate(p, q) if tree is None else hd.observed_kl(p, q, tree)
    assert (result.value, result.status, result.lower, result.upper) == (0.0, "certified", 0.0, 0.0)
    near = hd.Model([0.5, 0.5], [[0.9 + 1e-12, 0.1 - 1e-12], [0.2, 0.8]], family)
    assert hd.equivalent(p, near)
    assert hd.observed_kl(p, near, 3).upper > 0 or hd.observed_kl(p, near, 3).value > 0


def test_a_word_that_only_one_model_can_show():
    p, q = (hd.Model([1.0], [[1.0]], hd.Categorical([row])) for row in ([0.5, 0.5], [1.0, 0.0]))
    found = hd.equivalent(p, q)
    assert found.word == (1,)
    assert found.probabilities == (0.5, 0.0)
