"""What a caller asks of an observed divergence: how narrow, how long, how many draws; and how much a search may do."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from time import monotonic

from hidiv.arguments import Seed, number, whole
from hidiv.divergences.observed.interval import Interval
from hidiv.recursions.kernels import description

QUICK = 100_000  # words that "auto" lists
SECONDS = 20.0  # for a search when the caller names no limit
# Operations a second before the speed is known, and those after which "auto" estimates instead; fewer in numpy.
SPEED, SOON = (1e9, 2e9) if description().startswith("compiled") else (1e7, 4e7)


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

    def after(self, seconds: float) -> Budget:
        """What is left when something else took so many seconds."""
        return self if self.max_seconds is None else replace(self, max_seconds=max(self.max_seconds - seconds, 0.0))

    def effort(self) -> Effort:
        """A search for bounds that begins now."""
        return Effort.lasting(SECONDS if self.max_seconds is None else self.max_seconds, self.operations)

    def narrow(self, interval: Interval) -> bool:
        """Whether an interval is as narrow as asked for."""
        if self.width is not None:
            return interval.width <= self.width
        return interval.width <= max(2.0 * self.atol, 2.0 * self.rtol * interval.lower)

    def wide(self) -> str:
        """How notes say that an interval is wider than asked for."""
        if self.width is not None:
            return f"wider than the {self.width:g} asked for"
        return f"wider than asked for by rtol={self.rtol:g} and atol={self.atol:g}"

    @property
    def allowance(self) -> float:
        """An upper bound below this is as good as zero."""
        return self.atol if self.width is None else self.width


@dataclass(eq=False)
class Effort:
    """Operations done so far and how many are allowed.

    What a search does next depends on operations alone, so that one call gives the same result on any machine. Only the
    clock may end it earlier; `late` is True once it did.
    """

    allowed: float = inf
    end: float = inf
    spent: float = 0.0
    late: bool = False
    began: float = field(default_factory=monotonic)

    @classmethod
    def lasting(cls, seconds: float = inf, allowed: float = inf) -> Effort:
        """At most this many seconds from now, and this many operations."""
        return cls(allowed, monotonic() + seconds)

    def spend(self, operations: float) -> None:
        """Count operations that were done."""
        self.spent += operations

    @property
    def left(self) -> float:
        """Operations that are still allowed."""
        return max(self.allowed - self.spent, 0.0)

    def over(self) -> bool:
        """Whether the operations or the seconds are used up."""
        if self.spent >= self.allowed:
            return True
        self.late = self.late or monotonic() > self.end
        return self.late

    def in_time(self, operations: float) -> bool:
        """Whether so many operations are expected to end by the clock, at the speed so far; sets `late` if not."""
        if self.end < inf and self.spent > 0:
            now = monotonic()
            if operations * (now - self.began) / self.spent > self.end - now:
                self.late = True
        return not self.late

    def affordable(self) -> float:
        """How many more operations the clock leaves, at the speed so far."""
        if self.end == inf:
            return inf
        now = monotonic()
        speed = self.spent / (now - self.began) if self.spent > 0 and now > self.began else SPEED
        return max(self.end - now, 0.0) * speed

    def fitting(self, count: int, operations: float) -> int:
        """How many of `count` pieces of work, of so many operations each, the clock leaves time for; at least one."""
        return count if self.end == inf else max(1, min(count, int(min(self.affordable() / operations, count))))

    def share(self) -> float:
        """How much of what is allowed is used, from 0 to 1."""
        lasted = (monotonic() - self.began) / max(self.end - self.began, 1e-9)
        return min(max(self.spent / self.allowed, lasted), 1.0)
