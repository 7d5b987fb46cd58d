"""Laws of symbols given that the symbol lies in a set: tables of probabilities (K, M), sets (U, M) of booleans."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hidiv.recursions.terms import h, log_ratio, row_divergence
from hidiv.types import Array, Flags


def set_ratio(p: Array, q: Array, inside: Flags) -> Array:
    """(U, K): log of q's mass of the set over p's, from the differences of the probabilities when those are small."""
    members = inside.astype(np.float64)
    p_in, q_in, gain = (members @ table.T for table in (p, q, q - p))
    with np.errstate(divide="ignore", invalid="ignore"):
        near = np.log1p(gain / p_in)
    value = np.where((np.abs(gain) <= 0.5 * p_in) & (q_in > 0) & (p_in > 0), near, log_ratio(p_in, q_in))
    return np.where(inside.all(axis=1).reshape(-1, 1), 0.0, value)


def set_divergence(p: Array, q: Array, inside: Flags) -> Array:
    """(U, K): KL of the two laws given that the symbol is in the set.

    With c the ratio of the sets' masses the relative difference of the laws is ((q - p) - p c)/(p (1 + c)).
    """
    value = np.zeros((len(inside), len(p)))
    ratio = set_ratio(p, q, inside)
    for row, members in enumerate(inside):
        a, b, gain = p[:, members], q[:, members], (q - p)[:, members]
        mass_a, mass_b = a.sum(axis=1, keepdims=True), b.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            excess = np.expm1(ratio[row])[:, None]
            moved = (gain - a * excess) / (mass_a * (1.0 + excess))
            value[row] = np.where(mass_b[:, 0] == 0, np.inf, _divergence_by_step(a / mass_a, b / mass_b, moved))
        value[row] = np.where(mass_a[:, 0] == 0, 0.0, value[row])
    return value


def _divergence_by_step(p: Array, q: Array, step: Array) -> Array:
    """KL(p || q) along the last axis where step = q - p is known better than as a difference."""
    near = (np.abs(step) <= 0.5 * p) & (p > 0)
    ratio = np.where(near, step / np.where(near, p, 1.0), 0.0)
    close = np.asarray(np.where(near, p * h(ratio), 0.0).sum(axis=-1))
    return close + row_divergence(np.where(near, 0.0, p), np.where(near, 0.0, q))


def by_distinct_row(sets: Flags, function: Callable[[Flags], Array]) -> Array:
    """function(sets), computed once for equal rows."""
    rows, index = np.unique(sets, axis=0, return_inverse=True)
    return np.asarray(function(rows)[index.reshape(-1)])
