"""`Bands`: wavelet coefficients by scale and orientation, and how values are read, extended and cropped for them."""

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


@dataclass(frozen=True, eq=False)
class Bands(Value):
    """Wavelet coefficients of an image or a signal, the coarsest scale first.

    Parameters
    ----------
    details : tuple of ndarray
        One array for each scale: (orientations, rows, columns) for an image, (1, n) for a signal, real or complex.
        Every side doubles from one scale to the next.
    approximation : ndarray
        The coefficients of the low-pass filters, which no scale holds.
    means : tuple of ndarray
        For each scale the averages of the values that lie under each coefficient.
    orientations : tuple of str
        Names of the orientations.

    Examples
    --------
    >>> import numpy as np
    >>> from hidiv.wavelets import discrete
    >>> bands = discrete(np.arange(16.0), "haar", levels=2)
    >>> [band.shape for band in bands.details], bands.is_image, bands.is_complex
    ([(1, 4), (1, 8)], False, False)
    """

    details: tuple[NDArray[Any], ...]  # float64 or complex128
    approximation: NDArray[Any]
    means: tuple[Array, ...]
    orientations: tuple[str, ...]

    @property
    def levels(self) -> int:
        """Number of scales."""
        return len(self.details)

    @property
    def is_image(self) -> bool:
        """Whether the values were an image; otherwise they were a signal."""
        return self.details[0].ndim == 3

    @property
    def is_complex(self) -> bool:
        """Whether the coefficients are complex."""
        return bool(np.iscomplexobj(self.details[0]))

    def __repr__(self) -> str:
        coarse, fine = (" x ".join(map(str, band.shape[1:])) for band in (self.details[0], self.details[-1]))
        kind = "complex" if self.is_complex else "real"
        orientations = f"{len(self.orientations)} orientation" + ("s" if len(self.orientations) > 1 else "")
        return f"Bands: {self.levels} scales, {coarse} to {fine} {kind} coefficients, {orientations}"


BOUNDARIES = ("reflect", "periodic")
LARGEST, SMALLEST = 1e100, 1e-100  # size of values and of coefficients, whose squares then are doubles


def read_values(values: ArrayLike, levels: int, boundary: str) -> Array:
    """A signal (n,) or an image (n, m) as floats; refuses sides that cannot be halved `levels` times."""
    levels = whole("levels", levels, error=InvalidEvidence)
    if boundary not in BOUNDARIES:
        refuse(InvalidEvidence, "boundary", f"is one of {' and '.join(BOUNDARIES)}", boundary)
    given = np.asarray(values)
    if given.dtype.kind not in "buif" or given.ndim not in (1, 2):
        refuse(InvalidEvidence, "values", "must be real numbers, (n,) for a signal or (n, m) for an image", given.shape)
    floats = np.asarray(given, dtype=np.float64)
    if not np.isfinite(floats).all():
        refuse(InvalidEvidence, "values", "must be finite", float(floats[~np.isfinite(floats)][0]))
    if floats.size and np.abs(floats).max() > LARGEST:
        rule = f"must be at most {LARGEST:g} in size"
        refuse(InvalidEvidence, "values", rule, float(np.abs(floats).max()), "standardise them")
    if floats.size == 0 or any(side % 2**levels for side in floats.shape):
        refuse(
            InvalidEvidence,
            "values",
            f"must have sides that {counted(levels, 'level')} can halve, multiples of {2**levels}",
            floats.shape,
            "crop them or ask for fewer levels",
        )
    return floats


def extended(values: Array, boundary: str) -> Array:
    """The values and, unless `boundary` is "periodic", their mirror image along each axis, which avoids jumps."""
    if boundary == "periodic":
        return values
    for axis in range(values.ndim):
        values = np.concatenate([values, np.flip(values, axis)], axis)
    return values


def cropped(band: Array, shape: tuple[int, ...], level: int, boundary: str) -> Array:
    """The part of a band that belongs to the values and not to their mirror image; level 1 is the finest."""
    return band if boundary == "periodic" else band[tuple(slice(side >> level) for side in shape)]


def local_means(values: Array, levels: int) -> tuple[Array, ...]:
    """Averages over blocks of 2^level values along each axis, the coarsest level first.

    >>> [part.tolist() for part in local_means(np.array([1.0, 3.0, 5.0, 9.0]), 2)]
    [[4.5], [2.0, 7.0]]
    """
    means = []
    for size in (2**level for level in range(levels, 0, -1)):
        blocks = values.reshape([part for side in values.shape for part in (side // size, size)])
        means.append(blocks.mean(axis=tuple(range(1, blocks.ndim, 2))))
    return tuple(means)


def pywavelets() -> Any:
    """The library PyWavelets; refuses, naming the extra, if it is not installed."""
    try:
        return import_module("pywt")
    except ImportError:
        refuse(MissingExtra, "wavelets", "needs PyWavelets", remedy='pip install "hidiv[wavelets]"')
