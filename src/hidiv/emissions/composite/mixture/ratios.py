"""Log-ratios of two mixtures, from those of their components where they are paired and close."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hidiv.emissions.registry import comparable, pair
from hidiv.recursions.terms import log_ratio
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.emissions.composite.mixture.mixture import Mixture

NEAR = 0.5  # log-ratios of components below it are summed as differences from one


def are_paired(p: Mixture, q: Mixture) -> bool:
    """Whether each component of p compares with the one in the same place in q."""
    return len(p.components) == len(q.components) and all(map(comparable, p.components, q.components))


def mixed_ratio(p: Mixture, q: Mixture, ratios: Array | None, laws: Array, log_p: Array, log_q: Array) -> Array:
    """(n, K): log q/p; ratios (n, K, C) of paired components, laws (n, K, C) of p's given what is known."""
    with np.errstate(invalid="ignore"):
        value = np.where(log_p == log_q, 0.0, log_q - log_p)
    if ratios is None:
        return value
    with np.errstate(invalid="ignore"):  # opposite infinities: not near
        steps = ratios + log_ratio(p.weights, q.weights)
    near = np.asarray((np.abs(steps) < NEAR).all(axis=2))
    small = np.where(near[:, :, None], steps, 0.0)
    return np.where(near, np.log1p((laws * np.expm1(small)).sum(axis=2)), value)


def density_ratio(p: Mixture, q: Mixture, x: Array) -> Array:
    """(n, 1): log q/p of one state and one column at any numbers (n, 1), in the sample space or not."""
    ratios = None
    if are_paired(p, q):
        pairs = zip(p.components, q.components, strict=True)
        ratios = np.stack([pair(a, b).log_ratio(a, b, x) for a, b in pairs], axis=2)
    with np.errstate(divide="ignore"):
        log_weights = np.log(p.weights)
    terms = np.stack([member.log_density(x)[:, :, 0] for member in p.components], axis=2) + log_weights
    log_p = p.log_density(x)[:, :, 0]
    laws = np.where(log_p[:, :, None] > -np.inf, np.exp(terms - log_p[:, :, None]), p.weights)
    return mixed_ratio(p, q, ratios, laws, log_p, q.log_density(x)[:, :, 0])
