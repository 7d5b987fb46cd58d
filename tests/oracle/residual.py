"""Residuals of evidence: r_u(s) = KL( p(X_u | s, known) || q(X_u | s, known) ) (definitions, section 1)."""

from __future__ import annotations

from .arithmetic import mp, row_divergence
from .columns import columns, joined_gaussian, listed
from .densities import COUNTS, density, mass
from .emission_kl import column_kl, emission_kl, gaussian_kl
from .evidence import column_bounds
from .gaussian import conditional


def residual(family_p, family_q, state, entry):
    """r(state): nothing known: KL of the emissions; a value: 0; a set: KL of the two laws given the set."""
    entry = entry or {}
    p, q = columns(family_p, state), columns(family_q, state)
    if "in" in entry:
        laws = [[density(part, symbol) for symbol in entry["in"]] for part in (p[0], q[0])]
        return given_set(*laws)
    if "between" in entry:
        bounds = column_bounds(entry, p)
        return sum((given_interval(a, b, *span) for a, b, span in zip(p, q, bounds, strict=True)), mp.zero)
    if "x" in entry:
        return given_seen(p, q, listed(entry["x"]))
    return emission_kl(family_p, family_q, state)


def given_set(law_p, law_q):
    """KL of two rows of masses, each divided by its total; 0 where p has no mass there at all."""
    total_p, total_q = sum(law_p), sum(law_q)
    if total_p == 0:
        return mp.zero
    if total_q == 0:
        return mp.inf
    return row_divergence([a / total_p for a in law_p], [b / total_q for b in law_q])


def given_seen(p, q, x):
    """KL of the coordinates that were not seen, given those that were."""
    if all(value is not None for value in x):
        return mp.zero
    if any(name == "gaussian_full" for name, _ in p + q):
        full = [("gaussian_full", joined_gaussian(parts)) for parts in (p, q)]
        return gaussian_kl(*(conditional(column, x)[1] for column in full))
    return sum((column_kl(a, b) for a, b, value in zip(p, q, x, strict=True) if value is None), mp.zero)


def given_interval(p, q, lower, upper):
    """KL of two columns both known to lie between lower and upper."""
    if lower is None and upper is None:
        return column_kl(p, q)
    total_p, total_q = mass(p, lower, upper), mass(q, lower, upper)
    if p[0] in COUNTS:
        last = upper if upper is not None else last_count(p)
        counts = range(max(0, int(mp.ceil(lower or 0))), int(mp.floor(last)) + 1)
        return sum((term(density(p, k) / total_p, density(q, k) / total_q) for k in counts), mp.zero)
    points = break_points(p, lower, upper)
    return mp.quad(lambda x: term(density(p, x) / total_p, density(q, x) / total_q), points)


def term(a, b):
    return a * mp.log(a / b) if a > 0 else mp.zero


def last_count(column):
    """A count past which the mass is below 1e-60."""
    k = 1
    while density(column, k) > mp.mpf(10) ** -60 or density(column, k) > density(column, k - 1):
        k += 1
    return k


def break_points(p, lower, upper):
    """The interval, unbounded ends cut where less than 1e-60 of the mass is left, in pieces of a few widths."""
    name, at = p
    centre = at["mean"] if name == "gaussian" else mp.zero
    width = mp.sqrt(at["var"]) if name == "gaussian" else 1 / at["rate"]
    reach = 20 * width if name == "gaussian" else 160 * width
    low = mp.mpf(lower) if lower is not None else (centre - reach if name == "gaussian" else mp.zero)
    low = low if name == "gaussian" else max(low, mp.zero)
    high = mp.mpf(upper) if upper is not None else max(low, centre) + reach
    pieces = max(1, int(mp.ceil((high - low) / (8 * width))))
    return [low + (high - low) * i / pieces for i in range(pieces + 1)]
