"""Wald's sequential test between two chains, run on draws: how long it takes until one of them is believed."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.arguments import Seed, generator
from hidiv.models.model import Model

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

BLOCK = 32  # steps drawn at once
TINY = 1e-200  # of a sum of weights below 1, where underflow comes into sight
LONGEST = 100_000  # steps after which a test is given up


@dataclass(frozen=True)
class Simulated:
    """Mean number of observations of a test with its standard error, over `paths` tests; `wrong`: share that erred."""

    mean: float
    std_error: float
    wrong: float
    paths: int


def run_tests(true: Model, other: Model, error: float, paths: int, seed: Seed, max_seconds: float) -> Simulated | None:
    """Tests on chains drawn from `true`, each until log true(x)/other(x) leaves +-log((1 - error)/error).

    None where some test has not ended within the time or LONGEST steps: a mean without them would be too small.
    """
    rng = generator(seed)
    limit, end = log((1.0 - error) / error), monotonic() + max_seconds
    laws = [_Filter(true, paths), _Filter(other, paths)]
    states = _chosen(np.broadcast_to(np.cumsum(true.initial), (paths, true.n_states)), rng)
    ratio, taken = np.zeros(paths), np.zeros(paths)
    alive, step, wrong = np.arange(paths), 0, 0
    while alive.size:
        if step >= LONGEST or monotonic() > end:
            return None
        walked, states = _walk(true, states, rng)
        x = true.emissions[0].sample(walked.ravel(), rng)
        gains = [law.advance(_weights(law.model, x, walked.shape)) for law in laws]
        path = ratio + np.cumsum(gains[0] - gains[1], axis=0)
        left = ~(np.abs(path) < limit)
        going, when, ratio = np.asarray(~left.any(axis=0)), left.argmax(axis=0), path[-1]
        stopped = np.flatnonzero(~going)
        taken[alive[stopped]] = step + 1 + when[stopped]
        wrong += int((path[when[stopped], stopped] < 0).sum())
        step += BLOCK
        alive, states, ratio = alive[going], states[going], ratio[going]
        for law in laws:
            law.keep(going)
    return Simulated(float(taken.mean()), float(taken.std(ddof=1)) / paths**0.5, wrong / paths, paths)


class _Filter:
    """The laws of the hidden state of many chains given what each has shown."""

    def __init__(self, model: Model, paths: int) -> None:
        self.model = model
        self.law = np.broadcast_to(model.initial, (paths, model.n_states))
        self.started = False

    def advance(self, log_weights: Array) -> Array:
        """(BLOCK, n): log-probability of each observation given those before; (BLOCK, n, K) log-weights of them."""
        top = log_weights.max(axis=2, keepdims=True)
        shift = np.where(np.isfinite(top), top, 0.0)
        weights, gains = np.exp(log_weights - shift), np.empty(log_weights.shape[:2])
        for t, now in enumerate(weights):
            predicted = self.law @ self.model.transitions[0] if self.started else self.law
            self.started = True
            weighted = predicted * now
            total = weighted.sum(axis=1)
            if total.min() < TINY:  # the states it can be in have next to no weight beside those it cannot
                gains[t], self.law = _carefully(predicted, log_weights[t])
            else:
                gains[t], self.law = np.log(total) + shift[t, :, 0], weighted / total[:, None]
        return gains

    def keep(self, which: NDArray[np.bool_]) -> None:
        self.law = self.law[which]


def _carefully(predicted: Array, log_weights: Array) -> tuple[Array, Array]:
    """The same step with weights relative to the largest a chain can meet; -inf where it can meet none."""
    met = np.where(predicted > 0, log_weights, -np.inf)
    top = met.max(axis=1, keepdims=True)
    weighted = predicted * np.exp(met - np.where(np.isfinite(top), top, 0.0))
    total = weighted.sum(axis=1, keepdims=True)
    # What cannot be shown ends the test; the law after it is never used.
    law = np.where(total > 0, weighted / np.where(total > 0, total, 1.0), predicted)
    with np.errstate(divide="ignore"):
        return np.log(total[:, 0]) + np.where(np.isfinite(top), top, 0.0)[:, 0], law


def _walk(model: Model, states: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """(BLOCK, n) states from the current ones on, and those that come next."""
    steps = np.cumsum(model.transitions[0], axis=1)
    walked = np.empty((BLOCK, len(states)), dtype=np.int64)
    for t in range(BLOCK):
        walked[t] = states
        states = _chosen(steps[states], rng)
    return walked, states


def _chosen(cumulated: Array, rng: np.random.Generator) -> IntArray:
    """One state for each row of cumulated probabilities; rounding never picks one of probability 0."""
    u = rng.random(len(cumulated)) * cumulated[:, -1]
    return np.asarray((cumulated <= u[:, None]).sum(axis=1), dtype=np.int64)


def _weights(model: Model, x: Any, shape: tuple[int, ...]) -> Array:
    """(BLOCK, n, K) log-weights of observations drawn as one long vector."""
    return np.asarray(model.emissions[0].log_prob(x)).reshape(*shape, model.n_states)
