"""Threads of kernels: made for the other processors, allowed on all of them, and none where only one may be used."""

from __future__ import annotations

import os

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processors are chosen on Linux alone")


def product(kernels, threads):
    rng = np.random.default_rng(5)
    left, right = rng.normal(size=(1500, 7)), rng.normal(size=(40, 7))
    out = np.full((1500, 40), np.nan)
    kernels.products(left, right, np.zeros(1500), False, out, threads=threads)
    np.testing.assert_allclose(out, left @ right.T, rtol=0, atol=1e-12)


@pytest.mark.parametrize("threads", [2, 5])
def test_the_caller_keeps_its_processors(kernels, threads):
    before = os.sched_getaffinity(0)
    product(kernels, threads)
    assert os.sched_getaffinity(0) == before


def test_on_one_processor(kernels):
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        product(kernels, 3)
    finally:
        os.sched_setaffinity(0, before)
