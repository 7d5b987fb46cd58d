"""Draws for rates: what the last steps of a chain add to its first ones, in which both filters forget their start.

A chain of p starts in its long-run law. What all of its steps give, less what the first ones alone give, has the mean
D(all) - D(first), the rate times the number of last steps; and the controls of both, whose means are known, differ by a
control of known mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.observed.sampled.chain_draws import RATIO, ChainPair, Value
from hidiv.divergences.observed.sampled.draws import Drawn, Draws, Fitted, Plainer, portion, weigh
from hidiv.divergences.observed.sampled.estimate_words import PREDICTIONS
from hidiv.divergences.observed.sampled.rare_moves import Likely, drawn_of, weighted
from hidiv.divergences.observed.sampled.tree_estimate import DISTINCT, TreePair, impossible_parts
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.filters import run_both
from hidiv.types import Array, IntArray

FORGOTTEN = 1e-7  # distance of two filters from different starts that counts as none
CHAINS = 64  # on which they are compared
SHORTEST, LONGEST = 64, 4096  # steps of these chains
FEWEST_FIRST, FEWEST_LAST = 16, 256  # steps
TIMES = 4  # last steps for each first one, up to LONGEST
SPARE = 1.25  # first steps for each one that the filters took to forget
AT_ONCE, LANES = 1 << 14, 8  # steps drawn between two looks at the clock; chains at least, of those side by side
MOSTLY = 1e-3  # weight of the other states in a start that is mostly in one


@dataclass(frozen=True, eq=False)
class LastSteps:
    """p and q on a chain of all steps, and on one of the first steps alone."""

    whole: ChainPair | TreePair
    first: ChainPair | TreePair

    @classmethod
    def of(cls, p: Model, q: Model, first: int) -> LastSteps:
        """p in its long-run law; with as many last steps as make the first ones worth their cost."""
        last = min(max(FEWEST_LAST, TIMES * first), LONGEST)
        whole, short = Tree.chain(first + last), Tree.chain(first)
        try:
            return cls(ChainPair.of(p, q, whole), ChainPair.of(p, q, short))
        except NotApplicable:
            close = TreePair(p, q, short)
            if close.close:
                return cls(TreePair(p, q, whole), close)
            return cls(ChainPair.by_ratio(p, q, whole), ChainPair.by_ratio(p, q, short))

    @property
    def n_last(self) -> int:
        """Number of last steps."""
        return self.whole.tree.n_nodes - self.first.tree.n_nodes

    def draw(
        self, size: int, rng: np.random.Generator, lean: bool = False, likely: Likely | None = None,
        value: Value | None = None,
    ) -> Drawn:  # fmt: skip
        """`size` chains, a step on average; the other arguments as `ChainPair.draw` takes them."""
        states, x = drawn_of(self.whole.p, self.whole.tree, size, rng, likely)
        drawn = self._along(states, x, lean, value)
        return drawn if likely is None else weighted(drawn, self.whole.p, likely, self.whole.tree, states, x)

    def _along(self, states: IntArray, x: Array, lean: bool, value: Value | None) -> Drawn:
        """What chains with these states (n, N) and observations (n, N, F) give."""
        n = self.first.tree.n_nodes
        before, early = np.ascontiguousarray(states[:, :n]), np.ascontiguousarray(x[:, :n])
        if isinstance(self.whole, ChainPair) and isinstance(self.first, ChainPair):
            same = None if value is None else (value[0], np.ascontiguousarray(value[1][-n:]))
            parts = self.whole.along(states, x, lean, value), self.first.along(before, early, lean, same)
        else:
            parts = self.whole.along(states, x, lean), self.first.along(before, early, lean)
        whole, first = parts
        controls = np.zeros((len(x), 0))
        if whole.controls.shape == first.controls.shape:  # as a rule; otherwise one of them was computed in another way
            controls = whole.controls - first.controls
        with np.errstate(invalid="ignore"):  # chains that q cannot show are infinite from the first steps on
            plain, base = (
                np.where(np.isinf(one), one, (one - two) / self.n_last)
                for one, two in zip(whole[:2], first[:2], strict=True)
            )
        return Drawn(plain, base, controls, whole.events - first.events)

    def fitted(self, rng: np.random.Generator) -> Fitted | None:
        """Draws with a value function fitted to others; None without.

        It is fitted where both filters have forgotten their start, for which few steps do.
        """
        steps = max(self.first.tree.n_nodes, FEWEST_LAST)
        fit = self.whole.fit(rng, steps) if isinstance(self.whole, ChainPair) else None
        if fit is None:
            return None
        return Fitted(
            lambda size, rng, likely=None: self.draw(size, rng, fit.lean, likely, fit.value), fit.dear, fit.drawn,
            short=self.n_last < LONGEST,
        )  # fmt: skip

    @cached_property
    def expected(self) -> tuple[Array, Array]:
        """Means of the events in the last steps, and what one more may add to the mean of a draw."""
        (whole, costs), (first, _) = self.whole.events.expected, self.first.events.expected
        return whole - first, costs / self.n_last

    def draws(self, subject: str) -> Draws:
        """What is drawn until it is enough."""
        pair, steps = self.whole, f"over the last {self.n_last} steps of chains of {self.whole.tree.n_nodes} from p"
        nodes = pair.tree.n_nodes
        at_once = min(portion(nodes * (pair.p.n_states + pair.q.n_states)), max(AT_ONCE // nodes, LANES))
        sparse, reach = impossible_parts(pair.p, pair.q, 1)
        on_chain = isinstance(pair, ChainPair)
        base = f"{PREDICTIONS if isinstance(pair, ChainPair) and pair.averaged else pair.base}, averaged {steps}"
        return Draws(
            self.draw, subject, base, at_once, None, sparse, True, reach, lambda: self.expected, pair.dear,
            self.fitted if on_chain else None, leading=pair.leading if isinstance(pair, ChainPair) else 0,
            likely=lambda: pair.events.likely(), distinct=None if on_chain else DISTINCT,
            plainer=lambda: self._plainer(subject),
        )  # fmt: skip

    def _plainer(self, subject: str) -> Plainer | None:
        """The same by log p/q of what was drawn, where an average over the next observation takes much longer."""
        if not (isinstance(self.whole, ChainPair) and isinstance(self.first, ChainPair)):
            return None
        whole, first = self.whole.plainer, self.first.plainer
        return None if whole is None or first is None else Plainer(LastSteps(whole, first).draws(subject), RATIO)


def steps_to_forget(p: Model, q: Model) -> int:
    """Steps along chains of p by which filters of both models forget their start; LONGEST where they take longer.

    Filters from two very different starts are compared on a few chains, always the same ones.
    """
    rng, length = np.random.default_rng(0), SHORTEST
    while length <= LONGEST:
        tree = Tree.chain(length)
        _, x = drawn_of(p, tree, CHAINS, rng, None)
        apart = np.zeros(length)
        for model in (p, q):
            weights, moves = weigh(model, tree, x), model.transitions
            one, two = run_both((model.initial, _elsewhere(model)), (moves, moves), (weights, weights))
            with np.errstate(invalid="ignore"):
                distance = np.abs(one.updated - two.updated).sum(axis=1).max(axis=1)
            apart = np.maximum(apart, np.nan_to_num(distance, nan=1.0))
        late = np.flatnonzero(~(apart < FORGOTTEN))
        steps = int(late[-1]) + 2 if late.size else 1
        if SPARE * steps < length:
            return max(FEWEST_FIRST, int(SPARE * steps) + 1)
        length *= 2
    return LONGEST


def _elsewhere(model: Model) -> Array:
    """A law of the first state that is mostly in the state that is the least likely one at first."""
    possible = model.initial > 0
    law = np.where(possible, MOSTLY, 0.0)
    law[np.argmin(np.where(possible, model.initial, np.inf))] = 1.0
    return np.asarray(law / law.sum())
