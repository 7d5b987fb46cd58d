"""Intervals that must hold: thousands of small random pairs of all kinds, zeros and different numbers of states."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from hidiv.divergences.observed.alphabets import FiniteChain
from hidiv.divergences.observed.budget import Effort
from hidiv.divergences.observed.certified.belief_grid.grid_chains import grid_chain, grid_chain_entropy
from hidiv.divergences.observed.certified.chains import observed_chain
from hidiv.divergences.observed.certified.context_bounds import block_entropy, context_chain, context_chain_entropy
from hidiv.divergences.observed.certified.rates import (
    closed_parts,
    cross_entropy_rate,
    observed_rate,
    reached,
    refiners_cross,
    refiners_entropy,
)
from hidiv.divergences.observed.enumerated.chain_words import enumerate_chain
from hidiv.divergences.observed.interval import Interval, NotApplicable
from hidiv.divergences.observed.support.symbols import forbidden_word
from hidiv.recursions.kernels import description
from tests.divergences.observed.pairs import contains, entropy_rate, pair_with_zeros
from tests.seeds import LONG

BLOCK = 50  # pairs of a test
# The twins, which other tests hold against the kernels, are slower: a part of the pairs is for them.
BLOCKS, RATES = (40, 8) if LONG else (14, 2) if description().startswith("compiled") else (4, 1)
STATES = ((3, 3), (2, 3), (3, 2), (1, 3), (3, 1), (4, 3), (3, 4), (2, 4))


def soon():
    """When a step has to end: what it has by then must hold as well."""
    return Effort.lasting(0.1)


def narrowest(refiner):
    """What two steps know together."""
    found = [interval for interval in (refiner.step(soon()), refiner.step(soon())) if interval is not None]
    if not found:  # a busy machine: not even one step ended in time
        found = [interval for interval in [refiner.step(Effort.lasting(10.0))] if interval is not None]
    return Interval(max(f.lower for f in found), min(f.upper for f in found))


def lengthened(seed):
    """A pair, and a length short enough to list its words."""
    symbols = 2 + seed % 2
    return *pair_with_zeros(seed, symbols, STATES[seed % len(STATES)]), 1 + seed % (7 if symbols == 2 else 5)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_enumerated_value_is_inside_the_first_grid(block):
    """The coarsest grid is where a bound would fail first: cross-entropy and entropy apart, against the words."""
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        p, q, length = lengthened(seed)
        p, q = reached(p), reached(q)
        if forbidden_word(p, q, length) is not None:
            assert observed_chain(p, q, length).lower == inf
            continue
        entropy, cross = words(p, p, length), words(p, q, length)
        methods = (
            (grid_chain(p, q, length), cross),
            (grid_chain_entropy(p, length), entropy),
            (block_entropy(p, length), entropy),
        )
        if length > 2:
            methods += (context_chain(p, q, length), cross), (context_chain_entropy(p, length), entropy)
        for found, value in methods:
            interval = found.step(soon())
            assert contains(interval, value, 1e-13), (seed, interval, value)


def words(p, q, length):
    """-E_p log q(x_1..N) by enumeration."""
    front_p, front_q = p.initial[None, :], q.initial[None, :]
    for i in range(length):
        front_p, front_q = (
            ((front if i == 0 else front @ chain.transition)[:, None, :] * chain.probabilities.T[None]).reshape(
                -1, chain.n_states
            )
            for front, chain in ((front_p, p), (front_q, q))
        )
    chances = front_p.sum(axis=1)
    there = chances > 0
    return float(-chances[there] @ np.log(front_q.sum(axis=1)[there]))


@pytest.mark.parametrize("seed", range(60))
def test_enumerated_divergence_is_inside(seed):
    """All of it together, finer grids too."""
    p, q, length = lengthened(seed + 5000)
    found = observed_chain(p, q, length, lambda interval: interval.width < 1e-2, Effort.lasting(5.0))
    assert contains(found, enumerate_chain(p, q, length).value, 1e-12)


def copied(chain, rng, extra):
    """The same law with some states written several times."""
    of = np.concatenate([np.arange(chain.n_states), rng.integers(chain.n_states, size=extra)])
    share = rng.uniform(0.2, 1.0, len(of))
    for s in range(chain.n_states):
        share[of == s] /= share[of == s].sum()
    transition = chain.transition[np.ix_(of, of)] * share
    return FiniteChain(chain.initial[of] * share, transition, chain.probabilities[of])


def of_entropy(part, *_):
    """`refiners_entropy` with the arguments of `refiners_cross`."""
    return refiners_entropy(part)


@pytest.mark.parametrize("block", range(RATES))
def test_rates_of_two_states_written_with_more(block):
    """The log-odds know the rate to 1e-12; contexts and grids of the copies, each alone, must not contradict them."""
    for seed in range(block * 20, block * 20 + 20):
        p, q = pair_with_zeros(seed, 2 + seed % 2)
        if forbidden_word(p, q) is not None:
            continue
        try:
            cross, entropy = cross_entropy_rate(p, q), entropy_rate(p)
        except NotApplicable:
            continue
        rng = np.random.default_rng([seed, 9])
        p, q = (reached(copied(chain, rng, 1)) for chain in (p, q))
        for truth, methods in ((cross, refiners_cross), (entropy, of_entropy)):
            for i in range(2):
                lower = upper = 0.0
                for share, part, members in closed_parts(p):
                    refiner = methods(part, q, p, members)[i]
                    found = narrowest(refiner)
                    lower, upper = lower + share * found.lower, upper + share * found.upper
                assert lower <= truth.upper + 1e-13, seed
                assert upper >= truth.lower - 1e-13, seed


@pytest.mark.parametrize("seed", range(60))
def test_contexts_and_grids_meet(seed):
    """Three and four states: two ways that know nothing of each other give intervals with something in common."""
    p, q = pair_with_zeros(seed + 300, 2 + seed % 2, STATES[seed % len(STATES)])
    if forbidden_word(p, q) is not None:
        assert observed_rate(p, q).lower == inf
        return
    p, q = reached(p), reached(q)
    for methods in (refiners_cross, of_entropy):
        for _, part, members in closed_parts(p):
            ends = []
            for refiner in methods(part, q, p, members):
                found = narrowest(refiner)
                ends.append((found.lower, found.upper))
            assert max(low for low, _ in ends) <= min(high for _, high in ends) + 1e-13
