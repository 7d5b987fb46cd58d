"""Matrix algebra of normal laws with full covariances, one state at a time, by Cholesky factors.

With L the factor of cov_q and M = L^-1 factor(cov_p), lower triangular: log det and trace of cov_q^-1 cov_p split into
terms of one sign, sum_j [M_jj^2 - 1 - log M_jj^2] + sum_{i>j} M_ij^2, and near equality M comes from cov_p - cov_q.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dtrsm

from hidiv.emissions.numerics.scales import ScaleRatio, scale_kl, squared
from hidiv.emissions.numerics.standard_normal import HALF_LOG_TWO_PI, normal_log_density, normal_log_mass
from hidiv.emissions.parameters import wide
from hidiv.emissions.statistics import Statistics
from hidiv.errors import InvalidEvidence, refuse
from hidiv.recursions.normal_rows import NormalLaws, NormalRatio
from hidiv.recursions.terms import h
from hidiv.types import Array, Flags

NEAR = 0.25  # largest entry of L^-1 (cov_p - cov_q) L^-T for which M is built from the difference


class GaussianParameters(Protocol):
    """What is read of a family of normal laws: means, and the spread as it was given."""

    @property
    def mean(self) -> Array: ...

    @property
    def std(self) -> Array | None: ...

    @property
    def var(self) -> Array | None: ...

    @property
    def cov(self) -> Array | None: ...

    @property
    def factor(self) -> Array | None: ...

    @property
    def variance(self) -> Array: ...

    @property
    def deviation(self) -> Array: ...

    @property
    def n_states(self) -> int: ...

    def parameters(self) -> dict[str, Any]: ...


class NormalLaw(NamedTuple):
    """One state's law; `low` is what rounding left over on the diagonal when standard deviations were squared."""

    mean: Array  # (F,)
    cov: Array  # (F, F)
    low: Array  # (F,)

    def on(self, columns: Flags) -> NormalLaw:
        """The marginal law of some columns."""
        return NormalLaw(self.mean[columns], self.cov[np.ix_(columns, columns)], self.low[columns])


def normal_laws(family: GaussianParameters) -> list[NormalLaw]:
    """One law a state, whatever way the spread was given."""
    mean = wide(family.mean)
    if family.cov is not None:
        both = 0.5 * family.cov + 0.5 * family.cov.transpose(0, 2, 1)
        return [NormalLaw(m, c, np.zeros_like(m)) for m, c in zip(mean, both, strict=True)]
    high, low = (family.variance, np.zeros_like(mean)) if family.std is None else squared(wide(family.std))
    return [NormalLaw(m, np.diag(v), e) for m, v, e in zip(mean, high, low, strict=True)]


class Whitened(NamedTuple):
    """p seen in the coordinates in which q is standard normal."""

    factor: Array  # (F, F) L of q
    difference: Array  # (F, F) L^-1 (cov_p - cov_q) L^-T
    below: Array  # (F, F) M under its diagonal
    diagonal: ScaleRatio  # (F,) M_jj^2: its excess over one, and its log
    shift: Array  # (F,) L^-1 (mean_p - mean_q)


def whiten(p: NormalLaw, q: NormalLaw) -> Whitened:
    """Compare the covariances of p and q through q's Cholesky factor."""
    factor = _factor(q.cov)
    with np.errstate(over="ignore", invalid="ignore"):
        difference = _solve(factor, _solve(factor, p.cov - q.cov + np.diag(p.low - q.low)).T)
        shift = _solve(factor, p.mean - q.mean)
        if np.abs(difference).max() <= NEAR:
            below, excess = deviation(difference)
            return Whitened(factor, difference, below, ScaleRatio(excess, np.log1p(excess)), shift)
        m = _solve(factor, _factor(p.cov))
        root = np.diagonal(m)
        diagonal = ScaleRatio((root - 1.0) * (root + 1.0), 2.0 * np.log(root))
        return Whitened(factor, difference, np.tril(m, -1), diagonal, shift)


def deviation(difference: Array) -> tuple[Array, Array]:
    """The factor M of I + difference by its part under the diagonal and M_jj^2 - 1; no digit lost to the identity."""
    size = difference.shape[0]
    below, excess = np.zeros_like(difference), np.zeros(size)
    for j in range(size):
        excess[j] = difference[j, j] - below[j, :j] @ below[j, :j]
        below[j + 1 :, j] = (difference[j + 1 :, j] - below[j + 1 :, :j] @ below[j, :j]) / np.sqrt(1.0 + excess[j])
    return below, excess


def _factor(cov: Array) -> Array:
    """Lower Cholesky factor; LinAlgError where there is none."""
    return np.asarray(np.linalg.cholesky(cov), dtype=np.float64)


