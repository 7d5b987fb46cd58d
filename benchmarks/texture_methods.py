"""Ways to compare textures: what is fitted to a tile, and how two of them are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hidiv as hd
from hidiv.fitting.expectation import expectation, problem_of
from hidiv.fitting.forest import forest_of
from hidiv.wavelets import WaveletModel, coefficient_trees, discrete, dual_tree, fit_bands, pairwise
from hidiv.wavelets.bands import Bands
from hidiv.wavelets.states import observed

Array = NDArray[np.float64]

OBSERVED: dict[str, dict[str, Any]] = {
    "observed, levels equally": {},
    "observed, levels by nodes": {"level_weights": None},
}
EVERY: dict[str, dict[str, Any]] = {
    "joint Jeffreys as labelled": {"quantity": "joint", "level_weights": None},
    "joint Jeffreys aligned": {"quantity": "joint", "level_weights": None, "aligned": True},
    **OBSERVED,
}
# One state has no labels, and nothing to sum out: joint and observed are the same.
INDEPENDENT: dict[str, dict[str, Any]] = {
    "levels equally": {"quantity": "joint"},
    "levels by nodes": {"quantity": "joint", "level_weights": None},
}


@dataclass(frozen=True)
class Method:
    """What is fitted to a tile, and the ways two fits are compared."""

    name: str
    transform: str  # a wavelet of PyWavelets, or "dual-tree"
    levels: int
    fit: dict[str, Any]
    ways: dict[str, dict[str, Any]]

    def bands(self, tile: Array) -> Bands:
        dual = self.transform == "dual-tree"
        return dual_tree(tile, self.levels) if dual else discrete(tile, self.transform, self.levels)

    def __call__(self, tile: Array) -> WaveletModel:
        return fit_bands(self.bands(tile), **self.fit)


GENERALISED = {"n_states": 1, "states": "generalized_gaussian"}
DUAL_TREES = "hidden Markov trees, one an orientation"

METHODS = (
    Method("generalised Gaussian sub-bands", "db4", 3, GENERALISED, INDEPENDENT),
    Method("generalised Gaussian sub-bands", "dual-tree", 4, GENERALISED, INDEPENDENT),
    Method(DUAL_TREES, "db4", 3, {}, EVERY),
    Method(DUAL_TREES, "dual-tree", 4, {}, EVERY),
    Method(DUAL_TREES, "dual-tree", 3, {}, OBSERVED),
    Method("one tree of 4 states", "dual-tree", 3, {"n_states": 4, "together": True}, OBSERVED),
    Method("one tree of 4 states, local means", "dual-tree", 3, {"n_states": 4, "together": True, "means": True}, OBSERVED),
    Method("one tree of 6 states, local means", "dual-tree", 3, {"n_states": 6, "together": True, "means": True}, OBSERVED),
)  # fmt: skip


def monte_carlo(p: WaveletModel, q: WaveletModel, equally: bool, seed: int, samples: int) -> float:
    """The symmetrised observed divergence, sampled; every level once is that of a path from the root to a leaf."""
    depth = p.tree.depth
    tree = hd.Tree.chain(depth, group=range(depth)) if equally else p.tree
    total = 0.0
    for i, (a, b) in enumerate(zip(p.models, q.models, strict=True)):
        for j, (one, two) in enumerate(((a, b), (b, a))):
            found = hd.observed_kl(
                one, two, tree, method="montecarlo", rtol=0.02, seed=[seed, i, j], max_samples=samples
            )
            total += found.value
    return total


def minus_log_likelihoods(method: Method, tile: Array, models: Sequence[WaveletModel]) -> Array:
    """(M,): of the tile's coefficients under every model."""
    bands = method.bands(tile)
    total = np.zeros(len(models))
    for way in range(len(bands.orientations)):
        tree, coefficients = coefficient_trees(bands, way)
        forest = forest_of(list(observed(coefficients[..., None], "gaussian")), tree, None, "level")
        problem = problem_of(forest, models[0].models[way])
        total -= [float(expectation(each.models[way], problem, 1).log_likelihoods.sum()) for each in models]
    return total
