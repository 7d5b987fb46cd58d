"""Monte Carlo of the observed divergence with controls, drawn until it is good enough (definitions (5.8))."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from math import inf
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from hidiv.arguments import Seed
from hidiv.divergences.comparable import closed
from hidiv.divergences.observed.batch import Batch, joined
from hidiv.divergences.observed.chain_draws import ChainPair
from hidiv.divergences.observed.cross_fitting import SHARE, SURE, Mean, controlled_mean, plain_mean, unseen, widened
from hidiv.divergences.observed.finite import family_symbols, has_symbols
from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.observed.parallel import Streams, available, in_order
from hidiv.divergences.observed.tree_draws import TreePair
from hidiv.divergences.observed.variational import emission_pairs
from hidiv.divergences.observed.word_support import forbidden
from hidiv.divergences.result import Divergence
from hidiv.divergences.subject import subject
from hidiv.errors import HidivError, OutOfRange, refuse
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.progress import Progress

Array = NDArray[np.float64]

FEWEST, MOST = 128, 100_000  # draws before a standard error is trusted; draws when nothing else is said
CELLS = 1 << 21  # numbers of one kind held at once by a portion of draws
RARE = "an event expected {:.1g} times in a draw was never drawn, the standard error allows for one that decides"
KEPT = 4 * 10**7  # numbers that controls may hold in all


@dataclass(frozen=True, eq=False)
class Draws:
    """Independent draws whose mean is the divergence, `at_once` to a portion; `base` says in words what is averaged.

    `infinite`: why nothing need be drawn.
    """

    draw: Callable[[int, np.random.Generator, bool], Batch]  # how many, from where, without the dearer controls
    subject: str
    base: str
    at_once: int
    infinite: str | None = None
    sparse: bool = False  # some probabilities are 0
    reach: float = 0.0  # by how much a rare event may change a draw

    @classmethod
    def on_tree(cls, p: Model, q: Model, tree: Tree) -> Draws:
        """Sums of one-step divergences on a chain, log-ratios on other trees and for vectors of numbers."""
        about = subject(p, q, tree)
        reason = forbidden(p, q, tree)
        size = tree.n_nodes * (p.n_states + q.n_states)
        at_once = max(1, min(512, CELLS // size))
        if reason is not None:
            return cls(lambda size, rng, lean: refuse(HidivError, "draw", reason), about, "", at_once, reason)
        if tree.is_chain:
            try:
                pair = ChainPair.of(p, q, tree)
                said = "KL(p(x_t | past) || q(x_t | past)) summed"
                return cls(pair.draw, about, said, at_once, None, *_rare(p, q, tree))
            except NotApplicable:
                pass
        on_nodes = TreePair.of(p, q, tree)
        return cls(on_nodes.draw, about, on_nodes.base, at_once, None, *_rare(p, q, tree))


def stopped_estimate(
    draws: Draws, rtol: float, atol: float, seed: Seed, max_samples: int | None, max_seconds: float | None,
    workers: int | None = None,
) -> Divergence:  # fmt: skip
    """Draw until the standard error is below atol or rtol times the mean, draws or time are used up, or Ctrl-C.

    The result depends on the seed and the number of draws, not on the workers.
    """
    if draws.infinite is not None:
        return Divergence(
            inf, "observed", infinite=[draws.infinite], notes=["decided by what q can emit, nothing drawn"],
            subject=draws.subject,
        )  # fmt: skip
    most = MOST if max_samples is None else max_samples
    end = monotonic() + (inf if max_seconds is None else max_seconds)
    run = _Run(draws, rtol, atol, most)
    streams = Streams(seed)
    try:
        with Progress("drawing") as progress:
            # Most are content with the first portion, which does without the dearer controls; the others draw it again.
            run.add(draws.draw(min(FEWEST, draws.at_once, most), streams(0), True))
            if run.look(progress) or run.drawn >= most or monotonic() > end:
                return run.result("the time" if monotonic() > end else None)
            run.start_again()
            portions = in_order(
                lambda portion: draws.draw(portion[1], streams(portion[0]), False),
                enumerate(_sizes(most, draws.at_once)),
                available() if workers is None else workers,
            )
            with closing(portions):
                for batch in portions:
                    run.add(batch)
                    if run.drawn >= run.check and run.look(progress):
                        break
                    if monotonic() > end:
                        return run.result("the time")
    except KeyboardInterrupt:
        if not run.kept():
            raise
        return run.result("an interrupt")
    return run.result()


class _Run:
    """What has been drawn so far, and whether it is enough."""

    def __init__(self, draws: Draws, rtol: float, atol: float, most: int) -> None:
        self.draws, self.rtol, self.atol, self.most = draws, rtol, atol, most
        self.found: list[Batch] = []
        self.spare: list[Batch] = []
        self.drawn, self.check = 0, min(2 * FEWEST, most)
        self.best: Mean | None = None
        self.chance = 0.0  # expected number in a draw of an event that none has shown
        self.stopped = "the number of draws"

    def start_again(self) -> None:
        """Forget the draws as soon as there are others."""
        self.spare, self.found, self.drawn, self.best = self.found, [], 0, None

    def kept(self) -> bool:
        """Whether an interrupt leaves enough to tell of; the forgotten draws are better than none."""
        if not self.found:
            self.found, self.drawn = self.spare, sum(len(batch.base) for batch in self.spare)
        return self.drawn >= 2

    def add(self, batch: Batch) -> None:
        self.found.append(batch)
        self.drawn += len(batch.base)
        self.best = None

    def together(self) -> tuple[Batch, Mean]:
        """All draws, and their mean with controls."""
        self.found = [joined(self.found)]
        batch = self.found[0]
        if self.best is None:
            self.chance = unseen(batch.controls)
            found = controlled_mean(batch.base, batch.controls)
            if self.chance > SURE:
                found = widened(found, self.chance, max(self.draws.reach, float(np.abs(batch.plain).max())))
            if self.draws.sparse and len(batch.base) > 1:
                # Words that only some states can emit may be as rare as one in all draws, and unlike the others.
                found = widened(found, 1.0 / len(batch.base), float(batch.base.std(ddof=1)), least=False)
            self.best = found
        return batch, self.best

    def look(self, progress: Progress) -> bool:
        """Whether to stop; looks again at twice as many."""
        if not all(np.isfinite(batch.plain).all() and np.isfinite(batch.base).all() for batch in self.found):
            return True
        batch, best = self.together()
        wanted = max(self.atol, self.rtol * abs(best.value))
        # While more draws allow more controls nobody knows how much those gain; afterwards the error falls as it does.
        all_used = best.settled and best.controls < self.drawn // SHARE
        short = min(best.std_error / max(wanted, 1e-300), 1e6) if all_used else 0.0
        needed = 1.05 * self.drawn * short**2
        self.check = int(min(max(2 * self.drawn, needed), self.most))
        progress.show(
            max(self.drawn / self.most, min(1.0, wanted / max(best.std_error, 1e-300)) ** 2),
            f"{self.drawn} drawn, {best.value:.6g}",
        )
        if best.std_error <= wanted and best.settled:
            self.stopped = "the wanted standard error"
        elif batch.controls.size > KEPT:
            self.stopped = "the memory for controls"
        else:
            return False
        return True

    def result(self, stopped: str | None = None) -> Divergence:
        """The estimate with its 95 % interval; beside it in the notes what it would be without controls."""
        batch, about = joined(self.found), self.draws.subject
        if not np.isfinite(batch.plain).all():
            at = int(np.argmax(~np.isfinite(batch.plain)))
            return Divergence(
                inf, "observed", "estimate", inf, inf, None, self.drawn,
                infinite=[f"draw {at} from p is impossible under q"], subject=about,
            )  # fmt: skip
        if not np.isfinite(batch.base).all():
            refuse(OutOfRange, "q", "gives what p emits a probability that no double can hold")
        batch, best = self.together()
        half = best.half_width()
        said = f"{self.draws.base}, {best.controls} controls, ended by {stopped or self.stopped}"
        rare = [RARE.format(self.chance)] if self.chance > SURE else []
        return Divergence(
            best.value, "observed", "estimate", best.value - half, best.value + half, best.std_error, self.drawn,
            notes=[said, *beside(batch, best), *rare], subject=about,
        )  # fmt: skip


def _rare(p: Model, q: Model, tree: Tree) -> tuple[bool, float]:
    """Whether some state, transition or symbol is impossible; then also what all nodes in the state that q explains
    worst, though by its best, would add."""
    parts = [part for m in (p, q) for part in (m.initial, *m.transitions)]
    parts += [family_symbols(f) for m in (p, q) for f in m.emissions if has_symbols(f)]
    if not any(bool((np.asarray(part) == 0).any()) for part in parts):
        return False, 0.0
    if not closed(p, q):
        return True, 0.0
    worst = emission_pairs(p, q).min(axis=2)
    return True, tree.n_nodes * float(np.where(np.isfinite(worst), worst, 0.0).max())


def _sizes(most: int, at_once: int) -> Iterator[int]:
    """The portions: small ones first, for those who are soon content."""
    size = min(FEWEST, at_once)
    while most > 0:
        yield min(size, most)
        most -= size
        size = min(2 * size, at_once)


def beside(batch: Batch, best: Mean) -> list[str]:
    """What the draws say without controls, and how much the controls gain over the log-ratio alone."""
    bare, plain = plain_mean(batch.base), plain_mean(batch.plain)
    said = [f"without controls {bare.value:.10g} (standard error {bare.std_error:.2g})"]
    if best.std_error > 0:
        gain = (plain.std_error / best.std_error) ** 2
        said.append(f"plain log-ratio {plain.value:.10g} ({plain.std_error:.2g}): variance divided by {gain:.3g}")
    if not best.settled:
        said.append("the draws are few for rare events, the standard error is that of draws spread as far as the value")
    return said
