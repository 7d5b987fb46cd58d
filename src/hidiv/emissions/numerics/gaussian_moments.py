"""Weighted estimates of normal laws, with what is missing or censored filled in by its expectation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hidiv.emissions.numerics.standard_normal import normal_log_density, normal_log_mass
from hidiv.emissions.parameters import wide
from hidiv.emissions.weighted import NARROWEST, kept
from hidiv.errors import InvalidEvidence, refuse
from hidiv.types import Array, Flags

if TYPE_CHECKING:
    from hidiv.emissions.numerics.covariances import GaussianParameters
    from hidiv.emissions.weighted import Weighted


SINGULAR = 1e-14  # of the largest eigenvalue of a covariance: less is none


def estimate_diagonal(family: GaussianParameters, known: Weighted, fixed: frozenset[str]) -> dict[str, Array]:
    """Mean and spread of each column; the spread does not fall below a small part of that of all values."""
    old = wide(family.mean)
    mean = old if "mean" in fixed else kept(known.mean(), old, known.mass)
    shaped: dict[str, Array] = {"mean": mean if family.mean.ndim == 2 else mean[:, 0]}
    if fixed & {"std", "var"}:
        return {**family.parameters(), **shaped}
    _check_spread(known)
    variance = np.maximum(known.variance(mean), np.minimum(known.smallest**2, family.variance))
    if family.std is not None:
        shaped["std"] = kept(np.sqrt(variance), family.std, known.mass)
    else:
        assert family.var is not None
        shaped["var"] = kept(variance, family.var, known.mass)
    return shaped


def estimate_full(family: GaussianParameters, known: Weighted, fixed: frozenset[str]) -> dict[str, Array]:
    """Mean and covariance; missing columns and one bounded column by their moments given what is seen (an EM step)."""
    assert family.cov is not None
    if "cov" not in fixed:
        _check_spread(known)
    mean, cov = np.array(family.mean), np.array(family.cov)
    for s, moments in enumerate(_complete_moments(known) if known.all_seen else _partial_moments(family, known)):
        if moments is None:
            continue
        if "mean" not in fixed:
            mean[s] = moments.mean
        if "cov" not in fixed:
            off = moments.mean - mean[s]
            cov[s] = _floored(moments.cov + np.outer(off, off), known.smallest, family.cov[s])
    return {"mean": mean, "cov": cov}


def _check_spread(known: Weighted) -> None:
    """Refuse values whose squares leave the doubles."""
    size = known.smallest / NARROWEST
    if not ((size > 1e-150) & (size < 1e150)).all():
        far = float(size[np.argmax(np.abs(np.log(size)))])
        rule = "must have a standard deviation between 1e-150 and 1e+150 for normal laws"
        refuse(InvalidEvidence, "x", rule, far, "rescale the observations")


class Moments(NamedTuple):
    """Of one law, or of many (with a leading axis)."""

    mean: Array  # (F,)
    cov: Array  # (F, F)


def _complete_moments(known: Weighted) -> Iterator[Moments | None]:
    """Weighted mean and covariance of the columns, state by state; None for a state without weight."""
    mean = known.mean()
    cov = known.covariance(mean)
    for s, mass in enumerate(known.mass[:, 0]):
        yield Moments(mean[s], cov[s]) if mass > 0 else None


def _partial_moments(family: GaussianParameters, known: Weighted) -> Iterator[Moments | None]:
    """The same where columns are missing or bounded."""
    for s in range(family.n_states):
        yield _moments(family, known, s) if known.weight[:, s].any() else None


def _moments(family: GaussianParameters, known: Weighted, s: int) -> Moments | None:
    """Weighted mean and covariance of the columns, in expectation given what is known; None where nothing is."""
    assert family.cov is not None
    bounded = np.zeros_like(known.seen) if known.bounded is None else known.bounded
    rows = np.flatnonzero((known.weight[:, s] > 0) & (known.seen | bounded).any(axis=1))
    if not rows.size:
        return None
    weight = known.weight[rows, s]
    filled, extra = known.values[rows], np.zeros_like(family.cov[s])
    patterns = np.hstack([known.seen[rows], bounded[rows]])
    if not patterns[:, : filled.shape[1]].all():
        filled = filled.copy()
        distinct, group = np.unique(patterns, axis=0, return_inverse=True)
        for i, pattern in enumerate(distinct):
            here = np.flatnonzero(group.reshape(-1) == i)
            seen, between = np.split(pattern, 2)
            if not seen.all():
                added = _complete(family, known, s, rows[here], seen, between)
                filled[here] = added.mean
                extra += np.tensordot(weight[here], added.cov, axes=1)
    total = weight.sum()
    mean = weight @ filled / total
    apart = filled - mean
    return Moments(mean, ((weight[:, None] * apart).T @ apart + extra) / total)


def _complete(family: GaussianParameters, known: Weighted, s: int, rows: Any, seen: Flags, between: Flags) -> Moments:
    """(r, F), (r, F, F): what is not seen given what is: normal, and cut to its interval where bounded."""
    assert family.cov is not None
    cov, middle = family.cov[s], family.mean[s]
    mean = np.where(seen, known.values[rows], middle)
    spread = np.zeros((len(rows), *cov.shape))
    hidden = ~seen
    left = cov[np.ix_(hidden, hidden)]
    if seen.any():
        slope = np.linalg.solve(cov[np.ix_(seen, seen)], cov[np.ix_(seen, hidden)])
        mean[:, hidden] += (known.values[rows][:, seen] - middle[seen]) @ slope
        left = left - cov[np.ix_(hidden, seen)] @ slope
    spread[np.ix_(np.arange(len(rows)), hidden, hidden)] = left
    for column in np.flatnonzero(between):
        # Columns bounded together are independent given the seen ones: `log_weight` has refused others.
        assert known.lower is not None
        assert known.upper is not None
        variance = spread[0, column, column]
        std = np.sqrt(variance)
        low, high = ((bound[rows, column] - mean[:, column]) / std for bound in (known.lower, known.upper))
        shift, share = cut_moments(low, high)
        to = spread[0, :, column] / variance
        mean = mean + np.outer(shift * std, to)
        spread = spread - variance * (1.0 - share)[:, None, None] * np.outer(to, to)
    return Moments(mean, spread)


def cut_moments(low: Array, high: Array) -> tuple[Array, Array]:
    """Mean and variance of a standard normal variable cut to [low, high]."""
    one = np.ones_like(low)
    log_mass = normal_log_mass(low, high, 0.0 * one, one)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        at_low = np.where(np.isinf(low), 0.0, np.exp(normal_log_density(low) - log_mass))
        at_high = np.where(np.isinf(high), 0.0, np.exp(normal_log_density(high) - log_mass))
        mean = at_low - at_high
        square = 1.0 + np.where(at_low > 0, low * at_low, 0.0) - np.where(at_high > 0, high * at_high, 0.0)
        variance = square - mean * mean
    # Far out and in narrow intervals the difference has lost its digits: the mean stays inside, the variance positive.
    inside = np.clip(mean, low, high)
    narrow = high - low
    return inside, np.clip(np.where(np.isfinite(variance), variance, 0.0), 0.0, np.minimum(1.0, narrow * narrow / 4))


def _floored(cov: Array, least: Array, old: Array) -> Array:
    """The covariance with its small eigenvalues raised, in the unit of each column: the best one that is bounded so.

    A start may lie below the bound; it is then kept to, as far as doubles can tell the matrix from a singular one.
    """
    unit = np.outer(least, least)
    floor = min(1.0, float(np.linalg.eigvalsh(old / unit)[0]))
    values, vectors = np.linalg.eigh(cov / unit)
    floor = max(floor, SINGULAR * len(values) * float(values[-1]))
    if values[0] >= floor:
        return 0.5 * (cov + cov.T)
    raised = (vectors * np.maximum(values, floor)) @ vectors.T
    return np.asarray(0.5 * (raised + raised.T) * unit)
