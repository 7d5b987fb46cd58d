"""Certified rates: narrow where they should be, and never wrong."""

from __future__ import annotations

from itertools import product
from math import inf

import numpy as np
import pytest

from hidiv.divergences.observed.alphabets import FiniteChain
from hidiv.divergences.observed.certified.rates import cross_entropy_rate, observed_rate
from hidiv.divergences.observed.enumerated.chain_words import enumerate_chain
from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.observed.support.symbols import forbidden_word
from hidiv.recursions.gth import cesaro_law
from tests.seeds import seeds

from .pairs import KINDS, PAPER_P, PAPER_Q, contains, entropy_rate, pair, pair_with_zeros


def symmetric(stay, right):
    """Two states that are left, and two symbols that are wrong, equally often."""
    return FiniteChain(
        np.full(2, 0.5),
        np.array([[stay, 1 - stay], [1 - stay, stay]]),
        np.array([[right, 1 - right], [1 - right, right]]),
    )


@pytest.mark.parametrize(("p", "q", "value"), [(PAPER_P, PAPER_Q, 0.4658941425083), (PAPER_Q, PAPER_P, 0.445037863685)])
def test_paper(p, q, value):
    found = observed_rate(p, q)
    assert found.width < 1e-12
    assert found.lower == pytest.approx(value, abs=2e-12)  # as many digits as the reference has


def test_paper_parts():
    assert contains(cross_entropy_rate(PAPER_P, PAPER_Q), 1.361852147947701, rtol=1e-15)
    assert contains(entropy_rate(PAPER_P), 0.895958005439408, rtol=1e-15)


def test_binary_symmetric_chain():
    found = entropy_rate(symmetric(0.9, 0.9))
    assert contains(found, 0.53136405928129)
    assert found.width < 1e-12


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", seeds(4, 12))
def test_width(kind, seed):
    assert observed_rate(*pair(kind, seed)).width < 1e-11


@pytest.mark.parametrize(("stay", "right"), [(0.999, 0.999), (0.999, 0.9), (0.99, 0.6), (0.999, 0.6), (0.9, 0.999)])
def test_width_of_extremes(stay, right):
    p, q = symmetric(stay, right), symmetric(2 * stay - 1, 0.95 * right)
    assert observed_rate(p, q).width < 1e-11
    assert observed_rate(q, p).width < 1e-11


def where_applicable(rate, *chains):
    """The interval, or None where the method says that it has none."""
    try:
        return rate(*chains)
    except NotApplicable:
        return None


def has_zeros(chain):
    return not (chain.transition.all() and chain.probabilities.all())


def contexts(p, q, length):
    """Bounds of the cross-entropy rate: q's law of a symbol lies between those from the states before the context."""
    lower = upper = 0.0
    start = cesaro_law(p.initial, p.transition)
    for word in product(range(p.n_symbols), repeat=length):
        weight, rows = start @ p.transition, np.eye(q.n_states)
        for i, x in enumerate(word):
            weight = (weight if i == 0 else weight @ p.transition) * p.probabilities[:, x]
            before, rows = rows.sum(axis=1), rows @ q.steps()[x]
        chance = weight.sum()
        if chance > 0:
            law = rows.sum(axis=1)[before > 0] / before[before > 0]
            lower -= chance * np.log(law.max())
            upper += inf if law.min() == 0 else -chance * np.log(law.min())
    return lower, upper


@pytest.mark.parametrize("seed", seeds(50, 150))
def test_contexts_agree(seed):
    """Two bounds that both hold meet: any kind, zeros included, different numbers of states."""
    p, q = pair_with_zeros(seed, states=(2 + seed % 2, 2))
    if forbidden_word(p, q) is not None:
        assert observed_rate(p, q).lower == inf
        return
    found = where_applicable(cross_entropy_rate, p, q)
    if found is None:
        assert has_zeros(q)
        return
    lower, upper = contexts(p, q, 7)
    assert found.width < 1e-10
    assert found.lower <= upper * (1 + 1e-13)
    assert found.upper >= lower * (1 - 1e-13)


