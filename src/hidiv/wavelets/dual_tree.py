"""`dual_tree`: a complex wavelet transform made of two real transforms half a sample apart.

The moduli of its coefficients hardly change when an image is shifted, and an image has six orientations instead of
three.

The two orthonormal low-pass filters half a sample apart make the pair of trees nearly analytic. Both are
q(z) (1 + 1/z)^zeros times a short filter: d(z) in the first, d reversed in the second, where d reversed over d is
Thiran's allpass filter, which delays by half a sample. The common factor q makes them orthonormal, by spectral
factorisation.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hidiv.types import Array
from hidiv.wavelets.bands import Bands, cropped, extended, local_means, pywavelets, read_values

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


@cache
def hilbert_pair(zeros: int = 3, delay: int = 3) -> tuple[Array, Array]:
    """Filters h and g, each of 2 (zeros + delay) taps and norm 1, with g about h delayed by half a sample.

    `zeros` is the number of zeros at half the sampling rate, `delay` the order of the half-sample delay. The larger
    they are, the smoother and longer the wavelets and the less is left at negative frequencies.

    >>> h, g = hilbert_pair()
    >>> len(h), bool(abs(h @ h - 1) < 1e-12), bool(abs(h[2:] @ h[:-2]) < 1e-12)
    (12, True, True)
    """
    short = _half_sample(delay)
    smooth = np.poly(np.full(zeros, -1.0))
    factor = np.convolve(smooth, short)
    half_band = _half_band(np.convolve(factor, factor[::-1]))
    candidates = [np.convolve(np.convolve(q, smooth), short) for q in _spectral_factors(half_band)]
    best = min(range(len(candidates)), key=lambda i: _phase_error(candidates[i]))
    q = _spectral_factors(half_band)[best]
    pair = (np.convolve(np.convolve(q, smooth), each) for each in (short, short[::-1]))
    h, g = (filter_ / np.linalg.norm(filter_) * np.sign(filter_.sum()) for filter_ in pair)
    h.flags.writeable = g.flags.writeable = False
    return h, g


def _half_sample(order: int) -> Array:
    """Denominator of Thiran's allpass filter with a delay of half a sample beyond its order."""
    taps = [1.0]
    for n in range(order):
        taps.append(taps[-1] * (order - n) * (order - n - 0.5) / ((n + 1) * (n + 1.5)))
    return np.array(taps)


def _half_band(given: Array) -> Array:
    """The shortest symmetric filter whose convolution with the given one is 0 at even distances from the middle."""
    n = (len(given) - 1) // 2
    width = 2 * n - 1
    table = np.zeros((len(given) + width - 1, width))
    for i in range(width):
        table[i : i + len(given), i] = given
    middle = 2 * n - 1
    even = np.arange(middle % 2, len(table), 2)
    taps = np.linalg.solve(table[even], (even == middle).astype(np.float64))
    return np.asarray(0.5 * (taps + taps[::-1]))


def _spectral_factors(symmetric: Array) -> list[Array]:
    """Every real filter q with q(z) q(1/z) = symmetric, up to scale: one of each pair of roots z, 1/z."""
    roots = np.roots(symmetric)
    inside = roots[(np.abs(roots) < 1) & (roots.imag >= -1e-12)]
    factors = []
    for flips in product((False, True), repeat=len(inside)):
        chosen = [1.0 / z if flip else z for z, flip in zip(inside, flips, strict=True)]
        both = [w for z in chosen for w in ((z, z.conjugate()) if abs(z.imag) > 1e-12 else (z,))]
        factors.append(np.real(np.poly(both)))
    return factors


def _phase_error(taps: Array) -> float:
    """The largest distance of the phase from a straight line over the pass band."""
    frequency = np.linspace(0.01, np.pi / 2, 100)
    phase = np.unwrap(np.angle(np.exp(-1j * np.outer(frequency, np.arange(len(taps)))) @ taps))
    return float(np.abs(phase - np.polyval(np.polyfit(frequency, phase, 1), frequency)).max())
