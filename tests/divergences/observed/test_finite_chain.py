"""Certified divergences of chains of N symbols: the enumerated value is inside, and the interval is narrow."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from hidiv.divergences.observed.alphabets import FiniteChain
from hidiv.divergences.observed.budget import Effort
from hidiv.divergences.observed.certified.belief_grid.grid_chains import grid_chain
from hidiv.divergences.observed.certified.chains import collocated_chain, cross_entropy_chain, observed_chain
from hidiv.divergences.observed.certified.context_bounds import context_chain, context_chain_entropy
from hidiv.divergences.observed.certified.rates import observed_rate, reached
from hidiv.divergences.observed.enumerated.chain_words import enumerate_chain
from hidiv.divergences.observed.interval import NotApplicable
from tests.seeds import seeds

from .pairs import KINDS, PAPER_P, PAPER_Q, contains, pair, pair_with_zeros


@pytest.mark.parametrize(
    ("length", "value", "known", "width"),
    [
        (1, 0.489410746734769, 1e-15, 1e-12),
        (2, 0.969462580653337, 1e-15, 1e-12),
        (10, 4.724678070680, 1e-12, 5e-12),
        (100, 46.656817909892, 1.2e-11, 5e-11),
        (1000, 465.96154616737, 2.3e-10, 1e-9),
    ],
)
def test_paper(length, value, known, width):
    found = observed_chain(PAPER_P, PAPER_Q, length)
    assert found.lower <= value + known
    assert found.upper >= value - known
    assert found.width < width


def test_any_length_costs_the_same():
    """A million symbols: the rate a million times, and a constant."""
    found, rate = observed_chain(PAPER_P, PAPER_Q, 10**6), observed_rate(PAPER_P, PAPER_Q)
    shorter = observed_chain(PAPER_P, PAPER_Q, 10**3)
    more = (10**6 - 10**3) * rate.lower
    assert found.lower - shorter.upper <= more + 1e-6
    assert found.upper - shorter.lower >= more - 1e-6
    assert found.width < 1e-6


@pytest.mark.parametrize("seed", seeds(50, 150))
def test_enumerated_value_is_inside(seed):
    """Any kind, zeros included."""
    p, q = pair_with_zeros(seed, n_symbols=2 + seed % 2)
    length = 1 + seed % 7
    value = enumerate_chain(p, q, length).value
    found = observed_chain(p, q, length)
    assert contains(found, value)
    assert found.lower == inf or found.width < 1e-4
    if value < inf:
        assert contains(cross_entropy_chain(p, p, length), entropy(p, length))


@pytest.mark.parametrize("kind", KINDS)
def test_width(kind):
    """Wide only by rounding, a hundred times."""
    p, q = pair(kind, 7)
    assert observed_chain(p, q, 100).width < 1e-9


@pytest.mark.parametrize("states", [(3, 2), (4, 2), (1, 2), (2, 1)])
def test_other_numbers_of_states(states):
    """p of any number of states against a filter of two."""
    p, q = pair("dirichlet", 11, n_symbols=2, states=states)
    value = enumerate_chain(p, q, 6).value + entropy(p, 6)
    found = cross_entropy_chain(p, q, 6)
    assert contains(found, value)
    assert found.width < 1e-11


def test_reducible_and_periodic_p():
    """Levels that differ by state for ever are followed state by state."""
    transition = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.1, 0.2, 0.7]])
    p = FiniteChain(np.array([0.2, 0.2, 0.6]), transition, np.array([[0.8, 0.2], [0.1, 0.9], [0.5, 0.5]]))
    _, q = pair("dirichlet", 2, n_symbols=2)
    short, long = collocated_chain(p, q, 8), collocated_chain(p, q, 4001)
    assert contains(short, enumerate_chain(p, q, 8).value + entropy(p, 8))
    assert long.width < 1e-8
    # the deterministic cycle in the end: increments over two symbols settle
    later = collocated_chain(p, q, 4003)
    assert later.lower - long.lower == pytest.approx(long.lower - collocated_chain(p, q, 3999).lower, abs=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_contexts_as_long_as_the_chain_are_exact(seed):
    """Split as far as it goes every context is a whole past."""
    p, q = pair_with_zeros(seed, 2, (3, 3))
    p, q = reached(p), reached(q)
    value = enumerate_chain(p, q, 6).value
    if value < inf:
        cross, own = (last(way) for way in (context_chain(p, q, 6), context_chain_entropy(p, 6)))
        assert contains(cross, value + entropy(p, 6))
        assert contains(own, entropy(p, 6))
        assert max(cross.width, own.width) < 4e-12  # what is allowed for rounding


def last(refiner):
    """What the last of its passes finds."""
    found = refiner.step(Effort())
    while (better := refiner.step(Effort())) is not None:
        found = better
    return found


@pytest.mark.parametrize(
    ("states", "symbols", "passes", "width"), [((3, 3), 4, 12, 1e-4), ((4, 4), 4, 11, 1e-3), ((8, 8), 8, 6, 1e-1)]
)
def test_sharp_chains_have_contexts(states, symbols, passes, width):
    """Where the filter soon forgets; the intervals of contexts and of grids overlap."""
    p, q = pair("sharp", 11, symbols, states)
    ways = [context_chain(p, q, 100), grid_chain(p, q, 100)]
    contexts, grid = ([way.step(Effort()) for _ in range(n)][-1] for way, n in zip(ways, (passes, 1), strict=True))
    assert max(contexts.lower, grid.lower) <= min(contexts.upper, grid.upper)
    assert contexts.width < width
    assert contexts.width < grid.width


def test_very_short_and_very_long_chains_have_no_contexts():
    p, q = pair("sharp", 11, 4, (3, 3))
    for length in (2, 10**7):
        with pytest.raises(NotApplicable):
            context_chain(p, q, length).step(Effort())


def entropy(p, length):
    """H(X_1..N) by enumeration."""
    front = p.initial[None, :]
    for i in range(length):
        front = front if i == 0 else front @ p.transition
        front = (front[:, None, :] * p.probabilities.T[None]).reshape(-1, p.n_states)
    chances = front.sum(axis=1)
    chances = chances[chances > 0]
    return float(-chances @ np.log(chances))


def test_a_width_that_doubles_do_not_have_ends_with_what_there_is():
    """A short chain visits few filters: its grid can be made finer for ever, and must not be."""
    p, q = pair("dirichlet", 3, 2, (3, 3))
    found = observed_chain(p, q, 3, lambda interval: interval.width <= 0.0, Effort.lasting(20.0))
    assert contains(found, enumerate_chain(p, q, 3).value)