@pytest.mark.parametrize("seed", seeds(20, 60))
def test_entropy_between_its_conditional_entropies(seed):
    """H(X_n | X_1..n-1, S_0) <= h <= H(X_n | X_1..n-1), zeros included."""
    p, _ = pair_with_zeros(seed + 1000)
    found = where_applicable(entropy_rate, p)
    if found is None:
        assert has_zeros(p)
        return
    law = cesaro_law(p.initial, p.transition)
    blocks = [entropy_of_block(law, p, n) for n in (6, 7)]
    given = [
        sum(law[s] * entropy_of_block(np.eye(2)[s] @ p.transition, p, n) for s in (0, 1) if law[s] > 0) for n in (6, 7)
    ]
    assert found.lower <= blocks[1] - blocks[0] + 1e-13
    assert found.upper >= given[1] - given[0] - 1e-13


def entropy_of_block(start, p, length):
    """H(X_1..n) with the first state drawn from start."""
    front = start[None, :]
    for i in range(length):
        front = front if i == 0 else front @ p.transition
        front = (front[:, None, :] * p.probabilities.T[None]).reshape(-1, p.n_states)
    chances = front.sum(axis=1)
    chances = chances[chances > 0]
    return -chances @ np.log(chances)


@pytest.mark.parametrize("seed", range(8))
def test_increments_of_fast_mixing_chains(seed):
    """D(n) - D(n-1) is the rate to many digits where the filters forget quickly."""
    p, q = (c._replace(transition=0.2 * c.transition + 0.4) for c in pair("weak", seed, n_symbols=2))
    found = observed_rate(p, q)
    increment = enumerate_chain(p, q, 13).value - enumerate_chain(p, q, 12).value
    # what is left of the start after 12 steps, each of them worth a fifth at most
    assert increment == pytest.approx(found.lower, rel=1e-7)


def test_one_state_is_a_closed_form():
    q = FiniteChain(np.ones(1), np.ones((1, 1)), np.array([[0.2, 0.3, 0.5]]))
    law = cesaro_law(PAPER_P.initial, PAPER_P.transition) @ PAPER_P.probabilities
    assert contains(cross_entropy_rate(PAPER_P, q), -law @ np.log(q.probabilities[0]))
    assert contains(entropy_rate(q), -q.probabilities[0] @ np.log(q.probabilities[0]))


def test_states_that_are_not_reached_do_not_count():
    q = FiniteChain(
        np.array([0.5, 0.5, 0.0]),
        np.array([[0.7, 0.3, 0.0], [0.4, 0.6, 0.0], [0.2, 0.2, 0.6]]),
        np.vstack([PAPER_Q.probabilities, [1.0, 0.0, 0.0]]),
    )
    assert observed_rate(PAPER_P, q).lower == observed_rate(PAPER_P, PAPER_Q).lower


def test_classes_of_p_are_weighted():
    """Two copies of chains that never meet: the mean of their rates."""
    block = np.zeros((4, 4))
    block[:2, :2], block[2:, 2:] = PAPER_P.transition, PAPER_Q.transition
    both = FiniteChain(
        np.array([0.15, 0.15, 0.35, 0.35]), block, np.vstack([PAPER_P.probabilities, PAPER_Q.probabilities])
    )
    found = observed_rate(both, PAPER_Q)
    alone = observed_rate(PAPER_P, PAPER_Q)
    assert found.lower - 1e-12 <= 0.3 * alone.lower <= found.upper + 1e-12
    assert found.width < 1e-11


