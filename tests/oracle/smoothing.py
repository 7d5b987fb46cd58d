"""Node marginals and parent-child pairs given evidence, by enumeration."""

from __future__ import annotations

from .arithmetic import mp
from .posterior import posterior_law
from .trees import parents


def smooth(model, tree, evidence):
    """(marginals[u][s], pairs[u][r][s]): P(S_u = s | E) and P(S_parent = r, S_u = s | E), zeros at the root."""
    parent, n_states = parents(tree), len(model["initial"])
    marginals = [[mp.zero] * n_states for _ in parent]
    pairs = [[[mp.zero] * n_states for _ in range(n_states)] for _ in parent]
    for states, probability in posterior_law(model, tree, evidence).items():
        for u, state in enumerate(states):
            marginals[u][state] += probability
            if u > 0:
                pairs[u][states[parent[u]]][state] += probability
    return marginals, pairs
