"""From the root down under one model: the law of every node's state, expected visits, and what is possible at all."""

from __future__ import annotations

import numpy as np

from hidiv.recursions.doubled import Doubled, row_corrections, settled, sums_by_key, weighted
from hidiv.recursions.kernels import kernel
from hidiv.recursions.levels import blocks
from hidiv.types import Array, Flags, IntArray


@kernel
def downward(initial: Array, parent: IntArray, group: IntArray, transition: Array) -> Array:
    """(n, K): P(S_u = s); initial at the root, then out[u] = out[parent] T[g_u].

    initial (K,), parent, group (n,), transition (G, K, K). Rows count as summing to one exactly and laws are carried in
    doubled precision, so that there is no drift over a million levels, however slowly the chain mixes.
    """
    return _laws(initial, parent, group, transition)[0]


@kernel
def visits(initial: Array, parent: IntArray, group: IntArray, transition: Array) -> tuple[Array, Array]:
    """Expected visits by group: (G, K) of the parent's state over u > 0, and (G, K) of the own state over all nodes."""
    high, low = _laws(initial, parent, group, transition)
    groups, above = len(transition), parent[1:]
    return _by_group(groups, group[1:], (high[above], low[above])), _by_group(groups, group, (high, low))


@kernel
def reach(start: Flags, parent: IntArray, group: IntArray, allowed: Flags) -> Flags:
    """(n, K): out[u](s) = any_r out[parent](r) and allowed[g_u](r, s), and `start` at the root.

    start (K,), parent, group (n,), allowed (G, K, K): where p has mass.
    """
    reached = np.zeros((len(parent), len(start)), dtype=np.bool_)
    reached[0] = start
    for nodes in blocks(parent, len(start)):
        reached[nodes] = (reached[parent[nodes]][:, :, None] & allowed[group[nodes]]).any(axis=1)
    return reached


def _laws(initial: Array, parent: IntArray, group: IntArray, transition: Array) -> Doubled:
    """(n, K): the law of every node's state, in doubled precision."""
    high, low = np.zeros((len(parent), len(initial))), np.zeros((len(parent), len(initial)))
    correction = row_corrections(transition)
    high[0], low[0] = settled((initial, row_corrections(initial) * initial))
    for nodes in blocks(parent, len(initial)):
        g, above = group[nodes], parent[nodes]
        scaled = high[above], low[above] + correction[g] * high[above]
        high[nodes], low[nodes] = settled(weighted(transition[g].transpose(0, 2, 1), scaled))
    return high, low


def _by_group(groups: int, group: IntArray, law: Doubled) -> Array:
    """(G, K): the laws (n, K) summed over the nodes of each group."""
    table = np.zeros((groups, law[0].shape[1]))
    order = np.argsort(group, kind="stable")
    seen, sums = sums_by_key(group[order], (law[0][order], law[1][order]))
    table[seen] = settled(sums)[0]
    return table
