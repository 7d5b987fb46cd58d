"""Monte Carlo of the observed divergence with controls, drawn until it is good enough (definitions (5.8))."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from math import inf, isfinite, sqrt
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hidiv.divergences.observed.sampled.cross_fitting import COLLINEAR, ControlledDraws
from hidiv.divergences.observed.sampled.draws import UNHELD, Drawn, Draws, Streams, available, in_order, joined
from hidiv.divergences.observed.sampled.estimate_words import averaged, gained, uncontrolled
from hidiv.divergences.observed.sampled.rare import allowed
from hidiv.divergences.observed.sampled.rare_moves import Likely
from hidiv.divergences.observed.sampled.standard_errors import (
    SETTLED,
    SURE,
    Mean,
    kurtosis,
    plain_mean,
)
from hidiv.divergences.result import Divergence
from hidiv.errors import OutOfRange, refuse
from hidiv.progress import Progress

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget

Draw = Callable[[int, np.random.Generator, Likely | None], Drawn]

FEWEST, MOST = 128, 100_000  # draws before a standard error is trusted; draws at most by default
RARE = "an event expected {:.1g} times in a draw was never drawn; the standard error allows for its effect"
LIKELY = "importance sampling: half of the draws are of p with rare events made likely, all of them weighted"
LACKING = "rare states were drawn too seldom; the standard error allows for the {:.2g} that they may add"
LEAST, PARTS = 128, 4  # draws of a portion at least; portions between two looks, unless they would be too large
OPEN = 1024  # draws from which on heavy tails widen the error, and need not be outnumbered
DOUBT = 1.3  # how far below the wanted one an error must be that a few draws decide
GROWTH = 1.15  # least growth between two looks; LEAP where a look may cost more than the draws
LEAP, SHORT = 1.5, 0.7  # growth from which on only this share of it is drawn before the next look
PAYS = 4.0  # by how much the work that is left must exceed that of trying dearer controls
TRIED = 3  # portions of FEWEST draws that a fitted control takes before it is known to help
PLAIN = 512  # draws at most before it is known whether plainer ones help: they take little work
TRIAL = 1 << 29  # the number of the first stream of a trial whose draws are kept if it was in vain
FITTING = 1 << 30  # the number of the stream that a control is fitted to: no portion has it
DECIDES = 0.5  # share of the wanted error from which on rare moves are made likely
SLIGHT = 0.2  # share of the error of the draws below which rare moves do not decide how many are needed
PILOT = 1024  # draws of such a trial at most
HURRIED = 10.0  # times the time of the first draws that a fit may take: eight times as many, and the fit itself
MISTAKEN = 0.1  # share of the wanted error at least, for what looks like a rare state: few draws show it
FEW = 8  # portions of small trees that threads would do no sooner
KEPT = 4 * 10**7  # numbers that controls may hold in all


def stopped_estimate(draws: Draws, budget: Budget, workers: int | None = None) -> Divergence:
    """Draw until the standard error is below atol or rtol times the mean, draws or time are used up, or an interrupt.

    The result depends on the seed and the number of draws, not on the workers.
    """
    if draws.infinite is not None:
        return Divergence(
            inf, "observed", infinite=[draws.infinite], notes=["decided by what q can emit, nothing drawn"],
            subject=draws.subject,
        )  # fmt: skip
    most = MOST if budget.max_samples is None else budget.max_samples
    end = monotonic() + (inf if budget.max_seconds is None else budget.max_seconds)
    limits = _Limits(budget.rtol, budget.atol, most, end, available() if workers is None else workers)
    streams = Streams(budget.seed)
    lean = _Drawing(draws, limits, streams, _by(draws, True))
    run = lean
    try:
        with Progress("drawing") as progress:
            # The first draws do without the dearer controls: they often suffice.
            done = run.draw_until(min(FEWEST, most)) or run.look(progress)
            if not done:
                run = lean.better(progress)
                done = run.is_done
            run.announce(progress)
            while not done and run.drawn < most:
                done = run.draw_until(run.check) or run.look(progress)
    except KeyboardInterrupt:
        run = max((run, lean), key=lambda one: one.drawn >= 2)
        if run.drawn < 2:
            raise
        return run.result("an interrupt")
    return run.result()


class _Limits(NamedTuple):
    """When drawing stops: tolerances, draws, the clock; and the number of workers."""

    rtol: float
    atol: float
    most: int
    end: float
    workers: int


class _Drawing:
    """What has been drawn so far with some of the controls, and whether it is enough; `dear` is the work of a draw."""

    def __init__(self, draws: Draws, limits: _Limits, streams: Streams, draw: Draw, dear: float = 1.0) -> None:
        self.draws, self.limits, self.streams, self.draw, self.dear = draws, limits, streams, draw, dear
        self.is_done, self.began = False, monotonic()
        self.each = 0.0  # seconds that the last fit of controls took for each draw
        self.likely: Likely | None = None  # of whose model half of the draws are (rare_moves.py)
        self.before: int | None = None  # draws that a function was fitted to which is taken out of each of these
        self.expects: str | None = None  # what can be reached, where that is not what was asked for
        self.portions_drawn: list[Drawn] = []
        self.drawn, self.portions, self.check = 0, 0, min(2 * FEWEST, limits.most)
        self.best: Mean | None = None
        self.error = inf  # of the best mean, with what rare events may add
        self.chance = 0.0  # expected number in a draw of an event that none has shown
        self.lacking = 0.0  # what rare states that were drawn too seldom may add
        self.hidden = 0.0  # what they may add to the variance of a draw
        self.stopped = "the number of draws"

    def draw_until(self, count: int) -> bool:
        """Draw until there are `count`; True when the time is over. Nothing is drawn that is not used."""
        least = self.draws.at_once if self.draws.whole else LEAST
        size = min(self.draws.at_once, max(least, -(-(count - self.drawn) // PARTS)))
        sizes = [min(size, count - start) for start in range(self.drawn, count, size)]
        numbered = list(enumerate(sizes, self.portions))
        portions = in_order(
            lambda portion: self.draw(portion[1], self.streams(portion[0]), self.likely),
            numbered,
            1 if self.draws.whole and len(numbered) <= FEW else self.limits.workers,
        )
        with closing(portions):
            for batch in portions:
                self.portions_drawn.append(batch)
                self.drawn += len(batch.base)
                self.portions += 1
                self.best = None
                if self._late() and self.drawn >= min(2, self.limits.most):
                    self.stopped = "the time"
                    return True
        return False

    def _late(self) -> bool:
        """Whether the time is over, or would be once controls are fitted to what was drawn."""
        return self.limits.end < inf and monotonic() + self.each * self.drawn > self.limits.end

    def together(self) -> tuple[Drawn, Mean]:
        """All draws, and their mean with controls."""
        began = monotonic()
        self.portions_drawn = [joined(self.portions_drawn)]
        batch = self.portions_drawn[0]
        if self.best is None:
            distinct = COLLINEAR if self.draws.distinct is None else self.draws.distinct
            controlled = ControlledDraws(batch.base, batch.controls, leading=self.draws.leading, distinct=distinct)
            best = controlled.mean(settle=self.drawn < OPEN)
            wanted = max(self.limits.atol, self.limits.rtol * abs(best.value))
            if controlled.wants_all and not (best.settled and best.std_error <= wanted):
                controlled = ControlledDraws(batch.base, batch.controls)
                best = controlled.mean(settle=self.drawn < OPEN)
            if FEWEST <= self.drawn < OPEN and not (best.settled and best.std_error <= wanted):
                wide = controlled.mean(settle=False)
                best = wide if not best.settled or wide.std_error < best.std_error else best
            self.best = best
            widened, self.chance, self.lacking, self.hidden = allowed(self.draws, batch, self.best, self.before)
            self.error = widened.std_error
            if self.before is not None and self.likely is not None:
                wanted = max(self.limits.atol, self.limits.rtol * abs(self.best.value))
                self.error = max(self.error, MISTAKEN * wanted)
            self.each = (monotonic() - began) / self.drawn
        return batch, self.best

    def wanted(self) -> float:
        """The standard error asked for."""
        return max(self.limits.atol, self.limits.rtol * abs(self.together()[1].value))

    def needed(self) -> float:
        """How many draws the wanted error takes, by the error of those there are.

        Coefficients fitted to few draws make the error of these larger, but not that of many more.
        """
        best = self.together()[1]
        short = min(best.std_error / max(self.wanted(), 1e-300), 1e6)
        needed = 1.05 * self.drawn * short**2 * max(1.0 - best.controls / self.drawn, 0.5)
        return min(needed, float(self.limits.most)) if best.settled else float(self.limits.most)

    def variance(self) -> float:
        """The variance of a single draw, which says how many any error takes, whatever the limits are."""
        with np.errstate(over="ignore"):
            return float(self.together()[1].draws.var())

    def better(self, progress: Progress) -> _Drawing:
        """This, or draws with other controls that take less work for the wanted error by a trial of each.

        A trial takes a small part of the work that is left without it.
        """
        best, enough = self, PAYS * FEWEST
        if self.draws.plainer is not None and self.needed() >= enough:
            best = self._plainer(progress)
            if best.is_done:
                return best
            enough = enough if best is self else TRIED * FEWEST * self.draws.dear
        if self.draws.fitted is not None and best.needed() * best.dear >= enough and not self._hurried(HURRIED):
            fitted = self.draws.fitted(self.streams(FITTING))
            if fitted is not None:
                tried = _Drawing(self.draws, self.limits, self.streams, fitted.draw, fitted.dear)
                tried.before = self.drawn + fitted.drawn
                # Three first portions take little beside the fit, and show what it does not know; one shows as much
                # where a draw is of many steps, and takes longer.
                first = max(FEWEST, min(TRIED * FEWEST, fitted.drawn // 2)) if fitted.short else FEWEST
                best = self._tried(tried, min(first, self.limits.most), best, progress, first)
                if best.is_done:
                    return best
        dear = self.draws.dear
        needed = best.needed() * best.dear
        if (
            dear > 1.0
            and needed >= PAYS * dear * FEWEST
            and (best is self or not self.draws.fitted)
            and best.draws is self.draws
            and not self._hurried(2.0 * dear)
        ):
            tried = _Drawing(self.draws, self.limits, self.streams, _by(self.draws, False), dear)
            tried.portions = TRIAL if self.draws.whole else 0
            pilot = int(min(max(needed / (2 * PAYS * dear), FEWEST), PILOT, self.limits.most))
            before, best = best, self._tried(tried, pilot, best, progress)
            if best is before is self and self.draws.whole:
                self._take_over(tried)
        return best if best.is_done else best._with_rare_moves(progress)

    def _hurried(self, times: float) -> bool:
        """Whether less time is left than so many times what the first draws took."""
        now = monotonic()
        return self.limits.end < inf and self.limits.end - now < times * (now - self.began)

    def _plainer(self, progress: Progress) -> _Drawing:
        """This, or draws that vary more and take less work, where they are done or reach the wanted error with less."""
        plainer = None if self.draws.plainer is None else self.draws.plainer()
        if plainer is None:
            return self
        other = _Drawing(plainer.draws, self.limits, self.streams, _by(plainer.draws, True), plainer.dear)
        best = self._tried(other, min(PLAIN, self.limits.most), self, progress)
        if best is self or best.is_done:
            return best
        # More draws bring more controls, and need not be as many as it seems.
        return best if _draws_for(best.variance(), best.wanted()) <= 2 * self.limits.most else self

    def _tried(self, other: _Drawing, count: int, best: _Drawing, progress: Progress, first: int = FEWEST) -> _Drawing:
        """Draw with other controls, `first` before the first look and at most `count`; that where it is done or takes
        less work, else what was best so far."""
        while not other.is_done:
            late = other.draw_until(min(max(first, 2 * other.drawn), count))
            other.is_done = late or other.look(progress)
            if late:
                return other._unless_better(best)
            if other.is_done or other.dear * other.variance() <= best.dear * best.variance():
                return other
            if other.drawn >= count:
                break
        return best

    def _unless_better(self, best: _Drawing) -> _Drawing:
        """This where the time is over, or what was best before it: a trial that was cut short may hold few draws."""
        if self.drawn >= FEWEST and self.together()[1].settled:
            return self if self.error < best.error else best._ended()
        return best._ended() if best.drawn > self.drawn else self

    def _ended(self) -> _Drawing:
        """This, ended by the time."""
        self.is_done, self.stopped = True, "the time"
        return self

    def _take_over(self, other: _Drawing) -> None:
        """The draws of a trial in vain, from streams of their own, are like any others without its controls."""
        width = self.portions_drawn[0].controls.shape[1]
        self.portions_drawn += [batch._replace(controls=batch.controls[:, :width]) for batch in other.portions_drawn]
        self.drawn, self.best = self.drawn + other.drawn, None

    def _with_rare_moves(self, progress: Progress) -> _Drawing:
        """This, or draws with rare moves made likely, where these moves decide how many are needed and it helps."""
        tails = kurtosis(self.together()[1].draws) * SETTLED > self.drawn and self.needed() >= PAYS * FEWEST
        # Where the error is far larger many more draws are to come, which show what is rare by themselves.
        decides = self.lacking >= max(DECIDES * self.wanted(), SLIGHT * self.together()[1].std_error)
        if self.draws.likely is None or not (tails or decides):
            return self
        likely = self.draws.likely()
        if likely is None or self.limits.most < FEWEST:
            return self
        likely = likely._replace(about=self.together()[1].value)
        best = self._with(likely, self.draw, self.dear, self, progress)
        dear = self.draws.dear
        # Controls that a trial left out are worth their work once rare symbols, which they count, are drawn. Where rare
        # moves are, few of the weighted draws decide what such controls leave.
        worth = likely.symbols_alone and best.needed() >= PAYS * dear * FEWEST
        if not best.is_done and self.dear == 1.0 < dear and worth:
            best = self._with(likely, _by(self.draws, False), dear, best, progress)
        return best

    def _with(self, likely: Likely, draw: Draw, dear: float, best: _Drawing, progress: Progress) -> _Drawing:
        """Draws with rare events made likely, where they are done or take less work; else what was best so far."""
        other = _Drawing(self.draws, self.limits, self.streams, draw, dear)
        other.before, other.portions = self.before, self.portions  # streams that these draws have not used
        other.likely = likely
        late = other.draw_until(min(max(FEWEST, self.drawn), self.limits.most))
        other.is_done = late or other.look(progress)
        if late:
            return other._unless_better(best)
        one, two = (run.dear * (run.error**2 * run.drawn + run.hidden) for run in (best, other))
        return other if two < one else best

    def announce(self, progress: Progress) -> None:
        """Say before the long part what error is expected, where it is more than asked for."""
        if self.is_done or not all(np.isfinite(batch.base).all() for batch in self.portions_drawn):
            return
        variance, reach, now = self.variance(), float(self.limits.most), monotonic()
        if not isfinite(variance):  # of draws whose squares no double holds
            return
        needed = _draws_for(variance, self.wanted())
        if self.limits.end < inf:  # as many as the clock leaves, at the speed so far
            speed = self.drawn / max(now - self.began, 1e-6)
            reach = min(reach, self.drawn + speed * max(self.limits.end - now, 0.0))
        if needed <= 1.05 * reach:
            return
        expected = sqrt(variance / max(reach, self.drawn))
        self.expects = (
            f"the wanted standard error takes about {needed:.2g} draws; the limit was expected to leave "
            f"{reach:.2g}, and to reach {expected:.2g}"
        )
        progress.show(0.0, f"expected standard error {expected:.2g}, above the one asked for")

    def look(self, progress: Progress) -> bool:
        """Whether to stop; if not, sets the number of draws of the next look.

        While more draws would allow more controls, a missed event may change the error, or few draws decide it, that is
        at most twice as many; afterwards the error falls like that of any mean.
        """
        if not all(np.isfinite(batch.plain).all() and np.isfinite(batch.base).all() for batch in self.portions_drawn):
            return True
        batch, best = self.together()
        wanted, drawn = self.wanted(), self.drawn
        known = best.full and best.settled and self.error <= 1.1 * best.std_error
        known = known and drawn >= SETTLED * kurtosis(best.draws)
        least = (LEAP if self.draws.whole else GROWTH) * drawn
        ahead = max(self.needed(), least)
        if not best.settled:
            enough = max(_draws_for(self.variance(), wanted), SETTLED * kurtosis(best.draws))
            ahead = max(enough, least)
        if ahead > LEAP * drawn:  # the error of these draws is not known so well
            ahead = max(SHORT * ahead, LEAP * drawn)
        self.check = int(min(ahead if known else min(ahead, 2.0 * drawn), self.limits.most))
        progress.show(
            max(drawn / self.limits.most, min(1.0, wanted / max(self.error, 1e-300)) ** 2),
            f"{drawn} drawn, {best.value:.6g}",
        )
        if self.error <= wanted and best.settled and not self._lucky(best, wanted):
            self.stopped = "the wanted standard error"
        elif batch.controls.size > KEPT:
            self.stopped = "the memory for controls"
        else:
            return False
        return True

    def _lucky(self, best: Mean, wanted: float) -> bool:
        """Whether the error may be small only because few of the draws that decide it have come.

        Samples that lack such draws would be the first to stop.
        """
        return self.error * DOUBT > wanted and self.drawn < SETTLED * kurtosis(best.draws)

    def result(self, stopped: str | None = None) -> Divergence:
        """The estimate with its 95 % interval; the notes hold the value without controls."""
        batch, about = joined(self.portions_drawn), self.draws.subject
        if not np.isfinite(batch.plain).all():
            at = int(np.argmax(~np.isfinite(batch.plain)))
            return Divergence(
                inf, "observed", "estimate", inf, inf, None, self.drawn,
                infinite=[f"draw {at} from p is impossible under q"], subject=about,
            )  # fmt: skip
        if not np.isfinite(batch.base).all():
            refuse(OutOfRange, "q", UNHELD)
        batch, best = self.together()
        best = best._replace(std_error=self.error)
        half = best.half_width()
        is_fitted = self.before is not None
        base = f"{self.draws.base} less a fitted function of both filters" if is_fitted else self.draws.base
        note = averaged(base, "draws from p", best.controls, stopped or self.stopped)
        rare = [] if self.likely is None else [LIKELY]
        rare += [RARE.format(self.chance)] if self.chance > SURE else []
        if self.lacking > 0.1 * self.error:
            rare.append(LACKING.format(self.lacking))
        return Divergence(
            best.value, "observed", "estimate", best.value - half, best.value + half, best.std_error, self.drawn,
            notes=[note, *without_controls(batch, best, is_fitted), *rare, *self._short()], subject=about,
        )  # fmt: skip

    def _short(self) -> list[str]:
        """The note about what was expected, where the wanted error was not reached."""
        return [self.expects] if self.expects is not None and self.error > self.wanted() else []


def _by(draws: Draws, lean: bool) -> Draw:
    """Draws with or without the dearer controls."""

    def draw(size: int, rng: np.random.Generator, likely: Likely | None) -> Drawn:
        return draws.draw(size, rng, lean) if likely is None else draws.draw(size, rng, lean, likely)

    return draw


def without_controls(batch: Drawn, best: Mean, is_fitted: bool) -> list[str]:
    """What the draws say without controls, and how much the controls gain over the log-ratio alone."""
    bare, plain = plain_mean(batch.base), plain_mean(batch.plain)
    notes = [uncontrolled(bare.value, bare.std_error, is_fitted)]
    if best.std_error > 0:
        gain = (plain.std_error / best.std_error) ** 2
        notes.append(gained(plain.value, plain.std_error, gain))
    if not best.settled:
        notes.append("the draws are few for rare events; the standard error assumes a spread as large as the value")
    return notes


def _draws_for(variance: float, error: float) -> float:
    """How many draws of this variance have this standard error, at most 1e18."""
    return min(sqrt(variance) / max(error, 1e-300), 1e9) ** 2 if isfinite(variance) else 1e18
