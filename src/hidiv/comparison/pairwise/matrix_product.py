"""All joint divergences of two sets of models as one matrix product (definitions (3.6))."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from hidiv.comparison.pairwise.operands import Operand, common_groups, family_of_group
from hidiv.emissions.family import Family
from hidiv.emissions.statistics import Statistics, sizes_of
from hidiv.recursions.products import quickest_products
from hidiv.types import Array, IntArray

EPS = float(np.finfo(np.float64).eps)
STRIP = 1 << 18  # entries handled while they are in the cache
LARGEST = 1e290  # bound on the products, far enough below the largest double for sums and divisions
RELATIVE_ERROR = 1e-11  # of every entry: what the product cannot promise is computed directly


@dataclass(frozen=True, eq=False)
class Factors:
    """D = left right^T, within `error_left` error_right^T; infinite where support missing^T is positive."""

    left: Array  # (m, F): expected counts of p, its own term last
    right: Array  # (m', F): minus the logarithms of q, a one last
    error_left: Array  # (m, R)
    error_right: Array  # (m', R)
    support: NDArray[np.float32] | None  # (m, Z): 1 where p has probability; None where q never lacks any
    missing: NDArray[np.float32] | None  # (m', Z): 1 where q has none

    def part(self, first: slice, second: slice) -> Factors:
        """The block of some p and some q."""
        return Factors(
            self.left[first],
            self.right[second],
            self.error_left[first],
            self.error_right[second],
            None if self.support is None else self.support[first],
            None if self.missing is None else self.missing[second],
        )


def factors_of(p: Operand, q: Operand) -> Factors | None:
    """The product of counts and logarithms; None where some family has no sufficient statistics in common."""
    stats_p, stats_q = common_statistics(p, q)
    if stats_p is None or stats_q is None:
        return None
    groups = common_groups(p, q)
    with np.errstate(over="ignore"):
        left, visits = _counts(p, groups, stats_p)
    right = _logs(q, groups, stats_q)
    counts, logs_q = left[:, :-1], right[:, :-1]
    logs_p = logs_q if p is q else _logs(p, groups, stats_p)[:, :-1]
    lacking, supports, missing = np.zeros(0, dtype=np.int64), None, None
    with np.errstate(invalid="ignore", over="ignore"):
        sizes = counts if all(s.size is None for s in stats_p) else _counts(p, groups, stats_p, sized=True)[0][:, :-1]
        sizes_p, sizes_q = _squared_sums(sizes), _squared_sums(logs_q)
        if not (np.isfinite(sizes_q).all() and (p is q or np.isfinite(logs_p).all())):
            supports, missing = _supports(p, groups, stats_p), np.isneginf(logs_q)
            lacking = np.flatnonzero(missing.any(axis=0))
            logs_p = np.where(supports, logs_p, 0.0)
            logs_q[missing] = 0.0
            sizes_q = _squared_sums(logs_q)
        left[:, -1] = np.einsum("ij,ij->i", counts, logs_p)
        if sizes is counts and all(s.are_probabilities for s in stats_p):
            own_size = np.abs(left[:, -1])  # no count is negative and no logarithm positive
        else:  # its terms may cancel, their rounding errors do not
            own_size = np.einsum("ij,ij->i", np.abs(sizes), np.abs(logs_p))
        np.negative(logs_q, out=logs_q)
        if not all(np.isfinite(table).all() for table in (left[:, -1], sizes_p, sizes_q)) and not (
            np.isfinite(left).all() and np.isfinite(right).all()
        ):
            return None  # numbers near the largest doubles: each pair directly
        weights = _balance(sizes_p, sizes_q) ** 2
        error = (4.0 + sqrt(counts.shape[1])) * EPS
        lengths = _lengths(sizes, weights), _lengths(logs_q, 1.0 / weights)
        if not lengths[0].max() * lengths[1].max() + own_size.max() < LARGEST:
            return None
    return Factors(
        left,
        right,
        error * np.column_stack([lengths[0], own_size + visits]),
        np.column_stack([lengths[1], np.ones(len(q))]),
        supports[:, lacking].astype(np.float32) if supports is not None and lacking.size else None,
        missing[:, lacking].astype(np.float32) if missing is not None and lacking.size else None,
    )


def _squared_sums(table: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->j", table, table))


def _lengths(table: Array, weights: Array) -> Array:
    """(m,): lengths of rows, squares weighted; not by BLAS, whose threads would spin on beside those of the product."""
    return np.asarray(np.sqrt(np.einsum("ij,ij,j->i", table, table, weights)))


def multiply(factors: Factors, out: Array, alike: bool = False, threads: int = 1) -> tuple[IntArray, IntArray]:
    """Write the product into out, +inf where support is missing; first and second of the pairs too close for it.

    alike: left and right are the same models, and the diagonal is not asked for.
    """
    # A bound for the whole row first: one comparison an entry, and few entries to look at twice.
    bounds = factors.error_left / RELATIVE_ERROR
    of_row = bounds @ factors.error_right.max(axis=0)
    close_rows = quickest_products(factors.left, factors.right, of_row, alike, out, threads)
    height = max(1, STRIP // out.shape[1])
    if factors.support is not None and factors.missing is not None:
        for top in range(0, len(out), height):
            out[top : top + height][factors.support[top : top + height] @ factors.missing.T > 0.5] = np.inf
    close_pairs: list[tuple[IntArray, IntArray]] = [(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))]
    rows = np.flatnonzero(close_rows)
    for start in range(0, len(rows), height):
        some = rows[start : start + height]
        first, second = np.nonzero(out[some] <= of_row[some, None])
        first = some[first]
        close = out[first, second] <= np.einsum("ir,ir->i", bounds[first], factors.error_right[second])
        if alike:  # a model's divergence from itself is known
            close &= first != second
        close_pairs.append((first[close], second[close]))
    return np.concatenate([first for first, _ in close_pairs]), np.concatenate([second for _, second in close_pairs])


def counts_of(p: Operand) -> Array | None:
    """(m, F): the expected counts of p alone; None where a family has no sufficient statistics."""
    stats, _ = common_statistics(p, p)
    return None if stats is None else _counts(p, common_groups(p, p), stats)[0][:, :-1]


def logs_of(q: Operand, other: Operand) -> Array | None:
    """(m, F): the logarithms of q in the order of the counts of `other`; may hold -inf."""
    stats, _ = common_statistics(q, other)
    return None if stats is None else _logs(q, common_groups(q, other), stats)[:, :-1]


def balance(left: Array, right: Array) -> Array:
    """(F,): feature by feature, the scale that makes both factors alike, so that norms bound sums of products well."""
    return _balance(*(np.einsum("ij,ij->j", table, table) for table in (left, right)))


def _balance(left: Array, right: Array) -> Array:
    """The same, from sums of squares (F,)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = right**0.25 / left**0.25  # of the roots: the ratio of the squares may be no double
    return np.where((scale > 0) & np.isfinite(scale), scale, 1.0)


