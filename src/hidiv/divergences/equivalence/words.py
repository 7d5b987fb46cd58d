"""Words breadth first, only as many as span what the states can tell apart (Tzeng's algorithm).

The vector of a word is the law of the state after it, times the probability of the word. The vectors of all words of at
most n letters lie in the span of those that were kept, so a difference between two models shows on a kept word, or on
one a letter longer, first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from hidiv.divergences.equivalence.letters import spanning
from hidiv.types import Array, IntArray


class Level(NamedTuple):
    """Words of one length, each one letter longer than a word that was kept."""

    vectors: Array  # (C, n): scaled to a sum of one
    before: IntArray  # (C,): the kept word of the level before, by its place there
    letter: IntArray  # (C,)


def levels(first: Array, step: Callable[[Array], Array]) -> Iterator[tuple[Level, IntArray]]:
    """Each level with the places of the words that are kept, until no word adds anything.

    first (S, n): the vectors of single letters; step: (B, n) -> (B, S, n), those of words one letter longer.
    """
    basis = np.zeros((0, first.shape[1]))
    vectors, before, letter = first, np.zeros(len(first), dtype=np.int64), np.arange(len(first))
    while True:
        size = np.abs(vectors).sum(axis=1)
        possible = size > 0
        level = Level(vectors[possible] / size[possible, None], before[possible], letter[possible])
        kept = spanning(level.vectors, basis) if len(level.vectors) else np.zeros(0, dtype=np.int64)
        yield level, kept
        basis = _extended(basis, level.vectors[kept])
        if not len(kept) or len(basis) == basis.shape[1]:
            return
        following = step(level.vectors[kept])
        before, letter = (index.ravel() for index in np.indices(following.shape[:2]))
        vectors = following.reshape(-1, basis.shape[1])


def spanned(first: Array, step: Callable[[Array], Array]) -> Array:
    """(r, n): an orthonormal basis of the vectors of all words."""
    kept = [level.vectors[places] for level, places in levels(first, step)]
    return _extended(np.zeros((0, first.shape[1])), np.concatenate(kept))


def _extended(basis: Array, vectors: Array) -> Array:
    """An orthonormal basis of a basis and further vectors, independent of it."""
    rows = list(basis)
    for vector in vectors:
        rest = vector / np.linalg.norm(vector)
        for _ in range(2):
            for row in rows:
                rest = rest - (rest @ row) * row
        rows.append(rest / np.linalg.norm(rest))
    return np.array(rows).reshape(-1, basis.shape[1])
