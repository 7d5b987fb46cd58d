"""`discrete`: the real wavelet transform, by PyWavelets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hidiv.errors import InvalidEvidence, refuse
from hidiv.wavelets.bands import Bands, cropped, extended, local_means, pywavelets, read_values


def discrete(values: ArrayLike, wavelet: str = "db4", levels: int = 3, *, boundary: str = "reflect") -> Bands:
    """Compute the real wavelet coefficients of a signal or an image.

    Parameters
    ----------
    values : array_like of shape (n,) or (n, m)
        A signal or an image, with sides that are multiples of 2^levels.
    wavelet : str, default "db4"
        The name of a discrete wavelet of PyWavelets.
    levels : int, default 3
        The number of scales.
    boundary : {"reflect", "periodic"}, default "reflect"
        "reflect" continues the values by their mirror image. "periodic" continues them periodically, which makes the
        transform orthonormal if the wavelet is.

    Returns
    -------
    Bands
        The coefficients, with three orientations for an image and one for a signal.

    Raises
    ------
    InvalidEvidence
        If the values are not finite real numbers, have other sides, or the wavelet is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> discrete(np.eye(64), "haar", levels=3)
    Bands: 3 scales, 8 x 8 to 32 x 32 real coefficients, 3 orientations
    """
    given = read_values(values, levels, boundary)
    filters = _filters(wavelet)
    rest, details = extended(given, boundary), []
    transform = pywavelets().dwt if given.ndim == 1 else pywavelets().dwt2
    for level in range(1, levels + 1):
        rest, detail = transform(rest, filters, mode="periodization")
        each = [detail] if given.ndim == 1 else list(detail)
        details.append(np.stack([cropped(band, given.shape, level, boundary) for band in each]))
    names = ("detail",) if given.ndim == 1 else ("horizontal", "vertical", "diagonal")
    return Bands(
        tuple(reversed(details)), cropped(rest, given.shape, levels, boundary), local_means(given, levels), names
    )


def _filters(wavelet: str) -> Any:
    """The filters of a wavelet by its name."""
    library = pywavelets()
    try:
        return library.Wavelet(wavelet)
    except (ValueError, TypeError):
        refuse(InvalidEvidence, "wavelet", "must name a discrete wavelet of PyWavelets", wavelet, "try 'db4'")
