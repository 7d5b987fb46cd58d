"""Influence of each observation, from its definition: two posteriors, with and without it (definitions, section 6)."""

from __future__ import annotations

from .posterior import posterior


def influence(model, tree, evidence):
    """I_j = D( P(S | E) || P(S | E without X_j) ); allowed states stay."""
    return [posterior(model, model, tree, evidence, evidence_q=without(evidence, j)) for j in range(len(evidence))]


def without(evidence, node):
    """Evidence with nothing known of X_node."""
    entry = evidence[node] or {}
    kept = {"states": entry["states"]} if "states" in entry else None
    return [kept if u == node else other for u, other in enumerate(evidence)]
