"""KL of two rows given by logarithms and by their accurate log-ratio: the local term of every posterior divergence."""

from __future__ import annotations

from math import fsum

import numpy as np

from hidiv.recursions.terms import phi
from hidiv.types import Array


def log_sum(term: Array) -> Array:
    """log sum exp over the last axis; -inf where every term is."""
    top = term.max(axis=-1)
    base = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(base + np.log(np.exp(term - base[..., None]).sum(axis=-1)))


def exact_sum(parts: Array) -> float:
    """The sum of all numbers, rounded once; infinite where it overflows."""
    try:
        return fsum(parts)
    except OverflowError:
        return float(np.sum(parts, dtype=np.longdouble))


def local_divergence(log_p: Array, m: Array, log_q: Array) -> tuple[Array, Array]:
    """(mbar, loc) along the last axis: loc = log1p( sum p phi(m - mbar) + out e^-mbar ), mbar = sum p m.

    log_p: normalised, -inf where p has no mass; m = log(q/p) up to a constant, read where p has mass; log_q: q's mass
    as log of its ratio to p's total and on m's scale, read where p has none (out) or far less than q.
    """
    here = log_p > -np.inf
    p = np.exp(log_p)
    m = np.where(here, m, 0.0)
    mean = (p * m).sum(axis=-1)
    t = np.where(here, m - mean[..., None], 0.0)
    # p e^t is q's mass: in logarithms, since p may underflow where e^t overflows, and not as log p + t, which would
    # round a small sum of two large numbers.
    far = t > 1.0
    log_large = log_sum(np.where(far | ~here, log_q - mean[..., None], -np.inf))
    small = np.where(far, -p * (1.0 + t), p * phi(np.minimum(t, 1.0))).sum(axis=-1)
    vast = log_large > 600.0
    near = np.log1p(np.where(vast, 0.0, small + np.exp(np.minimum(log_large, 600.0))))
    return mean, np.where(vast, log_large, near)
