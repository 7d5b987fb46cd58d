"""All joint divergences of two sets of models as one matrix product (definitions, section 3, linear structure)."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from hidiv.comparison.sides import Side, common_groups, family_of_group
from hidiv.emissions.family import Family, Statistics

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

EPS = float(np.finfo(np.float64).eps)
RELATIVE_ERROR = 1e-11  # of every entry: what the product cannot promise is computed directly


@dataclass(frozen=True, eq=False)
class Factors:
    """D = left right^T, within `error_left` error_right^T; infinite where missing_left missing_right^T is positive."""

    left: Array  # (m, F): expected counts of p, its own term last
    right: Array  # (m', F): minus the logarithms of q, a one last
    error_left: Array  # (m, R)
    error_right: Array  # (m', R)
    support: NDArray[np.float32] | None  # (m, Z): 1 where p has mass; None where q never lacks any
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


def factors_of(p: Side, q: Side) -> Factors | None:
    """The product of counts and logarithms; None where some family has no sufficient statistics in common."""
    stats_p, stats_q = common_statistics(p, q)
    if stats_p is None or stats_q is None:
        return None
    counts, own, supports = _counts(p, common_groups(p, q), stats_p)
    logs_p = _logs(p, q, stats_p)
    logs_q = logs_p if p is q else _logs(q, p, stats_q)
    missing = None if np.isfinite(logs_q).all() else np.isneginf(logs_q)
    if p is not q or missing is not None:
        logs_p = np.where(supports, logs_p, 0.0)
    with np.errstate(invalid="ignore", over="ignore"):
        self_term = np.einsum("ij,ij->i", counts, logs_p)
    if missing is not None:
        logs_q = np.where(missing, 0.0, logs_q)
    if not (np.isfinite(counts).all() and np.isfinite(self_term).all() and np.isfinite(logs_q).all()):
        return None  # numbers at the edge of the doubles: each pair on its own
    lacking = np.zeros(0, dtype=np.int64) if missing is None else np.flatnonzero(missing.any(axis=0))
    scale = balance(counts, logs_q)
    error = (4.0 + sqrt(counts.shape[1])) * EPS
    right = np.ones((len(q), counts.shape[1] + 1))
    np.negative(logs_q, out=right[:, :-1])
    return Factors(
        np.column_stack([counts, self_term]),
        right,
        error * np.column_stack([norms(counts * scale), np.abs(self_term) + own]),
        np.column_stack([norms(logs_q / scale), np.ones(len(q))]),
        supports[:, lacking].astype(np.float32) if lacking.size else None,
        missing[:, lacking].astype(np.float32) if missing is not None and lacking.size else None,
    )


def counts_of(p: Side) -> Array | None:
    """(m, F): the expected counts of p alone; None where a family has no sufficient statistics."""
    stats, _ = common_statistics(p, p)
    return None if stats is None else _counts(p, common_groups(p, p), stats)[0]


def logs_of(q: Side, other: Side) -> Array | None:
    """(m, F): the logarithms of q in the order of the counts of `other`; may hold -inf."""
    stats, _ = common_statistics(q, other)
    return None if stats is None else _logs(q, other, stats)


def balance(left: Array, right: Array) -> Array:
    """(F,): feature by feature, the scale at which both sides are alike, so that norms bound sums of products well."""
    sizes = [np.einsum("ij,ij->j", table, table) for table in (left, right)]
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = (sizes[1] / sizes[0]) ** 0.25
    return np.where((scale > 0) & np.isfinite(scale), scale, 1.0)


def norms(table: Array) -> Array:
    """(m,): Euclidean length of each row."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", table, table)))


def common_statistics(p: Side, q: Side) -> tuple[list[Statistics] | None, list[Statistics] | None]:
    """Sufficient statistics by group, where every group has the same ones for every model of both sides."""
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
    found = family.statistics()
    if found is None:
        return None
    one = family.take(np.arange(n_states)).statistics()
    assert one is not None
    if one.key != found.key:  # a parameter is in the key, such as the trials of a binomial law
        for start in range(n_states, family.n_states, n_states):
            other = family.take(np.arange(start, start + n_states)).statistics()
            if other is None or other.key != one.key:
                return None
    return Statistics(one.key, found.expected, found.natural)


def _counts(p: Side, groups: tuple[int, int], stats: list[Statistics]) -> tuple[Array, Array, NDArray[np.bool_]]:
    """(m, F) expected counts, (m,) how many rows and states are met, (m, F) where p has mass."""
    assert p.expected is not None
    m, weights = len(p), p.expected
    rows, rows_reached = _grouped(weights.rows, groups[0]), _reached(weights.rows_reached, groups[0])
    states, states_reached = _grouped(weights.states, groups[1]), _reached(weights.states_reached, groups[1])
    transitions = (rows[..., None] * p.rows).reshape(m, -1)
    counts = [weights.root * p.initial, transitions]
    supports = [p.initial > 0, (rows_reached[..., None] & (p.rows > 0)).reshape(m, -1)]
    for g, s in enumerate(stats):
        expected = s.expected.reshape(m, p.n_states, -1)
        counts.append((states[:, g, :, None] * expected).reshape(m, -1))
        supports.append((states_reached[:, g, :, None] & (expected != 0)).reshape(m, -1))
    met = weights.root + rows.sum(axis=(1, 2)) + states.sum(axis=(1, 2))
    return np.concatenate(counts, axis=1), met, np.concatenate(supports, axis=1)


def _grouped(table: Array, groups: int) -> Array:
    return table if groups > 1 or table.shape[1] == 1 else table.sum(axis=1, keepdims=True)


def _reached(table: NDArray[np.bool_], groups: int) -> NDArray[np.bool_]:
    return table if groups > 1 or table.shape[1] == 1 else np.asarray(table.any(axis=1, keepdims=True))


def _logs(q: Side, other: Side, stats: list[Statistics]) -> Array:
    """(m, F) logarithms and natural parameters in the order of the counts; may hold -inf."""
    m, groups = len(q), common_groups(q, other)
    rows = q.rows if q.rows.shape[1] == groups[0] else np.repeat(q.rows, groups[0], axis=1)
    with np.errstate(divide="ignore"):
        logs = [np.log(q.initial), np.log(rows).reshape(m, -1)]
    return np.concatenate([*logs, *(s.natural.reshape(m, -1) for s in stats)], axis=1)
