"""Estimates on chains and trees of known size: which draws are averaged; draws of trees, with log p/q and controls.

Messages are (n, L, K): sequences, nodes of a level, states. Close chains of vectors are drawn as trees too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hidiv.divergences.observed.alphabets import by_formula, family_symbols, has_symbols
from hidiv.divergences.observed.certified.joint_bound import capped_by_joint
from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.observed.sampled.chain_draws import RATIO, ChainPair
from hidiv.divergences.observed.sampled.controls import TreeCounts, counts_on, state_laws
from hidiv.divergences.observed.sampled.draws import Drawn, Draws, Plainer, impossible, portion, weigh, weigh_ratio
from hidiv.divergences.observed.sampled.events import Events, events_of
from hidiv.divergences.observed.sampled.rare_moves import Likely, drawn_of, weighted
from hidiv.divergences.observed.sampled.stopping import FEWEST, stopped_estimate
from hidiv.divergences.observed.sampled.tree_controls import (
    EdgeControls,
    StateControls,
    edge_controls,
    state_controls,
)
from hidiv.divergences.observed.support.any_family import forbidden
from hidiv.divergences.observed.variational import emission_pairs
from hidiv.divergences.pair import closed
from hidiv.emissions.registry import has_kl
from hidiv.inference.likelihood import NodeWeights, from_weights, node_weights
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.levels import by_level
from hidiv.recursions.terms import h
from hidiv.types import Array, IntArray

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget
    from hidiv.divergences.pair import Pair
    from hidiv.divergences.result import Divergence

DEAR, BY_STATE = 4.0, 0.25  # work of posterior counts on a tree, over that of a likelihood: so much, and for each state
FITTED = 100.0  # nodes whose likelihood takes as long as the fit of the controls of a draw
DISTINCT = 0.1  # what must be left of a tree's control when those before it are taken out: less is mostly rare events
CLOSE = 1e-2  # parameters this near: the difference of the likelihoods is carried, not taken
FAR = -0.5  # q/p - 1 of a draw below which q is not near p there: a rare symbol
SMALL_TREE = 12.0  # nodes whose draws take as long as a fit of their controls: so much more these must gain
SOON = 20_000  # nodes of further draws whose likelihoods take no longer than controls are set up
ROOM = 1.3  # by which their variance must be below the one asked for
WITHOUT = 1 << 15  # draws up to which trees do without controls that gain little
LARGEST, TOGETHER = 4096, 1 << 17  # draws of a portion of small trees, and its numbers
LONG = 32  # nodes from which on what is averaged is nearly normal, but for rare events
SMALL = 1e-3  # of the divergence of two emissions


def applies(pair: Pair) -> str | None:
    """Whatever can be drawn."""
    return None


def run(pair: Pair, budget: Budget) -> Divergence:
    """An estimate, no larger than the smallest joint divergence over relabellings."""
    draws = draws_on_tree(pair, Asked(budget.rtol, budget.atol, budget.max_samples or inf))
    found = stopped_estimate(draws, budget)
    is_below = draws.below_joint is not None and found.upper is not None and found.upper <= draws.below_joint()
    return found if is_below else capped_by_joint(found, pair)


def draws_on_tree(pair: Pair, asked: Asked | None = None) -> Draws:
    """Sums of one-step divergences on a chain, log-ratios on other trees and for vectors of numbers.

    asked: the error, where trees may do without controls if few draws reach it.
    """
    p, q, tree = pair.p, pair.q, pair.tree
    assert isinstance(tree, Tree)
    size = tree.n_nodes * (p.n_states + q.n_states)
    at_once = portion(size)
    reason = forbidden(p, q, tree)
    if reason is not None:
        return impossible(pair, reason, at_once)
    sparse, reach = impossible_parts(p, q, tree.n_nodes)
    long = tree.n_nodes >= LONG

    def by_ratio(ratio: ChainPair) -> Draws:
        return Draws(
            ratio.draw, pair.subject, ratio.base, at_once, None, sparse, long, reach,
            lambda: ratio.events.expected, scored=ratio.scored, leading=ratio.leading,
            likely=lambda: ratio.events.likely(),
        )  # fmt: skip

    try:
        on_chain = ChainPair.of(p, q, tree)
    except NotApplicable:
        on_nodes = TreePair(p, q, tree, asked)
        if tree.is_chain and p.n_groups == q.n_groups == 1 and not on_nodes.close:
            return by_ratio(ChainPair.by_ratio(p, q, tree))
        at_once = max(at_once, min(LARGEST, TOGETHER // size))
        return Draws(
            on_nodes.draw, pair.subject, on_nodes.base, at_once, None, sparse, long, reach,
            lambda: on_nodes.events.expected, on_nodes.dear, likely=lambda: on_nodes.events.likely(),
            distinct=DISTINCT, whole=True,
        )  # fmt: skip
    scored = on_chain.scored if on_chain.is_plain else None

    def plainer() -> Plainer | None:
        ratio = on_chain.plainer
        return None if ratio is None else Plainer(by_ratio(ratio), RATIO)

    return Draws(
        on_chain.draw, pair.subject, on_chain.base, at_once, None, sparse, long, reach,
        lambda: on_chain.events.expected, on_chain.dear, on_chain.fitted, scored,
        likely=lambda: on_chain.events.likely(), below_joint=lambda: on_chain.below_joint,
        plainer=plainer,
    )  # fmt: skip


def impossible_parts(p: Model, q: Model, n_nodes: int) -> tuple[bool, float]:
    """Whether some state, transition or symbol is impossible; if so, also what a draw would add whose nodes are all in
    the state of p that the states of q explain worst."""
    parts = [part for m in (p, q) for part in (m.initial, *m.transitions)]
    parts += [family_symbols(f) for m in (p, q) for f in m.emissions if has_symbols(f)]
    if not any(bool((np.asarray(part) == 0).any()) for part in parts):
        return False, 0.0
    if not closed(p, q) or not by_formula(p, q):
        return True, 0.0
    worst = emission_pairs(p, q).min(axis=2)
    return True, n_nodes * float(np.where(np.isfinite(worst), worst, 0.0).max())


class Asked(NamedTuple):
    """The relative and absolute error that is asked for, and the most draws."""

    rtol: float
    atol: float
    most: float

    def draws(self, plain: Array) -> float:
        """How many log-ratios like these have that error."""
        with np.errstate(invalid="ignore", over="ignore"):
            wanted = max(self.atol, self.rtol * abs(float(plain.mean())))
            return ROOM * float(plain.var()) / wanted**2 if wanted > 0 and np.isfinite(plain).all() else inf


@dataclass(frozen=True, eq=False)
class TreePair:
    """p and q on a tree; `asked` as `draws_on_tree` takes it."""

    p: Model
    q: Model
    tree: Tree
    asked: Asked | None = None
    alone: list[bool] = field(default_factory=list)  # whether draws do without controls, once that is decided

    @cached_property
    def moves(self) -> tuple[Array, Array]:
        """(N, K, K): transitions of p and q by node."""
        return _by_node(self.p, self.tree), _by_node(self.q, self.tree)

    @cached_property
    def levels(self) -> list[IntArray]:
        """Nodes by level, siblings together."""
        return by_level(self.tree.level, self.tree.parent)

    @cached_property
    def counts(self) -> TreeCounts:
        """Posterior counts and observed pairs, with their means."""
        return counts_on(self.p, self.q, self.tree, self.moves[0], self.levels, self.laws[0])

    @cached_property
    def close(self) -> bool:
        """Whether q is near p, state by state."""
        p, q = self.p, self.q
        if p.n_states != q.n_states or np.abs(q.initial - p.initial).max() > CLOSE:
            return False
        if np.abs(self.moves[1] - self.moves[0]).max() > CLOSE:
            return False
        for g in range(max(len(p.emissions), len(q.emissions))):
            one, two = (m.emissions[min(g, len(m.emissions) - 1)] for m in (p, q))
            if has_symbols(one) and has_symbols(two):
                if np.abs(family_symbols(one) - family_symbols(two)).max() > CLOSE:
                    return False
            elif one.n_features and not (has_kl(one, two) and (one.kl(two) < SMALL).all()):
                return False
        return True

    @cached_property
    def events(self) -> Events:
        """The states at the root, transitions and rare symbols that are counted."""
        return events_of(self.p, self.q, self.tree, self.laws[0], self.moves[0], False)

    @cached_property
    def laws(self) -> tuple[Array, Array]:
        """(N, K), (N, L): of the states of p and q."""
        laws_p, laws_q = (
            state_laws(m, self.tree, moves, self.levels) for m, moves in zip((self.p, self.q), self.moves, strict=True)
        )
        return laws_p, laws_q

    @cached_property
    def pairs(self) -> Array:
        """(K, K): how often p is expected to use each transition."""
        return np.asarray(np.einsum("ur,urs->rs", self.laws[0][self.tree.parent[1:]], self.moves[0][1:]))

    @cached_property
    def edges(self) -> EdgeControls | None:
        """Controls that need no messages, where an observation has few points."""
        return edge_controls(self.p, self.q, self.tree, self.laws, self.pairs)

    @cached_property
    def shown(self) -> StateControls:
        """The same for other observations."""
        return state_controls(self.p, self.q, self.laws[0].sum(axis=0), self.events.means)

    @property
    def dear(self) -> float:
        """The work of a draw with posterior counts, over that of one without."""
        return DEAR + BY_STATE * self.p.n_states + FITTED / self.tree.n_nodes

    @property
    def base(self) -> str:
        """In words, what is averaged."""
        return "q(x)/p(x) - 1 - log q(x)/p(x)" if self.close else "log p(x)/q(x)"

    def draw(self, size: int, rng: np.random.Generator, lean: bool = False, likely: Likely | None = None) -> Drawn:
        """`size` trees of p: log-ratios, what is averaged, controls; lean: only those that need no messages.

        For close models v - log(1 + v) with v = q/p - 1 is averaged: v has mean zero, and every term is small. likely:
        half of the trees are drawn from its model, with weights.
        """
        states, x = drawn_of(self.p, self.tree, size, rng, likely)
        drawn = self.along(states, x, lean)
        return drawn if likely is None else weighted(drawn, self.p, likely, self.tree, states, x)

    def along(self, states: IntArray, x: Array, lean: bool = False) -> Drawn:
        """What trees with these states (n, N) and observations (n, N, F) give."""
        events = self.events.counts(states, x)
        weights = [node_weights(model, x, self.tree) for model in (self.p, self.q)]
        cheap = np.zeros((len(x), 0))
        if lean and self.alone == [True]:
            plain = self._ratio(x, weights)
            return Drawn(plain, plain, cheap, events)
        plain = self._ratio(x, [each._replace(shares=each.shares.copy()) for each in weights])
        first = lean and not self.alone and self._decides(plain)
        if first and self._soon(plain):
            self.alone.append(True)
            return Drawn(plain, plain, cheap, events)
        if not self.close and self.edges is not None:
            cheap = self.edges.along(x, *weights)
        elif not self.close:
            cheap = self.shown.along(states, events, weights[0].logs, weights[1].logs)
        if self.close:
            excess = self._excess(x)
            near = excess > FAR  # elsewhere the difference of the logarithms is as good, and 1 + excess may be rounding
            small = np.where(near, excess, 0.0)
            plain = np.where(near, -np.log1p(small), plain)
            return Drawn(plain, np.where(near, h(small), excess + plain), cheap if lean else self._counts(x), events)
        if first:
            self.alone.append(_gain(plain, cheap) < 2.0 + SMALL_TREE / self.tree.n_nodes)
            cheap = cheap[:, :0] if self.alone[0] else cheap
        return Drawn(plain, plain, cheap if lean else np.concatenate([cheap, self._counts(x)], axis=1), events)

    def _ratio(self, x: Array, weights: list[NodeWeights]) -> Array:
        """(n,): log p/q of x; the weights under p and q become messages."""
        log_p, log_q = (from_weights(m, self.tree, w, x) for m, w in zip((self.p, self.q), weights, strict=True))
        return np.asarray(log_p - log_q)

    def _decides(self, plain: Array) -> bool:
        """Whether these log-ratios are the whole of the first portion, and draws without controls might do."""
        if self.close or self.asked is None or len(plain) != FEWEST:
            return False
        return self.asked.draws(plain) <= min(self.asked.most, WITHOUT)

    def _soon(self, plain: Array) -> bool:
        """Whether the error is reached sooner than controls are set up."""
        assert self.asked is not None
        return (self.asked.draws(plain) - len(plain)) * self.tree.n_nodes <= SOON

    def _counts(self, x: Array) -> Array:
        """(n, F): posterior counts of p, by messages from the leaves to the root, rescaled to a largest of one."""
        own = np.ascontiguousarray(weigh(self.p, self.tree, x).value.transpose(2, 0, 1))
        for nodes in reversed(self.levels[1:]):
            below = np.einsum("nus,urs->nur", own[:, nodes], self.moves[0][nodes])
            top = below.max(axis=2, keepdims=True)
            with np.errstate(invalid="ignore"):
                below = below / np.where(top > 0, top, 1.0)
            parents, first = np.unique(self.tree.parent[nodes], return_index=True)
            own[:, parents] *= np.multiply.reduceat(below, first, axis=1)
        return self.counts.along(own, x)

    def _excess(self, x: Array) -> Array:
        """(n,): q(x)/p(x) - 1, from differences carried upward with the messages of p, all on p's scale."""
        p, q = self.moves
        weights = weigh(self.p, self.tree, x).value.transpose(2, 0, 1)
        at_p = np.ascontiguousarray(weights)
        apart = at_p * np.expm1(weigh_ratio(self.p, self.q, self.tree, x)).transpose(2, 0, 1)
        for nodes in reversed(self.levels[1:]):
            below = np.einsum("nus,urs->nur", at_p[:, nodes], p[nodes])
            change = np.einsum("nus,urs->nur", apart[:, nodes], q[nodes])
            change += np.einsum("nus,urs->nur", at_p[:, nodes], (q - p)[nodes])
            top = below.max(axis=2, keepdims=True)
            below, change = below / top, change / top
            parent = self.tree.parent[nodes]
            for turn in range(int(np.bincount(parent).max())):  # a child of each parent at a time
                mine = np.flatnonzero(_turns(parent) == turn)
                at = parent[mine]
                apart[:, at] = apart[:, at] * (below[:, mine] + change[:, mine]) + at_p[:, at] * change[:, mine]
                at_p[:, at] *= below[:, mine]
        start = self.q.initial - self.p.initial
        return np.asarray((apart[:, 0] @ self.q.initial + at_p[:, 0] @ start) / (at_p[:, 0] @ self.p.initial))


def _gain(plain: Array, controls: Array) -> float:
    """By how much controls divide the variance of the draws, as a regression on all of them tells."""
    if not np.isfinite(plain).all() or not controls.size:
        return np.inf
    centred, about = controls - controls.mean(axis=0), plain - plain.mean()
    fit, _, rank, _ = np.linalg.lstsq(centred, about, rcond=1e-9)
    left = about - centred @ fit
    free = max(len(plain) - 1 - int(rank), 1)
    return float((about @ about) * free / max(float(left @ left) * (len(plain) - 1), 1e-300))


def _turns(parent: IntArray) -> IntArray:
    """Whether a node is the first, second, ... of its siblings, which stand together."""
    first = np.flatnonzero(np.r_[True, parent[1:] != parent[:-1]])
    return np.arange(len(parent)) - np.repeat(first, np.diff(np.r_[first, len(parent)]))


def _by_node(model: Model, tree: Tree) -> Array:
    """(N, K, K)."""
    if len(model.transitions) == 1:
        return np.broadcast_to(model.transitions, (tree.n_nodes, model.n_states, model.n_states))
    return np.asarray(model.transitions[tree.group])
