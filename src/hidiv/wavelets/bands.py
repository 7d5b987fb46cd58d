"""Wavelet coefficients by scale and orientation."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hidiv.arguments import whole
from hidiv.errors import InvalidEvidence, MissingExtra, counted, refuse
from hidiv.types import Array
from hidiv.values import Value

Coefficients = NDArray[Any]  # float64 or complex128


@dataclass(frozen=True, eq=False)
class Bands(Value):
    """Coefficients of an image or a signal, the coarsest scale first.

    `details[l]` (orientations, rows, columns) of an image, (1, places) of a signal; every side doubles from one scale
    to the next. `approximation`: what is left, the coefficients of the low-pass filters. `means[l]`: averages of the
    values that lie under each coefficient.
    """

    details: tuple[Coefficients, ...]
    approximation: Coefficients
    means: tuple[Array, ...]
    orientations: tuple[str, ...]

    @property
    def levels(self) -> int:
        """Number of scales."""
        return len(self.details)

    @property
    def is_image(self) -> bool:
        return self.details[0].ndim == 3

    @property
    def is_complex(self) -> bool:
        return bool(np.iscomplexobj(self.details[0]))

    def __repr__(self) -> str:
        coarse, fine = (" x ".join(map(str, band.shape[1:])) for band in (self.details[0], self.details[-1]))
        kind = "complex" if self.is_complex else "real"
        ways = f"{len(self.orientations)} orientation" + ("s" if len(self.orientations) > 1 else "")
        return f"Bands: {self.levels} scales, {coarse} to {fine} {kind} coefficients, {ways}"


BOUNDARIES = ("reflect", "periodic")


def read_values(values: ArrayLike, levels: int, boundary: str) -> Array:
    """A signal (n,) or image (n, m) as floats, with sides that can be halved `levels` times."""
    levels = whole("levels", levels, error=InvalidEvidence)
    if boundary not in BOUNDARIES:
        refuse(InvalidEvidence, "boundary", f"is one of {' and '.join(BOUNDARIES)}", boundary)
    read = np.asarray(values)
    if read.dtype.kind not in "buif" or read.ndim not in (1, 2):
        refuse(InvalidEvidence, "values", "must be real numbers, (n,) for a signal or (n, m) for an image", read.shape)
    found = np.asarray(read, dtype=np.float64)
    if not np.isfinite(found).all():
        refuse(InvalidEvidence, "values", "must be finite", float(found[~np.isfinite(found)][0]))
    if found.size == 0 or any(side % 2**levels for side in found.shape):
        refuse(
            InvalidEvidence,
            "values",
            f"must have sides that {counted(levels, 'level')} can halve, multiples of {2**levels}",
            found.shape,
            "crop them or ask for fewer levels",
        )
    return found


def extended(values: Array, boundary: str) -> Array:
    """The values with their mirror images beside them (what a periodic transform then sees is continuous), or alone."""
    if boundary == "periodic":
        return values
    for axis in range(values.ndim):
        values = np.concatenate([values, np.flip(values, axis)], axis)
    return values


def cropped(band: Array, shape: tuple[int, ...], level: int, boundary: str) -> Array:
    """The part of a band that belongs to the values themselves; level 1 is the finest."""
    return band if boundary == "periodic" else band[tuple(slice(side >> level) for side in shape)]


def local_means(values: Array, levels: int) -> tuple[Array, ...]:
    """Averages over blocks as large as the places of each scale, the coarsest first.

    >>> [part.tolist() for part in local_means(np.array([1.0, 3.0, 5.0, 9.0]), 2)]
    [[4.5], [2.0, 7.0]]
    """
    found = []
    for size in (2**level for level in range(levels, 0, -1)):
        blocks = values.reshape([part for side in values.shape for part in (side // size, size)])
        found.append(blocks.mean(axis=tuple(range(1, blocks.ndim, 2))))
    return tuple(found)


def pywavelets() -> Any:
    """PyWavelets, or a sentence naming the extra."""
    try:
        return import_module("pywt")
    except ImportError:
        refuse(MissingExtra, "wavelets", "needs PyWavelets", remedy='pip install "hidiv[wavelets]"')
