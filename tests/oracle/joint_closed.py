"""Joint divergence of long chains and deep regular trees, which nobody can list: 50-digit matrix powers."""

from __future__ import annotations

from .arithmetic import expectation, mp, row_divergence
from .emission_kl import emission_kl
from .laws import law


def terms(p, q, level=1):
    """initial_p, T_p, k_0 and k of a homogeneous pair; of one level where parts are grouped by level."""
    two_levels = {"parent": [-1, 0], "group": [level - 1, level]}
    laws_p, laws_q = law(p, two_levels), law(q, two_levels)
    states = range(len(laws_p.initial))
    own = [[emission_kl(laws_p.emission[u], laws_q.emission[u], s) for s in states] for u in (0, 1)]
    start = row_divergence(laws_p.initial, laws_q.initial) + expectation(laws_p.initial, own[0])
    rows = zip(laws_p.transition[1], laws_q.transition[1], strict=True)
    step = [row_divergence(a, b) + expectation(a, own[1]) for a, b in rows]
    return laws_p.initial, laws_p.transition[1], start, step


def chain(p, q, n_nodes):
    """k_0 + initial_p (I + T + ... + T^(n-2)) k by doubling; finite terms only."""
    initial, transition, start, step = terms(p, q)
    power, total = mp.matrix(transition), mp.eye(len(initial))  # T^m and I + ... + T^(m-1), m = 1
    sums, shift = mp.zeros(len(initial)), mp.eye(len(initial))
    remaining = n_nodes - 1
    while remaining:
        if remaining % 2:
            sums += shift * total
            shift = shift * power
        total += power * total
        power = power * power
        remaining //= 2
    return start + (mp.matrix([initial]) * sums * mp.matrix(step))[0]


def regular(p, q, children, depth):
    """k_0 + sum over levels of children^level initial_p T_1 ... T_(level-1) k_level."""
    total = terms(p, q)[2]
    marginal = terms(p, q)[0]
    grouped = any(isinstance(m["emission"], list) or is_grouped(m["transition"]) for m in (p, q))
    _, transition, _, step = terms(p, q)
    for level in range(1, depth):
        if grouped:
            _, transition, _, step = terms(p, q, level)
        total += mp.mpf(children) ** level * expectation(marginal, step)
        marginal = [
            sum((m * row[s] for m, row in zip(marginal, transition, strict=True)), mp.zero)
            for s in range(len(marginal))
        ]
    return total


def is_grouped(transition):
    return transition[0] is None or isinstance(transition[0][0], list)
