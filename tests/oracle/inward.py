"""The paper's inward quantities, by its recursion (Theorem 1), without evidence, on any listed tree."""

from __future__ import annotations

from .arithmetic import expectation, mp, row_divergence
from .joint import emission_table
from .laws import law


def inward(p, q, tree):
    """Rows as in hidiv: row u > 0 is K_u of the parent's state, row 0 is e_0(s) + sum_c K_c(s)."""
    laws_p, laws_q = law(p, tree), law(q, tree)
    below = [list(row) for row in emission_table(laws_p, laws_q)]  # own term plus what the children send
    rows = [None] * len(below)
    for u in reversed(range(1, len(below))):
        rows[u] = [
            row_divergence(row_p, row_q) + expectation(row_p, below[u])
            for row_p, row_q in zip(laws_p.transition[u], laws_q.transition[u], strict=True)
        ]
        up = laws_p.parent[u]
        below[up] = [a + b for a, b in zip(below[up], rows[u], strict=True)]
    rows[0] = below[0]
    return rows


def joint_by_recursion(p, q, tree):
    """The joint divergence from the inward quantities at the root."""
    laws_p, laws_q = law(p, tree), law(q, tree)
    start = row_divergence(laws_p.initial, laws_q.initial)
    return start + expectation(laws_p.initial, inward(p, q, tree)[0]) if start < mp.inf else mp.inf