def norms(table: Array) -> Array:
    """(m,): Euclidean length of each row."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", table, table)))


def common_statistics(p: Operand, q: Operand) -> tuple[list[Statistics] | None, list[Statistics] | None]:
    """Sufficient statistics by group, where every group has the same ones for every model of p and q."""
    found_p, found_q = [], []
    for g in range(common_groups(p, q)[1]):
        a = shared_statistics(family_of_group(p, g), p.n_states)
        b = a if p is q else shared_statistics(family_of_group(q, g), q.n_states)
        if a is None or b is None or a.key != b.key:
            return None, None
        found_p.append(a)
        found_q.append(b)
    return found_p, found_q


def shared_statistics(family: Family, n_states: int) -> Statistics | None:
    """The statistics of all models' states, with the key of one model; None where the models' keys differ."""
    statistics = family.statistics()
    if statistics is None:
        return None
    one = family.take(np.arange(n_states)).statistics()
    assert one is not None
    if one.key != statistics.key:  # a parameter is in the key, such as the trials of a binomial
        for start in range(n_states, family.n_states, n_states):
            other = family.take(np.arange(start, start + n_states)).statistics()
            if other is None or other.key != one.key:
                return None
    return statistics._replace(key=one.key)


def _counts(p: Operand, groups: tuple[int, int], stats: list[Statistics], sized: bool = False) -> tuple[Array, Array]:
    """(m, F + 1) expected counts, the last column left empty; (m,) the expected number of rows and states visited.

    sized: the magnitudes that the rounding errors of the counts are in proportion to, instead of the counts.
    """
    assert p.expected is not None
    m, weights = len(p), p.expected
    rows, states = _grouped(weights.rows, groups[0]), _grouped(weights.states, groups[1])
    emitted = sum(each.expected[0].size for each in stats) * p.n_states
    into = _ColumnWriter(m, p.n_states + rows.shape[1] * p.rows[0, 0].size + emitted)
    np.multiply(weights.root, p.initial, out=into.next(p.n_states))
    shape = rows.shape[1], *p.rows.shape[2:]
    np.multiply(rows[..., None], p.rows, out=into.next(*shape))
    for g, s in enumerate(stats):
        expected = (sizes_of(s) if sized else s.expected).reshape(m, p.n_states, -1)
        np.multiply(states[:, g, :, None], expected, out=into.next(*expected.shape[1:]))
    return into.table, weights.root + rows.sum(axis=(1, 2)) + states.sum(axis=(1, 2))


def _supports(p: Operand, groups: tuple[int, int], stats: list[Statistics]) -> NDArray[np.bool_]:
    """(m, F): where p has probability above 0."""
    assert p.expected is not None
    m = len(p)
    rows, states = (
        _reached(table, count)
        for table, count in zip((p.expected.rows_reached, p.expected.states_reached), groups, strict=True)
    )
    supports = [p.initial > 0, (rows[..., None] & (p.rows > 0)).reshape(m, -1)]
    for g, s in enumerate(stats):
        supports.append((states[:, g, :, None] & (s.expected.reshape(m, p.n_states, -1) != 0)).reshape(m, -1))
    return np.concatenate(supports, axis=1)


def _logs(q: Operand, groups: tuple[int, int], stats: list[Statistics]) -> Array:
    """(m, F + 1) logarithms and natural parameters in the order of the counts, a one last; may hold -inf."""
    m = len(q)
    shape = groups[0], *q.rows.shape[2:]
    into = _ColumnWriter(m, q.n_states + int(np.prod(shape)) + sum(s.natural[0].size for s in stats) * q.n_states)
    with np.errstate(divide="ignore"):
        np.log(q.initial, out=into.next(q.n_states))
        np.log(np.broadcast_to(q.rows, (m, *shape)), out=into.next(*shape))
    for s in stats:
        natural = s.natural.reshape(m, q.n_states, -1)
        into.next(*natural.shape[1:])[...] = natural
    into.table[:, -1] = 1.0
    return into.table


class _ColumnWriter:
    """A table (m, F + 1) written part by part: each part is a view of its next columns."""

    def __init__(self, m: int, width: int) -> None:
        self.table = np.empty((m, width + 1))
        self.used = 0

    def next(self, *shape: int) -> Array:
        start, self.used = self.used, self.used + int(np.prod(shape))
        return self.table[:, start : self.used].reshape(-1, *shape)


def _grouped(table: Array, groups: int) -> Array:
    return table if groups > 1 or table.shape[1] == 1 else table.sum(axis=1, keepdims=True)


def _reached(table: NDArray[np.bool_], groups: int) -> NDArray[np.bool_]:
    return table if groups > 1 or table.shape[1] == 1 else np.asarray(table.any(axis=1, keepdims=True))
