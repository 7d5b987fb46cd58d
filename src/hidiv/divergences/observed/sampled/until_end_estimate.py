"""Estimates for chains that stop by themselves: of what is shown and where it ends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hidiv.divergences.joint.visits import expected_visits
from hidiv.divergences.observed.alphabets import FiniteChain, by_formula, family_symbols, has_symbols
from hidiv.divergences.observed.certified.joint_bound import capped_by_joint, joint_above
from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.observed.quadrature.observation_points import points
from hidiv.divergences.observed.quadrature.panels import QUICK
from hidiv.divergences.observed.sampled.draws import Drawn, Draws, impossible, portion
from hidiv.divergences.observed.sampled.estimate_words import PREDICTIONS
from hidiv.divergences.observed.sampled.standard_errors import drawn_counts, event_costs
from hidiv.divergences.observed.sampled.stopping import stopped_estimate
from hidiv.divergences.observed.support.any_family import log_weights, supports
from hidiv.divergences.observed.support.symbols import forbidden_word
from hidiv.emissions.family import Family
from hidiv.errors import OutOfRange, refuse
from hidiv.models.model import Model
from hidiv.models.until_end import UNTIL_END
from hidiv.recursions.chain_sums import chain_sums
from hidiv.recursions.filters import Weights, run_both
from hidiv.recursions.posterior_draws import pick
from hidiv.types import Array, IntArray

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget
    from hidiv.divergences.pair import Pair
    from hidiv.divergences.result import Divergence

LONGEST = 10**6  # nodes of a chain


def applies(pair: Pair) -> str | None:
    """Any models with `end`; chains that are too long to be drawn are refused."""
    return None


def run(pair: Pair, budget: Budget) -> Divergence:
    """An estimate, with what is certain in its notes."""
    chains = pair.once(ending)
    reason = chains.forbidden()
    if reason is not None:
        return stopped_estimate(impossible(pair, reason), budget)
    at_once = portion(int(chains.visits.sum() + 1.0) * 4 * (pair.p.n_states + pair.q.n_states + 2))
    whole = "log p/q of whole chains"
    base = whole if chains.tables is None else f"{PREDICTIONS}, summed to the end"
    draws = Draws(chains.draw, pair.subject, base, at_once, dear=2.0, expected=lambda: chains.expected)
    estimate = capped_by_joint(stopped_estimate(draws, budget), pair)
    above = pair.once(joint_above) if by_formula(pair.p, pair.q) else inf
    certain = f"; it is at most {above:.6g}, which is certain" if above < inf else ""
    return estimate.noted(f"not exact or narrowly certified, because the lengths are random{certain}")


def ending(pair: Pair) -> EndPair:
    """p and q of a pair of models with `end`."""
    return EndPair.of(pair.p, pair.q)


@dataclass(frozen=True, eq=False)
class EndPair:
    """p and q with `end`; `tables` the points of an observation with that of the end, None where they are no sum."""

    p: Model
    q: Model
    visits: Array  # (K,) of p's states
    tables: tuple[Array, Array, Array, Array] | None

    @classmethod
    def of(cls, p: Model, q: Model) -> EndPair:
        """Refused where a chain of p may never end."""
        visited = expected_visits(p, UNTIL_END, 1, 1)
        visits = np.asarray(visited.states[0] * visited.n_nodes)
        if visits.sum() > LONGEST:
            refuse(OutOfRange, "p", f"chains of {visits.sum():.3g} nodes on average are too long to be drawn")
        return cls(p, q, visits, _tables(p.emissions[0], q.emissions[0]))

    @cached_property
    def chains(self) -> tuple[FiniteChain, FiniteChain]:
        """Initial laws, transitions and symbols with the end among them; (K + 1, 1) of ones where there are none."""
        return with_end(self.p), with_end(self.q)

    def forbidden(self) -> str | None:
        """Why the divergence is infinite; None where q can show, and end after, whatever p does."""
        shown = supports(self.p.emissions[0], self.q.emissions[0])
        left, right = (
            FiniteChain(chain.initial, chain.transition, and_end(table.astype(np.float64)))
            for chain, table in zip(self.chains, shown, strict=True)
        )
        word = forbidden_word(left, right, np.inf)
        if word is None:
            return None
        ended = shown[0].shape[1] in word
        letters = " ".join(str(symbol) for symbol in word if symbol < shown[0].shape[1])
        if not has_symbols(self.p.emissions[0]):
            return f"p {'ends where' if ended else 'emits values that'} q cannot"
        return f"p emits the word {letters}{' and ends' if ended else ''}, and q cannot"

    def draw(self, size: int, rng: np.random.Generator, lean: bool = False) -> Drawn:
        """`size` chains of p: the log-ratio, the sum of one-step divergences, and controls."""
        states = self._states(size, rng)
        real = states < self.p.n_states
        x = self.p.emissions[0].draw(states[real], rng)
        row_of = np.empty(states.shape, dtype=np.int64)
        weights, shift, symbols = self._weights(x, real, row_of)
        laws = [(c.initial, c.transition, table) for c, table in zip(self.chains, weights, strict=True)]
        sums = None
        if self.tables is not None:
            sums = chain_sums(laws[0], laws[1], row_of, self.tables, None, None, symbols, not lean, 0, 1)
        if sums is None:
            return self._plain(weights, row_of, shift, self._events(states))
        first = 2 + 2 * (self.p.n_states + self.q.n_states)
        means, known = self._means(symbols)
        mine = sums[:, first : first + len(means)] - means
        controls = np.concatenate([sums[:, 2:first], mine[:, known], sums[:, first + len(means) :]], axis=1)
        return Drawn(sums[:, 0] + shift, sums[:, 1], controls, self._events(states))

    @cached_property
    def expected(self) -> tuple[Array, Array]:
        """Means of the first states and transitions that are drawn, and what one more of each may add."""
        means = np.append(self.p.initial, (self.visits[:, None] * self.p.transitions[0]).ravel())
        return means, event_costs(self.p, self.q, jumps=self.tables is None)

    def _events(self, states: IntArray) -> Array:
        """(n, K + K K): first states and transitions, the end left out."""
        k = self.p.n_states
        counts = drawn_counts(states, None, k + 1)
        pairs = counts[:, k + 1 :].reshape(len(states), k + 1, k + 1)[:, :k, :k]
        return np.concatenate([counts[:, :k], pairs.reshape(len(states), -1)], axis=1)

    def _states(self, size: int, rng: np.random.Generator) -> IntArray:
        """(n, N): states until all chains have ended."""
        chain = self.chains[0]
        rows = np.cumsum(chain.transition, axis=1)
        states = [pick(np.broadcast_to(np.cumsum(chain.initial), (size, chain.n_states)), rng.random(size))]
        while (states[-1] < self.p.n_states).any():
            if len(states) > LONGEST:
                refuse(OutOfRange, "p", f"drew a chain of more than {LONGEST} nodes")
            states.append(pick(rows[states[-1]], rng.random(size)))
        return np.stack([*states, states[-1]], axis=1)  # the end once more, since sums leave out the last node

    def _weights(self, x: Array, real: NDArray[np.bool_], row_of: IntArray) -> tuple[list[Array], Array, bool]:
        """Rows of weights for p and q with that of the end last, what they were scaled by, and whether by symbol."""
        families = self.p.emissions[0], self.q.emissions[0]
        if all(has_symbols(f) for f in families) or not x.shape[1]:
            row_of[~real] = self.chains[0].n_symbols - 1
            row_of[real] = x[:, 0] if x.shape[1] else 0
            return [np.ascontiguousarray(c.probabilities.T) for c in self.chains], np.zeros(len(real)), True
        row_of[~real], row_of[real] = len(x), np.arange(len(x))
        shift, weights = np.zeros(len(real)), []
        for family, sign in zip(families, (1.0, -1.0), strict=True):
            logs = log_weights(family, x)
            top = np.where(np.isfinite(logs.max(axis=1)), logs.max(axis=1), 0.0)
            np.add.at(shift, np.nonzero(real)[0], sign * top)
            weights.append(and_end(np.exp(logs - top[:, None])))
        return weights, shift, False

    def _plain(self, weights: list[Array], row_of: IntArray, shift: Array, events: Array) -> Drawn:
        """The log-ratio alone."""
        one, two = run_both(
            [c.initial for c in self.chains],
            [c.transition[None] for c in self.chains],
            [Weights(np.ascontiguousarray(table[row_of].transpose(1, 2, 0)), None) for table in weights],
        )
        ratio = (one.log_prob - two.log_prob).sum(axis=0) + shift
        return Drawn(ratio, ratio, np.zeros((len(ratio), 0)), events)

    def _means(self, symbols: bool) -> tuple[Array, NDArray[np.bool_]]:
        """Means of first states, pairs and symbols by state, and which are known: what follows the end goes on."""
        chain, k = self.chains[0], self.p.n_states
        often = np.append(self.visits, np.nan)[:, None]
        parts = [chain.initial, (often * chain.transition).ravel()]
        if symbols:
            parts.append((often * chain.probabilities).ravel())
        means = np.concatenate(parts)
        known = np.isfinite(means)
        known[k] = False  # the first state is never the end
        return np.where(known, means, 0.0), known


def with_end(model: Model) -> FiniteChain:
    """The chain that goes on for ever in a state of its own once it has ended."""
    assert model.end is not None
    family, k = model.emissions[0], model.n_states
    shown = family_symbols(family) if has_symbols(family) else np.ones((k, 1))
    moves = np.zeros((k + 1, k + 1))
    moves[:k, :k], moves[:k, k], moves[k, k] = model.transitions[0], model.end, 1.0
    return FiniteChain(np.append(model.initial, 0.0), moves, and_end(shown))


def and_end(table: Array) -> Array:
    """One more state that shows one more symbol, which no other state does: (n + 1, m + 1) of (n, m)."""
    larger = np.zeros((table.shape[0] + 1, table.shape[1] + 1))
    larger[:-1, :-1], larger[-1, -1] = table, 1.0
    return larger


def _tables(p: Family, q: Family) -> tuple[Array, Array, Array, Array] | None:
    """Points of p and q with the end, scales and weights."""
    if not p.n_features:
        one = np.ones((p.n_states, 1)), np.ones((q.n_states, 1))
        return and_end(one[0]), and_end(one[1]), np.zeros(2), np.ones(2)
    try:
        space = points(p, q, QUICK)
    except NotApplicable:
        return None
    return and_end(space.p), and_end(space.q_scaled), np.append(space.scale, 0.0), np.append(space.weight, 1.0)
