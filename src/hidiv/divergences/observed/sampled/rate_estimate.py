"""The observed rate by Monte Carlo: long paths, batch means, controls (definitions (5.4) and (5.8))."""

from __future__ import annotations

from dataclasses import replace
from math import inf, sqrt
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from hidiv.divergences.observed.certified.joint_bound import capped_by_joint
from hidiv.divergences.observed.sampled.cross_fitting import controlled_mean
from hidiv.divergences.observed.sampled.draws import Drawn, Streams
from hidiv.divergences.observed.sampled.estimate_words import PREDICTIONS, averaged, gained, uncontrolled
from hidiv.divergences.observed.sampled.long_paths import BATCH, Path, classes_of, paths_of
from hidiv.divergences.observed.sampled.standard_errors import SURE, Mean, missed, plain_mean, unit_of, unseen, widened
from hidiv.divergences.observed.support.any_family import forbidden
from hidiv.divergences.result import Divergence
from hidiv.errors import counted
from hidiv.models.model import Model
from hidiv.progress import Progress
from hidiv.recursions.gth import closed_classes
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget
    from hidiv.divergences.pair import Pair

STEPS = 10**6  # of a path, by default
FEWEST = 128  # batches before a standard error is trusted
LEAST = 16  # batches of a path that are taken even where the time is up
BATCHES = 1024  # more are merged two by two: longer ones are nearer to independent
GROUPS = 64  # longer batches, whose spread gives the standard error
GROWTH = 1.25  # least growth of the steps between two looks
CARRIED = 2.0  # standard errors beyond which neighbouring batches count as correlated
DISTINCT = 0.03  # what must be left of a control when those before it are taken out: less is mostly rare events
WARM = 1024  # steps for the filters to forget their start


def applies(pair: Pair) -> str | None:
    """Whatever can be drawn."""
    return None


def run(pair: Pair, budget: Budget) -> Divergence:
    """One path for each closed class of p, until the standard error is below atol or rtol times the value.

    `max_samples` counts the steps of all paths; FEWEST batches are taken unless the time is up before.
    """
    reason = forbidden(pair.p, pair.q, None)
    subject, per = pair.subject_and_unit()
    if reason is not None:
        return Divergence(
            inf, "observed", per=per, infinite=[reason], notes=["decided by what q can emit, nothing drawn"],
            subject=subject,
        )  # fmt: skip
    return capped_by_joint(replace(_walked(pair.p, pair.q, budget), subject=subject, per=per), pair)


