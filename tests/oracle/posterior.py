"""Posterior divergence by enumeration of every hidden configuration, any evidence (definitions, section 2)."""

from __future__ import annotations

from .arithmetic import mp
from .configurations import configurations
from .evidence import weights
from .laws import law
from .residual import residual


class Impossible(ValueError):
    """Evidence of probability zero, under the model named."""


def posterior_law(model, tree, evidence, name="model"):
    """{S: P(S | E)}."""
    joint = configurations(model, tree, weights(model, tree, evidence))
    total = sum(joint.values())
    if total == 0:
        raise Impossible(name)
    return {states: probability / total for states, probability in joint.items()}


def posterior(p, q, tree, evidence, target="states", evidence_q=None):
    """sum over S of p(S|E) [ log p(S|E)/q(S|E) + sum_u r_u(S_u) ], r = 0 for target "states"."""
    law_p = posterior_law(p, tree, evidence, "p")
    law_q = posterior_law(q, tree, evidence if evidence_q is None else evidence_q, "q")
    own = residuals(p, q, tree, evidence) if target == "unobserved" else None
    total = mp.zero
    for states, probability in law_p.items():
        if states not in law_q:
            return mp.inf
        rest = sum((own(u, state) for u, state in enumerate(states)), mp.zero) if own else mp.zero
        total += probability * (mp.log(probability / law_q[states]) + rest)
    return total


def residuals(p, q, tree, evidence):
    """r_u(s) as a function, each worked out once and only where asked."""
    laws_p, laws_q = law(p, tree), law(q, tree)
    entries = list(evidence) + [None] * (len(laws_p.parent) - len(evidence))
    known = {}

    def own(u, state):
        if (u, state) not in known:
            known[u, state] = residual(laws_p.emission[u], laws_q.emission[u], state, entries[u])
        return known[u, state]

    return own
