"""Numbers kept as the unevaluated sum of two doubles, high + low: about 32 digits, so that a million levels of rounding
do not show. The numpy form of kernels/simd/doubled.hpp."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hidiv.types import Array

Doubled = tuple[Array, Array]

# The leading 26 bits of a double; masking, unlike the usual multiplication, cannot overflow.
_LEADING = np.int64(-(1 << 27))


def _split(a: Array) -> Doubled:
    """a as the sum of its leading 26 bits and the rest."""
    leading = (np.ascontiguousarray(a).view(np.int64) & _LEADING).view(np.float64)
    return leading, a - leading


def add(first: Doubled, second: Doubled) -> Doubled:
    """first + second, error-free in the leading parts; `settled` brings the parts back in order."""
    (high, low), (value, rest) = first, second
    total = high + value
    shadow = total - high
    return total, low + (((high - (total - shadow)) + (value - shadow)) + rest)


def settled(number: Doubled) -> Doubled:
    """The same number with a low part of at most half an ulp of the high one, which is then the rounded value."""
    high, low = number
    total = high + low
    return total, low - (total - high)


def product(a: Array, number: Doubled) -> Doubled:
    """a times a doubled number, elementwise with broadcasting."""
    high, low = number
    value = a * high
    (a_leading, a_rest), (b_leading, b_rest) = _split(a), _split(high)
    error = ((a_leading * b_leading - value) + a_leading * b_rest + a_rest * b_leading) + a_rest * b_rest
    return value, error + a * low


def row_corrections(rows: Array) -> Array:
    """1 / (sum of the row) - 1 along the last axis: makes rows off by a few ulp sum to one exactly; 0 for zeros."""
    first = np.moveaxis(rows, -1, 0)
    high, low = _folded((first, np.zeros_like(first)))
    total = high + low
    return np.asarray(np.divide((1.0 - high) - low, total, out=np.zeros_like(total), where=total > 0))


def weighted(weights: Array, number: Doubled) -> Doubled:
    """sum_j weights(i, r, j) number(i, j), as (i, r); weights >= 0."""
    high, low = number
    terms = product(weights, (high[:, None, :], low[:, None, :]))
    return _folded((terms[0].transpose(2, 0, 1), terms[1].transpose(2, 0, 1)))


def _folded(terms: Doubled) -> Doubled:
    """The sum over the first axis, by adding the second half to the first until one entry is left."""
    high, low = terms
    while len(high) > 1:
        half = len(high) // 2
        back = len(high) - half
        sums = add((high[:half], low[:half]), (high[back:], low[back:]))
        high, low = (np.concatenate([done, part[half:back]]) for done, part in zip(sums, (high, low), strict=True))
    return high[0], low[0]


def sums_by_key(keys: NDArray[np.int64], number: Doubled) -> tuple[NDArray[np.int64], Doubled]:
    """The distinct keys, and the sum of the rows of each; equal keys must be neighbours. Overwrites the rows."""
    new = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    if new.all():
        return keys, number
    first = np.flatnonzero(new)
    high, low = number
    place = np.arange(len(keys)) - np.repeat(first, np.diff(first, append=len(keys)))
    # Neighbours of one key are added in pairs until one is left of each: as accurate for a million as for two.
    while len(place) > len(first):
        odd = (place & 1).astype(np.bool_)
        right, left = np.flatnonzero(odd), np.flatnonzero(~odd)
        high[right - 1], low[right - 1] = add((high[right - 1], low[right - 1]), (high[right], low[right]))
        high, low, place = high[left], low[left], place[left] >> 1
    return keys[first], (high, low)
