"""Numbers drawn for hidiv and a peer alike; plain numpy, nothing of either library."""

from __future__ import annotations

import numpy as np


def laws(rng, *shape):
    """Rows that sum to one along the last axis, uniform on the simplex."""
    return rng.dirichlet(np.ones(shape[-1]), size=shape[:-1])


def covariances(rng, *shape):
    """(..., F, F) well-conditioned positive definite matrices: A A' / F + 1/2."""
    factor = rng.normal(size=shape)
    return factor @ np.swapaxes(factor, -1, -2) / shape[-1] + np.eye(shape[-1]) / 2


def parents(rng, n_nodes):
    """A tree by its parents, each drawn among the nodes before."""
    return [-1] + [int(rng.integers(u)) for u in range(1, n_nodes)]
