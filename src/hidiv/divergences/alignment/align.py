"""The relabelling of q's states that brings it nearest to p: joint divergences depend on labels, this one does not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import inf
from typing import Any

import numpy as np

from hidiv.divergences.alignment.relabelling_costs import Costs
from hidiv.divergences.joint.kl import joint_parts, joint_value
from hidiv.divergences.joint.local_terms import reached_terms
from hidiv.divergences.pair import Pair
from hidiv.errors import OutOfRange
from hidiv.models.tree import Tree
from hidiv.models.until_end import UntilEnd
from hidiv.types import IntArray

EXHAUSTIVE = 8  # states; beyond it 9! orders and more are searched, not listed
COMPARED = 100  # orders alike up to rounding whose divergences are computed to choose among them
TIE = 1e-12  # relative difference of two divergences that count as equal
LONG = 1000  # nodes of the chain on which states are matched for a rate
WORTH = 24  # orders that are all tried in no time
CLOSE = 1e-9  # relative difference of costs below which rounding may have exchanged two orders
STEP = 1e-12  # relative gain an exchange must bring
STARTS = 4  # randomized starts of the quadratic assignment
REFINED = 64  # states up to which the cost of every exchange is computed term by term
SHUFFLES = 20_000  # divided by the square of the number of states: how often the best order is shuffled


@dataclass(frozen=True)
class Alignment:
    """The order of q's states that fits p best, as `align` returns it.

    Parameters
    ----------
    permutation : tuple of int
        New state i of q is its old state permutation[i].
    value : float
        The joint divergence with q's states in that order.
    gain : float
        How much smaller that is than as labelled; 0 where both are infinite.
    optimal : bool
        Whether every order was tried.
    ties : int or None
        How many other orders do as well; None where not every order was tried.
    infinite : int
        How many terms (initial law, transition rows, emission states) are infinite all the same.
    labelled_infinite : int
        How many are infinite as labelled.
    finite : float
        The sum of the other terms: `value` where no term is infinite.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1.0, 5.0]))
    >>> hd.align(p, p.relabel([1, 0]), 10).as_labelled
    False
    """

    permutation: tuple[int, ...]
    value: float
    gain: float
    optimal: bool
    ties: int | None
    infinite: int
    labelled_infinite: int
    finite: float

    @property
    def as_labelled(self) -> bool:
        """Whether the labels as they are do as well as any order tried."""
        return self.permutation == tuple(range(len(self.permutation)))


def align(p: Any, q: Any, tree: Tree | int | UntilEnd) -> Alignment:
    """Order of q's states that makes the joint divergence smallest.

    Parameters
    ----------
    p, q : Model or fitted model of a supported library
        The two models, with equal numbers of states.
    tree : Tree, int or UNTIL_END
        The tree, or the length of a chain; `hd.UNTIL_END` for models with end probabilities.

    Returns
    -------
    Alignment
        Its `value` is that of `joint_kl(p, q.relabel(permutation), tree)`.

    Raises
    ------
    IncompatibleModels
        Where the models have different numbers of states, or do not belong on the tree.

    Notes
    -----
    The joint divergence is linear in q's logarithms (definitions (3.6)), so that an order is an assignment of states.
    Up to 8 states every order is tried. Beyond, quadratic assignment and pairwise exchanges may stop at a local
    minimum, and `optimal` is False. Where no order makes the divergence finite, the best has the fewest infinite terms
    and, among those, the smallest sum of the others. Among orders that do equally well the labels as they are come
    first.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.9], [0.6, 0.4]]))
    >>> best = hd.align(p, p.relabel([1, 0]), 10)
    >>> best.permutation, best.value, round(best.gain, 4), best.optimal, best.ties, best.infinite
    ((1, 0), 0.0, 6.6388, True, 0, 0)
    """
    return alignment(Pair.on_tree(p, q, tree, by_states="joint"))


def alignment(pair: Pair) -> Alignment:
    """The best order of q's states; on an endless chain the best on a long one, with the values of the rate."""
    optimal = pair.p.n_states <= EXHAUSTIVE
    place = pair.on(Tree.chain(LONG)) if pair.tree is None else pair
    costs = Costs.of(place)
    order, alike = _best(place, every_order(costs) if optimal else best_found(costs))
    aligned = pair.relabelled(order)
    value, labelled = joint_value(aligned, per_node=False), joint_value(pair, per_node=False)
    return Alignment(
        tuple(int(i) for i in order), value, 0.0 if labelled == value else labelled - value, optimal,
        alike - 1 if optimal else None,
        _infinite_terms(aligned), _infinite_terms(pair), _finite_terms(aligned, per_node=False),
    )  # fmt: skip


def _best(pair: Pair, orders: IntArray) -> tuple[IntArray, int]:
    """The first of the best orders, and how many are as good."""
    if len(orders) > COMPARED:  # nothing tells them apart
        return orders[0], len(orders)
    relabelled = [pair.relabelled(order) for order in orders]
    infinite = np.array([_infinite_terms(one) for one in relabelled])
    finite = np.array([_finite_terms(one, per_node=True) for one in relabelled])
    fewest = infinite == infinite.min()
    equal = fewest & (finite <= finite[fewest].min() * (1.0 + TIE))
    return orders[int(np.argmax(equal))], int(equal.sum())


