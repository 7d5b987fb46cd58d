"""`fit_bands`: hidden Markov trees of wavelet coefficients, one for each orientation or one for all together.

The emission families of the coefficients, real or complex, and where their fit starts, are at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hidiv.arguments import whole
from hidiv.emissions.composite.product import Product
from hidiv.emissions.families.exponential import Exponential
from hidiv.emissions.families.gaussian import Gaussian
from hidiv.emissions.families.generalized_gaussian import GeneralizedGaussian
from hidiv.emissions.family import Family
from hidiv.errors import InvalidModel, counted, refuse
from hidiv.fitting.fit import fit
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.types import Array
from hidiv.wavelets.bands import SMALLEST, Bands
from hidiv.wavelets.coefficient_trees import by_tree, coefficient_trees

STAY = 0.8  # probability that a child has its parent's state, at the start of a fit
States = Literal["gaussian", "generalized_gaussian"]
SPREAD = 3.0  # at the start the outermost states have this many times the variance of all coefficients, and its inverse
SHIFT = 0.7  # standard deviations by which the local means of a state are moved at the start
LAPLACE = 1.0  # shape of generalised Gaussian states at the start


@dataclass(frozen=True)
class WaveletModel:
    """Hidden Markov trees fitted to the wavelet coefficients of an image or a signal.

    Parameters
    ----------
    models : tuple of Model
        One model for each orientation, or a single one for all orientations together; groups are scales.
    tree : Tree
        The tree of coefficients the models were fitted on.
    log_likelihood : float
        The log-likelihood of all coefficients, added over orientations.
    """

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
    """Fit hidden Markov trees to the wavelet coefficients of an image or a signal.

    States have mean zero, and parameters are tied by scale. The fit starts from states ordered by variance, in the same
    way for all images.

    Parameters
    ----------
    bands : Bands
        The coefficients, from `discrete` or `dual_tree`.
    n_states : int, default 2
        The number of hidden states; with 1 the coefficients of each scale are independent.
    states : {"gaussian", "generalized_gaussian"}, default "gaussian"
        The law of a coefficient given its state. "gaussian" is a Gaussian law for real coefficients and a circular
        complex one for complex coefficients (an exponential law of the squared modulus). "generalized_gaussian" has a
        scale and a shape for each state.
    together : bool, default False
        Whether one tree of states describes all orientations at once; otherwise each orientation has its own.
    means : bool, default False
        Whether states also describe the local mean of the values, by a Gaussian law with a mean of its own.
    pseudo_count : float, default 1.0
        Observations added to every state, as in `hidiv.fit`.
    max_iter : int, default 40
        The largest number of iterations.
    tol : float, default 1e-6
        The fit stops when the log-likelihood gains less than this share of its size.

    Returns
    -------
    WaveletModel
        The fitted models, their tree and their log-likelihood.

    Raises
    ------
    InvalidModel
        If a scale is zero throughout or below 1e-100, or `means` is asked for with real Gaussian states.

    Examples
    --------
    >>> import numpy as np
    >>> from hidiv.wavelets import dual_tree
    >>> image = np.random.default_rng(0).normal(size=(32, 32)).cumsum(axis=0)
    >>> fit_bands(dual_tree(image, levels=2), max_iter=5)
    WaveletModel: 6 tree models of 2 scales, 2 states
    """
    n_states = whole("n_states", n_states, error=InvalidModel)
    trees = [coefficient_trees(bands, orientation) for orientation in range(len(bands.orientations))]
    tree = trees[0][0]
    centred = states == "gaussian" and not bands.is_complex
    if means and centred:
        refuse(InvalidModel, "means", "need complex coefficients or generalised Gaussian states", states)
    sizes = np.array([np.abs(band).reshape(len(band), -1).max(axis=1) for band in bands.details])
    if ((sizes > 0) & (sizes < SMALLEST)).any():
        rule = f"must reach {SMALLEST:g} in every scale and orientation"
        refuse(InvalidModel, "bands", rule, float(sizes[sizes > 0].min()), "standardise the values")
    forests = [np.stack([x for _, x in trees], axis=-1)] if together else [x[..., None] for _, x in trees]
    fits = []
    for x in forests:
        columns = observed(x, states)
        scales = [columns[:, tree.level == level].reshape(-1, columns.shape[-1]) for level in range(tree.depth)]
        families = [initial_family(scale, int(n_states), states, bands.is_complex) for scale in scales]
        if means:
            families = [
                Product([family, initial_means(scale.ravel(), int(n_states))])
                for family, scale in zip(families, bands.means, strict=True)
            ]
            columns = np.concatenate([columns, by_tree(bands.means)[..., None]], axis=-1)
        fits.append(
            fit(list(columns), tree, start=_start(families), group="level", tol=tol, max_iter=max_iter,
                pseudo_count=pseudo_count, fixed=("mean",) if centred else ())
        )  # fmt: skip
    return WaveletModel(tuple(each.model for each in fits), tree, sum(each.log_likelihood for each in fits))


def _start(families: list[Family]) -> Model:
    """The model a fit starts from: states equally likely at the roots, kept by a child with probability STAY."""
    n_states = families[0].n_states
    row = np.full((n_states, n_states), (1.0 - STAY) / max(n_states - 1, 1))
    np.fill_diagonal(row, STAY if n_states > 1 else 1.0)
    return Model(
        np.full(n_states, 1.0 / n_states), [None, *[row] * (len(families) - 1)] if len(families) > 1 else row, families
    )


def observed(coefficients: NDArray[Any], states: States) -> Array:
    """Coefficients (..., C) as the columns that the emission family describes.

    A circular complex Gaussian coefficient has an exponential squared modulus and a uniform phase. The phase carries no
    information, so the squared modulus is used, with the same divergences. For generalised Gaussian states the real and
    the imaginary parts are two columns.

    >>> observed(np.array([[3 + 4j]]), "gaussian").tolist(), observed(np.array([[3 + 4j]]), "generalized_gaussian")
    ([[25.0]], array([[3., 4.]]))
    """
    if states not in ("gaussian", "generalized_gaussian"):
        refuse(InvalidModel, "states", 'must be "gaussian" or "generalized_gaussian"', states)
    if not np.iscomplexobj(coefficients):
        return np.asarray(coefficients)
    if states == "gaussian":
        return np.asarray(coefficients.real**2 + coefficients.imag**2)
    parts = np.stack([coefficients.real, coefficients.imag], axis=-1)
    return np.asarray(parts.reshape(*coefficients.shape[:-1], -1))


def initial_means(x: Array, n_states: int) -> Family:
    """A family to start the fit of local means x (n,) from: states are alternately darker and brighter than average."""
    spread = float(x.std())
    if not spread > 0:
        refuse(InvalidModel, "means", "must vary within every scale", float(x[0]), "leave the means out")
    middle = x.mean() + SHIFT * spread * np.where(np.arange(n_states) % 2, 1.0, -1.0)
    return Gaussian(middle, var=np.full(n_states, spread**2))


def initial_family(x: Array, n_states: int, states: States, is_complex: bool) -> Family:
    """A family to start the fit of the columns x (n, C) of one scale from: states whose variances are far apart."""
    factor = SPREAD ** np.linspace(-1.0, 1.0, n_states) if n_states > 1 else np.ones(1)
    power = x.mean(axis=0) if is_complex and states == "gaussian" else np.square(x).mean(axis=0)
    if not (power > 0).all():
        refuse(InvalidModel, "bands", "must not be 0 throughout a scale and orientation", remedy="leave the scale out")
    variance = factor[:, None] * power
    if states == "generalized_gaussian":
        return GeneralizedGaussian(np.sqrt(variance / 2.0), np.full_like(variance, LAPLACE))
    return Exponential(1.0 / variance) if is_complex else Gaussian(np.zeros_like(variance), var=variance)
