"""Estimates on chains and trees of known size: which draws are averaged, and what rare events may add."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hidiv.divergences.comparable import closed
from hidiv.divergences.observed.alphabets import by_formula, family_symbols, has_symbols
from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.observed.sampled.chain_draws import ChainPair
from hidiv.divergences.observed.sampled.draws import Draws, impossible, portion
from hidiv.divergences.observed.sampled.joint_cap import capped_by_joint
from hidiv.divergences.observed.sampled.stopping import stopped_estimate
from hidiv.divergences.observed.sampled.tree_draws import TreePair
from hidiv.divergences.observed.support.families import forbidden
from hidiv.divergences.observed.variational import emission_pairs
from hidiv.models.tree import Tree

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget
    from hidiv.divergences.pair import Pair
    from hidiv.divergences.result import Divergence
    from hidiv.models.model import Model

DEAR = 3.0  # work of posterior counts on a tree, over that of a likelihood


def applies(pair: Pair) -> str | None:
    """Whatever can be drawn."""
    return None


def run(pair: Pair, budget: Budget) -> Divergence:
    """An estimate, no larger than the smallest joint divergence over relabellings."""
    return capped_by_joint(stopped_estimate(draws_on_tree(pair), budget), pair)


def draws_on_tree(pair: Pair) -> Draws:
    """Sums of one-step divergences on a chain, log-ratios on other trees and for vectors of numbers."""
    p, q, tree = pair.p, pair.q, pair.tree
    assert isinstance(tree, Tree)
    at_once = portion(tree.n_nodes * (p.n_states + q.n_states))
    reason = forbidden(p, q, tree)
    if reason is not None:
        return impossible(pair, reason, at_once)
    sparse, reach = _rare(p, q, tree)
    try:
        on_chain = ChainPair.of(p, q, tree)
    except NotApplicable:
        on_nodes = TreePair(p, q, tree)
        return Draws(
            on_nodes.draw, pair.subject, on_nodes.base, at_once, None, sparse, reach, lambda: on_nodes.expected, DEAR
        )
    base, dear = "KL(p(x_t | past) || q(x_t | past)) summed", 1.0 + 0.2 * (p.n_states + q.n_states - 2)
    return Draws(on_chain.draw, pair.subject, base, at_once, None, sparse, reach, lambda: on_chain.expected, dear)


def _rare(p: Model, q: Model, tree: Tree) -> tuple[bool, float]:
    """Whether some state, transition or symbol is impossible; if so, also what a draw would add whose nodes are all in
    the state of p that the states of q explain worst."""
    parts = [part for m in (p, q) for part in (m.initial, *m.transitions)]
    parts += [family_symbols(f) for m in (p, q) for f in m.emissions if has_symbols(f)]
    if not any(bool((np.asarray(part) == 0).any()) for part in parts):
        return False, 0.0
    if not closed(p, q) or not by_formula(p, q):
        return True, 0.0
    worst = emission_pairs(p, q).min(axis=2)
    return True, tree.n_nodes * float(np.where(np.isfinite(worst), worst, 0.0).max())
