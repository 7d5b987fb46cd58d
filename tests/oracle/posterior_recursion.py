"""Posterior divergence, log-likelihood and marginals by the textbook recursion, for trees too large to enumerate."""

from __future__ import annotations

from .arithmetic import mp
from .evidence import weights
from .laws import law
from .trees import parents


def conditional_law(model, tree, evidence):
    """(root law, rows, log P(E)): rows[u][r][s] = P(S_u = s | S_parent = r, E), None for rows of probability zero."""
    laws = law(model, tree)
    states = range(len(laws.initial))
    below = weights(model, tree, evidence)  # w_u(s) times the messages of the children
    if laws.end:
        below[-1] = [w * e for w, e in zip(below[-1], laws.end, strict=True)]
    rows = [None] * len(below)
    for u in reversed(range(1, len(below))):
        parts = [[laws.transition[u][r][s] * below[u][s] for s in states] for r in states]
        sums = [sum(part, mp.zero) for part in parts]
        rows[u] = [[x / total for x in part] if total > 0 else None for part, total in zip(parts, sums, strict=True)]
        up = laws.parent[u]
        below[up] = [b * total for b, total in zip(below[up], sums, strict=True)]
    start = [a * b for a, b in zip(laws.initial, below[0], strict=True)]
    total = sum(start, mp.zero)
    return [x / total for x in start], rows, mp.log(total)


def marginals(model, tree, evidence):
    """P(S_u = s | E) for every node."""
    root, rows, _ = conditional_law(model, tree, evidence)
    return downward(root, rows, parents(tree))


def downward(root, rows, parent):
    """Node marginals from the root law and the rows below it."""
    result = [root]
    for u in range(1, len(rows)):
        result.append([mp.zero] * len(root))
        for r, weight in enumerate(result[parent[u]]):
            if weight > 0:
                result[u] = [x + weight * y for x, y in zip(result[u], rows[u][r], strict=True)]
    return result


def posterior_by_recursion(p, q, tree, evidence, evidence_q=None):
    """D( p(S|E) || q(S|E) ): root term, then every row weighted by the parent's marginal under p."""
    root_p, rows_p, _ = conditional_law(p, tree, evidence)
    root_q, rows_q, _ = conditional_law(q, tree, evidence if evidence_q is None else evidence_q)
    parent = parents(tree)
    at = downward(root_p, rows_p, parent)
    total = divergence(root_p, root_q)
    for u in range(1, len(rows_p)):
        for r, weight in enumerate(at[parent[u]]):
            if weight > 0:
                total += weight * divergence(rows_p[u][r], rows_q[u][r])
    return total


def divergence(p, q):
    """KL of two rows; q may have no row at all where it gives the parent's state probability zero."""
    if q is None:
        return mp.inf
    return sum((a * mp.log(a / b) if b > 0 else mp.inf for a, b in zip(p, q, strict=True) if a > 0), mp.zero)
