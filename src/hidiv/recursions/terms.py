"""Second-order terms that keep their digits when two models nearly agree (definitions, section 8), and sums of
logarithms."""

from __future__ import annotations

from math import fsum

import numpy as np

from hidiv.types import Array


def h(v: Array) -> Array:
    """v - log1p(v) >= 0 for v >= -1, relatively accurate near 0; +inf at -1.

    With r = v/(2+v): h = r v - 2 r^3 (1/3 + r^2/5 + r^4/7 + ...), no cancellation for |v| <= 1/4.
    """
    v = np.asarray(v, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        r = v / (2.0 + v)
        square = r * r
        series = np.zeros_like(v)
        for k in range(23, 1, -2):
            series = series * square + 1.0 / k
        near = r * v - 2.0 * r * square * series
        far = v - np.log1p(v)
    return np.where(np.abs(v) <= 0.25, near, np.where(v == np.inf, np.inf, far))


def phi(t: Array) -> Array:
    """e^t - 1 - t >= 0, relatively accurate near 0; +inf at +inf and at -inf."""
    t = np.asarray(t, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        small = np.where(np.abs(t) < 0.5, t, 0.0)
        series = np.ones_like(t)
        for k in range(16, 2, -1):
            series = 1.0 + series * small / k
        near = 0.5 * small * small * series
        far = np.expm1(t) - t
    return np.where(np.abs(t) < 0.5, near, np.where(t == np.inf, np.inf, far))


def log_ratio(p: Array, q: Array) -> Array:
    """log(q/p), accurate when q is close to p; 0 where both vanish, -inf where only q does, +inf where only p does."""
    p, q = np.broadcast_arrays(np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        far = np.log(q) - np.log(p)
        value = np.where(np.abs(q - p) <= 0.5 * p, np.log1p((q - p) / p), far)
    return np.where((p == 0) & (q == 0), 0.0, value)


def row_divergence(p: Array, q: Array) -> Array:
    """KL(p || q) along the last axis: sum of p h((q-p)/p), and of q where p = 0; +inf where p > 0 = q."""
    return np.asarray(divergence_terms(p, q).sum(axis=-1), dtype=np.float64)


def divergence_terms(p: Array, q: Array) -> Array:
    """The terms of `row_divergence`, none of them negative, entry by entry."""
    p, q = np.broadcast_arrays(np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        near = p * h((q - p) / p)
        # Far apart, (q-p)/p would round away a small q or overflow over a small p, and nothing cancels any more.
        far = p * (np.log(p) - np.log(q)) + (q - p)
    terms = np.where(np.abs(q - p) <= 0.5 * p, near, far)
    terms = np.where(p == 0, q, np.where(q == 0, np.inf, terms))
    return np.asarray(terms, dtype=np.float64)


def row_defect(p: Array, q: Array, alpha: float) -> Array:
    """1 - sum_s p^alpha q^(1-alpha) along the last axis (definitions (4.1)): in [0, 1] for alpha < 1, <= 0 above.

    Every term has one sign: p [(1-alpha) h(v) - phi(y)] with v = (q-p)/p, y = (1-alpha) log1p(v).
    alpha > 1 and p > 0 = q gives -inf.
    """
    p, q = np.broadcast_arrays(np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64))
    rest = 1.0 - alpha
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        v = (q - p) / p
        near = p * (rest * h(v) - phi(rest * np.log1p(v)))
        far = p + rest * (q - p) - np.exp(alpha * np.log(p) + rest * np.log(q))
    terms = np.where(np.abs(q - p) <= 0.5 * p, near, far)
    terms = np.where(q == 0, alpha * p if alpha < 1 else -np.inf, terms)
    terms = np.where(p == 0, rest * q, terms)
    return np.asarray(terms.sum(axis=-1), dtype=np.float64)


def renyi_of(defect: Array, log_z: Array, alpha: float) -> Array:
    """D_alpha from Z: by its defect 1 - Z where Z is near one, by log Z elsewhere."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log_value = np.where(np.abs(defect) < 0.5, np.log1p(-defect), log_z)
    return np.asarray(log_value / (alpha - 1.0) + 0.0, dtype=np.float64)


def row_renyi(p: Array, q: Array, alpha: float) -> Array:
    """Renyi divergence of order alpha along the last axis; +inf where the supports ask for it."""
    p, q = np.broadcast_arrays(np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        terms = np.where(p == 0, -np.inf, alpha * np.log(p) + (1.0 - alpha) * np.log(q))
        log_z = np.logaddexp.reduce(terms, axis=-1)
    return renyi_of(row_defect(p, q, alpha), np.asarray(log_z), alpha)


def log_of(values: Array) -> Array:
    """Logarithms of probabilities, -inf at zero."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


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
    # round a small sum of two large numbers. For t > 1 it is at least e/2 p (1 + t), which no rounding may deny.
    far = t > 1.0
    log_q = log_q - mean[..., None]
    log_q = np.where(far, np.maximum(log_q, log_p + np.log(1.359) + np.log1p(np.maximum(t, 1.0))), log_q)
    log_large = log_sum(np.where(far | ~here, log_q, -np.inf))
    small = np.where(far, -p * (1.0 + t), p * phi(np.minimum(t, 1.0))).sum(axis=-1)
    vast = log_large > 600.0
    near = np.log1p(np.where(vast, 0.0, small + np.exp(np.minimum(log_large, 600.0))))
    return mean, np.where(vast, log_large, near)
