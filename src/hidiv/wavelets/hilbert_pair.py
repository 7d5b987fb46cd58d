"""Two orthonormal low-pass filters half a sample apart: what makes a pair of wavelet trees nearly analytic.

Both are q(z) (1 + 1/z)^zeros times a short filter: d(z) in the first, d reversed in the second, where d reversed over d
is Thiran's allpass filter, which delays by half a sample. The common factor q makes them orthonormal, by spectral
factorisation.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np

from hidiv.types import Array


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
