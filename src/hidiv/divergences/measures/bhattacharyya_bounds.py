"""Proven bounds on the Bhattacharyya coefficient of two observed processes (definitions 10)."""

from __future__ import annotations

from math import exp, expm1, inf
from typing import NamedTuple

import numpy as np

from hidiv.divergences.joint.renyi import joint_renyi
from hidiv.divergences.measures.close_models import like_states
from hidiv.divergences.measures.product_kernel import known_tree, log_radius_above, log_sum, subtrees_of
from hidiv.divergences.measures.word_blocks import LogBounds, block_bounds
from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.pair import Pair, of_models
from hidiv.emissions.product_integrals import log_products
from hidiv.errors import HidivError
from hidiv.types import Array

ROUNDING = 1e-12  # room that bounds are given, of themselves


class Bracket(NamedTuple):
    """Proven bounds on the Bhattacharyya coefficient BC: logs, and one less each."""

    log_lower: float
    log_upper: float
    gap_lower: float  # 1 - BC is at least this
    gap_upper: float  # and at most this

    @property
    def lower(self) -> float:
        return exp(self.log_lower)

    @property
    def upper(self) -> float:
        return exp(self.log_upper)


@of_models
def half_products(pair: Pair) -> Array:
    """(G, K, K'): log of the integrals of sqrt(e_s e'_t), by group."""
    return np.stack([log_products(a, b, 0.5) for a, b in pair.families()])


def log_upper(pair: Pair) -> float:
    """log of a proven upper bound on the Bhattacharyya coefficient, at most 0; so D(p || q) >= -2 log_upper.

    A step along an endless chain where the pair has no tree; 0 where the emissions have no integral of sqrt(e e').
    """
    if pair.tree is not None:
        return pair.once(bracket).log_upper
    try:
        return min(log_radius_above(pair.p, pair.q, pair.once(half_products)[0]), 0.0)
    except HidivError:
        return 0.0


def bracket(pair: Pair) -> Bracket:
    """Bounds on BC from recursions over pairs of states; [0, 1] where the emissions have no integrals.

    Above: B of `log_upper`, and on chains of symbols the same for blocks of several observations. Below: the square
    root of the sum over both paths of p(s) q(s') prod Phi^2 (Minkowski), for blocks too, and the coefficient of states
    and observations together, states paired by their emissions, which tell more than observations alone.
    """
    tree = known_tree(pair, "the Bhattacharyya coefficient needs")
    if pair.p == pair.q:
        return Bracket(0.0, 0.0, 0.0, 0.0)
    try:
        phi = pair.once(half_products)
    except HidivError:
        return Bracket(-inf, 0.0, 0.0, 1.0)
    kinds = subtrees_of(tree, max(pair.p.n_groups, pair.q.n_groups) > 1)
    above = min(log_sum(pair.p, pair.q, tree, 0.5, phi, kinds), 0.0)
    below = min(0.5 * log_sum(pair.p, pair.q, tree, 1.0, 2.0 * phi, kinds), 0.0)
    gap_upper = -expm1(below)
    if pair.same_states:
        try:
            joint = joint_renyi(pair.p, pair.q.relabel(like_states(pair)), tree, 0.5).value
        except HidivError:
            joint = inf
        if -0.5 * joint > below:
            below, gap_upper = -0.5 * joint, -expm1(-0.5 * joint)
    try:
        blocks = block_bounds(pair)
    except (NotApplicable, HidivError):
        blocks = LogBounds(-inf, 0.0)
    if blocks.lower > below:
        below, gap_upper = blocks.lower, -expm1(blocks.lower)
    above = min(above, blocks.upper)
    return _widened(below, above, gap_upper)


def _widened(below: float, above: float, gap_upper: float) -> Bracket:
    """The bracket with room for rounding."""
    low, high = (side * (1.0 + sign * ROUNDING) for side, sign in ((below, 1.0), (above, -1.0)))
    gap_lower = -expm1(high) * (1.0 - ROUNDING) + 0.0
    return Bracket(low - ROUNDING, min(high + ROUNDING, 0.0), gap_lower, max(gap_upper, gap_lower) * (1.0 + ROUNDING))
