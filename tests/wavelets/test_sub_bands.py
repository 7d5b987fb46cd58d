"""The divergence of sub-bands that the texture benchmark uses as its mark, on laws of any size and shape."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from benchmarks.texture_methods import independent
from hidiv.wavelets.wavelet_model import WaveletModel


def tile(scale, shape):
    """One orientation of two levels, a generalised Gaussian law each."""
    levels = [hd.GeneralizedGaussian([[s]], [[b]]) for s, b in zip(scale, shape, strict=True)]
    return WaveletModel((hd.Model([1.0], [None, [[1.0]]], levels),), hd.Tree.regular(2, 2), 0.0)


def test_sub_bands_are_those_of_the_library():
    p, q = tile([1.0, 2.0], [1.5, 0.7]), tile([0.5, 3.0], [2.0, 1.0])
    pairs = zip(p.models[0].emissions, q.models[0].emissions, strict=True)
    expected = sum(float(a.kl(b)[0] + b.kl(a)[0]) for a, b in pairs)
    assert independent([p, q])[0, 1] == pytest.approx(expected, rel=1e-10)


def test_heavy_tails_do_not_overflow():
    """A tile with hardly any contrast in a band has a law with a tiny shape, and the mean of a power has no double."""
    flat, rough, tiny = tile([1e-200, 1e-9], [0.02, 0.004]), tile([2.0, 3.0], [9.0, 30.0]), tile([1e-150, 1.0], [5, 2])
    matrix = independent([flat, rough, tiny])
    assert np.isfinite(matrix).all()
    assert (matrix[~np.eye(3, dtype=bool)] > 0).all()
    np.testing.assert_allclose(np.diag(matrix), 0.0, atol=1e-9)
