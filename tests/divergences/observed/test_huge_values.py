"""Divergences near the largest doubles: averages keep their value, squares of them would overflow."""

from __future__ import annotations

import numpy as np

import hidiv as hd


def test_estimates_of_huge_divergences():
    p, q = (hd.Model([1.0], [[1.0]], hd.Geometric([prob])) for prob in (1e-300, 0.0625))
    exact = hd.joint_kl_rate(p, q).value  # one state: nothing is hidden
    rate = hd.observed_kl_rate(p, q, seed=0, max_samples=256, max_seconds=1.0)
    np.testing.assert_allclose(rate.value, exact, rtol=0.2)
    chain = hd.observed_kl(p, q, 3, seed=0, max_samples=256, max_seconds=1.0)
    assert np.isfinite(chain.std_error)
    assert abs(chain.value - 3 * exact) <= 6 * chain.std_error
