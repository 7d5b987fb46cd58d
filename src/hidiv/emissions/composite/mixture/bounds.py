"""Bounds on the KL of two mixtures that hold, from their components alone; and a Monte Carlo estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hidiv.emissions.registry import pair
from hidiv.emissions.sample_space import Kind
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.emissions.composite.mixture.law import MixtureLaw


ORDERS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # powers tried for the lower bound; any is valid
ROUNDS = 200  # of the upper bound's descent; it holds after any number of them
CUTS = 16  # bins between neighbouring quantiles of the components
ROUNDING = 1e-12  # relative, and 1e-14 absolute: what the bounds are moved outwards by


@dataclass(frozen=True, eq=False)
class Bounds:
    """lower <= KL <= upper of each state's mixture, (K,) each."""

    lower: Array
    upper: Array


def bounds(p: MixtureLaw, q: MixtureLaw) -> Bounds:
    """Bounds that hold for any number of columns and components.

    Above: mass of p's components sent to q's in the best way (log-sum inequality). Below: Jensen's inequality on pairs
    of components, and the KL of bins of each column.
    """
    across = _pairs(p, q, lambda a, b: pair(a, b).kl(a, b))  # (K, C_p, C_q)
    upper = _above(p.weights, q.weights, across)
    # Bins of a single column come so near that pairs of components add nothing.
    alone = p.n_features == 1 and p.space.kind is not Kind.ANGLE
    lower = np.zeros(p.n_states) if alone else _below(p, q)
    for column in range(p.n_features):  # the KL of one column is at most that of all
        lower = np.maximum(lower, _binned(p.select([column]), q.select([column])))
    upper = upper * (1.0 + ROUNDING) + 1e-14
    lower = np.where(np.isinf(lower), lower, np.maximum(lower * (1.0 - ROUNDING) - 1e-14, 0.0))
    return Bounds(lower, upper)


def estimate(p: MixtureLaw, q: MixtureLaw, samples: int, seed: Any) -> tuple[Array, Array]:
    """(K,) twice: the mean of log p/q over draws from each state of p, and its standard error."""
    rng = np.random.default_rng(seed)
    states = np.repeat(np.arange(p.n_states), samples)
    x = p.draw(states, rng)
    ratio = pair(p, q).log_ratio(p, q, x)[np.arange(len(states)), states].reshape(p.n_states, samples)
    with np.errstate(invalid="ignore"):
        return -ratio.mean(axis=1), ratio.std(axis=1, ddof=1) / np.sqrt(samples)


def _pairs(p: MixtureLaw, q: MixtureLaw, compare: Any) -> Array:
    """(K, C_p, C_q): every component of p with every one of q."""
    return np.stack([np.stack([compare(a, b) for b in q.components], axis=1) for a in p.components], axis=1)


def _above(first: Array, second: Array, across: Array) -> Array:
    """min over phi, psi of sum phi (log phi/psi + KL), rows of phi summing to p's weights, columns of psi to q's."""
    with np.errstate(divide="ignore", invalid="ignore"):
        near = np.exp(-across)
        phi = first[:, :, None] * second[:, None, :]
        psi = np.array(phi)
        for _ in range(ROUNDS):
            columns = phi.sum(axis=1, keepdims=True)
            psi = np.where(columns > 0, phi / np.where(columns > 0, columns, 1.0), 0.0) * second[:, None, :]
            sent = psi * near
            rows = sent.sum(axis=2, keepdims=True)
            phi = np.where(rows > 0, sent / np.where(rows > 0, rows, 1.0), 0.0) * first[:, :, None]
        value = np.where(phi > 0, phi * (np.log(phi) - np.log(psi) + across), 0.0).sum(axis=(1, 2))
    # A component of p that no component of q takes: nothing finite is known above.
    lost = (first > 0) & (phi.sum(axis=2) == 0)
    return np.where(lost.any(axis=1), np.inf, value)


def _below(p: MixtureLaw, q: MixtureLaw) -> Array:
    """sum_a w_a [log sum_a' w_a' e^-KL(a, a') - (1/t) log sum_b v_b^t Z_t(a, b)], the best power t for each a.

    Z_t is the integral of p_a^(1-t) q_b^t: the log of a sum is at most that of the sum of its powers, over t.
    """
    inside = _pairs(p, p, lambda a, b: pair(a, b).kl(a, b))
    with np.errstate(divide="ignore", invalid="ignore"):
        own = np.log((p.weights[:, None, :] * np.exp(-inside)).sum(axis=2))
        best = np.full(own.shape, -np.inf)
        for t in ORDERS:
            order = _pairs(p, q, lambda a, b, t=t: pair(a, b).renyi(a, b, 1.0 - t))
            terms = q.weights[:, None, :] ** t * np.exp(-t * order)
            best = np.maximum(best, -np.log(terms.sum(axis=2)) / t)
        return np.asarray(np.where(p.weights > 0, p.weights * (own + best), 0.0).sum(axis=1))


def _binned(p: MixtureLaw, q: MixtureLaw) -> Array:
    """(K,): KL of the probabilities of bins, which no KL is below; 0 for angles, whose bins have no order."""
    from hidiv.emissions.composite.mixture.integrals import uncovered, where_it_lies

    value = np.zeros(p.n_states)
    if p.space.kind is Kind.ANGLE:
        return value
    missing = uncovered(p, q)
    every = all(member.space.is_finite for member in p.components + q.components)
    for s, places in enumerate(zip(where_it_lies(p), where_it_lies(q), strict=True)):
        edges = np.unique(np.concatenate(places))
        low, high = (edges, edges) if every else _bins(edges, p.space.is_counts)
        with np.errstate(all="ignore"):
            log_p, log_q = (f.take([s]).log_mass(low[:, None], high[:, None])[:, 0, 0] for f in (p, q))
            # Terms of one sign, so that those no double holds may be left out of a lower bound.
            terms = np.exp(log_p) * (log_p - log_q) - np.exp(log_p) + np.exp(log_q)
        value[s] = np.inf if missing[s] is not None else terms[np.isfinite(terms)].sum()
    return value


def _bins(edges: Array, counts: bool) -> tuple[Array, Array]:
    """Lower and upper ends of bins that cover everything, CUTS of them between two edges."""
    part = np.arange(CUTS) / CUTS
    between = edges[:-1, None] * (1.0 - part) + edges[1:, None] * part  # a difference of edges may be none
    cuts = np.maximum.accumulate(np.append(between.ravel(), edges[-1]))
    if counts:
        cuts = np.unique(np.floor(cuts))
        return np.append(-np.inf, cuts + 1.0), np.append(cuts, np.inf)
    return np.append(-np.inf, cuts), np.append(cuts, np.inf)
