"""What a caller asks of an observed divergence: how narrow, how long, how many draws."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from hidiv.arguments import Seed, number, whole
from hidiv.divergences.observed.certified.effort import SECONDS, SOON, Effort
from hidiv.divergences.observed.interval import Interval


@dataclass(frozen=True, eq=False)
class Budget:
    """Tolerances, a seed and limits; a limit of None is the default of the method.

    `width` is the width of a certified rate, which then counts in place of the tolerances; `operations` limits a search
    for bounds by what it counts, not by the clock.
    """

    rtol: float = 1e-3
    atol: float = 1e-9
    width: float | None = None
    seed: Seed = None
    max_samples: int | None = None
    max_seconds: float | None = None
    operations: float = inf

    def __post_init__(self) -> None:
        number("rtol", self.rtol)
        number("atol", self.atol)
        if self.width is not None:
            number("width", self.width)
        if self.max_samples is not None:
            whole("max_samples", self.max_samples, 2)
        if self.max_seconds is not None:
            number("max_seconds", self.max_seconds, endless=True)

    def soon(self) -> Budget:
        """What "auto" gives to a search for bounds: the tolerances of an estimate, few operations, half of the time."""
        return replace(
            self,
            atol=self.atol if self.width is None else max(self.atol, self.width / 2.0),
            width=None,
            max_seconds=None if self.max_seconds is None else self.max_seconds / 2.0,
            operations=SOON,
        )

    def effort(self) -> Effort:
        """A search for bounds that begins now."""
        return Effort.lasting(SECONDS if self.max_seconds is None else self.max_seconds, self.operations)

    def narrow(self, interval: Interval) -> bool:
        """Whether an interval is as narrow as asked for."""
        if self.width is not None:
            return interval.width <= self.width
        return interval.width <= max(2.0 * self.atol, 2.0 * self.rtol * interval.lower)

    def wide(self) -> str:
        """How notes say that an interval is not."""
        if self.width is not None:
            return f"wider than the {self.width:g} asked for"
        return f"wider than asked for by rtol={self.rtol:g} and atol={self.atol:g}"

    @property
    def allowance(self) -> float:
        """An upper bound below this is as good as zero."""
        return self.atol if self.width is None else self.width
