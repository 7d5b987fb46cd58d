"""Monte Carlo of the observed divergence with controls, drawn until it is good enough (definitions, section 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf, sqrt
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from hidiv.divergences.observed.batch import Batch, joined
from hidiv.divergences.observed.chain_draws import ChainPair
from hidiv.divergences.observed.cross_fitting import Mean, controlled_mean, plain_mean
from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.observed.parallel import Streams, available, in_order
from hidiv.divergences.observed.tree_draws import TreePair
from hidiv.divergences.observed.word_support import forbidden
from hidiv.divergences.result import Divergence
from hidiv.divergences.subject import subject
from hidiv.errors import HidivError, OutOfRange, refuse
from hidiv.inference.sampling import Seed
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.progress import Progress

Array = NDArray[np.float64]

FEWEST, MOST = 128, 100_000  # draws before a standard error is trusted; draws when nothing else is said
CELLS = 1 << 21  # numbers of one kind held at once by a portion of draws
KEPT = 4 * 10**7  # numbers that controls may hold in all


@dataclass(frozen=True, eq=False)
class Draws:
    """Independent draws whose mean is the divergence, `at_once` to a portion; `base` says in words what is averaged.

    `infinite`: why nothing need be drawn.
    """

    draw: Callable[[int, np.random.Generator], Batch]
    subject: str
    base: str
    at_once: int
    infinite: str | None = None

    @classmethod
    def on_tree(cls, p: Model, q: Model, tree: Tree) -> Draws:
        """Sums of one-step divergences on a chain, log-ratios on other trees and for vectors of numbers."""
        about = subject(p, q, tree)
        reason = forbidden(p, q, tree)
        size = tree.n_nodes * (p.n_states + q.n_states)
        at_once = max(1, min(512, CELLS // size))
        if reason is not None:
            return cls(lambda size, rng: refuse(HidivError, "draw", reason), about, "", at_once, reason)
        if tree.is_chain:
            try:
                return cls(ChainPair.of(p, q, tree).draw, about, "KL(p(x_t | past) || q(x_t | past)) summed", at_once)
            except NotApplicable:
                pass
        pair = TreePair.of(p, q, tree)
        return cls(pair.draw, about, pair.base, at_once)


def stopped_estimate(
    draws: Draws, rtol: float, atol: float, seed: Seed, max_samples: int | None, max_seconds: float | None,
    workers: int | None = None,
) -> Divergence:  # fmt: skip
    """Draw until the standard error is below atol or rtol times the mean, draws or time are used up, or Ctrl-C.

    The result depends on the seed and the number of draws, not on the workers.
    """
    if max_samples is not None and max_samples < 2:
        refuse(HidivError, "max_samples", "must be at least 2", max_samples)
    if draws.infinite is not None:
        return Divergence(
            inf, "observed", infinite=[draws.infinite], notes=["decided by what q can emit, nothing drawn"],
            subject=draws.subject,
        )  # fmt: skip
    most = MOST if max_samples is None else max_samples
    start = monotonic()
    end = start + (inf if max_seconds is None else max_seconds)
    streams = Streams(seed)
    found: list[Batch] = []
    best: Mean | None = None
    drawn, stopped = 0, "the number of draws"
    portions = in_order(
        lambda portion: draws.draw(portion[1], streams(portion[0])),
        enumerate(_sizes(most, draws.at_once)),
        available() if workers is None else workers,
    )
    check = min(FEWEST, most)
    try:
        with Progress("drawing") as progress:
            for batch in portions:
                found.append(batch)
                drawn += len(batch.base)
                if not np.isfinite(batch.plain).all():
                    stopped = "a draw that q cannot produce"
                    break
                if drawn >= check or monotonic() > end:
                    found = [joined(found)]
                    best = controlled_mean(found[0].base, found[0].controls, found[0].plain)
                    check = 2 * drawn
                    wanted = max(atol, rtol * abs(best.value))
                    if best.std_error <= wanted and best.settled:
                        stopped = "the wanted standard error"
                        break
                    if drawn * found[0].controls.shape[1] > KEPT:
                        stopped = "the memory for controls"
                        break
                    progress.show(max(drawn / most, min(1.0, wanted / max(best.std_error, 1e-300)) ** 2), f"{drawn} drawn, {best.value:.6g}")
                if monotonic() > end:
                    stopped = "the time"
                    break
    except KeyboardInterrupt:
        if not found or sum(len(batch.base) for batch in found) < 2:
            raise
        stopped = "an interrupt"
    finally:
        portions.close()
    return summed_up(draws, joined(found), stopped)


def _sizes(most: int, at_once: int) -> Iterator[int]:
    """The portions: small ones first, for those who are soon content."""
    size = min(FEWEST, at_once)
    while most > 0:
        yield min(size, most)
        most -= size
        size = min(2 * size, at_once)


def summed_up(draws: Draws, batch: Batch, stopped: str) -> Divergence:
    """The estimate with its 95 % interval; beside it in the notes what it would be without controls."""
    count = len(batch.base)
    if not np.isfinite(batch.plain).all():
        at = int(np.argmax(~np.isfinite(batch.plain)))
        return Divergence(
            inf, "observed", "estimate", inf, inf, None, count,
            infinite=[f"draw {at} from p is impossible under q"], subject=draws.subject,
        )  # fmt: skip
    if not np.isfinite(batch.base).all():
        refuse(OutOfRange, "q", "gives what p emits a probability that no double can hold")
    best = controlled_mean(batch.base, batch.controls, batch.plain)
    half = best.half_width()
    return Divergence(
        best.value, "observed", "estimate", best.value - half, best.value + half, best.std_error, count,
        notes=[f"{draws.base}, {best.controls} controls, ended by {stopped}", *beside(batch, best)],
        subject=draws.subject,
    )  # fmt: skip


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
