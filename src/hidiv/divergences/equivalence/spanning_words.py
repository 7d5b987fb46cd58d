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


class Words:
    """Levels of words, each found when it is asked for; `kept[n]` are the places kept of level n, once n is past.

    first (S, n): the vectors of single letters; step: (B, n) -> (B, S, n), those of words one letter longer.
    """

    def __init__(self, first: Array, step: Callable[[Array], Array]) -> None:
        self.first, self.step = first, step
        self.levels: list[Level] = []
        self.kept: list[IntArray] = []
        self.basis = np.zeros((0, first.shape[1]))

    def __iter__(self) -> Iterator[Level]:
        """The levels, until no word adds anything to the span of those before."""
        vectors = self.first
        before, letter = np.zeros(len(vectors), dtype=np.int64), np.arange(len(vectors))
        while True:
            size = np.abs(vectors).sum(axis=1)
            possible = size > 0
            level = Level(vectors[possible] / size[possible, None], before[possible], letter[possible])
            self.levels.append(level)
            yield level
            kept = spanning(level.vectors, self.basis) if len(level.vectors) else np.zeros(0, dtype=np.int64)
            self.kept.append(kept)
            self.basis = _extended(self.basis, level.vectors[kept])
            if not len(kept) or len(self.basis) == self.basis.shape[1]:
                return
            following = self.step(level.vectors[kept])
            before, letter = (index.ravel() for index in np.indices(following.shape[:2]))
            vectors = following.reshape(-1, self.basis.shape[1])

    def spelled(self, at: int) -> IntArray:
        """The letters of a word of the last level."""
        level = self.levels[-1]
        word = [int(level.letter[at])]
        for before, kept in zip(reversed(self.levels[:-1]), reversed(self.kept), strict=True):
            at = int(kept[level.before[at]])
            level = before
            word.append(int(level.letter[at]))
        return np.array(word[::-1])


def spanned(first: Array, step: Callable[[Array], Array]) -> Array:
    """(r, n): an orthonormal basis of the vectors of all words."""
    words = Words(first, step)
    for _ in words:
        pass
    return words.basis


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
