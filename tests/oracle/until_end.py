"""Joint divergence of two chains of random length, step by step until nothing is left running."""

from __future__ import annotations

from .arithmetic import expectation, mp, row_divergence
from .configurations import configurations
from .emission_kl import emission_kl
from .laws import law


def until_end(p, q):
    """KL(initial) + sum over t of p(running at t, S_t = s) (KL of (transition, end) + KL of emission)."""
    laws_p, laws_q = law(p, {"chain": 2}), law(q, {"chain": 2})
    states = range(len(laws_p.initial))
    step = []
    for s in states:
        row_p, row_q = (laws.transition[1][s] + [laws.end[s]] for laws in (laws_p, laws_q))
        step.append(row_divergence(row_p, row_q) + emission_kl(laws_p.emission[0], laws_q.emission[0], s))
    total = row_divergence(laws_p.initial, laws_q.initial)
    running = laws_p.initial
    while sum(running) > mp.mpf(10) ** -40:
        total += expectation(running, step)
        running = [sum((running[r] * laws_p.transition[1][r][s] for r in states), mp.zero) for s in states]
    return total


def until_end_by_paths(p, q, longest):
    """The definition to the letter over paths of at most `longest` nodes that end: for chains that cannot last."""
    total = mp.zero
    for length in range(1, longest + 1):
        tree = {"chain": length}
        laws_p, laws_q = law(p, tree), law(q, tree)
        states_q = configurations(q, tree)
        for states, probability in configurations(p, tree).items():
            first = probability * laws_p.end[states[-1]]
            if first > 0:
                second = states_q.get(states, mp.zero) * laws_q.end[states[-1]]
                own = sum((emission_kl(laws_p.emission[0], laws_q.emission[0], s) for s in states), mp.zero)
                total += first * (mp.log(first / second) + own) if second > 0 else mp.inf
    return total