def _solve(lower: Array, right: Array) -> Array:
    """lower^-1 right; infinite right-hand sides (out of range) pass through.

    By dtrsm: solve_triangular wakes every thread of BLAS for matrices as small as these.
    """
    if not right.size:
        return right
    return np.asarray(dtrsm(1.0, lower, right.reshape(len(right), -1), lower=1)).reshape(right.shape)


def kl_full(p: GaussianParameters, q: GaussianParameters) -> Array:
    """(K,)."""
    return np.array([_kl(a, b) for a, b in zip(normal_laws(p), normal_laws(q), strict=True)])


def _kl(p: NormalLaw, q: NormalLaw) -> float:
    w = whiten(p, q)
    with np.errstate(over="ignore"):
        return float(0.5 * (scale_kl(w.diagonal).sum() + np.square(w.below).sum() + np.square(w.shift).sum()))


def renyi_full(p: GaussianParameters, q: GaussianParameters, alpha: float) -> Array:
    """(K,): +inf where alpha cov_q + (1 - alpha) cov_p is not positive definite."""
    return np.array([_renyi(a, b, alpha) for a, b in zip(normal_laws(p), normal_laws(q), strict=True)])


def _renyi(p: NormalLaw, q: NormalLaw, alpha: float) -> float:
    rest = 1.0 - alpha
    if rest > 0.5:  # order alpha of (p, q) is alpha/c times order c of (q, p): the differences below keep their digits
        return alpha / rest * _renyi(q, p, rest)
    w = whiten(p, q)
    small = np.abs(rest * w.difference).max() <= NEAR
    with np.errstate(over="ignore", invalid="ignore"):
        if small:
            below, excess = deviation(rest * w.difference)
            root = below + np.diag(np.sqrt(1.0 + excess))
            apart = _solve(root, w.shift)
            log_det = float(np.log1p(excess).sum())
        else:
            try:
                root = _factor(alpha * q.cov + rest * p.cov)
            except np.linalg.LinAlgError:
                return float("inf")
            apart = _solve(root, p.mean - q.mean)
            log_det = 2.0 * float((np.log(np.diagonal(root)) - np.log(np.diagonal(w.factor))).sum())
        if small and np.abs(w.difference).max() <= NEAR:
            spread = (h(w.diagonal.excess) - h(excess) / rest).sum()
            spread += (np.square(w.below) - np.square(below) / rest).sum()
        else:
            spread = log_det / rest - w.diagonal.log.sum()
        return float(0.5 * (spread + alpha * np.square(apart).sum()))


def log_ratio_full(p: GaussianParameters, q: GaussianParameters, x: Array) -> Array:
    """(n, F) -> (n, K): log q(x)/p(x) on the columns that are seen."""
    value = np.zeros((x.shape[0], p.n_states))
    for rows, (seen,) in patterns(~np.isnan(x)):
        if seen.any():
            for state, (a, b) in enumerate(zip(normal_laws(p), normal_laws(q), strict=True)):
                value[rows, state] = _log_ratio(a.on(seen), b.on(seen), x[np.ix_(rows, seen)])
    return value


def _log_ratio(p: NormalLaw, q: NormalLaw, x: Array) -> Array:
    w = whiten(p, q)
    root = w.diagonal.excess / (1.0 + np.sqrt(1.0 + w.diagonal.excess))  # M_jj - 1
    beyond = w.below + np.diag(root)  # M - I
    z_q = _solve(w.factor, (x - q.mean).T)
    z_p = _solve(beyond + np.eye(root.size), _solve(w.factor, (x - p.mean).T))
    apart = w.shift[:, None] + beyond @ z_p  # z_q - z_p, without subtracting
    return np.asarray(0.5 * (w.diagonal.log.sum() - (apart * (z_p + z_q)).sum(axis=0)))


def full_form(family: GaussianParameters) -> NormalLaws:
    """Mean, whitening and constant of each state, for `recursions.normal_rows`; independent columns as matrices too."""
    unit, mean = np.eye(wide(family.mean).shape[1]), wide(family.mean)
    with np.errstate(all="ignore"):
        factor = family.deviation[:, :, None] * unit if family.factor is None else family.factor
        inverse = np.zeros_like(factor)
        for i in range(len(unit)):  # one row of all states at a time
            before = np.einsum("kj,kjf->kf", factor[:, i, :i], inverse[:, :i])
            inverse[:, i] = (unit[i] - before) / factor[:, i, i, None]
        constant = -(np.log(np.diagonal(factor, axis1=1, axis2=2)) + HALF_LOG_TWO_PI).sum(axis=1)
    return np.ascontiguousarray(mean), np.ascontiguousarray(inverse), np.asarray(constant)


