"""The product for models that all lie near one: every term is of second order, so that close pairs keep their digits.

With a centre 0, counts or mean statistics E and logarithms or natural parameters N:

    KL(p || q) = (E_p - E_0) . (N_p - N_q) + KL(0 || q) - KL(0 || p)

for every row and every state, each weighted by p's visits: one product again (definitions (3.6)).
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from hidiv.comparison.collection.stacked_parameters import family_of, mapped, parameters_of_family
from hidiv.comparison.pairwise.matrix_product import EPS, Factors, balance, common_statistics, norms
from hidiv.comparison.pairwise.operands import Operand, common_groups, family_of_group
from hidiv.emissions.family import Family
from hidiv.emissions.statistics import Statistics, sizes_of
from hidiv.recursions.terms import log_ratio, row_divergence
from hidiv.types import Array

NEAR = 0.5  # largest relative distance of a probability from the centre's: up to there a subtraction is exact


def second_order(p: Operand, q: Operand) -> Factors | None:
    """The factors of the product, or None where the models do not lie near one."""
    stats_p, stats_q = common_statistics(p, q)
    groups = common_groups(p, q)
    if stats_p is None or stats_q is None or p.rows.shape[1] != q.rows.shape[1] or len(p.families) != len(q.families):
        return None
    assert p.expected is not None
    weights = p.expected
    builder = _FactorBuilder(len(p), len(q))
    initial = p.initial.mean(axis=0)
    rows = p.rows.mean(axis=0)
    present = np.asarray(p.has_transition.all(axis=0) & q.has_transition.all(axis=0))[:, None]
    good = builder.add_probabilities(p.initial, q.initial, initial, np.full(len(p), weights.root))
    row_weights = weights.rows if groups[0] > 1 else weights.rows.sum(axis=1, keepdims=True)
    good = good and builder.add_probabilities(p.rows, q.rows, rows, row_weights * present)
    states = weights.states if groups[1] > 1 else weights.states.sum(axis=1, keepdims=True)
    for g in range(groups[1]):
        if good:
            a, b = family_of_group(p, g), family_of_group(q, g)
            good = builder.add_family(a, b, stats_p[g], stats_q[g], states[:, g])
    factors = builder.factors() if good else None
    return factors if factors is not None and np.isfinite(factors.left).all() else None


class _FactorBuilder:
    """Collects the columns of both factors of the product, part by part, and their rounding errors."""

    def __init__(self, m: int, n: int) -> None:
        self.own = np.zeros(m)
        self.size = np.zeros(m)  # of the terms the own one is made of
        self.left: list[Array] = []
        self.right: list[Array] = []
        self.rounding_left: list[Array] = []  # rounding errors of differences in one factor, times
        self.rounding_right: list[Array] = []  # what the other factor multiplies them with
        self.sizes = m, n

    def add_probabilities(self, p: Array, q: Array, centre: Array, weights: Array) -> bool:
        """Rows (m, ..., S) of probabilities against the centre's (..., S), each row weighted (m, ...)."""
        if not all((np.abs(table - centre) <= NEAR * centre).all() for table in (p, q)):
            return False
        step, logs_p, logs_q = p - centre, log_ratio(centre, p), log_ratio(centre, q)
        from_centre_p, from_centre_q = row_divergence(centre, p), row_divergence(centre, q)
        self._add(step, logs_p, logs_q, from_centre_p, from_centre_q, weights)
        return True

    def add_family(self, p: Family, q: Family, a: Statistics, b: Statistics, weights: Array) -> bool:
        """The states (m K) of a family against the mean of all models' parameters."""
        m, k = weights.shape
        # Any law near all of them is a centre; the mean of the parameters is one.
        centre = family_of(
            mapped(parameters_of_family(p), lambda x: x.reshape(m, k, *x.shape[1:]).mean(axis=0)), k, "emission"
        )
        if a.are_probabilities:
            middle = centre.statistics()
            assert middle is not None
            return self._add_logarithmic(a.expected, b.expected, middle.expected, weights)
        middle = centre.statistics()
        if middle is None or middle.key != a.key or not all(np.isfinite(s.natural).all() for s in (a, b, middle)):
            return False
        n = self.sizes[1]
        step, logs_p = (
            (table.reshape(m, k, -1) - mean)
            for table, mean in ((a.expected, middle.expected), (a.natural, middle.natural))
        )
        logs_q = b.natural.reshape(n, k, -1) - middle.natural
        from_centre = [
            centre.take(np.tile(np.arange(k), size)).kl(family).reshape(size, k) for family, size in ((p, m), (q, n))
        ]
        self._add(step, logs_p, logs_q, from_centre[0], from_centre[1], weights)
        weighted = weights[:, :, None]
        sizes = np.maximum(sizes_of(middle), sizes_of(a).reshape(m, k, -1).max(axis=0))
        self.rounding_left += [(weighted * sizes).reshape(m, -1), (weighted * step).reshape(m, -1)]
        roundings = sizes * np.abs(logs_p) + np.abs(middle.natural) * np.abs(step)
        self.size += (weighted * roundings).reshape(m, -1).sum(axis=1)
        natural = np.broadcast_to(middle.natural, (n, *middle.natural.shape))
        self.rounding_right += [logs_q.reshape(n, -1), natural.reshape(n, -1)]
        return True

    def _add_logarithmic(self, p: Array, q: Array, centre: Array, weights: Array) -> bool:
        """Add statistics that are probabilities: those of categories, or both of a Bernoulli variable."""
        shape = weights.shape[1], -1
        return self.add_probabilities(
            p.reshape(len(weights), *shape), q.reshape(self.sizes[1], *shape), centre.reshape(shape), weights
        )

    def _add(self, step: Array, logs_p: Array, logs_q: Array, from_p: Array, from_q: Array, weights: Array) -> None:
        m, n = self.sizes
        weighted = weights[..., None] * step
        slopes, distances = (weighted * logs_p).reshape(m, -1), (weights * from_p).reshape(m, -1).sum(axis=1)
        self.own += slopes.sum(axis=1) - distances
        self.size += np.abs(slopes).sum(axis=1) + distances
        self.left += [weighted.reshape(m, -1), weights.reshape(m, -1)]
        self.right += [-logs_q.reshape(n, -1), from_q.reshape(n, -1)]

    def factors(self) -> Factors:
        left, right = np.concatenate(self.left, axis=1), np.concatenate(self.right, axis=1)
        scale = balance(left, right)
        lengths_left, lengths_right = [norms(left * scale)], [norms(right / scale)]
        for a, b in zip(self.rounding_left, self.rounding_right, strict=True):
            scale = balance(a, b)
            lengths_left.append(norms(a * scale))
            lengths_right.append(norms(b / scale))
        return Factors(
            np.column_stack([left, self.own]),
            np.ascontiguousarray(np.column_stack([right, np.ones(len(right))])),
            (8.0 + sqrt(left.shape[1])) * EPS * np.column_stack([*lengths_left, self.size]),
            np.column_stack([*lengths_right, np.ones(len(right))]),
            None,
            None,
        )
