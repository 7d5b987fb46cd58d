"""Ways to compare textures: what is fitted to a tile, and how two of them are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

import hidiv as hd
from hidiv.fitting.em_steps import expectation, problem_of
from hidiv.fitting.evidence_forest import forest_of
from hidiv.wavelets import WaveletModel, coefficient_trees, discrete, dual_tree, fit_bands
from hidiv.wavelets.bands import Bands
from hidiv.wavelets.wavelet_model import observed

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
INDEPENDENT: dict[str, dict[str, Any]] = {"levels equally": {}, "levels by nodes": {"level_weights": None}}


@dataclass(frozen=True)
class Method:
    """What is fitted to a tile, and the ways two fits are compared."""

    name: str
    transform: str  # a wavelet of PyWavelets, or "dual-tree"
    levels: int
    fit: dict[str, Any]
    ways: dict[str, dict[str, Any]]

    @property
    def title(self) -> str:
        return f"{self.name}, {self.transform}, {self.levels} levels"

    def bands(self, tile: Array) -> Bands:
        dual = self.transform == "dual-tree"
        return dual_tree(tile, self.levels) if dual else discrete(tile, self.transform, self.levels)

    def __call__(self, tile: Array) -> WaveletModel:
        return fit_bands(self.bands(tile), **self.fit)


FARTHEST = 600.0  # logarithm of the largest mean of a power that is told from larger ones
GENERALISED: dict[str, Any] = {"n_states": 1, "states": "generalized_gaussian"}
TREES, SUB_BANDS = "hidden Markov trees, one an orientation", "generalised Gaussian sub-bands"

TOGETHER: dict[str, Any] = {"together": True, "n_states": 4}
MEANS: dict[str, Any] = {"together": True, "means": True}

METHODS = (
    Method("one tree of 6 states, local means", "dual-tree", 3, MEANS | {"n_states": 6}, OBSERVED),
    Method(TREES, "dual-tree", 3, {}, EVERY),
    Method(SUB_BANDS, "dual-tree", 3, GENERALISED, INDEPENDENT),
    Method(SUB_BANDS, "db4", 3, GENERALISED, INDEPENDENT),
    Method(TREES, "db4", 3, {}, EVERY),
    Method("one tree of 4 states", "dual-tree", 3, TOGETHER, OBSERVED),
    Method("one tree of 4 states, local means", "dual-tree", 3, MEANS | {"n_states": 4}, OBSERVED),
    Method(SUB_BANDS, "dual-tree", 4, GENERALISED, INDEPENDENT),
    Method(TREES, "dual-tree", 4, {}, OBSERVED),
)  # fmt: skip


def independent(models: Sequence[WaveletModel], level_weights: str | None = "equal") -> Array:
    """(M, M): symmetrised divergences of generalised Gaussian laws, one a scale and orientation, in closed form.

    Rounding is of no matter for ranks, so the textbook formula will do; the library's own keeps its digits.
    """
    total = np.zeros((len(models), len(models)))
    for way in range(len(models[0].models)):
        for level in range(models[0].tree.depth):
            families: list[Any] = [each.models[way].emissions[level] for each in models]
            scale, shape = (np.stack([getattr(family, key)[0] for family in families]) for key in ("scale", "shape"))
            a, b, c, d = scale[:, None], shape[:, None], scale[None], shape[None]
            apart = np.log(a) - np.log(c)
            norm = gammaln(1.0 + 1.0 / d) - gammaln(1.0 + 1.0 / b) - apart
            # The mean of |x/c|^d under the law of a and b; of heavy tails it is beyond the doubles, and very far.
            mean = np.exp(np.minimum(d * apart + gammaln((d + 1.0) / b) - gammaln(1.0 / b), FARTHEST))
            one_way = (norm + mean - 1.0 / b).sum(axis=2)
            weight = 1.0 if level_weights == "equal" else float(models[0].tree.children) ** level
            total += weight * (one_way + one_way.T)
    return total


def monte_carlo(p: WaveletModel, q: WaveletModel, seed: int, equally: bool, samples: int) -> float:
    """The symmetrised observed divergence, sampled; every level once is that of a path from the root to a leaf."""
    depth = p.tree.depth
    tree = hd.Tree.chain(depth, group=range(depth)) if equally else p.tree
    total = 0.0
    for i, (a, b) in enumerate(zip(p.models, q.models, strict=True)):
        for j, (one, two) in enumerate(((a, b), (b, a))):
            found = hd.observed_kl(
                one, two, tree, method="montecarlo", rtol=0.02, seed=int(1000 * seed + 2 * i + j), max_samples=samples
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
