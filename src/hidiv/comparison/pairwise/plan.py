"""A matrix of pairs cut into blocks: what one block needs travels with it, so that it can be computed anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, Self

import numpy as np

from hidiv.comparison.collection.by_shape import Shelves
from hidiv.types import Array, IntArray


class Pairs(Protocol):
    """All pairs of some p and some q, with everything their divergences are computed from."""

    def part(self, first: slice, second: slice) -> Self:
        """Some p against some q."""
        ...

    def packed(self) -> Self:
        """The same pairs, ready to be sent away: no more than they need."""
        ...

    def fill(self, out: Array, alike: bool) -> int:
        """Write D of every p from every q into out (m, m'); how many pairs the shorter way could not do.

        alike: p and q are the same models, and what they are from themselves is 0 and not asked for.
        """
        ...


class Piece(NamedTuple):
    """The pairs of two shelves inside a block, and the other direction where both are wanted."""

    first: IntArray  # rows of the block
    second: IntArray  # columns of the block
    pairs: Pairs
    back: Pairs | None


@dataclass(frozen=True, eq=False)
class Block:
    """Rows top..bottom, columns left..right of the matrix."""

    top: int
    bottom: int
    left: int
    right: int
    pieces: tuple[Piece, ...]
    on_diagonal: bool  # rows and columns are the same models

    @property
    def shape(self) -> tuple[int, int]:
        return self.bottom - self.top, self.right - self.left

    def packed(self) -> Block:
        """The block ready to be sent away."""
        pieces = tuple(
            piece._replace(pairs=piece.pairs.packed(), back=None if piece.back is None else piece.back.packed())
            for piece in self.pieces
        )
        return replace(self, pieces=pieces)

    def compute(self, out: Array | None = None) -> tuple[Array, int]:
        """The block of the matrix, and how many of its pairs the shorter way could not do."""
        values = np.empty(self.shape) if out is None else out
        slow = 0
        for piece in self.pieces:
            whole = (len(piece.first), len(piece.second)) == self.shape
            target = values if whole else np.empty((len(piece.first), len(piece.second)))
            alike = self.on_diagonal and np.array_equal(piece.first, piece.second)
            slow += piece.pairs.fill(target, alike)
            if piece.back is not None:
                other = np.empty(target.shape[::-1])
                slow += piece.back.fill(other, alike)
                target += other.T
            if not whole:
                values[np.ix_(piece.first, piece.second)] = target
        if self.on_diagonal:
            np.fill_diagonal(values, 0.0)
        return values, slow


def corners_of(shape: tuple[int, int], edge: int, is_mirrored: bool) -> list[tuple[int, int]]:
    """Top and left of every block; above the diagonal only where those below are their transposes."""
    rows, columns = shape
    return [(top, left) for top in range(0, rows, edge) for left in range(top if is_mirrored else 0, columns, edge)]


@dataclass(frozen=True, eq=False)
class Plan:
    """How the matrix of two lists of models is cut."""

    left: Shelves
    right: Shelves
    pairs: dict[tuple[int, int], Pairs]  # by shelf of p and shelf of q
    back: dict[tuple[int, int], Pairs] | None  # by shelf of q and shelf of p, for D(p || q) + D(q || p)
    edge: int
    one_list: bool  # rows and columns are the same models

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.left), len(self.right)

    def corners(self) -> list[tuple[int, int]]:
        """Of every block."""
        return corners_of(self.shape, self.edge, self.is_mirrored)

    @property
    def is_mirrored(self) -> bool:
        """Whether a block below the diagonal is the transpose of one above."""
        return self.one_list and self.back is not None

    def block(self, top: int, left: int) -> Block:
        """The block with this corner."""
        rows, columns = self.shape
        bottom, right = min(top + self.edge, rows), min(left + self.edge, columns)
        return Block(
            top, bottom, left, right, tuple(self._pieces(top, bottom, left, right)), self.one_list and top == left
        )

    def _pieces(self, top: int, bottom: int, left: int, right: int) -> Iterator[Piece]:
        for (a, b), pairs in self.pairs.items():
            rows, columns = self.left.shelves[a].places, self.right.shelves[b].places
            first, second = _within(rows, top, bottom), _within(columns, left, right)
            if first.start < first.stop and second.start < second.stop:
                back = None if self.back is None else self.back[b, a].part(second, first)
                yield Piece(rows[first] - top, columns[second] - left, pairs.part(first, second), back)


def _within(places: IntArray, start: int, stop: int) -> slice:
    low, high = np.searchsorted(places, [start, stop])
    return slice(int(low), int(high))
