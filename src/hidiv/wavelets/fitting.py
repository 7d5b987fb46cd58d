"""One hidden Markov tree for each orientation, or one for all of them together, tied by scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hidiv.arguments import whole
from hidiv.emissions.composite.product import Product
from hidiv.emissions.family import Family
from hidiv.errors import InvalidModel, counted, refuse
from hidiv.fitting.fit import fit
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.wavelets.bands import Bands
from hidiv.wavelets.states import States, observed, started, started_means
from hidiv.wavelets.trees import by_tree, coefficient_trees

STAY = 0.8  # probability that a child begins in its parent's state, in a start


@dataclass(frozen=True)
class WaveletModel:
    """`models[i]` speaks of the coefficients of orientation i, or the only one of all; groups are scales."""

    models: tuple[Model, ...]
    tree: Tree
    log_likelihood: float

    def __repr__(self) -> str:
        count = f"{len(self.models)} tree models" if len(self.models) > 1 else "one tree model"
        return f"WaveletModel: {count} of {self.tree.depth} scales, {counted(self.models[0].n_states, 'state')}"


def fit_bands(
    bands: Bands,
    n_states: int = 2,
    states: States = "gaussian",
    *,
    together: bool = False,
    means: bool = False,
    pseudo_count: float = 1.0,
    max_iter: int = 40,
    tol: float = 1e-6,
) -> WaveletModel:
    """Fit hidden Markov trees to the coefficients of an image or signal: zero-mean states, tied by scale.

    `states` "gaussian": zero-mean Gaussian for real coefficients, circular complex Gaussian for complex ones (an
    exponential law of the squared modulus); "generalized_gaussian": scale and shape for each state. One state makes the
    coefficients of each scale independent. One tree of states for each orientation, or one whose states speak of all
    orientations at once (`together`). `means`: states speak of the local mean of the values too, by a Gaussian law with
    a mean of its own. The start is the same for all images: states ordered by variance.

    >>> import numpy as np
    >>> from hidiv.wavelets import dual_tree
    >>> image = np.random.default_rng(0).normal(size=(32, 32)).cumsum(axis=0)
    >>> fit_bands(dual_tree(image, levels=2), max_iter=5)
    WaveletModel: 6 tree models of 2 scales, 2 states
    """
    n_states = whole("n_states", n_states, error=InvalidModel)
    ways = range(len(bands.orientations))
    trees = [coefficient_trees(bands, way) for way in ways]
    tree = trees[0][0]
    centred = states == "gaussian" and not bands.is_complex
    if means and centred:
        refuse(InvalidModel, "means", "need complex coefficients or generalised Gaussian states", states)
    forests = [np.stack([x for _, x in trees], axis=-1)] if together else [x[..., None] for _, x in trees]
    found = []
    for x in forests:
        seen = observed(x, states)
        scales = [seen[:, tree.level == level].reshape(-1, seen.shape[-1]) for level in range(tree.depth)]
        families = [started(scale, int(n_states), states, bands.is_complex) for scale in scales]
        if means:
            families = [
                Product([family, started_means(scale.ravel(), int(n_states))])
                for family, scale in zip(families, bands.means, strict=True)
            ]
            seen = np.concatenate([seen, by_tree(bands.means)[..., None]], axis=-1)
        found.append(
            fit(list(seen), tree, start=_start(families), group="level", tol=tol, max_iter=max_iter,
                pseudo_count=pseudo_count, fixed=("mean",) if centred else ())
        )  # fmt: skip
    return WaveletModel(tuple(each.model for each in found), tree, sum(each.log_likelihood for each in found))


def _start(families: list[Family]) -> Model:
    """Every state as likely at the roots; a child begins in its parent's state with probability STAY."""
    n_states = families[0].n_states
    row = np.full((n_states, n_states), (1.0 - STAY) / max(n_states - 1, 1))
    np.fill_diagonal(row, STAY if n_states > 1 else 1.0)
    return Model(
        np.full(n_states, 1.0 / n_states), [None, *[row] * (len(families) - 1)] if len(families) > 1 else row, families
    )
