"""Entropy profile H(S_u | S_parent, E), by enumeration; it sums to H(S | E)."""

from __future__ import annotations

from .arithmetic import mp
from .posterior import posterior_law
from .smoothing import smooth


def entropy_profile(model, tree, evidence):
    """H(S_u, S_parent | E) - H(S_parent | E) for every node; H(S_0 | E) at the root."""
    marginals, pairs = smooth(model, tree, evidence)
    profile = [entropy(marginals[0])]
    for table in pairs[1:]:
        profile.append(entropy([x for row in table for x in row]) - entropy([sum(row) for row in table]))
    return profile


def posterior_entropy(model, tree, evidence):
    """H(S | E)."""
    return entropy(posterior_law(model, tree, evidence).values())


def entropy(law):
    return -sum((x * mp.log(x) for x in law if x > 0), mp.zero)
