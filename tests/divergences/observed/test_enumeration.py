"""The observed divergence by enumeration, on chains and listed trees."""

from __future__ import annotations

from itertools import product
from math import fsum, inf, log

import numpy as np
import pytest
from mpmath import mp, mpf

from hidiv.divergences.observed.alphabets import FiniteChain, TreeLaw
from hidiv.divergences.observed.enumerated.chain_words import enumerate_chain
from hidiv.divergences.observed.enumerated.tree_configurations import enumerate_tree
from hidiv.divergences.observed.support.symbols import forbidden_word
from hidiv.errors import OutOfRange

from ...loading import cases
from .pairs import PAPER_P, PAPER_Q, at_nodes, pair, pair_with_zeros, regular_parents


def chain_of(model):
    return FiniteChain(
        *(np.array(part) for part in (model["initial"], model["transition"], model["emission"]["probs"]))
    )


@pytest.mark.parametrize("case", cases("observed"))
def test_reference(case):
    p, q = chain_of(case["p"]), chain_of(case["q"])
    if "chain" in case["tree"]:
        found = enumerate_chain(p, q, case["tree"]["chain"])
    else:
        parent = np.array(case["tree"]["parent"])
        found = enumerate_tree(at_nodes(p, len(parent)), at_nodes(q, len(parent)), parent)
    assert found.value == pytest.approx(float(case["value"]), rel=1e-13)


@pytest.mark.parametrize(
    ("length", "value"), [(1, 0.489410746734769), (2, 0.969462580653337), (5, 2.386926444363525), (10, 4.724678070680)]
)
def test_paper(length, value):
    path = np.arange(length) - 1
    assert enumerate_chain(PAPER_P, PAPER_Q, length).value == pytest.approx(value, rel=1e-12)
    on_tree = enumerate_tree(at_nodes(PAPER_P, length), at_nodes(PAPER_Q, length), path)
    assert on_tree.value == pytest.approx(value, rel=1e-12)


def word_by_word(p, q, parent):
    """sum over configurations of p log(p/q), each probability upward."""
    terms = []
    for word in product(range(p.probabilities.shape[2]), repeat=len(parent)):
        first, second = (probability(law, parent, word) for law in (p, q))
        if first > 0:
            terms.append(first * log(first / second) if second > 0 else inf)
    return fsum(terms)


def probability(law, parent, word):
    below = [law.probabilities[u][:, x].copy() for u, x in enumerate(word)]
    for u in reversed(range(1, len(parent))):
        below[parent[u]] *= law.transition[u] @ below[u]
    return law.initial @ below[0]


@pytest.mark.parametrize("seed", range(60))
def test_chains_with_zeros(seed):
    """Zeros, different numbers of states: the same as word by word, infinite together, and the word is to blame."""
    p, q = pair_with_zeros(seed, states=(2 + seed % 2, 2 + seed % 3))
    found = enumerate_chain(p, q, 5)
    path = np.arange(5) - 1
    assert found.value == pytest.approx(word_by_word(at_nodes(p, 5), at_nodes(q, 5), path), rel=1e-12, abs=1e-15)
    if found.word is not None:
        steps = np.arange(len(found.word)) - 1
        assert probability(at_nodes(p, len(steps)), steps, found.word) > 0
        assert probability(at_nodes(q, len(steps)), steps, found.word) == 0


@pytest.mark.parametrize("seed", range(60))
def test_trees_with_zeros(seed):
    """Groups, zeros, different numbers of states on a random tree."""
    rng = np.random.default_rng([seed, 2])
    parent = np.array([-1] + [rng.integers(u) for u in range(1, 6)])
    drawn = [pair_with_zeros(int(rng.integers(10**6)), states=(2, 3)) for _ in parent]
    p, q = (
        TreeLaw(
            drawn[0][i].initial,
            np.array([d[i].transition for d in drawn]),
            np.array([d[i].probabilities for d in drawn]),
        )
        for i in (0, 1)
    )
    found = enumerate_tree(p, q, parent)
    assert found.value == pytest.approx(word_by_word(p, q, parent), rel=1e-12, abs=1e-15)
    if found.word is not None:
        assert probability(p, parent, found.word) > 0
        assert probability(q, parent, found.word) == 0


def test_a_forbidden_word_far_away_is_found():
    """q counts to eight in unary and then cannot go on; p can: only words of nine symbols tell."""
    steps = np.eye(8, k=1)
    steps[7, 0] = 1.0
    emission = np.tile([1.0, 0.0], (8, 1))
    emission[7] = [0.0, 1.0]
    q = FiniteChain(np.eye(8)[0], steps, emission)
    loose = emission.copy()
    loose[7] = [0.5, 0.5]
    p = FiniteChain(np.eye(8)[0], steps, loose)
    assert forbidden_word(p, q, 7) is None
    assert forbidden_word(p, q) == (0,) * 8
    assert forbidden_word(q, p) is None


