"""Words that p can emit and q cannot."""

from __future__ import annotations

from time import process_time

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences.observed.alphabets import FiniteChain, family_symbols
from hidiv.divergences.observed.support.symbols import forbidden_word


def probability(chain, word):
    law = chain.initial
    for m in word:
        shown = law * chain.probabilities[:, m]
        law = shown @ chain.transition
    return shown.sum()


def by_every_pair(p, q, length):
    """The first word, in the order of length and then of states and symbols, by all pairs of a state and a set."""
    ahead = [(s, frozenset(np.flatnonzero(q.initial)), ()) for s in np.flatnonzero(p.initial).tolist()]
    seen = set()
    while ahead:
        later = []
        for state, possible, word in ahead:
            for m in np.flatnonzero(p.probabilities[state]).tolist():
                shown = frozenset(s for s in possible if q.probabilities[s, m] > 0)
                if not shown:
                    return (*word, m)
                following = frozenset(np.flatnonzero(q.transition[sorted(shown)].any(axis=0)).tolist())
                for s in np.flatnonzero(p.transition[state]).tolist():
                    if len(word) + 1 < length and (s, following) not in seen:
                        seen.add((s, following))
                        later.append((s, following, (*word, m)))
        ahead = later
    return None


@pytest.mark.parametrize("seed", range(5))
def test_the_forbidden_word_is_as_short_as_that_of_every_pair(seed):
    rng = np.random.default_rng(seed)

    def rows(count, width, zeros):
        drawn = rng.random((count, width)) * (rng.random((count, width)) > zeros)
        drawn[np.arange(count), rng.integers(width, size=count)] += 0.1
        return drawn / drawn.sum(axis=1, keepdims=True)

    for _ in range(60):
        k, other, m = (int(n) for n in rng.integers(1, 6, size=3))
        p, q = (
            FiniteChain(rows(1, n, zeros)[0], rows(n, n, zeros), rows(n, m, zeros))
            for n, zeros in ((k, 0.6), (other, float(rng.choice([0.1, 0.3]))))
        )
        length = float(rng.choice([1, 2, 4, np.inf]))
        found, expected = forbidden_word(p, q, length), by_every_pair(p, q, length)
        assert (found is None) == (expected is None)
        if found is not None:
            assert len(found) == len(expected) <= length
            assert probability(p, found) > 0 == probability(q, found)


def test_many_columns_with_certain_marks_are_decided_soon():
    """4,096 words, which states show in as few ways as there are certain marks; one by one that took a minute."""
    marks = np.full((8, 12), 0.5)
    certain = marks.copy()
    certain[np.arange(1, 8), np.arange(1, 8)] = 1.0
    p, q = (
        FiniteChain(np.full(8, 0.125), np.full((8, 8), 0.125), family_symbols(hd.Bernoulli(probs)))
        for probs in (marks, certain)
    )
    began = process_time()
    assert forbidden_word(p, q) is None
    assert forbidden_word(p, FiniteChain(np.eye(8)[1], np.eye(8), q.probabilities)) == (0,)
    assert process_time() - began < 5.0
