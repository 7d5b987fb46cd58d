"""`pairwise`: divergences of many images, added over the orientations of their trees."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from hidiv.comparison.pairwise.kl import pairwise_kl
from hidiv.errors import HidivError, IncompatibleModels, counted, refuse
from hidiv.models.model import Model
from hidiv.types import Array
from hidiv.wavelets.wavelet_model import WaveletModel

MOST_ALIGNED = 5  # states; every order of them takes a matrix of its own


def pairwise(
    models: Sequence[WaveletModel],
    others: Sequence[WaveletModel] | None = None,
    *,
    quantity: Literal["joint", "observed"] = "observed",
    level_weights: ArrayLike | Literal["equal"] | None = "equal",
    aligned: bool = False,
) -> Array:
    """Compute D(p || q) + D(q || p) for every pair of wavelet models, added over orientations.

    Parameters
    ----------
    models : sequence of WaveletModel
        Models with the same orientations and scales.
    others : sequence of WaveletModel or None, default None
        The models to compare with; None compares `models` with each other.
    quantity : {"joint", "observed"}, default "observed"
        "observed" is the variational approximation and does not depend on state labels. "joint" is exact, and pairs
        states by their labels.
    level_weights : array_like, "equal" or None, default "equal"
        The weight of each scale: "equal" counts every scale once, None counts it as often as it has coefficients.
    aligned : bool, default False
        Whether the joint divergence takes the best order of q's states, tree by tree.

    Returns
    -------
    ndarray of shape (M, M')
        The divergences in nats; +inf where one model allows what the other excludes.

    Raises
    ------
    IncompatibleModels
        If the models have different orientations or scales, or too many or different numbers of states to align.
    HidivError
        If `quantity` is neither of the two.

    Examples
    --------
    >>> import numpy as np
    >>> from hidiv.wavelets import dual_tree, fit_bands
    >>> images = np.random.default_rng(0).normal(size=(3, 32, 32))
    >>> images[2] = images[2].cumsum(axis=0)
    >>> matrix = pairwise([fit_bands(dual_tree(image, levels=2), max_iter=5) for image in images])
    >>> matrix.shape, bool(matrix[0, 1] < matrix[0, 2])
    ((3, 3), True)
    """
    if quantity not in ("joint", "observed"):
        refuse(HidivError, "quantity", 'must be "joint" or "observed"', quantity)
    left, right = list(models), list(models if others is None else others)
    _check(left, right)
    total = np.zeros((len(left), len(right)))
    for orientation in range(len(left[0].models)):
        p, q = ([each.models[orientation] for each in side] for side in (left, right))
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
                    method="variational" if quantity == "observed" else "auto",  # close enough on wavelet trees
                    level_weights=level_weights,
                )
            )
    return total


def _check(left: list[WaveletModel], right: list[WaveletModel]) -> None:
    """Refuse what is no wavelet model, and models of different orientations or scales."""
    if not left or not right:
        refuse(IncompatibleModels, "models", "must not be empty")
    for i, each in enumerate([*left, *right]):
        place = f"models[{i}]" if i < len(left) else f"others[{i - len(left)}]"
        if not isinstance(each, WaveletModel):
            rule = "must be a WaveletModel, as `fit_bands` returns it"
            refuse(IncompatibleModels, place, rule, type(each).__name__)
        if _shape(each) != _shape(left[0]):
            refuse(IncompatibleModels, place, "must have the orientations and scales of the first", repr(each))


def _shape(model: WaveletModel) -> tuple[int, int | None, int]:
    return len(model.models), model.tree.children, model.tree.depth


def _aligned(p: list[Model], q: list[Model], like: WaveletModel, level_weights: Any) -> Array:
    """(M, M'): the smallest joint divergence over all orders of q's states."""
    n_states = p[0].n_states
    other = next((model.n_states for model in [*p, *q] if model.n_states != n_states), None)
    if other is not None:
        refuse(IncompatibleModels, "aligned", f"needs models of {counted(n_states, 'state')} like the first", other)
    if n_states > MOST_ALIGNED:
        refuse(IncompatibleModels, "aligned", f"needs models of at most {MOST_ALIGNED} states", n_states)
    best = np.full((len(p), len(q)), np.inf)
    for order in permutations(range(n_states)):
        relabelled = [model.relabel(order) for model in q]
        matrix = pairwise_kl(p, like.tree, relabelled, symmetric=True, quantity="joint", level_weights=level_weights)
        best = np.minimum(best, np.asarray(matrix))
    return best
