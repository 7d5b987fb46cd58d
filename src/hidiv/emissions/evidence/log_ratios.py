"""What is known of an observation, under two laws: ratio of its weights, and what stays hidden (definitions, 1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.emissions.families.categorical import Categorical
from hidiv.emissions.guarded import guarded
from hidiv.emissions.numerics.deviance import times
from hidiv.emissions.registry import as_mixture, pair
from hidiv.recursions.terms import h, log_ratio, row_divergence
from hidiv.types import Array, Flags

Bound = Array | None


@guarded("ratio of densities")
def weight_ratio(
    p: Any, q: Any, x: Array, lower: Array | None = None, upper: Array | None = None, inside: Flags | None = None
) -> Array:
    """(R, K): log w_q(s)/w_p(s) of R pieces of knowledge, relatively accurate when p and q nearly agree.

    x (R, F), NaN where not seen; lower, upper (R, F) count where x is not seen; inside (R, M) sets of symbols.
    -inf where only q gives the knowledge no weight, +inf where only p gives it none, 0 where both do.
    """
    how = pair(p, q)
    if "mixture" in (p.name, q.name):
        from hidiv.emissions.composite.mixture.mixture import known_ratio

        p, q = as_mixture(p), as_mixture(q)
        value = known_ratio(p, q, x, lower, upper)
        if inside is not None:
            symbols = p.as_symbols(), q.as_symbols()
            value = _sum((value, _distinct(inside, lambda sets: _set_ratio(*symbols, sets))))
            value = _settled(*symbols, x, lower, upper, inside, value)
        return value
    if p.name == "product":
        value = _sum(weight_ratio(*part) for part in _parts(p, q, x, lower, upper))
        return _settled(p, q, x, lower, upper, inside, value)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        value = how.log_ratio(p, q, x)
    bounded = _bounded(x, lower, upper)
    if bounded is not None and lower is not None and upper is not None:
        if _is_full(p, q):
            from hidiv.emissions.evidence.partly_seen_gaussian import interval_ratio

            value = value + interval_ratio(p, q, x, lower, upper, bounded)
        else:
            for rows, (ratio, _), index in _intervals(p, q, lower, upper, bounded):
                value[rows] = _sum((value[rows], ratio[index]))
    if inside is not None:
        value = _sum((value, _distinct(inside, lambda sets: _set_ratio(p, q, sets))))
    return _settled(p, q, x, lower, upper, inside, value)


@guarded("divergence")
def residual(
    p: Any, q: Any, x: Array, lower: Array | None = None, upper: Array | None = None, inside: Flags | None = None
) -> Array:
    """(R, K): r(s) = KL( p(X | s, known) || q(X | s, known) ) of R pieces of knowledge, laid out as in `weight_ratio`.

    0 where X is seen, the KL of the laws where nothing is known; +inf where p has mass that q lacks; 0 in states where
    p gives the knowledge no weight.
    """
    pair(p, q)
    if "mixture" in (p.name, q.name):
        from hidiv.emissions.composite.mixture.marked import marked_residual

        p, q = as_mixture(p), as_mixture(q)
        value = marked_residual(p, q, x, lower, upper)
        if inside is not None:
            # Component and symbol together are a symbol of a larger alphabet.
            said, pairs = ~inside.all(axis=1), (p.marked_symbols(), q.marked_symbols())
            sets = np.tile(inside[said], (1, len(p.components)))
            value[said] = _distinct(sets, lambda rows: _set_divergence(*pairs, rows))
        return value
    bounded = _bounded(x, lower, upper)
    if p.name == "product":
        value = _sum(residual(*part) for part in _parts(p, q, x, lower, upper))
        return _where_possible(p, x, lower, upper, inside, value)
    if _is_full(p, q):
        from hidiv.emissions.evidence.partly_seen_gaussian import hidden_divergence

        return hidden_divergence(p, q, x, lower, upper, bounded)
    if p.name == "multinomial":
        return _where_possible(p, x, lower, upper, inside, _hidden_counts(p, q, x))
    free = np.isnan(x) if bounded is None else np.isnan(x) & ~bounded
    value = _open_columns(p, q, free)
    if bounded is not None and lower is not None and upper is not None:
        for rows, (_, kl), index in _intervals(p, q, lower, upper, bounded):
            value[rows] += kl[index]
    if inside is not None:
        said = ~inside.all(axis=1)
        value[said] = _distinct(inside[said], lambda sets: _set_divergence(p, q, sets))
    return _where_possible(p, x, lower, upper, inside, value)


def _parts(p: Any, q: Any, x: Array, lower: Array | None, upper: Array | None) -> Any:
    """The families of two products side by side, with their own columns."""
    tables = (x,) if lower is None or upper is None else (x, lower, upper)
    for (a, columns), b in zip(p.split(*tables), q.families, strict=True):
        yield a, b, *columns


def _sum(arrays: Any) -> Array:
    with np.errstate(invalid="ignore"):
        return np.array(sum(arrays))


def _where_possible(p: Any, x: Array, lower: Bound, upper: Bound, inside: Flags | None, value: Array) -> Array:
    """0 in states where p gives the knowledge no weight: nothing is compared there."""
    known = ~np.isnan(x).all(axis=1)
    for table in (_bounded(x, lower, upper), None if inside is None else ~inside):
        known = known if table is None else known | table.any(axis=1)
    rows = np.flatnonzero(known & value.any(axis=1))
    if rows.size:
        weight = _log_weight(p, rows, x, lower, upper, inside)
        value[rows] = np.where(weight == -np.inf, 0.0, value[rows])
    return value


def _bounded(x: Array, lower: Array | None, upper: Array | None) -> Flags | None:
    """(R, F): entries known by an interval; None when there are none."""
    if lower is None or upper is None:
        return None
    table = np.isnan(x) & ((lower > -np.inf) | (upper < np.inf))
    return table if table.any() else None


def _is_full(p: Any, q: Any) -> bool:
    """Whether columns depend on each other under either law."""
    return any(getattr(law, "cov", None) is not None for law in (p, q))


def _open_columns(p: Any, q: Any, free: Flags) -> Array:
    """(R, F) -> (R, K): the KL of the columns nothing is known of."""
    if free.all():
        return np.tile(p.kl(q), (len(free), 1))
    value = np.zeros((len(free), p.n_states))
    if not free.any():
        return value
    each = np.stack([p.select([column]).kl(q.select([column])) for column in range(p.n_features)])
    value = free.astype(np.float64) @ np.where(np.isinf(each), 0.0, each)
    endless = np.isinf(each)
    return np.where(free.astype(np.float64) @ endless.astype(np.float64) > 0, np.inf, value) if endless.any() else value


def _intervals(p: Any, q: Any, lower: Array, upper: Array, bounded: Flags) -> Any:
    """For each column with intervals: (rows, (ratio, kl) of its distinct intervals, which one each row has)."""
    for column in range(p.n_features):
        rows = np.flatnonzero(bounded[:, column])
        if rows.size:
            ends = np.stack([lower[rows, column], upper[rows, column]], axis=1)
            distinct, index = np.unique(ends, axis=0, return_inverse=True)
            a, b = p.select([column]), q.select([column])
            yield rows, _compared(a, b, distinct[:, 0], distinct[:, 1]), index.reshape(-1)


def _compared(p: Any, q: Any, lower: Array, upper: Array) -> tuple[Array, Array]:
    """(U, K) twice for one column; symbols are sets, everything else is integrated or summed."""
    if isinstance(p, Categorical) or isinstance(q, Categorical):
        symbols = _as_symbols(p), _as_symbols(q)
        m = np.arange(symbols[0].n_symbols)
        inside = (m >= lower[:, None]) & (m <= upper[:, None])
        return _set_ratio(*symbols, inside), _set_divergence(*symbols, inside)
    from hidiv.emissions.evidence.intervals import compare

    return compare(p, q, lower, upper)


def _as_symbols(law: Any) -> Any:
    """A law of one bit as one of two symbols; others as they are."""
    if law.name != "bernoulli":
        return law
    ones = np.ravel(law.probs)
    return Categorical(np.stack([1.0 - ones, ones], axis=1))


def _set_ratio(p: Categorical, q: Categorical, inside: Flags) -> Array:
    """(U, K): log of q's mass of the set over p's, from the differences of the probabilities when those are small."""
    members = inside.astype(np.float64)
    p_in, q_in, gain = (members @ table.T for table in (p.probs, q.probs, q.probs - p.probs))
    with np.errstate(divide="ignore", invalid="ignore"):
        near = np.log1p(gain / p_in)
    value = np.where((np.abs(gain) <= 0.5 * p_in) & (q_in > 0) & (p_in > 0), near, log_ratio(p_in, q_in))
    return np.where(inside.all(axis=1).reshape(-1, 1), 0.0, value)


def _set_divergence(p: Categorical, q: Categorical, inside: Flags) -> Array:
    """(U, K): KL of the two laws given that the symbol is in the set.

    With c the ratio of the sets' masses the relative difference of the laws is ((q - p) - p c)/(p (1 + c)).
    """
    value = np.zeros((len(inside), p.n_states))
    ratio = _set_ratio(p, q, inside)
    for row, members in enumerate(inside):
        a, b, gain = p.probs[:, members], q.probs[:, members], (q.probs - p.probs)[:, members]
        mass_a, mass_b = a.sum(axis=1, keepdims=True), b.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            excess = np.expm1(ratio[row])[:, None]
            given = a / mass_a
            moved = (gain - a * excess) / (mass_a * (1.0 + excess))
            value[row] = np.where(mass_b[:, 0] == 0, np.inf, _divergence_by_step(given, b / mass_b, moved))
        value[row] = np.where(mass_a[:, 0] == 0, 0.0, value[row])
    return value


def _hidden_counts(p: Any, q: Any, x: Array) -> Array:
    """(R, K): KL of the counts not seen given the others, a multinomial law of the trials that are left."""
    first, second, hidden = Categorical(p.probs), Categorical(q.probs), np.isnan(x)
    left = np.where(hidden.any(axis=1, keepdims=True), p.trials - np.nansum(x, axis=1, keepdims=True), 0.0)
    each = _distinct(hidden, lambda sets: _set_divergence(first, second, sets))
    return np.where((left > 0) & (p.trials != q.trials), np.inf, times(left, each))


def _divergence_by_step(p: Array, q: Array, step: Array) -> Array:
    """KL(p || q) along the last axis where step = q - p is known better than as a difference."""
    near = (np.abs(step) <= 0.5 * p) & (p > 0)
    ratio = np.where(near, step / np.where(near, p, 1.0), 0.0)
    close = np.asarray(np.where(near, p * h(ratio), 0.0).sum(axis=-1))
    return close + row_divergence(np.where(near, 0.0, p), np.where(near, 0.0, q))


def _distinct(sets: Flags, f: Any) -> Array:
    """f of every row, computed once for equal rows."""
    rows, index = np.unique(sets, axis=0, return_inverse=True)
    return np.asarray(f(rows)[index.reshape(-1)])


def _log_weight(p: Any, rows: NDArray[np.int64], x: Array, lower: Bound, upper: Bound, inside: Flags | None) -> Array:
    """(r, K): log-weight of some of the rows."""
    bounds = (None, None) if lower is None or upper is None else (lower[rows], upper[rows])
    weight = np.asarray(p.log_weight(x[rows], *bounds))
    if inside is None:
        return weight
    everything = inside[rows].all(axis=1).reshape(-1, 1)
    return np.asarray(weight + np.where(everything, 0.0, p.log_set(inside[rows])))


def _settled(p: Any, q: Any, x: Array, lower: Bound, upper: Bound, inside: Flags | None, value: Array) -> Array:
    """Infinite ratios by which of the two laws vanishes: one column may vanish under p and another under q."""
    rows = np.flatnonzero(~np.isfinite(value).all(axis=1))
    if rows.size:
        none_p, none_q = (_log_weight(law, rows, x, lower, upper, inside) == -np.inf for law in (p, q))
        fixed = np.where(none_p & none_q, 0.0, np.where(none_p, np.inf, np.where(none_q, -np.inf, value[rows])))
        value = np.array(value)
        value[rows] = fixed
    return value