def _infinite_terms(pair: Pair) -> int:
    """How many terms of the joint divergence are infinite."""
    return len(pair.once(reached_terms).reasons)


def _finite_terms(pair: Pair, per_node: bool) -> float:
    """The sum of the finite terms of the joint divergence; +inf where no double holds it."""
    if not _infinite_terms(pair):
        return joint_value(pair, per_node)
    try:
        parts = joint_parts(pair, per_node)
    except OutOfRange:
        return inf
    terms = np.concatenate([[parts.initial], parts.rows.ravel(), parts.states.ravel()])
    return float(terms[np.isfinite(terms)].sum())


def every_order(costs: Costs) -> IntArray:
    """(n, K): the cheapest of the orders with the fewest infinite terms, all that rounding cannot tell apart.

    In lexicographic order.
    """
    orders = _worth_a_look(costs, all_orders(len(costs.emissions)))
    each = costs.of_orders(orders)
    fewest = each.infinite == each.infinite.min()
    room = CLOSE * each.rounding
    least = (each.finite + room)[fewest].min()
    return np.asarray(orders[fewest & (each.finite - room <= least)])


@cache
def all_orders(count: int) -> IntArray:
    """(count!, count): in lexicographic order, read-only."""
    orders = np.zeros((1, 0), dtype=np.int64)
    for size in range(1, count + 1):
        first = np.repeat(np.arange(size), len(orders))[:, None]
        rest = np.tile(orders, (size, 1))
        orders = np.concatenate([first, rest + (rest >= first)], axis=1)
    orders.flags.writeable = False
    return orders


def _worth_a_look(costs: Costs, orders: IntArray) -> IntArray:
    """The orders without those that a bound of their terms rules out, where some order makes all terms finite."""
    if len(orders) <= WORTH:
        return orders
    least = costs.least()
    at_least = least[np.arange(orders.shape[1]), orders].sum(axis=1)
    sample = costs.of_orders(orders[np.argpartition(at_least, WORTH)[:WORTH]])
    finite = sample.infinite == 0
    if not finite.any():
        return orders
    reached = float((sample.finite + 2.0 * CLOSE * sample.rounding)[finite].min())
    room = 2.0 * CLOSE * float(sample.rounding.max())
    return np.asarray(orders[at_least <= reached + room])


def best_found(costs: Costs) -> IntArray:
    """(2, K): the labels as they are, and the best of several starts improved by exchanges of two states."""
    from scipy.optimize import linear_sum_assignment, quadratic_assignment

    finite, endless = costs.finite, costs.infinite
    penalty = 1.0 + 10.0 * max(float(np.abs(finite.linear).max()), float(finite.costs.max()))  # a start, not a value
    linear = finite.linear + penalty * endless.linear
    weights = finite.weights.sum(axis=0)
    square = finite.costs.mean(axis=0) + penalty * endless.costs.mean(axis=0)
    starts = [np.arange(len(linear)), linear_sum_assignment(linear)[1]]
    for seed in range(STARTS):
        options = {"rng": np.random.default_rng(seed), "P0": "randomized"}
        starts.append(quadratic_assignment(weights, square, options=options)["col_ind"])
    best = min((_exchanged(costs, np.asarray(start, dtype=np.int64)) for start in starts), key=lambda result: result[1])
    # Local minima are common: a few states shuffled, and improved again.
    rng = np.random.default_rng(STARTS)
    for _ in range(int(np.clip(SHUFFLES // len(linear) ** 2, 8, 200))):
        order, some = best[0].copy(), rng.choice(len(linear), size=min(5, len(linear)), replace=False)
        order[some] = order[rng.permutation(some)]
        best = min(best, _exchanged(costs, order), key=lambda result: result[1])
    order = best[0] if best[1][0] == 0 or len(linear) > REFINED else _refined(costs, *best)
    return np.stack([np.arange(len(linear)), order])


def _refined(costs: Costs, order: IntArray, key: tuple[float, float]) -> IntArray:
    """The order improved by exchanges that count infinite terms themselves, not the probabilities that q lacks."""
    i, j = np.triu_indices(len(order), 1)
    while True:
        exchanged = np.repeat(order[None, :], len(i), axis=0)
        every = np.arange(len(i))
        exchanged[every, i], exchanged[every, j] = order[j], order[i]
        keys = costs.of_orders(exchanged).keys
        best = min(range(len(keys)), key=keys.__getitem__)
        if keys[best] >= (key[0], key[1] - STEP * abs(key[1])):
            return order
        order, key = exchanged[best], keys[best]


def _exchanged(costs: Costs, order: IntArray) -> tuple[IntArray, tuple[float, float]]:
    """An order no exchange of two states improves, with its number of infinite terms and the cost of the others."""
    scale = 1.0 + float(np.abs(costs.finite.linear).sum()) + float(
        (costs.finite.weights * costs.finite.costs.max()).sum()
    )  # fmt: skip
    while True:
        fewer = np.round(costs.infinite.exchanges(order))
        less = costs.finite.exchanges(order)
        # Probabilities that q lacks go first; among equals the cost.
        gain = fewer * (4.0 * scale) + less
        i, j = np.unravel_index(int(np.argmin(gain)), gain.shape)
        if gain[i, j] >= -STEP * scale:
            return order, costs.of_orders(order[None, :]).keys[0]
        order = order.copy()
        order[[i, j]] = order[[j, i]]
