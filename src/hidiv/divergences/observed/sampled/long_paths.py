"""Long paths of p, one for each closed class: one-step divergences and controls, summed over batches of steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.observed.quadrature.observation_points import points
from hidiv.divergences.observed.quadrature.panels import QUICK
from hidiv.divergences.observed.sampled.controls import ROUNDING, emission_means
from hidiv.divergences.observed.sampled.draws import Drawn, joined, weigh
from hidiv.divergences.observed.sampled.standard_errors import event_costs
from hidiv.inference.sampling import draw_observations, draw_states
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.filters import Filters, Weights, run_backward, run_both
from hidiv.recursions.gth import absorbed, closed_classes, reaches, stationary
from hidiv.recursions.predictive import ObservationPoints, Past, Wanted, steps_ahead
from hidiv.types import Array, IntArray

BLOCK = 2048  # steps taken at once, fewer where their points are many
ONE = 1e-10  # distance of an eigenvalue from 1 that is rounding
CELLS = 1 << 23  # steps times points times states of a block at most
BATCH = 64  # steps of the shortest batch
LONGEST = 4096  # steps of the longest batch that is waited for


@dataclass(eq=False)
class Path:
    """A path of p in a closed class, which p ends in with probability `share`; `advance` continues it.

    p starts in the stationary law of the class, so that every count has its long-run mean from the first step on.
    """

    p: Model
    q: Model
    share: float
    space: ObservationPoints | None
    rng: np.random.Generator
    state: int | None = None
    filters: list[Array] | None = None
    batches: list[Drawn] = field(default_factory=list)

    @cached_property
    def block(self) -> int:
        """How many steps are taken at once: whole batches, so few that the clock is looked at often enough."""
        points = 1 if self.space is None else len(self.space.weight)
        states = self.p.n_states * self.p.n_states + self.q.n_states * self.q.n_states
        return BATCH * max(1, min(BLOCK, CELLS // (points * states)) // BATCH)

    def advance(self, length: int = BLOCK, keep: bool = True) -> None:
        """The next `length` steps; those not kept only let the filters forget how they were started."""
        tree = Tree.chain(length)
        row = self.p.initial if self.state is None else self.p.transitions[0][self.state]
        states = draw_states(Model(row, self.p.transitions[0], self.p.emissions[0]), tree, 1, self.rng)
        x = draw_observations(self.p, tree, states, self.rng).reshape(1, length, -1)
        before, self.state = self.state, int(states[0, -1])
        weights_p, weights_q = weigh(self.p, tree, x), weigh(self.q, tree, x)
        models = self.p, self.q
        starts = [m.initial for m in models] if self.filters is None else self.filters
        one, two = run_both(starts, [m.transitions for m in models], (weights_p, weights_q))
        self.filters = [
            _normalised(f.updated[-1, :, 0] @ m.transitions[0]) for f, m in zip((one, two), models, strict=True)
        ]
        if keep:
            assert before is not None
            batch = self._batch(x, one, two, weights_p, weights_q)
            self.batches.append(batch._replace(events=self._events(before, states[0])))

    @cached_property
    def memory(self) -> int:
        """Steps of a batch that neighbours have little to do with: BATCH, or more where either chain forgets slowly."""
        gaps = np.concatenate([np.abs(1.0 - np.linalg.eigvals(m.transitions[0])) for m in (self.p, self.q)])
        slowest = gaps[gaps > ONE].min(initial=1.0)  # those below belong to the long-run laws
        return int(BATCH * 2 ** np.ceil(np.log2(min(max(4.0 / slowest, BATCH), LONGEST) / BATCH)))

    @property
    def n_batches(self) -> int:
        """Batches kept so far."""
        return sum(len(batch.base) for batch in self.batches)

    @cached_property
    def expected(self) -> tuple[Array, Array]:
        """Long-run frequencies of the transitions, and what one more of each may add."""
        pairs = self.p.initial[:, None] * self.p.transitions[0]
        return pairs.ravel(), event_costs(self.p, self.q, jumps=self.space is None)[self.p.n_states :]

    def _events(self, before: int, states: IntArray) -> Array:
        """(n, K K): frequencies of the transitions into the steps of each batch."""
        rows = np.append(before, states[:-1]).reshape(-1, BATCH), states.reshape(-1, BATCH)
        width = self.p.n_states**2
        code = rows[0] * self.p.n_states + rows[1] + width * np.arange(len(rows[0]))[:, None]
        return np.bincount(code.ravel(), minlength=width * len(code)).reshape(len(code), width) / BATCH

    def _batch(self, x: Array, one: Filters, two: Filters, weights_p: Weights, weights_q: Weights) -> Drawn:
        """Means over batches of steps."""
        plain = (one.log_prob - two.log_prob)[:, 0]
        flat = Past(*(part.transpose(2, 1, 0) for part in (one.predicted, one.updated, two.predicted, two.updated)))
        counts = self._counts(x, one, weights_p, weights_q)
        if self.space is None:
            base = plain
            gain = (one.updated - one.predicted)[:, :-1, 0]
            before = two.predicted[:, :-1, 0]
            controls = [gain, counts, (gain[:, :, None] * before[:, None, :]).reshape(len(gain), -1)]
        else:
            steps = [step for _, step in steps_ahead(self.space, flat, Wanted(cubes=False))]
            base = np.concatenate([step.divergence for step in steps], axis=1)[0]
            linear, products = (
                np.concatenate(parts, axis=2)[:, 0].T
                for parts in ([s.linear for s in steps], [s.quadratic for s in steps])
            )
            controls = [linear, counts, products]
        table = np.column_stack([plain, base, *controls])
        means = table.reshape(-1, BATCH, table.shape[1]).mean(axis=1)
        return Drawn(means[:, 0], means[:, 1], means[:, 2:], np.zeros((len(means), 0)))

    def _counts(self, x: Array, one: Filters, weights_p: Weights, weights_q: Weights) -> Array:
        """(N, F): posterior probabilities of states, pairs and emissions at every step, less their long-run means."""
        transition = self.p.transitions[0]
        smoothed, into = (part[:, :, 0] for part in run_backward(self.p.transitions, one))
        pairs = np.zeros((len(smoothed), *transition.shape))  # of the step before; the block's first has none
        pairs[1:] = one.updated[:-1, :, 0][:, :, None] * transition * into[1:, None, :]
        pairs[1:] -= self.p.initial[:, None] * transition
        means = emission_means(self.p.emissions[0], self.q.emissions[0])
        if means is None:
            shown = smoothed - self.p.initial
        else:
            if self.space is not None and self.space.symbols:
                seen = x[0, :, 0][:, None] == np.arange(means.shape[1])
                terms = smoothed[:, :, None] * seen[:, None, :]
            else:
                logs = weights_p.logs()[:, :, :1] - weights_q.logs()[:, :, 0][:, None, :]
                with np.errstate(invalid="ignore"):
                    terms = np.where(smoothed[:, :, None] > 0, smoothed[:, :, None] * logs, 0.0)
                    terms[:, means < ROUNDING] = 0.0
            shown = terms - self.p.initial[:, None] * means
        return np.concatenate([pairs.reshape(len(smoothed), -1), shown.reshape(len(smoothed), -1)], axis=1)

    def all(self) -> Drawn:
        """Every batch so far, in order."""
        self.batches = [joined(self.batches)]
        return self.batches[0]


def paths_of(p: Model, q: Model, streams: list[np.random.Generator]) -> list[Path]:
    """One path for each closed class that p reaches, as many as there are streams for."""
    q = forgotten_start(q)
    parts = classes_of(p)
    paths = []
    for (share, part), rng in zip(parts, streams, strict=False):
        try:
            space: ObservationPoints | None = points(part.emissions[0], q.emissions[0], QUICK)
        except NotApplicable:
            space = None
        paths.append(Path(part, q, share, space, rng))
    return paths


def classes_of(p: Model) -> list[tuple[float, Model]]:
    """The closed classes p reaches: the probability of ending in each, and p in it from its stationary law on."""
    transition = np.asarray(p.transitions[0])
    reached = np.flatnonzero(reaches(transition > 0)[p.initial > 0].any(axis=0))
    moves = transition[np.ix_(reached, reached)]
    members = closed_classes(moves)
    transient = np.ones(len(reached), dtype=np.bool_)
    transient[np.concatenate(members)] = False
    entered = absorbed(p.initial[reached], moves, transient)
    shares = np.array([entered[m].sum() for m in members])
    return [
        (float(share), Model(stationary(own), own, p.emissions[0].take(reached[m])))
        for share, m in zip(shares / shares.sum(), members, strict=True)
        for own in (moves[np.ix_(m, m)] / moves[np.ix_(m, m)].sum(axis=1, keepdims=True),)
    ]


def forgotten_start(q: Model) -> Model:
    """q with equal probabilities for all states it can be in: in the long run its filter forgets the start."""
    possible = reaches(q.transitions[0] > 0)[q.initial > 0].any(axis=0)
    return Model(possible / possible.sum(), np.asarray(q.transitions[0]), q.emissions[0])


def _normalised(law: Array) -> Array:
    """The law divided by its sum."""
    return np.asarray(law / law.sum())
