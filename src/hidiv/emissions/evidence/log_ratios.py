"""What is known of an observation, under two laws: ratio of its weights, and what stays hidden (definitions, 1).

`weight_ratio` and `residual` ask the registered pair first (products, mixtures, full covariances and multinomial laws
have functions of their own); `columns_ratio` and `columns_residual` serve families of independent columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from hidiv.emissions.evidence.count_tables import by_count, occurring
from hidiv.emissions.evidence.symbol_sets import by_distinct_row, set_divergence, set_ratio
from hidiv.emissions.registry import guarded, pair
from hidiv.emissions.sample_space import Kind
from hidiv.recursions.count_rows import CountTables, count_table
from hidiv.types import Array, Flags, IntArray

Bound = Array | None


@guarded("ratio of densities")
def weight_ratio(
    p: Any, q: Any, x: Array, lower: Bound = None, upper: Bound = None, inside: Flags | None = None
) -> Array:
    """(R, K): log w_q(s)/w_p(s) of R pieces of knowledge, relatively accurate when p and q nearly agree.

    x (R, F), NaN where not seen; lower, upper (R, F) count where x is not seen; inside (R, M) sets of symbols.
    -inf where only q gives the knowledge no weight, +inf where only p gives it none, 0 where both do.
    """
    how = pair(p, q)
    return (how.weight_ratio or columns_ratio)(p, q, x, lower, upper, inside)


class PairWeights:
    """Knowledge, as `weight_ratio` takes it, without sets: log w_p, log w_q and their log-ratio, (R, K).

    What depends on the laws alone is made once. Only rows that are not wholly seen, or out of range, are weighed apart.
    """

    def __init__(self, p: Any, q: Any) -> None:
        how = pair(p, q)
        self.p, self.q = p, q
        self.fast = None if how.tables is None else how.tables(p, q)

    def __call__(self, x: Array, lower: Bound = None, upper: Bound = None) -> tuple[Array, Array, Array]:
        p, q = self.p, self.q
        if self.fast is None:
            counts = self.count_tables(x) if lower is None else None
            if counts is not None:
                (at, places, table_p, between), table_q = counts
                assert between is not None
                seen_p, seen_q, apart = (count_table(at, places, each)[0] for each in (table_p, table_q, between))
                return seen_p, seen_q, apart
            return p.log_weight(x, lower, upper), q.log_weight(x, lower, upper), weight_ratio(p, q, x, lower, upper)
        log_p, log_q, ratio, odd = self.fast(x, True)
        assert log_q is not None
        if odd:
            sound = [np.abs(each) <= 1e300 for each in (log_p, log_q, ratio)]
            rows = np.flatnonzero(~(sound[0] & sound[1] & sound[2]).all(axis=1))
            low, high = (None if bound is None else bound[rows] for bound in (lower, upper))
            log_p[rows], log_q[rows] = p.log_weight(x[rows], low, high), q.log_weight(x[rows], low, high)
            ratio[rows] = weight_ratio(p, q, x[rows], low, high)
        return log_p, log_q, ratio

    def count_tables(self, x: Array) -> tuple[CountTables, Array] | None:
        """Tables of log w_p and log-ratios in which counts of independent columns are looked up, and one of log w_q.

        None where that is not the way.
        """
        p, q = self.p, self.q
        how = pair(p, q)
        if not (p.space.is_counts and q.space.is_counts) or how.weight_ratio is not None:
            return None
        counts = occurring(x)
        if counts is None:
            return None
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            log_p = counts.table(lambda f, numbers: p.select([f]).log_weight(numbers))
            log_q = None if log_p is None else counts.table(lambda f, numbers: q.select([f]).log_weight(numbers))
            if log_p is None or log_q is None:
                return None
            ratio = counts.table(lambda f, numbers: how.log_ratio(p.select([f]), q.select([f]), numbers))
        return None if ratio is None else ((np.ascontiguousarray(x), counts.places, log_p, ratio), log_q)


@guarded("divergence")
def residual(p: Any, q: Any, x: Array, lower: Bound = None, upper: Bound = None, inside: Flags | None = None) -> Array:
    """(R, K): r(s) = KL( p(X | s, known) || q(X | s, known) ) of R pieces of knowledge, laid out as in `weight_ratio`.

    0 where X is seen, the KL of the laws where nothing is known; +inf where p has mass that q lacks; 0 in states where
    p gives the knowledge no weight.
    """
    how = pair(p, q)
    return (how.residual or columns_residual)(p, q, x, lower, upper, inside)


def columns_ratio(p: Any, q: Any, x: Array, lower: Bound, upper: Bound, inside: Flags | None) -> Array:
    """`weight_ratio` of families whose columns are independent."""
    value = seen_ratio(p, q, x)
    bounded = bounded_entries(x, lower, upper)
    if bounded is not None and lower is not None and upper is not None:
        for rows, (ratio, _), index in _intervals(p, q, lower, upper, bounded):
            value[rows] = added((value[rows], ratio[index]))
    if inside is not None:
        tables = p.symbol_table(), q.symbol_table()
        value = added((value, by_distinct_row(inside, lambda sets: set_ratio(*tables, sets))))
    return settled(p, q, x, lower, upper, inside, value)


def columns_residual(p: Any, q: Any, x: Array, lower: Bound, upper: Bound, inside: Flags | None) -> Array:
    """`residual` of families whose columns are independent."""
    bounded = bounded_entries(x, lower, upper)
    free = np.isnan(x) if bounded is None else np.isnan(x) & ~bounded
    value = _open_columns(p, q, free)
    if bounded is not None and lower is not None and upper is not None:
        for rows, (_, kl), index in _intervals(p, q, lower, upper, bounded):
            value[rows] += kl[index]
    if inside is not None:
        restricted, tables = ~inside.all(axis=1), (p.symbol_table(), q.symbol_table())
        value[restricted] = by_distinct_row(inside[restricted], lambda sets: set_divergence(*tables, sets))
    return where_possible(p, x, lower, upper, inside, value)


def seen_ratio(p: Any, q: Any, x: Array) -> Array:
    """(R, K): log q/p of the entries that are seen."""
    how = pair(p, q)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if p.space.is_counts and q.space.is_counts:
            looked_up = by_count(x, lambda f, counts: how.log_ratio(p.select([f]), q.select([f]), counts))
            if looked_up is not None:
                return looked_up
        return how.log_ratio(p, q, x)


def added(arrays: Any) -> Array:
    """The sum, NaN where opposite infinities meet; `settled` decides those."""
    with np.errstate(invalid="ignore"):
        return np.array(sum(arrays))


def where_possible(p: Any, x: Array, lower: Bound, upper: Bound, inside: Flags | None, value: Array) -> Array:
    """0 in states where p gives the knowledge no weight: nothing is compared there."""
    known = ~np.isnan(x).all(axis=1)
    for table in (bounded_entries(x, lower, upper), None if inside is None else ~inside):
        known = known if table is None else known | table.any(axis=1)
    rows = np.flatnonzero(known & value.any(axis=1))
    if rows.size:
        weight = _log_weight(p, rows, x, lower, upper, inside)
        value[rows] = np.where(weight == -np.inf, 0.0, value[rows])
    return value


def bounded_entries(x: Array, lower: Bound, upper: Bound) -> Flags | None:
    """(R, F): entries known by an interval; None when there are none."""
    if lower is None or upper is None:
        return None
    table = np.isnan(x) & ((lower > -np.inf) | (upper < np.inf))
    return table if table.any() else None


def settled(p: Any, q: Any, x: Array, lower: Bound, upper: Bound, inside: Flags | None, value: Array) -> Array:
    """Infinite ratios by which of the two laws vanishes: one column may vanish under p and another under q."""
    rows = np.flatnonzero(~np.isfinite(value).all(axis=1))
    if rows.size:
        none_p, none_q = (_log_weight(law, rows, x, lower, upper, inside) == -np.inf for law in (p, q))
        decided = np.where(none_p & none_q, 0.0, np.where(none_p, np.inf, np.where(none_q, -np.inf, value[rows])))
        value = np.array(value)
        value[rows] = decided
    return value


def _log_weight(p: Any, rows: IntArray, x: Array, lower: Bound, upper: Bound, inside: Flags | None) -> Array:
    """(r, K): log-weight of some of the rows."""
    bounds = (None, None) if lower is None or upper is None else (lower[rows], upper[rows])
    weight = np.asarray(p.log_weight(x[rows], *bounds))
    if inside is None:
        return weight
    everything = inside[rows].all(axis=1).reshape(-1, 1)
    return np.asarray(weight + np.where(everything, 0.0, p.log_set(inside[rows])))


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


def _intervals(
    p: Any, q: Any, lower: Array, upper: Array, bounded: Flags
) -> Iterator[tuple[IntArray, tuple[Array, Array], IntArray]]:
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
    if Kind.SYMBOLS in (p.space.kind, q.space.kind):
        tables = p.symbol_table(), q.symbol_table()
        m = np.arange(tables[0].shape[1])
        inside = (m >= lower[:, None]) & (m <= upper[:, None])
        return set_ratio(*tables, inside), set_divergence(*tables, inside)
    from hidiv.emissions.evidence.intervals import compare

    return compare(p, q, lower, upper)
