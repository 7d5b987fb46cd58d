"""Log probabilities of hidden paths of a chain, and how far the best is ahead; seen (n, K) is log p(x | state)."""

from __future__ import annotations

import numpy as np


def log_joint(model, seen, states):
    """log P(states, x), term by term."""
    moves = np.log(model.transition[states[:-1], states[1:]])
    return float(np.log(model.initial[states[0]]) + moves.sum() + seen[np.arange(len(states)), states].sum())


def lead(model, seen, best):
    """log P of the best path less that of the next: the least, over nodes and other states, that a detour costs."""
    with np.errstate(divide="ignore"):
        first, moves = np.log(model.initial), np.log(model.transition)
    until, after = np.empty_like(seen), np.zeros_like(seen)
    until[0] = first + seen[0]
    for u in range(1, len(seen)):
        until[u] = (until[u - 1][:, None] + moves).max(axis=0) + seen[u]
    for u in range(len(seen) - 2, -1, -1):
        after[u] = (moves + seen[u + 1] + after[u + 1]).max(axis=1)
    through = until + after
    on_path = np.arange(model.n_states) == np.asarray(best)[:, None]
    return float(through[on_path].min() - through[~on_path].max())
