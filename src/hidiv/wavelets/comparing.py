"""Divergences of many images: sums over orientations of those of their trees."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from hidiv.comparison.pairwise.kl import pairwise_kl
from hidiv.errors import IncompatibleModels, refuse
from hidiv.models.model import Model
from hidiv.types import Array
from hidiv.wavelets.fitting import WaveletModel

MOST_ALIGNED = 5  # states; every order of them is a matrix of its own


def pairwise(
    models: Sequence[WaveletModel],
    others: Sequence[WaveletModel] | None = None,
    *,
    quantity: Literal["joint", "observed"] = "observed",
    level_weights: ArrayLike | Literal["equal"] | None = "equal",
    aligned: bool = False,
) -> Array:
    """(M, M'): D(p || q) + D(q || p) of every pair, added over orientations.

    `level_weights` "equal" counts every scale once, None as often as it has coefficients. The observed divergence is
    the variational approximation and does not depend on labels; the joint one is exact for the labels as they are, or
    for q's labels in their best order, tree by tree (`aligned`). +inf where one can do what the other cannot.

    >>> import numpy as np
    >>> from hidiv.wavelets import dual_tree, fit_bands
    >>> images = np.random.default_rng(0).normal(size=(3, 32, 32))
    >>> images[2] = images[2].cumsum(axis=0)
    >>> found = pairwise([fit_bands(dual_tree(image, levels=2), max_iter=5) for image in images])
    >>> found.shape, bool(found[0, 1] < found[0, 2])
    ((3, 3), True)
    """
    right = list(models if others is None else others)
    left = list(models)
    if not left or not right:
        refuse(IncompatibleModels, "models", "must not be empty")
    shape = (len(left[0].models), left[0].tree.children, left[0].tree.depth)
    for i, each in enumerate([*left, *right]):
        if (len(each.models), each.tree.children, each.tree.depth) != shape:
            refuse(
                IncompatibleModels,
                f"models[{i}]" if i < len(left) else f"others[{i - len(left)}]",
                "must have the orientations and scales of the first",
                repr(each),
            )
    total = np.zeros((len(left), len(right)))
    for way in range(shape[0]):
        p, q = ([each.models[way] for each in side] for side in (left, right))
        if aligned and quantity == "joint":
            total += _aligned(p, q, left[0], level_weights)
        else:
            total += np.asarray(
                pairwise_kl(
                    p,
                    left[0].tree,
                    None if others is None else q,
                    symmetric=True,
                    quantity=quantity,
                    method="variational" if quantity == "observed" else "auto",  # it holds on wavelet trees
                    level_weights=level_weights,
                )
            )
    return total


def _aligned(p: list[Model], q: list[Model], like: WaveletModel, level_weights: Any) -> Array:
    """The least joint divergence over all orders of q's states."""
    n_states = p[0].n_states
    if n_states > MOST_ALIGNED:
        refuse(IncompatibleModels, "aligned", f"needs models of at most {MOST_ALIGNED} states", n_states)
    best = np.full((len(p), len(q)), np.inf)
    for order in permutations(range(n_states)):
        named = [model.relabel(order) for model in q]
        found = pairwise_kl(p, like.tree, named, symmetric=True, quantity="joint", level_weights=level_weights)
        best = np.minimum(best, np.asarray(found))
    return best
