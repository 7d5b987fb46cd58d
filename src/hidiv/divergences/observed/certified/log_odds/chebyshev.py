"""Chebyshev polynomials on [-1, 1]: values, coefficients, and bounds that hold between samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hidiv.divergences.observed.interval import UNIT
from hidiv.types import Array


def zeros(count: int) -> Array:
    """(count,): the zeros of T_count, exact to two roundings."""
    return np.sin(np.pi * (count - 1 - 2.0 * np.arange(count)) / (2 * count))


def values(points: Array, count: int) -> Array:
    """(..., count): T_k(points) for k < count."""
    return np.cos(np.arccos(points)[..., None] * np.arange(count))


def coefficients(count: int) -> Array:
    """(count, count): from values at `zeros(count)` to the coefficients of the polynomial through them."""
    matrix = values(zeros(count), count).T * (2.0 / count)
    matrix[0] *= 0.5
    return matrix


def slope_bound(series: Array) -> Array:
    """(...): sum of the absolute coefficients of the derivatives of series (..., n), which bounds them on [-1, 1]."""
    n = series.shape[-1]
    terms = 2.0 * np.arange(n) * series
    bound = np.zeros(series.shape[:-1])
    for first in (1, 2):  # coefficient k of the derivative sums the terms k+1, k+3, ...
        sums = np.abs(np.cumsum(terms[..., first::2][..., ::-1], axis=-1)[..., ::-1])
        if first == 1:
            sums[..., :1] *= 0.5  # T_0 counts half
        bound += sums.sum(axis=-1)
    return bound


def rounding(series: Array, slope: Array) -> Array:
    """(...): bound of the error of `values(points, n) @ series` by rounding, apart from that of the points.

    `slope` is the `slope_bound` of the series: arccos moves a point by less than 4 units. k times an angle, the cosine
    and the sum of n products are the rest.
    """
    n = series.shape[-1]
    return np.asarray(UNIT * (np.abs(series) @ (4.0 * np.arange(n) + n + 6.0) + 8.0 * slope))


def ellipse_parameter(real: float, imaginary: float) -> float:
    """rho of the Bernstein ellipse through a point of the plane."""
    axis = max(1.0, (np.hypot(real - 1.0, imaginary) + np.hypot(real + 1.0, imaginary)) / 2.0)
    return float((axis + np.sqrt(axis * axis - 1.0)) * (1.0 + 1e-12))


class Sampling(NamedTuple):
    """A degree and the number of samples (zeros of T_samples) that bound a polynomial of that degree."""

    degree: int
    samples: int
    rho: float

    def tail(self, bound: Array) -> Array:
        """How far a function with |r| <= bound on the ellipse is from a polynomial of the degree."""
        return np.asarray(2.0 * bound * self.rho ** (-float(self.degree)) / (self.rho - 1.0))

    def between(self, low: Array, high: Array, error: Array, tail: Array) -> tuple[Array, Array]:
        """Bounds of a function everywhere from its smallest and largest sample, known up to `error`.

        Ehlich and Zeller: max |P| <= max over samples / cos(pi degree / (2 samples)), for P = polynomial - middle;
        samples that are two roundings off cost degree^2 as many (Markov's inequality).
        """
        middle, half = (low + high) / 2.0, (high - low) / 2.0
        share = np.cos(np.pi * self.degree / (2.0 * self.samples)) - 4.0 * UNIT * self.degree**2
        around = (half + error + tail) / share * (1.0 + 8.0 * UNIT) + tail
        return middle - around, middle + around


def sampling(rho: float, bound: float, tolerance: float) -> Sampling:
    """The smallest degree whose tail is below the tolerance, twice as many samples."""
    degree = int(np.ceil(max(1.0, np.log(2.0 * max(bound, 1e-300) / ((rho - 1.0) * tolerance)) / np.log(rho))))
    return Sampling(degree, 2 * degree, rho)
