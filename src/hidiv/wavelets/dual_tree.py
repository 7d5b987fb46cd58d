"""`dual_tree`: a complex wavelet transform made of two real transforms half a sample apart.

The moduli of its coefficients hardly change when an image is shifted, and an image has six orientations instead of
three.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hidiv.types import Array
from hidiv.wavelets.bands import Bands, cropped, extended, local_means, pywavelets, read_values
from hidiv.wavelets.hilbert_pair import hilbert_pair

FIRST = "sym4"  # wavelet of the finest scale, where both trees use the same filter, one sample apart
ORIENTATIONS = ("horizontal +", "horizontal -", "vertical +", "vertical -", "diagonal +", "diagonal -")


def dual_tree(values: ArrayLike, levels: int = 4, *, boundary: str = "reflect") -> Bands:
    """Compute the complex wavelet coefficients of a signal or an image.

    Parameters
    ----------
    values : array_like of shape (n,) or (n, m)
        A signal or an image, with sides that are multiples of 2^levels.
    levels : int, default 4
        The number of scales.
    boundary : {"reflect", "periodic"}, default "reflect"
        "reflect" continues the values by their mirror image. With "periodic" the squared moduli of all scales and of
        the approximation add up to twice the sum of the squared values.

    Returns
    -------
    Bands
        The coefficients, with six orientations for an image and one for a signal.

    Raises
    ------
    InvalidEvidence
        If the values are not finite real numbers or have other sides.

    Notes
    -----
    The coefficients of a signal are u + i v, where u and v come from the two trees of filters. Those of an image
    combine the four pairs of trees along its two axes: (uu - vv + i (uv + vu)) / 2 and (uu + vv + i (uv - vu)) / 2 for
    each of the three orientations of the real transform.

    Examples
    --------
    >>> import numpy as np
    >>> dual_tree(np.eye(64), levels=3)
    Bands: 3 scales, 8 x 8 to 32 x 32 complex coefficients, 6 orientations
    """
    given = read_values(values, levels, boundary)
    if given.ndim == 1:
        return _signal(given, levels, boundary)
    parts = {(i, j): _real(given, levels, boundary, (i, j)) for i in (0, 1) for j in (0, 1)}
    details = []
    for level in range(levels):
        uu, uv, vu, vv = (parts[trees][0][level] for trees in ((0, 0), (0, 1), (1, 0), (1, 1)))
        plus, minus = (uu - vv + 1j * (uv + vu)) / 2, (uu + vv + 1j * (uv - vu)) / 2
        details.append(np.stack([plus, minus], axis=1).reshape(6, *uu.shape[1:]))
    rest = np.stack([part[1] for part in parts.values()]) / np.sqrt(2.0)
    return Bands(tuple(reversed(details)), rest, local_means(given, levels), ORIENTATIONS)


def _signal(given: Array, levels: int, boundary: str) -> Bands:
    """The complex coefficients of a signal (n,)."""
    (u, rest_u), (v, rest_v) = (_real(given, levels, boundary, (i,)) for i in (0, 1))
    details = tuple(a + 1j * b for a, b in zip(reversed(u), reversed(v), strict=True))
    return Bands(details, np.stack([rest_u, rest_v]), local_means(given, levels), ("detail",))


def _real(given: Array, levels: int, boundary: str, trees: tuple[int, ...]) -> tuple[list[Array], Array]:
    """Bands (orientations, ...) of one choice of tree along each axis, the finest first, and the low-pass rest."""
    transform = pywavelets().dwt if given.ndim == 1 else pywavelets().dwt2
    rest, details = extended(given, boundary), []
    for level in range(1, levels + 1):
        filters = tuple(_filters()[min(level, 2) - 1][tree] for tree in trees)
        rest, detail = transform(rest, filters[0] if given.ndim == 1 else filters, mode="periodization")
        each = [detail] if given.ndim == 1 else list(detail)
        details.append(np.stack([cropped(band, given.shape, level, boundary) for band in each]))
    return details, cropped(rest, given.shape, levels, boundary)


@cache
def _filters() -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Filter banks of the finest scale and of all others, each for both trees."""
    taps = np.array(pywavelets().Wavelet(FIRST).dec_lo)
    finest = np.concatenate([[0.0], taps, [0.0]]), np.concatenate([[0.0, 0.0], taps])
    first, others = (tuple(_bank(each) for each in pair) for pair in (finest, hilbert_pair()))
    return (first[0], first[1]), (others[0], others[1])


def _bank(low: Array) -> Any:
    """The orthonormal filter bank of a low-pass filter."""
    high = low[::-1] * (-1.0) ** np.arange(len(low))
    return pywavelets().Wavelet("half-sample", filter_bank=(low, high, low[::-1], high[::-1]))