@pytest.mark.parametrize("eps", [1e-4, 1e-7, 1e-10])
def test_close_models_keep_their_digits(eps):
    """The divergence goes with the square of the difference, down to differences of 1e-10."""
    p, r = pair("dirichlet", 3)
    near = FiniteChain(*(a + eps * (b - a) for a, b in zip(p, r, strict=True)))
    nearer = FiniteChain(*(a + eps / 2 * (b - a) for a, b in zip(p, r, strict=True)))
    # The parameters themselves are rounded, by 1e-16 of a difference of eps.
    tolerance = 4 * eps + 1e-15 / eps
    for one, two in (
        (enumerate_chain(p, near, 6), enumerate_chain(p, nearer, 6)),
        (
            enumerate_tree(at_nodes(p, 7), at_nodes(near, 7), regular_parents(2, 3)),
            enumerate_tree(at_nodes(p, 7), at_nodes(nearer, 7), regular_parents(2, 3)),
        ),
    ):
        assert one.value / two.value == pytest.approx(4.0, rel=tolerance)


def dyadic(rng, *shape):
    """Rows that sum to one exactly, in steps of 2^-12."""
    rows = np.floor(rng.dirichlet(np.ones(shape[-1]), size=shape[:-1]) * 2**12) / 2**12 + 2.0**-12
    rows[..., -1] += 1.0 - rows.sum(axis=-1)
    return rows


def moved(rng, rows, step):
    """Rows a few steps away, which sum to one exactly too."""
    change = rng.integers(-5, 6, size=rows.shape) * step
    change[..., -1] -= change.sum(axis=-1)
    return rows + change


@pytest.mark.parametrize("power", [10, 20, 30])
@pytest.mark.parametrize("n_states", [2, 3])
def test_close_models_in_fifty_digits(power, n_states):
    """Relative error 1e-13 for parameters 2^-30 apart, whatever the labels."""
    rng = np.random.default_rng([n_states, power])
    p = FiniteChain(dyadic(rng, 1, n_states)[0], dyadic(rng, n_states, n_states), dyadic(rng, n_states, 2))
    q = FiniteChain(*(moved(rng, part, 2.0**-power) for part in p))
    order = np.roll(np.arange(n_states), 1)
    turned = FiniteChain(q.initial[order], q.transition[np.ix_(order, order)], q.probabilities[order])
    for parent in (np.arange(5) - 1, np.array([-1, 0, 0, 1, 1])):
        with mp.workdps(50):
            true = [FiniteChain(*(np.vectorize(mpf)(part) for part in law)) for law in (p, q)]
            words = product(range(2), repeat=5)
            terms = [[probability(at_nodes(law, 5), parent, word) for law in true] for word in words]
            value = float(sum(a * mp.log(a / b) for a, b in terms))
        for other in (q, turned):
            found = enumerate_tree(at_nodes(p, 5), at_nodes(other, 5), parent).value
            assert found == pytest.approx(value, rel=1e-13, abs=0)
            if (parent == np.arange(5) - 1).all():
                assert enumerate_chain(p, other, 5).value == pytest.approx(value, rel=1e-13, abs=0)


@pytest.mark.parametrize("rare", [1e-6, 1e-12, 1e-15, 1e-100])
def test_what_q_hardly_ever_emits(rare):
    """q far below p keeps its digits: log q is not taken from a difference."""
    p = FiniteChain(np.ones(1), np.ones((1, 1)), np.array([[0.5, 0.5, 0.0]]))
    q = FiniteChain(np.ones(1), np.ones((1, 1)), np.array([[rare, 0.75 - rare, 0.25]]))
    value = 0.5 * log(0.5 / rare) + 0.5 * log(0.5 / (0.75 - rare))
    assert enumerate_chain(p, q, 3).value == pytest.approx(3 * value, rel=1e-14)
    path = np.arange(3) - 1
    assert enumerate_tree(at_nodes(p, 3), at_nodes(q, 3), path).value == pytest.approx(3 * value, rel=1e-14)


def test_relabelled_states_are_no_difference():
    order = np.array([1, 0])
    q = FiniteChain(PAPER_P.initial[order], PAPER_P.transition[np.ix_(order, order)], PAPER_P.probabilities[order])
    assert 0 <= enumerate_chain(PAPER_P, q, 8).value < 1e-28


def test_too_many_words_are_refused():
    with pytest.raises(OutOfRange, match="certified"):
        enumerate_chain(PAPER_P, PAPER_Q, 40)
    with pytest.raises(OutOfRange, match="montecarlo"):
        enumerate_tree(at_nodes(PAPER_P, 40), at_nodes(PAPER_Q, 40), np.arange(40) - 1)


def test_blocks_change_nothing(monkeypatch):
    """Words in many blocks give what one block gives."""
    whole = enumerate_chain(PAPER_P, PAPER_Q, 9).value
    monkeypatch.setattr("hidiv.divergences.observed.enumerated.chain_words._PREFIXES", 7)
    assert enumerate_chain(PAPER_P, PAPER_Q, 9).value == pytest.approx(whole, rel=1e-14)