def _walked(p: Model, q: Model, budget: Budget) -> Divergence:
    """The estimate along the paths."""
    parts = classes_of(p)
    streams = Streams(budget.seed)
    paths = paths_of(p, q, [streams(i) for i in range(len(parts))])
    fewest = FEWEST * max(path.memory for path in paths) * len(paths)
    most = max(STEPS * len(paths) if budget.max_samples is None else budget.max_samples, fewest)
    end = monotonic() + (inf if budget.max_seconds is None else budget.max_seconds)
    stopped, steps, check = "the number of steps", 0, fewest
    means: list[Mean] | None = None
    try:
        with Progress("walking") as progress:
            for path in paths:
                path.advance(WARM, keep=False)
            while steps < most:
                wanted_batches = -(-(min(check, most) - steps) // (BATCH * len(paths)))
                for path in paths:
                    length = min(path.block, BATCH * wanted_batches)
                    path.advance(length)
                    steps, means = steps + length, None
                if not all(np.isfinite(path.batches[-1].plain).all() for path in paths):
                    stopped = "a step that q cannot take"
                    break
                if monotonic() > end and all(path.n_batches >= LEAST for path in paths):
                    stopped = "the time"
                    break
                if steps >= check:
                    means = [_mean(path) for path in paths]
                    value, error = _weighted(paths, means)
                    wanted = max(budget.atol, budget.rtol * abs(value))
                    share = min(1.0, wanted / max(error, 1e-300)) ** 2
                    progress.show(max(steps / most, share), f"{steps} steps, {value:.6g}")
                    if error <= wanted and all(mean.settled for mean in means):
                        stopped = "the wanted standard error"
                        break
                    # As many more as the error asks for: longer batches may change it, so at most twice as many.
                    check = int(min(max(1.05 * steps / max(share, 1e-6), GROWTH * steps), 2.0 * steps))
    except KeyboardInterrupt:
        if not all(path.n_batches > 1 for path in paths):
            raise
        stopped, means = "an interrupt", None
    return _summed_up(p, q, paths, steps, stopped, means)


def _summed_up(p: Model, q: Model, paths: list[Path], steps: int, stopped: str, means: list[Mean] | None) -> Divergence:
    """The estimate with its 95 % interval; in the notes what it would be without controls. `means`: of the last look,
    where nothing was drawn since."""
    if not all(np.isfinite(path.all().plain).all() for path in paths):
        return Divergence(
            inf, "observed", "estimate", inf, inf, None, steps, infinite=["a path of p is impossible under q"]
        )
    means = means or [_mean(path) for path in paths]
    value, error = _weighted(paths, means)
    half = max((mean.half_width() / mean.std_error for mean in means if mean.std_error > 0), default=0.0) * error
    bare, plain = (
        [plain_mean(getattr(_merged(path.all(), path.memory), key)) for path in paths] for key in ("base", "plain")
    )
    base = "log p(x_t | past)/q(x_t | past)" if paths[0].space is None else PREDICTIONS
    over = f"the steps of {counted(len(paths), 'path')} of p in {counted(len(means[0].draws), 'batch', 'batches')}"
    notes = [averaged(base, over, means[0].controls, stopped), uncontrolled(*_weighted(paths, bare))]
    if error > 0:
        apart = _weighted(paths, plain)
        gain = (apart[1] / error) ** 2
        notes.append(gained(*apart, gain, "steps"))
    if any(abs(_carry(mean.draws)) > 0.3 for mean in means):
        notes.append("batches are still correlated, a longer path would tell more")
    settled = sum(path.p.n_states for path in paths) == p.n_states
    if not settled and len(closed_classes(np.asarray(q.transitions[0]))) > 1:
        notes.append("what p emits before it settles, which may decide where q ends, is left out")
    return Divergence(value, "observed", "estimate", value - half, value + half, error, steps, notes=notes)


def _mean(path: Path) -> Mean:
    """Mean over batches; the standard error is that of longer ones, whose ends have less in common.

    What is left when the controls are taken out is often a difference of two ends: neighbours then cancel, and the
    spread of short batches says far too much. Batches count as much as the controls let them: with rare events drawn
    too seldom, those that were drawn count for more, and so do their errors.
    """
    every = path.all()
    batch = _merged(every, path.memory)
    steps = BATCH * len(every.base) // len(batch.base)
    mean = controlled_mean(batch.base, batch.controls, steps, distinct=DISTINCT)
    off = mean.draws - mean.value
    parts = [_grouped(mean.draws)] + ([] if mean.counted is None else [_grouped(mean.counted * off)])
    if len(parts[0]) > 1:
        error = max(_error(long) for long in parts)
        mean = mean._replace(std_error=error if mean.settled else max(error, mean.std_error), draws=parts[0])
    mean = widened(mean, 1.0, missed(batch.events, *path.expected, steps), least=False)
    chance = unseen(batch.controls)
    return widened(mean, chance, float(np.abs(batch.plain).max())) if chance > SURE else mean


def _grouped(draws: Array) -> Array:
    """Means of longer batches, GROUPS of them or a few more."""
    size = max(len(draws) // GROUPS, 1)
    return np.asarray(draws[len(draws) % size :].reshape(-1, size).mean(axis=1))


def _error(long: Array) -> float:
    """The standard error of the mean of longer batches; neighbours may have something in common."""
    carry = _carry(long)
    carry = carry if carry > CARRIED / sqrt(len(long)) else 0.0
    unit = unit_of(long)
    spread = unit * float((long / unit).std(ddof=1))
    return spread / sqrt(len(long)) * sqrt((1.0 + carry) / (1.0 - min(carry, 0.9)))


def _carry(draws: Array) -> float:
    """Correlation of neighbouring batches."""
    off = draws - draws.mean()
    off = off / max(float(np.abs(off).max(initial=0.0)), 1e-300)  # squares of very large numbers are none
    square = float(off @ off)
    return float(off[1:] @ off[:-1]) / square if square > 0 else 0.0


def _merged(batch: Drawn, least: int = BATCH) -> Drawn:
    """At most BATCHES batches, neighbours averaged; of `least` steps, where LEAST of them are left."""
    length = BATCH
    while len(batch.base) > (BATCHES if length >= least else 2 * LEAST - 1):
        length *= 2
        even = len(batch.base) // 2 * 2
        batch = Drawn(*(0.5 * (part[0:even:2] + part[1:even:2]) for part in batch))
    return batch


def _weighted(paths: list[Path], means: list[Mean]) -> tuple[float, float]:
    """Over the classes, each with its probability."""
    shares = np.array([path.share for path in paths])
    values, errors = np.array([m.value for m in means]), np.array([m.std_error for m in means])
    unit = unit_of(errors)
    return float(shares @ values), unit * float(np.sqrt((shares**2) @ ((errors / unit) ** 2)))
