"""The posterior divergence as plain loops in 50-digit numbers, on the doubles the kernels are given."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from hidiv.recursions.terms import log_ratio
from tests.oracle.arithmetic import mp


def problem(rng, n, states, symbols, apart, parent=None, sticky=None, sharp=None, zeros=0.0, groups=1):
    """A pair of categorical models on n nodes; q is p moved by `apart`, or drawn on its own where apart is None.

    zeros: the share of entries of both models that vanish; the first entry of a row never does.
    """

    def law(*shape):
        values = rng.random(shape) + 0.05
        values[rng.random(shape) < zeros] = 0.0
        values[..., 0] += 0.1
        return values / values.sum(axis=-1, keepdims=True)

    def moved(p):
        if apart is None:
            return law(*p.shape)
        q = p * (1 + apart * rng.uniform(-1, 1, p.shape))
        return q / q.sum(axis=-1, keepdims=True)

    initial, transition, emission = law(states), law(groups, states, states), law(states, symbols)
    if sticky is not None:
        transition = (1 - sticky) * transition + sticky * np.eye(states)
        transition /= transition.sum(axis=-1, keepdims=True)
    if sharp is not None:
        emission = sharp * emission + (1 - sharp) * np.eye(states, symbols)
        emission /= emission.sum(axis=-1, keepdims=True)
    p, q = [initial, transition, emission], [moved(initial), moved(transition), moved(emission)]
    row_of = rng.integers(0, symbols, n)
    transition_of = None if groups == 1 else rng.integers(0, groups, n)
    return SimpleNamespace(n=n, parent=parent, transition_of=transition_of, row_of=row_of, p=p, q=q)


def arrays(made):
    """The problem as the kernels take it: n_nodes, places, p, q, ratio."""

    def packed(initial, transition, emission):
        return np.ascontiguousarray(initial), np.ascontiguousarray(transition), np.ascontiguousarray(emission.T)

    def logs(initial, transition, emission):
        with np.errstate(divide="ignore"):
            return packed(initial, transition, np.log(emission))

    ratio = packed(*(log_ratio(a, b) for a, b in zip(made.p, made.q, strict=True)))
    return made.n, (made.parent, made.transition_of, made.row_of), logs(*made.p), logs(*made.q), ratio


def parents(made):
    return np.arange(made.n) - 1 if made.parent is None else made.parent


def conditional(made, model):
    """(root law, rows, log P(E)): rows[u][r][s] = P(S_u = s | S_parent = r, E), None where the row has no mass."""
    initial, transition, emission = ([*map(mp.mpf, map(float, part.ravel()))] for part in model)
    k, m = len(initial), len(emission) // len(initial)
    above = parents(made)
    below = [[emission[s * m + x] for s in range(k)] for x in made.row_of]
    rows = [None] * made.n
    for u in range(made.n - 1, 0, -1):
        start = 0 if made.transition_of is None else int(made.transition_of[u]) * k * k
        parts = [[transition[start + r * k + s] * below[u][s] for s in range(k)] for r in range(k)]
        sums = [mp.fsum(part) for part in parts]
        rows[u] = [[x / total for x in part] if total else None for part, total in zip(parts, sums, strict=True)]
        below[above[u]] = [a * b for a, b in zip(below[above[u]], sums, strict=True)]
    start = [a * b for a, b in zip(initial, below[0], strict=True)]
    total = mp.fsum(start)
    return ([x / total for x in start], rows, mp.log(total)) if total else None


def marginals(made, root, rows):
    found = [root]
    for u in range(1, made.n):
        parent = found[parents(made)[u]]
        found.append(
            [mp.fsum(g * row[s] for g, row in zip(parent, rows[u], strict=True) if g) for s in range(len(root))]
        )
    return found


def row_divergence(p, q):
    if q is None or any(a and not b for a, b in zip(p, q, strict=True)):
        return mp.inf
    return mp.fsum(a * mp.log(a / b) for a, b in zip(p, q, strict=True) if a)


def posterior(made):
    """(profile, log P(E) under p and q), or None where the evidence is impossible under either."""
    p, q = conditional(made, made.p), conditional(made, made.q)
    if p is None or q is None:
        return None
    laws = marginals(made, p[0], p[1])
    profile = [row_divergence(p[0], q[0])]
    for u in range(1, made.n):
        weighted = zip(laws[parents(made)[u]], p[1][u], q[1][u], strict=True)
        profile.append(mp.fsum(g * row_divergence(a, b) for g, a, b in weighted if g))
    return profile, p[2], q[2]
