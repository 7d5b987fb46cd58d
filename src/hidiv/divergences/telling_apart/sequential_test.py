"""Wald's sequential test between two models, simulated: how many observations it takes until it decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hidiv.divergences.observed.sampled.draws import weigh
from hidiv.inference.likelihood import log_likelihoods
from hidiv.inference.sampling import draw_observations, draw_states
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.filters import run_both
from hidiv.types import Array, IntArray

BLOCK = 32  # steps drawn at once
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
        self.models, self.rng, self.place = (true, other), rng, Tree.chain(BLOCK)
        # (K, n): the law of each chain's next state, given its observations so far, under either model
        self.laws = [np.repeat(model.initial[:, None], paths, axis=1) for model in self.models]
        self.states = _chosen(np.broadcast_to(np.cumsum(true.initial), (paths, true.n_states)), rng)

    def gains(self) -> Array:
        """(BLOCK, n): log-ratios of the next observations given those before."""
        true = self.models[0]
        walked, self.states = _walk(true, self.states, self.rng)
        x = np.asarray(true.emissions[0].sample(walked.ravel(), self.rng))
        x = x.reshape(*walked.shape, true.n_features).transpose(1, 0, 2)
        weights = [weigh(model, self.place, x) for model in self.models]
        one, two = run_both(self.laws, [model.transitions for model in self.models], weights)
        self.laws = [m.transitions[0].T @ f.updated[-1] for m, f in zip(self.models, (one, two), strict=True)]
        return np.asarray(one.log_prob - two.log_prob)

    def keep(self, going: NDArray[np.bool_]) -> None:
        """Drop the chains whose test has decided."""
        self.states = self.states[going]
        self.laws = [law[:, going] for law in self.laws]


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
