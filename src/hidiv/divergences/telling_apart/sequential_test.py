"""Wald's sequential test between two models, simulated: how many observations it takes until it decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hidiv.inference.likelihood import log_likelihoods
from hidiv.inference.sampling import draw_observations, draw_states
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.types import Array, IntArray

BLOCK = 32  # steps drawn at once
TINY = 1e-200  # sums of weights below it may have lost terms to underflow
LONGEST = 100_000  # steps after which a simulation is given up


@dataclass(frozen=True)
class Simulated:
    """Mean number of observations of `paths` tests, its standard error, and the share of them that decided `wrong`."""

    mean: float
    std_error: float
    wrong: float
    paths: int


class Walks(NamedTuple):
    """Tests that have decided: (paths,) each."""

    taken: Array  # number of observations until the log-ratio left the limits
    ratio: Array  # log true/other at that time

    def simulated(self) -> Simulated:
        """Their mean number of observations."""
        paths = len(self.taken)
        error = float(self.taken.std(ddof=1)) / paths**0.5
        return Simulated(float(self.taken.mean()), error, float((self.ratio < 0).mean()), paths)


class Source(Protocol):
    """Observations of `paths` independent sequences, block by block."""

    def gains(self) -> Array:
        """(steps, paths still going): what each observation adds to log true/other."""

    def keep(self, going: NDArray[np.bool_]) -> None:
        """Drop the sequences whose test has decided; `going` (paths,) marks the others."""


def walks(source: Source, paths: int, limit: float, max_seconds: float) -> Walks | None:
    """Tests on draws, each until the log-ratio leaves +-limit; None where one has not ended in time."""
    end = monotonic() + max_seconds
    sums, taken, ratio = np.zeros(paths), np.zeros(paths), np.zeros(paths)
    alive, step = np.arange(paths), 0
    while alive.size:
        if step >= LONGEST or monotonic() > end:
            return None
        path = sums + np.cumsum(source.gains(), axis=0)
        left = ~(np.abs(path) < limit)
        going, when = np.asarray(~left.any(axis=0)), left.argmax(axis=0)
        stopped = np.flatnonzero(~going)
        taken[alive[stopped]] = step + 1 + when[stopped]
        ratio[alive[stopped]] = path[when[stopped], stopped]
        step += len(path)
        alive, sums = alive[going], path[-1, going]
        source.keep(going)
    return Walks(taken, ratio)


class Chains:
    """Chains of `true`, observation by observation."""

    def __init__(self, true: Model, other: Model, paths: int, rng: np.random.Generator) -> None:
        self.true, self.rng = true, rng
        self.laws = [_ChainFilters(true, paths), _ChainFilters(other, paths)]
        self.states = _chosen(np.broadcast_to(np.cumsum(true.initial), (paths, true.n_states)), rng)

    def gains(self) -> Array:
        """(BLOCK, n): log-ratios of the next observations given those before."""
        walked, self.states = _walk(self.true, self.states, self.rng)
        x = self.true.emissions[0].sample(walked.ravel(), self.rng)
        one, two = (law.advance(_weights(law.model, x, walked.shape)) for law in self.laws)
        return np.asarray(one - two)

    def keep(self, going: NDArray[np.bool_]) -> None:
        """Drop the chains whose test has decided."""
        self.states = self.states[going]
        for law in self.laws:
            law.keep(going)


class Forests:
    """Independent draws of the same trees from `true`; one draw of all of them is one observation."""

    def __init__(
        self, true: Model, other: Model, trees: Sequence[Tree], paths: int, rng: np.random.Generator, block: int
    ) -> None:
        self.true, self.other, self.trees, self.rng = true, other, trees, rng
        self.going, self.block = paths, block

    def gains(self) -> Array:
        """(block, n): log-ratios of whole draws."""
        count = self.block * self.going
        total = np.zeros(count)
        for tree in self.trees:
            x = draw_observations(self.true, tree, draw_states(self.true, tree, count, self.rng), self.rng)
            total += log_likelihoods(self.true, x, tree) - log_likelihoods(self.other, x, tree)
        return total.reshape(self.block, self.going)

    def keep(self, going: NDArray[np.bool_]) -> None:
        """Drop the draws whose test has decided."""
        self.going = int(going.sum())


class _ChainFilters:
    """Filters of many chains: the law of each hidden state given the observations so far."""

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
            if total.min() < TINY:  # the largest weight may be that of a state the chain cannot be in
                gains[t], self.law = _carefully(predicted, log_weights[t])
            else:
                gains[t], self.law = np.log(total) + shift[t, :, 0], weighted / total[:, None]
        return gains

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Drop the chains whose test has decided."""
        self.law = self.law[which]


def _carefully(predicted: Array, log_weights: Array) -> tuple[Array, Array]:
    """The same step with weights relative to the largest among possible states; -inf where none has any."""
    possible = np.where(predicted > 0, log_weights, -np.inf)
    top = possible.max(axis=1, keepdims=True)
    weighted = predicted * np.exp(possible - np.where(np.isfinite(top), top, 0.0))
    total = weighted.sum(axis=1, keepdims=True)
    # An impossible observation ends the test; the law after it is never used.
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
