"""Observed divergence by enumeration of every word, categorical emissions (definitions, section 5)."""

from __future__ import annotations

from itertools import product

from .arithmetic import mp
from .laws import law


def observed(p, q, tree):
    """sum over words x of p(x) log p(x)/q(x); p and q may have different numbers of states."""
    laws_p, laws_q = law(p, tree), law(q, tree)
    symbols = range(len(laws_p.emission[0]["probs"][0]))
    total = mp.zero
    for word in product(symbols, repeat=len(laws_p.parent)):
        first = word_probability(laws_p, word)
        if first > 0:
            second = word_probability(laws_q, word)
            total += first * mp.log(first / second) if second > 0 else mp.inf
    return total


def word_probability(laws, word):
    """P(X = word), upward."""
    states = range(len(laws.initial))
    below = [[mp.mpf(e["probs"][s][x]) for s in states] for e, x in zip(laws.emission, word, strict=True)]
    for u in reversed(range(1, len(word))):
        up = laws.parent[u]
        message = [sum((t * b for t, b in zip(row, below[u], strict=True)), mp.zero) for row in laws.transition[u]]
        below[up] = [b * m for b, m in zip(below[up], message, strict=True)]
    return sum((a * b for a, b in zip(laws.initial, below[0], strict=True)), mp.zero)
