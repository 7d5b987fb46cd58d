"""The discrete wavelet transform, by PyWavelets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hidiv.errors import InvalidEvidence, refuse
from hidiv.wavelets.bands import Bands, cropped, extended, local_means, pywavelets, read_values


def discrete(values: ArrayLike, wavelet: str = "db4", levels: int = 3, *, boundary: str = "reflect") -> Bands:
    """Real coefficients of a signal (n,) or an image (n, m), whose sides must be multiples of 2^levels.

    `boundary` "reflect" continues the values by their mirror image; "periodic" makes the transform orthonormal, when
    the wavelet is.

    >>> import numpy as np
    >>> discrete(np.eye(64), "haar", levels=3)
    Bands: 3 scales, 8 x 8 to 32 x 32 real coefficients, 3 orientations
    """
    given = read_values(values, levels, boundary)
    filters = _filters(wavelet)
    rest, details = extended(given, boundary), []
    transform = pywavelets().dwt if given.ndim == 1 else pywavelets().dwt2
    for level in range(1, levels + 1):
        rest, found = transform(rest, filters, mode="periodization")
        each = [found] if given.ndim == 1 else list(found)
        details.append(np.stack([cropped(band, given.shape, level, boundary) for band in each]))
    names = ("detail",) if given.ndim == 1 else ("horizontal", "vertical", "diagonal")
    return Bands(
        tuple(reversed(details)), cropped(rest, given.shape, levels, boundary), local_means(given, levels), names
    )


def _filters(wavelet: str) -> Any:
    library = pywavelets()
    try:
        return library.Wavelet(wavelet)
    except (ValueError, TypeError):
        refuse(InvalidEvidence, "wavelet", "must name a discrete wavelet of PyWavelets", wavelet, "try 'db4'")
