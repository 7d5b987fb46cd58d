"""The best order of q's states: every order of a few states, quadratic assignment and exchanges for many."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from hidiv.divergences.alignment.relabelling_costs import Costs
from hidiv.types import IntArray

CLOSE = 1e-9  # relative difference of costs below which rounding may have exchanged two orders
STEP = 1e-12  # relative gain an exchange must bring
STARTS = 4  # randomized starts of the quadratic assignment
REFINED = 64  # states up to which the cost of every exchange is computed term by term
SHUFFLES = 20_000  # divided by the square of the number of states: how often the best order is shuffled


def every_order(costs: Costs) -> IntArray:
    """(n, K): the cheapest of the orders with the fewest infinite terms, all that rounding cannot tell apart.

    In lexicographic order.
    """
    orders = np.array(list(permutations(range(len(costs.finite.linear)))), dtype=np.int64)
    each = costs.of_orders(orders)
    fewest = each.infinite == each.infinite.min()
    room = CLOSE * each.rounding
    least = (each.finite + room)[fewest].min()
    return np.asarray(orders[fewest & (each.finite - room <= least)])


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
