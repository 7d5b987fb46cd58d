"""The emission families of wavelet coefficients, real or complex, and where their fit starts."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hidiv.emissions.families.exponential import Exponential
from hidiv.emissions.families.gaussian import Gaussian
from hidiv.emissions.families.generalized_gaussian import GeneralizedGaussian
from hidiv.emissions.family import Family
from hidiv.errors import InvalidModel, refuse
from hidiv.types import Array

States = Literal["gaussian", "generalized_gaussian"]

SPREAD = 3.0  # at the start the outermost states have this many times the variance of all coefficients, and its inverse
SHIFT = 0.7  # standard deviations by which the local means of a state are moved at the start
LAPLACE = 1.0  # shape of generalised Gaussian states at the start


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
