"""How much a search for bounds may do: operations counted, and a clock that only ends it."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from time import monotonic

from hidiv.recursions.kernels import description

SECONDS = 20.0  # for a search when the caller names no limit
# Operations a second before the speed is known, and those after which "auto" estimates instead; fewer in numpy.
SPEED, SOON = (1e9, 2e9) if description().startswith("compiled") else (1e7, 4e7)


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
        """Whether so many operations are expected to end by the clock, at the speed so far; says `late` if not."""
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

    def share(self) -> float:
        """How much of what is allowed is used, from 0 to 1."""
        lasted = (monotonic() - self.began) / max(self.end - self.began, 1e-9)
        return min(max(self.spent / self.allowed, lasted), 1.0)
