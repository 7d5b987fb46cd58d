"""What one column of an observation may hold: each family declares it; fits, quadrature and intervals read it."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np


class Kind(Enum):
    """The kinds of values; laws of one kind may be mixed and compared."""

    NOTHING = "nothing"  # no columns at all
    SYMBOLS = "symbols"  # 0 to `most`, without an order
    BIT = "bit"  # 0 or 1, a symbol and a count
    COUNTS = "counts"  # 0 to `most`, which may be infinite
    POSITIVE = "positive"  # continuous from 0 on
    UNIT = "unit"  # continuous from 0 to 1
    LINE = "line"  # continuous
    ANGLE = "angle"  # radians, any turn
    VECTOR = "vector"  # columns that differ in kind or depend on each other


class SampleSpace(NamedTuple):
    """The values of one column, or of a row whose columns belong together."""

    kind: Kind
    most: float = np.inf  # the largest symbol or count
    words: str = ""  # for sentences, where the kind alone does not say it

    @property
    def is_counts(self) -> bool:
        """Whether values are whole numbers that are summed over."""
        return self.kind in (Kind.COUNTS, Kind.BIT)

    @property
    def n_symbols(self) -> int | None:
        """How many symbols there are; None for values that are no symbols."""
        return int(self.most) + 1 if self.kind in (Kind.SYMBOLS, Kind.BIT) else None

    @property
    def is_finite(self) -> bool:
        """Whether there are finitely many values, 0 to `most`."""
        return bool(np.isfinite(self.most)) and (self.is_counts or self.kind is Kind.SYMBOLS)

    def __str__(self) -> str:
        """The values in words; spaces with equal words can be mixed."""
        if self.words:
            return self.words
        if self.kind is Kind.SYMBOLS:
            return f"symbols 0 to {self.most:.0f}"
        return _WORDS[self.kind]


_WORDS = {
    Kind.NOTHING: "nothing",
    Kind.BIT: "counts",
    Kind.COUNTS: "counts",
    Kind.POSITIVE: "continuous from 0 on",
    Kind.UNIT: "continuous from 0 to 1",
    Kind.LINE: "continuous",
    Kind.ANGLE: "angles",
    Kind.VECTOR: "columns of several families",
}

NOTHING = SampleSpace(Kind.NOTHING)
BIT = SampleSpace(Kind.BIT, 1.0)
COUNTS = SampleSpace(Kind.COUNTS)
POSITIVE = SampleSpace(Kind.POSITIVE)
UNIT = SampleSpace(Kind.UNIT)
LINE = SampleSpace(Kind.LINE)
ANGLE = SampleSpace(Kind.ANGLE)
VECTOR = SampleSpace(Kind.VECTOR)


def symbols(count: int) -> SampleSpace:
    """Symbols 0 to count - 1."""
    return SampleSpace(Kind.SYMBOLS, count - 1.0)


def counts_up_to(most: float) -> SampleSpace:
    """Counts 0 to `most`."""
    return SampleSpace(Kind.COUNTS, most)
