"""KL of every state of some models from every state of others, as a product where they have statistics."""

from __future__ import annotations

from math import sqrt

import numpy as np

from hidiv.comparison.pairwise.product import EPS, Factors, balance, multiply, norms
from hidiv.emissions.family import Family
from hidiv.emissions.statistics import Statistics, sizes_of
from hidiv.types import Array

PORTION = 1 << 19  # pairs of states compared directly at once


def fill_state_table(p: Family, q: Family, out: Array) -> None:
    """out (S, S'): KL of each state of p from each state of q, relative error 1e-11; +inf where support is missing."""
    a, b = p.statistics(), q.statistics()
    factors = None if a is None or b is None or a.key != b.key else _factors(a, b)
    if factors is None:
        first, second = (grid.ravel() for grid in np.indices(out.shape))
    else:
        first, second = multiply(factors, out)
    for start in range(0, len(first), PORTION):
        i, j = first[start : start + PORTION], second[start : start + PORTION]
        out[i, j] = p.take(i).kl(q.take(j))


def _factors(p: Statistics, q: Statistics) -> Factors | None:
    """The product of mean statistics and natural parameters; None for numbers near the largest doubles."""
    missing = np.isneginf(q.natural)
    natural = np.where(missing, 0.0, q.natural)
    with np.errstate(invalid="ignore"):
        own = np.where(p.expected != 0, p.expected * p.natural, 0.0)
    if not (np.isfinite(p.expected).all() and np.isfinite(own).all() and np.isfinite(natural).all()):
        return None
    lacking = np.flatnonzero(missing.any(axis=0))
    sizes = sizes_of(p)
    scale = balance(sizes, natural)
    error = (4.0 + sqrt(own.shape[1])) * EPS
    return Factors(
        np.column_stack([p.expected, own.sum(axis=1)]),
        np.column_stack([-natural, np.ones(len(natural))]),
        error
        * np.column_stack(
            [norms(sizes * scale), (sizes * np.abs(np.where(p.expected != 0, p.natural, 0.0))).sum(axis=1) + 1.0]
        ),
        np.column_stack([norms(natural / scale), np.ones(len(natural))]),
        (p.expected[:, lacking] != 0).astype(np.float32) if lacking.size else None,
        missing[:, lacking].astype(np.float32) if lacking.size else None,
    )
