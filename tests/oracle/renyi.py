"""Renyi divergence of the joint law by enumeration of every hidden configuration (definitions, section 4)."""

from __future__ import annotations

from .arithmetic import mp
from .configurations import configurations
from .emission_renyi import emission_affinity
from .laws import law


def renyi(p, q, tree, order):
    """log( sum over S of p(S)^a q(S)^(1-a) prod_u R_u(S_u) ) / (a - 1)."""
    laws_p, laws_q = law(p, tree), law(q, tree)
    order = mp.mpf(order)
    states_q = configurations(q, tree)
    table = [
        [emission_affinity(a, b, state, order) for state in range(len(laws_p.initial))]
        for a, b in zip(laws_p.emission, laws_q.emission, strict=True)
    ]
    total = mp.zero
    for states, probability in configurations(p, tree).items():
        own = mp.fprod(table[u][state] for u, state in enumerate(states))
        if states in states_q:
            total += probability**order * states_q[states] ** (1 - order) * own
        elif order > 1:
            return mp.inf
    if total == 0:
        return mp.inf  # disjoint supports, order below one
    return mp.inf if total == mp.inf else mp.log(total) / (order - 1)


def renyi_by_recursion(p, q, tree, order):
    """The same from Z_u(r) = sum_s T_p^a T_q^(1-a) (r, s) R_u(s) prod_c Z_c(s); full supports only."""
    laws_p, laws_q = law(p, tree), law(q, tree)
    order = mp.mpf(order)
    below = [
        [emission_affinity(a, b, state, order) for state in range(len(laws_p.initial))]
        for a, b in zip(laws_p.emission, laws_q.emission, strict=True)
    ]
    for u in reversed(range(1, len(below))):
        rows = zip(laws_p.transition[u], laws_q.transition[u], strict=True)
        message = [tilted(row_p, row_q, below[u], order) for row_p, row_q in rows]
        up = laws_p.parent[u]
        below[up] = [b * m for b, m in zip(below[up], message, strict=True)]
    return mp.log(tilted(laws_p.initial, laws_q.initial, below[0], order)) / (order - 1)


def tilted(p, q, values, order):
    return sum((a**order * b ** (1 - order) * v for a, b, v in zip(p, q, values, strict=True)), mp.zero)
