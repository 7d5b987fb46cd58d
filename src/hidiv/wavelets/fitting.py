"""One hidden Markov tree for each orientation, or one for all of them together, tied by scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hidiv.errors import InvalidModel, refuse
from hidiv.fitting.fit import fit
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.wavelets.bands import Bands
from hidiv.wavelets.states import States, observed, started
from hidiv.wavelets.trees import coefficient_trees

Array = NDArray[np.float64]

STAY = 0.8  # probability that a child begins in its parent's state, in a start


@dataclass(frozen=True, eq=False)
class WaveletModel:
    """`models[i]` speaks of the coefficients of orientation i, or the only one of all; groups are scales."""

    models: tuple[Model, ...]
    tree: Tree
    log_likelihood: float

    def __repr__(self) -> str:
        count = f"{len(self.models)} tree models" if len(self.models) > 1 else "one tree model"
        return f"WaveletModel: {count} of {self.tree.depth} scales, {self.models[0].n_states} states"


def fit_bands(
    bands: Bands,
    n_states: int = 2,
    states: States = "gaussian",
    *,
    together: bool = False,
    pseudo_count: float = 1.0,
    max_iter: int = 40,
    tol: float = 1e-6,
) -> WaveletModel:
    """Fit hidden Markov trees to the coefficients of an image or signal: zero-mean states, tied by scale.

    `states` "gaussian": zero-mean Gaussian for real coefficients, circular complex Gaussian for complex ones (an
    exponential law of the squared modulus); "generalized_gaussian": scale and shape for each state. One state makes the
    coefficients of each scale independent. One tree of states for each orientation, or one whose states speak of all
    orientations at once (`together`). The start is the same for all images: states ordered by variance.

    >>> import numpy as np
    >>> from hidiv.wavelets import dual_tree
    >>> image = np.random.default_rng(0).normal(size=(32, 32)).cumsum(axis=0)
    >>> fit_bands(dual_tree(image, levels=2), max_iter=5)
    WaveletModel: 6 tree models of 2 scales, 2 states
    """
    if not isinstance(n_states, int | np.integer) or isinstance(n_states, bool) or n_states < 1:
        refuse(InvalidModel, "n_states", "must be a whole number from 1", n_states)
    ways = range(len(bands.orientations))
    trees = [coefficient_trees(bands, way) for way in ways]
    tree = trees[0][0]
    forests = [np.stack([x for _, x in trees], axis=-1)] if together else [x[..., None] for _, x in trees]
    found = []
    for x in forests:
        seen = observed(x, states)
        start = _start(seen, tree, int(n_states), states, bands.is_complex)
        found.append(
            fit(list(seen), tree, start=start, group="level", tol=tol, max_iter=max_iter, pseudo_count=pseudo_count,
                fixed=("mean",) if states == "gaussian" and not bands.is_complex else ())
        )  # fmt: skip
    return WaveletModel(tuple(each.model for each in found), tree, sum(each.log_likelihood for each in found))


def _start(x: Array, tree: Tree, n_states: int, states: States, is_complex: bool) -> Model:
    """Columns x (trees, nodes, C); states of each scale from small to large variances."""
    flat = np.full((n_states, n_states), (1.0 - STAY) / max(n_states - 1, 1))
    np.fill_diagonal(flat, STAY if n_states > 1 else 1.0)
    scales = [x[:, tree.level == level].reshape(-1, x.shape[-1]) for level in range(tree.depth)]
    families = [started(scale, n_states, states, is_complex) for scale in scales]
    return Model(np.full(n_states, 1.0 / n_states), [None] + [flat] * (tree.depth - 1) or [flat], families)
