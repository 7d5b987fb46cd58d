"""A matrix of pairs cut into blocks; a block carries all that it needs, so that it can be computed anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Protocol, Self

import numpy as np

from hidiv.comparison.collection.by_shape import ModelsByShape
from hidiv.comparison.pairwise.matrix import Status
from hidiv.types import Array, IntArray


class Pairs(Protocol):
    """All pairs of some p and some q of one shape each, with everything their divergences are computed from."""

    def part(self, first: slice, second: slice) -> Self:
        """The pairs of some p and some q."""
        ...

    def packed(self) -> Self:
        """The same pairs with no more data than they need, ready to be sent to another process."""
        ...

    def fill(self, out: Array, alike: bool) -> int:
        """Write D of every p from every q into out (m, m'); return how many pairs the quick way could not compute.

        alike: p and q are the same models, so that the diagonal is 0 and need not be computed.
        """
        ...


PairsByShape = dict[tuple[int, int], Pairs]  # by shape group of p and shape group of q


class DirectedPairs(NamedTuple):
    """The pairs of one direction, notes on how they are computed, and the status of their divergences."""

    pairs: PairsByShape
    notes: list[str]
    status: Status


class BlockPart(NamedTuple):
    """The pairs of two shape groups inside a block, and the reverse direction where both are wanted."""

    first: IntArray  # rows of the block
    second: IntArray  # columns of the block
    pairs: Pairs
    reverse: Pairs | None


@dataclass(frozen=True, eq=False)
class Block:
    """Rows top..bottom, columns left..right of the matrix."""

    top: int
    bottom: int
    left: int
    right: int
    parts: tuple[BlockPart, ...]
    on_diagonal: bool  # rows and columns are the same models
    diagonal: float | None = 0.0  # of a model with itself; None where it is computed
    mirrored: bool = False  # whether both directions are the same by nature

    @property
    def shape(self) -> tuple[int, int]:
        return self.bottom - self.top, self.right - self.left

    def packed(self) -> Block:
        """The block ready to be sent to another process."""
        parts = tuple(
            part._replace(pairs=part.pairs.packed(), reverse=None if part.reverse is None else part.reverse.packed())
            for part in self.parts
        )
        return replace(self, parts=parts)

    def compute(self, out: Array | None = None) -> tuple[Array, int]:
        """The divergences of the block, and how many of its pairs the quick way could not do."""
        values = np.empty(self.shape) if out is None else out
        slow = 0
        for part in self.parts:
            whole = (len(part.first), len(part.second)) == self.shape
            target = values if whole else np.empty((len(part.first), len(part.second)))
            alike = self.on_diagonal and np.array_equal(part.first, part.second)
            slow += part.pairs.fill(target, alike)
            if part.reverse is not None:
                other = np.empty(target.shape[::-1])
                slow += part.reverse.fill(other, alike)
                target += other.T
            if not whole:
                values[np.ix_(part.first, part.second)] = target
        if self.on_diagonal and self.mirrored:
            below = np.tril_indices(len(values), -1)
            values[below] = values.T[below]
        if self.on_diagonal and self.diagonal is not None:
            np.fill_diagonal(values, self.diagonal)
        return values, slow


def corners_of(shape: tuple[int, int], edges: tuple[int, int], is_mirrored: bool) -> list[tuple[int, int]]:
    """Top and left of every block; only from the diagonal on where those below it are transposes."""
    (rows, columns), (height, width) = shape, edges
    return [(top, left) for top in range(0, rows, height) for left in range(top if is_mirrored else 0, columns, width)]


@dataclass(frozen=True, eq=False)
class Plan:
    """How the matrix of two lists of models is cut into square blocks."""

    direct_words: ClassVar[str] = "too close for the product, computed directly"
    left: ModelsByShape
    right: ModelsByShape
    pairs: PairsByShape
    reverse: PairsByShape | None  # of the second list and the first, for D(p || q) + D(q || p)
    edge: int
    one_list: bool  # rows and columns are the same models
    diagonal: float | None = 0.0  # of a model with itself; None where it is computed
    mirrored: bool = False  # whether both directions are the same by nature

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.left), len(self.right)

    @property
    def edges(self) -> tuple[int, int]:
        """Rows and columns of a block."""
        return self.edge, self.edge

    def corners(self) -> list[tuple[int, int]]:
        """Top and left of every block."""
        return corners_of(self.shape, self.edges, self.is_mirrored)

    @property
    def is_mirrored(self) -> bool:
        """Whether a block below the diagonal is the transpose of one above."""
        return self.one_list and (self.reverse is not None or self.mirrored)

    def block(self, top: int, left: int) -> Block:
        """The block with this corner."""
        rows, columns = self.shape
        bottom, right = min(top + self.edge, rows), min(left + self.edge, columns)
        parts = tuple(self._parts(top, bottom, left, right))
        return Block(top, bottom, left, right, parts, self.one_list and top == left, self.diagonal, self.mirrored)

    def _parts(self, top: int, bottom: int, left: int, right: int) -> Iterator[BlockPart]:
        for (a, b), pairs in self.pairs.items():
            rows, columns = self.left.groups[a].places, self.right.groups[b].places
            first, second = _within(rows, top, bottom), _within(columns, left, right)
            if first.start < first.stop and second.start < second.stop:
                reverse = None if self.reverse is None else self.reverse[b, a].part(second, first)
                yield BlockPart(rows[first] - top, columns[second] - left, pairs.part(first, second), reverse)


def _within(places: IntArray, start: int, stop: int) -> slice:
    """The slice of the ascending places that lie in start..stop."""
    low, high = np.searchsorted(places, [start, stop])
    return slice(int(low), int(high))
