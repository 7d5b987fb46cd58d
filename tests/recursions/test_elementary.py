"""The vector code's own exp, log1p and phi against 50 digits, in units in the last place."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle.arithmetic import mp

RANGES = {
    "exp": (0, -700.0, 700.0, mp.exp, 2.0),
    "log1p": (1, 0.0, 1e6, mp.log1p, 3.0),
    "log1p near 0": (1, 0.0, 1.0, mp.log1p, 3.0),
    "log1p up to 2^-12": (2, 0.0, 2.0**-12, mp.log1p, 2.0),
    "log1p up to 0.0085": (3, 0.0, 0.0085, mp.log1p, 2.0),
    "phi within 2^-6": (4, -(2.0**-6), 2.0**-6, lambda t: mp.expm1(t) - t, 3.0),
    "phi within 2^-3": (5, -(2.0**-3), 2.0**-3, lambda t: mp.expm1(t) - t, 3.0),
    "log": (7, 1e-3, 1e6, mp.log, 3.0),
    "log near 1": (7, 0.9, 1.1, mp.log, 3.0),
    "phi within 1": (6, -1.0, 1.0, lambda t: mp.expm1(t) - t, 3.0),
}


@pytest.mark.parametrize("name", RANGES)
def test_units_in_the_last_place(kernels, name):
    if not kernels.is_compiled:
        return  # numpy's own functions there
    which, low, high, exact, allowed = RANGES[name]
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(low, high, 1500), [low, high], high * 10.0 ** rng.uniform(-12, 0, 500)])
    found = kernels.elementary(which, x)
    for at, value in zip(x.tolist(), found.tolist(), strict=True):
        truth = exact(mp.mpf(at))
        assert abs(value - truth) <= allowed * np.spacing(abs(float(truth)))
