"""Bands drawn from a known model."""

from __future__ import annotations

import numpy as np

import hidiv as hd
from hidiv.wavelets import Bands


def truth(variances: list[tuple[float, float]]) -> hd.Model:
    """Two states, circular complex Gaussian with these variances on each level: exponential squared moduli."""
    flat = [[0.9, 0.1], [0.2, 0.8]]
    families = [hd.Exponential([1.0 / low, 1.0 / high]) for low, high in variances]
    return hd.Model([0.6, 0.4], [None] + [flat] * (len(variances) - 1), families)


def drawn(model: hd.Model, side: int, seed: int) -> Bands:
    """One orientation of side x side quad-trees; phases are uniform, local means say nothing."""
    depth = model.n_groups
    tree = hd.Tree.regular(4, depth)
    _, power = hd.sample(model, tree, size=side * side, seed=seed)
    rng = np.random.default_rng(seed)
    x = np.sqrt(power) * np.exp(2j * np.pi * rng.random(power.shape))
    details, first = [], 0
    for level in range(depth):
        part = x[:, first : first + 4**level].reshape(side, side, *(2, 2) * level)
        first += 4**level
        rows, columns = [0, *range(2, 2 + 2 * level, 2)], [1, *range(3, 3 + 2 * level, 2)]
        details.append(part.transpose(rows + columns).reshape(1, side * 2**level, side * 2**level))
    means = tuple(rng.normal(size=band.shape[1:]) for band in details)
    return Bands(tuple(details), np.zeros((side, side)), means, ("only",))
