"""Integrals of products of powers of two laws: log of the integral of (e_s(x) e'_t(x))^beta, states against states.

What a family declares for it is `powered`: the law proportional to e^(2 beta) and the integral it was divided by. The
integral of the product is then that of the square root of two laws, which is a Renyi divergence of order 1/2:
log Phi = (log z + log z')/2 - R_(1/2)/2. Symbols and counts are summed over, mixtures are bilinear at beta = 1, and
what is left of one column is integrated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hidiv.emissions.registry import comparable, refuse_integral
from hidiv.emissions.sample_space import Kind
from hidiv.errors import IncompatibleModels, refuse
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.emissions.family import Family

PORTION = 1 << 18  # pairs of states handled at once
MOST_COUNTS = 1 << 16  # counts that are listed one by one
TAILS = tuple(float(t) for t in np.log([0.5, 0.25, 0.05])) + (-6.0, -12.0, -24.0, -48.0)


def log_products(p: Family, q: Family, beta: float) -> Array:
    """(K, K'): log of the integral of (e_s e'_t)^beta for every state s of p and t of q; -inf for disjoint supports."""
    if p.n_features != q.n_features:
        rule = f"p has {p.n_features} columns and q has {q.n_features}"
        refuse(IncompatibleModels, "emission", rule, remedy="compare models of the same observations")
    with np.errstate(all="ignore"):
        value = np.asarray(_log_products(p, q, beta) + 0.0)
    if np.isnan(value).any() or (value == np.inf).any():
        refuse_integral(p.name, 2.0 * beta)
    return value


def _log_products(p: Family, q: Family, beta: float) -> Array:
    if not p.n_features:
        return np.zeros((p.n_states, q.n_states))
    if p.alphabet() is not None and q.alphabet() is not None:
        return _over_symbols(p, q, beta)
    if p.nested == q.nested == "families":
        widths = [[member.n_features for member in side.members()] for side in (p, q)]
        if widths[0] == widths[1]:
            each = [_log_products(a, b, beta) for a, b in zip(p.members(), q.members(), strict=True)]
            return np.asarray(sum(each))
    if "components" in (p.nested, q.nested) and beta == 1.0:
        return _of_components(p, q)
    if comparable(p, q):
        powers = [(f, np.zeros(f.n_states)) if beta == 0.5 else f.powered(2.0 * beta) for f in (p, q)]
        if powers[0] is not None and powers[1] is not None:
            (a, log_a), (b, log_b) = powers[0], powers[1]
            return 0.5 * (log_a[:, None] + log_b) - 0.5 * _renyi(a, b)
    if p.n_features > 1 and p.density_adds_up and q.density_adds_up:
        columns = range(p.n_features)
        return np.asarray(sum(_log_products(p.select([c]), q.select([c]), beta) for c in columns))
    if p.n_features == 1 and str(p.space) == str(q.space):
        return _over_numbers(p, q, beta)
    rule = f"{p.name} and {q.name} laws have no integral of their product to the power {beta:g} here"
    refuse(IncompatibleModels, "emission", rule, remedy="use beta=0.5, or one family for both")


def _renyi(p: Family, q: Family) -> Array:
    """(K, K'): Renyi divergences of order 1/2."""
    out = np.empty((p.n_states, q.n_states))
    first, second = (grid.ravel() for grid in np.indices(out.shape))
    for start in range(0, len(first), PORTION):
        i, j = first[start : start + PORTION], second[start : start + PORTION]
        out[i, j] = p.take(i).renyi(q.take(j), 0.5)
    return out


def _over_symbols(p: Family, q: Family, beta: float) -> Array:
    """The sum over a finite alphabet."""
    tables = p.symbol_table(), q.symbol_table()
    if tables[0].shape[1] != tables[1].shape[1]:
        from hidiv.emissions.families.categorical import check_alphabets

        check_alphabets(tables[0].shape[1], tables[1].shape[1])
    return log_sums(*(beta * np.log(table) for table in tables))


def log_sums(p: Array, q: Array) -> Array:
    """(K, K'): log sum over x of e^(p(s, x) + q(t, x)), a matrix product unless it underflows."""
    tops = [np.where(np.isfinite(top), top, 0.0) for top in (p.max(axis=1), q.max(axis=1))]
    a, b = np.exp(p - tops[0][:, None]), np.exp(q - tops[1][:, None])
    sums = a @ b.T
    value = np.log(sums) + tops[0][:, None] + tops[1]
    lost = (sums < 1e-290) & ((p > -np.inf).astype(np.float64) @ (q > -np.inf).T > 0)
    for s, t in zip(*np.nonzero(lost), strict=True):
        value[s, t] = np.logaddexp.reduce(p[s] + q[t])
    return np.asarray(value)


def _of_components(p: Any, q: Any) -> Array:
    """The integral of the product of two mixtures: the weighted sum of those of their components."""
    parts = [
        [(np.log(f.weights[:, c]), member) for c, member in enumerate(f.components)]
        if f.nested == "components"
        else [(np.zeros(f.n_states), f)]
        for f in (p, q)
    ]
    terms = [v[:, None] + w + _log_products(a, b, 1.0) for v, a in parts[0] for w, b in parts[1]]
    return np.asarray(np.logaddexp.reduce(np.stack(terms), axis=0))


def _over_numbers(p: Family, q: Family, beta: float) -> Array:
    """Counts summed over and one column of numbers integrated."""
    from hidiv.emissions.composite.mixture.integrals import count_places, quantiles
    from hidiv.emissions.numerics.adaptive_integrals import integral, total

    if p.space.is_counts:
        ends = [count_places(f) for f in (p, q)]
        last = max(float(end.max()) for end in ends)
        if last <= MOST_COUNTS:
            x = np.arange(last + 1.0)[:, None]
            return log_sums(*(beta * _density(f, x).T for f in (p, q)))
    elif p.space.kind is Kind.ANGLE:
        ends = [np.tile(np.linspace(-np.pi, np.pi, 33), (f.n_states, 1)) for f in (p, q)]
    else:
        ends = [np.hstack([quantiles(f, TAILS), f.kinks()]) for f in (p, q)]
    out = np.empty((p.n_states, q.n_states))
    for s in range(p.n_states):
        for t in range(q.n_states):
            a, b, edges = p.take([s]), q.take([t]), np.unique(np.concatenate([ends[0][s], ends[1][t]]))

            def log_f(x: Array, a: Family = a, b: Family = b) -> Array:
                at = x.reshape(-1, 1)
                return np.asarray((beta * (_density(a, at) + _density(b, at))).reshape(x.shape))

            height = float(log_f(edges[np.isfinite(edges)]).max(initial=-745.0))
            height = height if np.isfinite(height) else 0.0

            def f(x: Array, log_f: Any = log_f, height: float = height) -> Array:
                return np.asarray(np.exp(log_f(x) - height))

            mass = total(f, [int(e) for e in edges]) if p.space.is_counts else integral(f, edges)
            out[s, t] = height + np.log(mass)
    return out


def _density(family: Family, x: Array) -> Array:
    """(n, K): the log-density at x (n, 1), -inf beyond the largest count."""
    inside = x <= family.space.most
    logs = family.log_density(np.where(inside, x, 0.0))[:, :, 0]
    return np.where(inside, np.nan_to_num(logs, nan=-np.inf, posinf=np.inf, neginf=-np.inf), -np.inf)
