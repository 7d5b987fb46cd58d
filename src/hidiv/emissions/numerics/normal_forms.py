"""Normal laws as the numbers that `recursions.normal_rows` reads, and their log-ratio as a polynomial.

With z the whitened distance of x from p's mean, q's is shift + M z, M = L_q^-1 L_p. So log q/p is a polynomial of
degree two in z whose coefficients are made once for each pair of laws, from differences of their parameters. Those of
full covariances are in `covariances`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hidiv.emissions.numerics.standard_normal import HALF_LOG_TWO_PI
from hidiv.emissions.parameters import wide
from hidiv.recursions.normal_rows import NormalLaws, NormalRatio
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.emissions.numerics.covariances import GaussianParameters


def diagonal_form(family: GaussianParameters) -> NormalLaws:
    """Mean, whitening and constant of each state."""
    mean, deviation = wide(family.mean), family.deviation
    with np.errstate(all="ignore"):
        over, constant = 1.0 / deviation, -(np.log(deviation) + HALF_LOG_TWO_PI).sum(axis=1)
    return np.ascontiguousarray(mean), np.ascontiguousarray(over[:, None, :]), np.asarray(constant)


def diagonal_ratio(p: GaussianParameters, q: GaussianParameters, excess: Array, log: Array) -> NormalRatio:
    """excess, log (K, F): var_p/var_q - 1 and its logarithm."""
    with np.errstate(all="ignore"):
        shift = (wide(p.mean) - wide(q.mean)) / q.deviation
        wider = excess / (1.0 + np.sqrt(1.0 + excess))  # std_p / std_q - 1
        near = np.asarray((np.abs(wider) < 0.5).all(axis=1))
        constant = 0.5 * (log - shift * shift).sum(axis=1)
        linear, square = -shift * (1.0 + wider), -0.5 * excess
    return near, constant, linear, np.ascontiguousarray(square[:, None, :])
