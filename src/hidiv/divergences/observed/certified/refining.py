"""Intervals narrowed step by step, each time by the method expected to gain most; and what callers get of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, isfinite, log
from typing import TYPE_CHECKING, Any

from hidiv.divergences.observed.budget import Effort
from hidiv.divergences.observed.certified.many_states import tightened
from hidiv.divergences.observed.interval import UNIT, Interval, NotApplicable, outward
from hidiv.divergences.observed.support.any_family import word_reason
from hidiv.divergences.result import Divergence
from hidiv.progress import Progress

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget
    from hidiv.divergences.pair import Pair

Step = Callable[[Effort], Interval | None]  # a narrower interval, or None where there is nothing more to gain
_AHEAD = 8  # steps of one method looked ahead
CLEAR = 1e-6  # width, relative to the lower end, of an interval that other bounds hardly narrow
TELLING = 2e7  # operations of a step from which on it shows how fast they grow
LEAST_GAIN = 0.02  # share of a width that a step leaves at the very best
HOPEFUL = 0.05  # the same where a method has done one step alone
ONE_SIDE = 0.25  # share of a width that is below the truth, at the very least
CLOCK = "the clock ended the search for bounds, which would go on with a larger max_seconds"


@dataclass(eq=False)
class Refiner:
    """One method for one quantity: `step` makes its interval narrower, at a growing price.

    `growth` and `gain`: by how much a step is expected to cost more and leave less than the last one.
    """

    name: str
    step: Step
    growth: float
    gain: float
    history: list[tuple[float, float]] = field(default_factory=list)  # operations, width
    done: bool = False

    def ahead(self, count: int) -> tuple[float, float]:
        """Operations of the next `count` steps together, and the width after them, extrapolated from the last two."""
        growth, gain = self.growth, self.gain
        operations, width = self.history[-1]
        if len(self.history) > 1 and self.history[-2][0] > TELLING:
            growth = min(max(operations / self.history[-2][0], 1.5), 16.0)
        if len(self.history) > 1 and 0 < width < self.history[-2][1] < inf:
            gain = max(width / self.history[-2][1], LEAST_GAIN)
        elif len(self.history) > 1:
            gain = 0.98
        total = sum(operations * growth**i for i in range(1, count + 1))
        return total, width * gain**count

    def at_best(self, operations: float) -> float:
        """The least width to hope for from so many operations, every step gaining twice as much as the last did, in
        logarithms; 0 for a method that was never tried, +inf where there is nothing more to gain."""
        if self.done or not self.history:
            return inf if self.done else 0.0
        last, width = self.history[-1]
        gain = HOPEFUL
        if len(self.history) > 1 and self.history[-2][1] < inf:
            gain = max(min(width / self.history[-2][1], 1.0) ** 2, LEAST_GAIN)
        growth = self.ahead(1)[0] / last
        while (last := last * growth) <= 2.0 * operations:
            operations, width = operations - last, width * gain
        return width


@dataclass(eq=False)
class Part:
    """One term of a sum: weight times a quantity between bounds, and the methods that can narrow them."""

    weight: float
    interval: Interval
    refiners: list[Refiner]
    used: list[dict[str, Any]] = field(default_factory=list)

    def refine(self, which: Refiner, effort: Effort) -> None:
        """One step of a method; what it finds is intersected with what is known."""
        before = effort.spent
        try:
            interval = which.step(effort)
        except NotApplicable:
            interval = None
        if interval is None:
            which.done = True
            return
        which.history.append((max(effort.spent - before, 1e5), interval.width))
        lower, upper = max(interval.lower, self.interval.lower), min(interval.upper, self.interval.upper)
        if (lower, upper) != (self.interval.lower, self.interval.upper):
            better = {
                side for side, new in (("lower", interval.lower), ("upper", interval.upper)) if new in (lower, upper)
            }
            self.used = [u for u in self.used if set(u["bounds"]) - better]
            self.used = [u | {"bounds": [b for b in u["bounds"] if b not in better]} for u in self.used]
            self.used.append(interval.how | {"bounds": sorted(better)})
            self.interval = Interval(min(lower, upper), max(lower, upper))

    def at_best(self, operations: float) -> float:
        """The least width to hope for from so many operations."""
        return min(self.interval.width, *(each.at_best(operations) for each in self.refiners), inf)

    def summary(self) -> dict[str, Any]:
        """What the bounds rest on."""
        known = self.interval.how if not self.used else {"methods": self.used}
        return known | {"lower": self.interval.lower, "upper": self.interval.upper}


def total(cross: list[Part], entropy: list[Part], why: str) -> Interval:
    """Cross-entropies minus entropies, weighted; never below zero."""
    low = sum(p.weight * p.interval.lower for p in cross) - sum(p.weight * p.interval.upper for p in entropy)
    high = sum(p.weight * p.interval.upper for p in cross) - sum(p.weight * p.interval.lower for p in entropy)
    size = max([abs(end) for p in [*cross, *entropy] for end in (p.interval.lower, p.interval.upper) if isfinite(end)])
    off = 32.0 * UNIT * (len(cross) + len(entropy)) * size
    how: dict[str, Any] = {
        name: parts[0].summary()
        if len(parts) == 1
        else {"classes": [p.summary() | {"weight": p.weight} for p in parts]}
        for name, parts in (("cross_entropy", cross), ("entropy", entropy))
    }
    interval = outward(low - off, high + off, how | {"stopped": why})
    return Interval(max(interval.lower, 0.0), max(interval.upper, 0.0), interval.how)


def narrowed(
    cross: list[Part],
    entropy: list[Part],
    enough: Callable[[Interval], bool],
    effort: Effort,
    cut: Callable[[Interval], Interval] = lambda interval: interval,
) -> Interval:
    """Refined until `enough`, until the effort is spent, until nothing helps, or an interrupt: what is known by then.

    `cut` narrows an interval by other means; it is asked only where that can help, not for one that is narrow enough
    and clear of 0.
    """

    def known() -> Interval:
        interval = total(cross, entropy, why)
        return interval if enough(interval) and interval.width <= CLEAR * interval.lower else cut(interval)

    parts = [*cross, *entropy]
    why = ""
    try:
        with Progress("bounding") as progress:
            while True:
                now = known()
                if enough(now):
                    why = "the time" if effort.late else "the wanted width"
                    break
                progress.show(effort.share(), f"within {0.5 * now.width:.2g}")
                if effort.allowed < inf and not enough(_at_best(cross, entropy, now, effort.left)):
                    why = "the operations allowed"
                    break
                choice = None if effort.over() else _choice(parts, effort)
                if choice is None:
                    why = "the time" if effort.late else "the operations allowed"
                    if all(_is_done(part) for part in parts) and not effort.late:
                        why = "nothing more to gain"
                    break
                choice[0].refine(choice[1], effort)
    except KeyboardInterrupt:
        why = "an interrupt"
    return known()


def _at_best(cross: list[Part], entropy: list[Part], now: Interval, operations: float) -> Interval:
    """The narrowest interval to hope for from so many operations, beside what is known `now`.

    Where even that is too wide the search has no use. Where a bound by other means has taken the place of the upper
    end, only what is below the truth counts.
    """
    width = sum(part.weight * part.at_best(operations) for part in [*cross, *entropy])
    known = total(cross, entropy, "")
    if width == inf:  # of an upper end that nothing moves
        stuck = [part.weight * (part.interval.lower if _is_done(part) else part.interval.upper) for part in cross]
        lower = sum(stuck) - sum(part.weight * part.interval.lower for part in entropy)
        return Interval(max(min(lower, now.upper), 0.0), now.upper)
    width = width if now.upper >= known.upper else ONE_SIDE * width
    return Interval(max(now.upper - width, 0.0), now.upper)


def _is_done(part: Part) -> bool:
    """Whether no method narrows a part any more."""
    return all(each.done for each in part.refiners)


def _choice(parts: list[Part], effort: Effort) -> tuple[Part, Refiner] | None:
    """The method expected to narrow the sum most for its operations, some steps ahead; one never tried comes first.

    One whose next step would need far more than is left is passed over. Where the last steps narrowed nothing and none
    is expected to help, the one with most to narrow for its operations goes on: a finer grid may help yet.
    """
    best: tuple[float, Part, Refiner] | None = None
    other: tuple[float, Part, Refiner] | None = None
    everything = sum(part.weight * min(part.interval.width, 64.0) for part in parts)
    for part in parts:
        for each in part.refiners:
            if each.done:
                continue
            if not each.history:
                return part, each
            for count in range(1, _AHEAD):
                operations, width = each.ahead(count)
                if count == 1 and (operations > 2.0 * effort.left or not effort.in_time(0.5 * operations)):
                    break
                hope = part.weight * min(part.interval.width, 64.0) / operations
                if count == 1 and hope > 0 and (other is None or hope > other[0]):
                    other = hope, part, each
                saved = part.weight * (min(part.interval.width, 64.0) - width)
                if saved <= 0:
                    continue
                score = -log(max(1.0 - saved / everything, 1e-6)) / operations
                if best is None or score > best[0]:
                    best = score, part, each
    best = best or other
    return None if best is None else (best[1], best[2])


def bounded(interval: Interval, pair: Pair, budget: Budget) -> Divergence:
    """The middle of the interval with its ends and certificate; the notes say where it is wide or the clock ended it.

    NotApplicable where nothing bounds it from above.
    """
    subject, per = pair.subject_and_unit()
    if interval.lower < inf and not budget.narrow(interval):
        interval = tightened(interval, pair, budget)
    if interval.lower == inf:
        word = interval.how.get("word")
        reason = "p emits a configuration that q cannot" if word is None else word_reason(tuple(word), symbols=True)
        return Divergence(
            inf, "observed", "certified", inf, inf, per=per, infinite=[reason], certificate=interval.how,
            subject=subject,
        )  # fmt: skip
    if interval.upper == inf:
        raise NotApplicable(f"nothing bounds it from above; it is at least {interval.lower:.6g}")
    notes = [] if budget.narrow(interval) else [budget.wide()]
    if interval.how.get("stopped") == "the time":
        notes.append(CLOCK)
    return Divergence(
        0.5 * (interval.lower + interval.upper), "observed", "certified", interval.lower, interval.upper, per=per,
        certificate=interval.how, notes=notes, subject=subject,
    )  # fmt: skip
