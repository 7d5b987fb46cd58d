"""50-digit numbers in a context of their own, and the divergence of two discrete rows."""

from __future__ import annotations

from mpmath.ctx_mp import MPContext

mp = MPContext()
mp.dps = 50


def exact(values):
    """Nested lists of floats (or None) as nested lists of 50-digit numbers, bit for bit."""
    if values is None:
        return None
    if isinstance(values, (list, tuple)):
        return [exact(value) for value in values]
    return mp.mpf(values)


def row_divergence(p, q):
    """sum p log(p / q), with 0 log 0 = 0 and infinity where p has mass and q none."""
    total = mp.zero
    for a, b in zip(p, q, strict=True):
        if a > 0:
            if b == 0:
                return mp.inf
            total += a * mp.log(a / b)
    return total


def expectation(weights, values):
    """sum of weight times value, where an infinite value of weight zero does not count."""
    return sum((w * v for w, v in zip(weights, values, strict=True) if w > 0), mp.zero)
