"""What a state says of a coefficient: zero-mean laws of real and of complex coefficients."""

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

APART = 3.0  # factor between the variances a start gives to the outermost states and that of all coefficients
SHIFT = 0.7  # of the spread of local means, by which a start moves those of each state
LAPLACE = 1.0  # shape a start gives to generalised Gaussian states


def observed(coefficients: NDArray[Any], states: States) -> Array:
    """Coefficients (..., C) as the columns a family of states speaks of.

    A circular complex Gaussian coefficient is an exponential squared modulus with a uniform phase, which tells nothing:
    the squared modulus stands for it, and has the same divergences. Generalised Gaussian states take real and
    imaginary parts as two columns.

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


def started_means(x: Array, n_states: int) -> Family:
    """A start for local means x (n,) of one scale: every other state is darker, every other one brighter."""
    spread = float(x.std())
    if not spread > 0:
        refuse(InvalidModel, "means", "must vary within every scale", float(x[0]), "leave the means out")
    middle = x.mean() + SHIFT * spread * np.where(np.arange(n_states) % 2, 1.0, -1.0)
    return Gaussian(middle, var=np.full(n_states, spread**2))


def started(x: Array, n_states: int, states: States, is_complex: bool) -> Family:
    """A start for the columns x (n, C) of one scale: states of the same law whose variances are far apart."""
    factor = APART ** np.linspace(-1.0, 1.0, n_states) if n_states > 1 else np.ones(1)
    power = x.mean(axis=0) if is_complex and states == "gaussian" else np.square(x).mean(axis=0)
    if not (power > 0).all():
        refuse(InvalidModel, "bands", "must not be 0 throughout a scale and orientation", remedy="leave the scale out")
    variance = factor[:, None] * power
    if states == "generalized_gaussian":
        return GeneralizedGaussian(np.sqrt(variance / 2.0), np.full_like(variance, LAPLACE))
    return Exponential(1.0 / variance) if is_complex else Gaussian(np.zeros_like(variance), var=variance)
