"""The observed rate by Monte Carlo: long paths, batch means, controls (definitions (5.4) and (5.8))."""

from __future__ import annotations

from dataclasses import replace
from math import inf, sqrt
from time import monotonic

import numpy as np

from hidiv.arguments import Seed
from hidiv.divergences.observed.sampled.cross_fitting import (
    SURE,
    Mean,
    controlled_mean,
    plain_mean,
    unit_of,
    unseen,
    widened,
)
from hidiv.divergences.observed.sampled.draws import Batch
from hidiv.divergences.observed.sampled.long_paths import BATCH, BLOCK, Path, classes_of, paths_of
from hidiv.divergences.observed.sampled.missed_states import missed
from hidiv.divergences.observed.sampled.workers import Streams
from hidiv.divergences.observed.support.families import forbidden
from hidiv.divergences.result import Divergence
from hidiv.divergences.subject import subject
from hidiv.models.model import Model
from hidiv.progress import Progress
from hidiv.recursions.gth import closed_classes
from hidiv.types import Array

STEPS = 10**6  # of a path, when nothing else is said
FEWEST = 128  # batches before a standard error is trusted
BATCHES = 1024  # more are merged two by two: longer ones are nearer to independent
GROUPS = 64  # longer batches, by which the standard error is told
CARRIED = 2.0  # standard errors from which on a correlation of neighbours is no chance
WARM = 1024  # steps for the filters to forget their start


def rate_estimate(
    p: Model, q: Model, rtol: float, atol: float, seed: Seed, max_samples: int | None, max_seconds: float | None
) -> Divergence:
    """One path for each closed class of p, until the standard error is below atol or rtol times the value.

    `max_samples` counts the steps of all paths; FEWEST batches are always taken.
    """
    about = f"{subject(p, q)} rate"
    reason = forbidden(p, q, None)
    if reason is not None:
        return Divergence(
            inf, "observed", per="step", infinite=[reason], notes=["decided by what q can emit, nothing drawn"],
            subject=about,
        )  # fmt: skip
    parts = classes_of(p)
    streams = Streams(seed)
    paths = paths_of(p, q, [streams(i) for i in range(len(parts))])
    most = STEPS * len(paths) if max_samples is None else max_samples
    end = monotonic() + (inf if max_seconds is None else max_seconds)
    stopped = "the number of steps"
    steps = 0
    try:
        with Progress("walking") as progress:
            for path in paths:
                path.advance(WARM, keep=False)
            check = FEWEST * BATCH * len(paths)
            while True:
                for path in paths:
                    path.advance()
                steps += BLOCK * len(paths)
                if not all(np.isfinite(path.batches[-1].plain).all() for path in paths):
                    stopped = "a step that q cannot take"
                    break
                if steps >= check:
                    check = 2 * steps
                    means = [_mean(path) for path in paths]
                    value, error = _weighted(paths, means)
                    wanted = max(atol, rtol * abs(value))
                    progress.show(
                        max(steps / most, min(1.0, wanted / max(error, 1e-300)) ** 2), f"{steps} steps, {value:.6g}"
                    )
                    if error <= wanted and all(m.settled for m in means):
                        stopped = "the wanted standard error"
                        break
                if monotonic() > end and steps >= 2 * BLOCK * len(paths):
                    stopped = "the time"
                    break
                if steps >= most and steps >= FEWEST * BATCH * len(paths):
                    break
    except KeyboardInterrupt:
        if not steps:
            raise
        stopped = "an interrupt"
    return replace(_summed_up(p, q, paths, steps, stopped), subject=about)


def _summed_up(p: Model, q: Model, paths: list[Path], steps: int, stopped: str) -> Divergence:
    if not all(np.isfinite(path.all().plain).all() for path in paths):
        return Divergence(
            inf, "observed", "estimate", inf, inf, None, steps, per="step",
            infinite=["a path of p is impossible under q"],
        )  # fmt: skip
    means = [_mean(path) for path in paths]
    value, error = _weighted(paths, means)
    half = max((m.half_width() / m.std_error for m in means if m.std_error > 0), default=0.0) * error
    bare, plain = ([plain_mean(getattr(_merged(path.all()), key)) for path in paths] for key in ("base", "plain"))
    of = "log p(x_t | past)/q(x_t | past)" if paths[0].space is None else "KL(p(x_t | past) || q(x_t | past))"
    notes = [
        f"{of} along {len(paths)} path{'s' if len(paths) > 1 else ''}, {means[0].controls} controls, "
        f"{len(means[0].draws)} long batches, ended by {stopped}",
        "without controls {:.10g} (standard error {:.2g})".format(*_weighted(paths, bare)),
    ]
    if error > 0:
        apart = _weighted(paths, plain)
        notes.append(
            f"plain log-ratio {apart[0]:.10g} ({apart[1]:.2g}): variance divided by {(apart[1] / error) ** 2:.3g}"
        )
    if any(abs(_carry(m.draws)) > 0.3 for m in means):
        notes.append("batches are still correlated, a longer path would tell more")
    settled = sum(path.p.n_states for path in paths) == p.n_states
    if not settled and len(closed_classes(np.asarray(q.transitions[0]))) > 1:
        notes.append("what p emits before it settles, which may decide where q ends, is left out")
    return Divergence(value, "observed", "estimate", value - half, value + half, error, steps, per="step", notes=notes)


def _mean(path: Path) -> Mean:
    """Mean over batches; the standard error is that of longer ones, whose ends have less in common.

    What is left when the controls are taken out is often a difference of two ends: neighbours then cancel, and the
    spread of short batches says far too much.
    """
    every = path.all()
    batch = _merged(every)
    steps = BATCH * len(every.base) // len(batch.base)
    found = controlled_mean(batch.base, batch.controls, steps)
    size = max(len(found.draws) // GROUPS, 1)
    long = found.draws[len(found.draws) % size :].reshape(-1, size).mean(axis=1)
    if len(long) > 1:
        carry = _carry(long)
        carry = carry if carry > CARRIED / sqrt(len(long)) else 0.0
        unit = unit_of(long)
        error = (
            unit * float((long / unit).std(ddof=1)) / sqrt(len(long)) * sqrt((1.0 + carry) / (1.0 - min(carry, 0.9)))
        )
        found = found._replace(std_error=error if found.settled else max(error, found.std_error), draws=long)
    found = widened(found, 1.0, missed(batch.events, *path.expected, steps), least=False)
    chance = unseen(batch.controls)
    return widened(found, chance, float(np.abs(batch.plain).max())) if chance > SURE else found


def _carry(draws: Array) -> float:
    """Correlation of neighbouring batches."""
    off = draws - draws.mean()
    off = off / max(float(np.abs(off).max(initial=0.0)), 1e-300)  # squares of very large numbers are none
    square = float(off @ off)
    return float(off[1:] @ off[:-1]) / square if square > 0 else 0.0


def _merged(batch: Batch) -> Batch:
    """At most BATCHES batches, neighbours averaged."""
    while len(batch.base) > BATCHES:
        even = len(batch.base) // 2 * 2
        batch = Batch(*(0.5 * (part[0:even:2] + part[1:even:2]) for part in batch))
    return batch


def _weighted(paths: list[Path], means: list[Mean]) -> tuple[float, float]:
    """Over the classes, each with its probability."""
    shares = np.array([path.share for path in paths])
    values, errors = np.array([m.value for m in means]), np.array([m.std_error for m in means])
    unit = unit_of(errors)
    return float(shares @ values), unit * float(np.sqrt((shares**2) @ ((errors / unit) ** 2)))
