"""Weighted moments of observations: what the estimates of means, variances and covariances are made of."""

from __future__ import annotations

import numpy as np

from hidiv.recursions.kernels import kernel
from hidiv.types import Array

STRIP = 1 << 16  # entries handled while they are in the cache


@kernel
def weighted_sums(x: Array, weight: Array, threads: int = 0) -> Array:
    """(K, 1 + F): sums over n of w[n, k], then of w[n, k] x[n, f]; x (n, F), NaN where not seen, weight (n, K)."""
    values = np.where(np.isnan(x), 0.0, x)
    return np.hstack([weight.sum(axis=0)[:, None], weight.T @ values])


@kernel
def weighted_squares(x: Array, weight: Array, mean: Array, threads: int = 0) -> Array:
    """(K, F): sums over n of w[n, k] (x[n, f] - mean[k, f])^2, over what is seen."""
    out = np.zeros(mean.shape)
    for part in _strips(x, weight):
        apart = x[part, None, :] - mean
        apart[np.isnan(apart)] = 0.0
        apart *= apart
        out += np.einsum("nk,nkf->kf", weight[part], apart)
    return out


@kernel
def weighted_products(x: Array, weight: Array, mean: Array, threads: int = 0) -> Array:
    """(K, F, F): sums over n of w[n, k] (x[n] - mean[k]) (x[n] - mean[k])', entries not seen left out."""
    out = np.zeros((*mean.shape, mean.shape[1]))
    for part in _strips(x, weight):
        for k, middle in enumerate(mean):
            apart = x[part] - middle
            apart[np.isnan(apart)] = 0.0
            out[k] += (weight[part, k, None] * apart).T @ apart
    return out


def _strips(x: Array, weight: Array) -> list[slice]:
    height = max(1, STRIP // (x.shape[1] * weight.shape[1]))
    return [slice(top, top + height) for top in range(0, len(x), height)]