def full_ratio(p: GaussianParameters, q: GaussianParameters) -> NormalRatio:
    """The log-ratio as a polynomial in p's z (`normal_rows`), by M - I."""
    n_states, n_features = wide(p.mean).shape
    near, constant = np.zeros(n_states, dtype=np.bool_), np.zeros(n_states)
    linear, square = np.zeros((n_states, n_features)), np.zeros((n_states, n_features, n_features))
    for s, (a, b) in enumerate(zip(normal_laws(p), normal_laws(q), strict=True)):
        w = whiten(a, b)
        near[s] = np.abs(w.difference).max() <= NEAR
        if not near[s]:
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            root = w.diagonal.excess / (1.0 + np.sqrt(1.0 + w.diagonal.excess))  # M_jj - 1
            beyond = w.below + np.diag(root)  # M - I
            difference = beyond + beyond.T + beyond.T @ beyond  # M^T M - I
            constant[s] = 0.5 * (w.diagonal.log.sum() - w.shift @ w.shift)
            linear[s] = -(w.shift + beyond.T @ w.shift)
            square[s] = -np.tril(difference, -1) - np.diag(0.5 * np.diagonal(difference))
    return near, constant, linear, square


def log_columns(mean: Array, factor: Array, x: Array) -> Array:
    """(n, F) -> (n, K, F): log-density of each column given the ones before it; they add up to the joint one."""
    z = np.stack([_solve(f, (x - m).T).T for m, f in zip(mean, factor, strict=True)], axis=1)
    return np.asarray(normal_log_density(z) - np.log(np.diagonal(factor, axis1=1, axis2=2)))


def log_weight(mean: Array, cov: Array, x: Array, lower: Array | None, upper: Array | None) -> Array:
    """(n, K): seen columns jointly, an interval by the law conditional on them; what is not known is left out."""
    seen = ~np.isnan(x)
    bounded = np.zeros_like(seen)
    if lower is not None and upper is not None:
        bounded = ~seen & ((lower > -np.inf) | (upper < np.inf))
    value = np.zeros((x.shape[0], mean.shape[0]))
    for rows, (s, b) in patterns(seen, bounded):
        for state in range(mean.shape[0]):
            factor = _factor(cov[state][np.ix_(s, s)]) if s.any() else np.zeros((0, 0))
            z = _solve(factor, (x[np.ix_(rows, s)] - mean[state][s]).T) if s.any() else np.zeros((0, rows.size))
            value[rows, state] = (normal_log_density(z) - np.log(np.diagonal(factor))[:, None]).sum(axis=0)
            if b.any() and lower is not None and upper is not None:
                given = _solve(factor, cov[state][np.ix_(s, b)]) if s.any() else np.zeros((0, int(b.sum())))
                left = cov[state][np.ix_(b, b)] - given.T @ given
                if np.any(left != np.diag(np.diagonal(left))):
                    rule = "intervals on two correlated columns of a full covariance have no closed form"
                    remedy = "bound one column, or use a diagonal covariance"
                    refuse(InvalidEvidence, f"lower[{int(rows[0])}]", rule, f"such intervals in state {state}", remedy)
                low, high = lower[np.ix_(rows, b)], upper[np.ix_(rows, b)]
                middle, std = mean[state][b] + z.T @ given, np.sqrt(np.diagonal(left))
                value[rows, state] += normal_log_mass(low, high, middle, std).sum(axis=1)
    return value


def patterns(*masks: Flags) -> Iterator[tuple[NDArray[np.int64], tuple[Flags, ...]]]:
    """Rows that agree in every mask, with the masks' common row."""
    table = np.hstack(masks)
    if (table == table[:1]).all():  # one pattern, as a rule: no sorting
        if len(table):
            yield np.arange(len(table)), tuple(np.split(table[0], len(masks)))
        return
    distinct, group = np.unique(table, axis=0, return_inverse=True)
    for index, both in enumerate(distinct):
        yield np.flatnonzero(group.reshape(-1) == index), tuple(np.split(both, len(masks)))


def statistics(key: tuple[object, ...], mean: Array, cov: Array, factor: Array) -> Statistics:
    """x, the products x_i x_j (i <= j) and 1, with the precision matrix as their natural parameters."""
    n_features = mean.shape[1]
    i, j = np.triu_indices(n_features)
    inverse = np.stack([_solve(f, np.eye(n_features)) for f in factor])
    precision = inverse.transpose(0, 2, 1) @ inverse
    linear = np.einsum("kij,kj->ki", precision, mean)
    products = (mean[:, :, None] * mean[:, None, :] + cov)[:, i, j]
    log_scale = np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1) + n_features * HALF_LOG_TWO_PI
    constant = -(0.5 * (linear * mean).sum(axis=1) + log_scale)[:, None]
    return Statistics(
        key,
        np.hstack([mean, products, np.ones_like(constant)]),
        np.hstack([linear, np.where(i == j, -0.5, -1.0) * precision[:, i, j], constant]),
    )
