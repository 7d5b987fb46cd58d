"""Weights of evidence: w_u(s) = P(what is known of X_u | S_u = s) [s allowed] (definitions, section 1)."""

from __future__ import annotations

from .arithmetic import mp
from .columns import columns, listed
from .densities import density, mass
from .gaussian import marginal
from .laws import law


def weights(model, tree, evidence):
    """w[u][s] for every node; evidence is the list form, nodes past its end are unrestricted."""
    laws = law(model, tree)
    entries = list(evidence) + [None] * (len(laws.parent) - len(evidence))
    states = range(len(laws.initial))
    return [[weight(laws.emission[u], s, entry) for s in states] for u, entry in enumerate(entries)]


def weight(family, state, entry):
    """w(state) of one entry: null, {"x"}, {"in"} or {"between"}, and {"states"}."""
    entry = entry or {}
    if "states" in entry and state not in entry["states"]:
        return mp.zero
    parts = columns(family, state)
    if "in" in entry:
        return sum((density(parts[0], symbol) for symbol in entry["in"]), mp.zero)
    if "between" in entry:
        return mp.fprod(mass(part, *bounds) for part, bounds in zip(parts, column_bounds(entry, parts), strict=True))
    if "x" in entry:
        return seen_density(parts, listed(entry["x"]))
    return mp.one


def seen_density(parts, x):
    """Density of the coordinates that were seen; None marks one that was not."""
    if parts and parts[0][0] == "gaussian_full":
        seen = [i for i, value in enumerate(x) if value is not None]
        return density(marginal(parts[0], seen), [x[i] for i in seen]) if seen else mp.one
    return mp.fprod(density(part, value) for part, value in zip(parts, x, strict=True) if value is not None)


def column_bounds(entry, parts):
    """(lower, upper) of every column, None where unbounded."""
    lower, upper = entry["between"]
    lowers = lower if isinstance(lower, list) else [lower] * len(parts)
    uppers = upper if isinstance(upper, list) else [upper] * len(parts)
    return list(zip(lowers, uppers, strict=True))