@pytest.mark.parametrize(
    ("transition", "initial"),
    [
        ([[1.0, 0.0], [0.3, 0.7]], [0.2, 0.8]),
        ([[1.0, 0.0], [0.01, 0.99]], [0.0, 1.0]),
        ([[1.0, 0.0], [0.0, 1.0]], [0.4, 0.6]),
        ([[0.0, 1.0], [1.0, 0.0]], [0.4, 0.6]),
        ([[0.0, 1.0], [1.0, 0.0]], [1.0, 0.0]),
    ],
)
@pytest.mark.parametrize("cycle", [False, True])
def test_reducible_and_periodic_q(transition, initial, cycle):
    """-log q(x) / N along one long word of p, against the closed form."""
    rng = np.random.default_rng(5)
    p = FiniteChain(np.array([1.0, 0.0]), np.eye(2)[::-1].copy(), PAPER_P.probabilities) if cycle else PAPER_P
    q = FiniteChain(np.array(initial), np.array(transition), PAPER_Q.probabilities)
    found = cross_entropy_rate(p, q)
    length, paths = 1500, 200
    state = np.zeros(paths, dtype=int)
    filters, total = np.tile(q.initial, (paths, 1)), np.zeros(paths)
    for i in range(length):
        if i:
            state = (rng.random(paths) >= p.transition[state, 0]).astype(int)
            filters = filters @ q.transition
        x = (rng.random(paths)[:, None] >= p.probabilities.cumsum(axis=1)[state]).sum(axis=1).clip(0, 2)
        filters = filters * q.probabilities.T[x]
        total -= np.log(filters.sum(axis=1))
        filters /= filters.sum(axis=1, keepdims=True)
    # 300,000 symbols and the logarithm of 1,500 positions for the jump
    assert found.lower == pytest.approx(total.mean() / length, abs=0.015)
    assert found.width < 1e-12


def test_where_it_does_not_apply():
    p, q = pair("dirichlet", 1, states=(3, 3))
    with pytest.raises(NotApplicable, match="3 states"):
        cross_entropy_rate(p, q)
    with pytest.raises(NotApplicable, match="3 states"):
        entropy_rate(p)


def test_what_was_excluded_on_the_way_is_not_forgotten():
    """p emits once, before it settles, what one state of q cannot: q can never be in that state again."""
    p = FiniteChain(
        np.array([1.0, 0.0]), np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    )
    q = FiniteChain(np.array([0.5, 0.5]), np.eye(2), np.array([[0.4, 0.5, 0.1], [0.0, 0.5, 0.5]]))
    with pytest.raises(NotApplicable, match="excluded"):
        cross_entropy_rate(p, q)
    # Without the way there is nothing to remember: the better state.
    straight = p._replace(initial=np.array([0.0, 1.0]))
    assert contains(cross_entropy_rate(straight, q), np.log(2.0))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(8))
def test_one_word_for_ever(kind, seed):
    """p repeats one symbol: its probability under q falls like the largest eigenvalue of that step."""
    _, q = pair(kind, seed)
    for x in range(3):
        p = FiniteChain(np.ones(1), np.ones((1, 1)), np.eye(3)[[x]])
        found = cross_entropy_rate(p, q)
        assert contains(found, -np.log(np.abs(np.linalg.eigvals(q.steps()[x])).max()))
        assert found.width < 1e-11


@pytest.mark.parametrize("seed", seeds(20, 60))
def test_a_cycle_of_symbols(seed):
    """p repeats a word: the largest eigenvalue of the product of its steps; q from easy to nearly decomposable."""
    rng = np.random.default_rng([seed, 4])
    word = rng.integers(0, 3, size=1 + seed % 4)
    _, q = pair(KINDS[seed % len(KINDS)], seed)
    if seed % 2:
        a, b, c, d = 10.0 ** -rng.uniform(1, 8, size=4)
        emission = np.array([[1 - 2 * c, c, c], [d, 1 - 2 * d, d]])
        q = FiniteChain(np.full(2, 0.5), np.array([[1 - a, a], [b, 1 - b]]), emission)
    p = FiniteChain(np.eye(len(word))[0], np.roll(np.eye(len(word)), 1, axis=1), np.eye(3)[word])
    product_of_steps = np.linalg.multi_dot([np.eye(2), *q.steps()[word], np.eye(2)])
    (a, b), (c, d) = product_of_steps
    eigenvalue = (a + d + np.sqrt((a - d) ** 2 + 4 * b * c)) / 2  # all terms positive: no digit is lost
    found = cross_entropy_rate(p, q)
    assert contains(found, -np.log(eigenvalue) / len(word))
    assert found.width < 1e-11
