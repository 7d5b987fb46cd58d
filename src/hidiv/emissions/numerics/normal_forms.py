"""Normal laws as the numbers that `recursions.normal_rows` reads, and their log-ratio as a polynomial.

With z the whitened distance of x from p's mean, q's is shift + M z, M = L_q^-1 L_p. So log q/p is a polynomial of degree
two in z whose coefficients are made once for each pair of laws, from differences of their parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import solve_triangular

from hidiv.emissions.numerics.covariances import NEAR, normal_laws, whiten
from hidiv.emissions.numerics.standard_normal import HALF_LOG_TWO_PI
from hidiv.emissions.parameters import wide
from hidiv.recursions.normal_rows import NormalLaws, NormalRatio
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.emissions.families.gaussian import Gaussian

APART = 4.0  # of the means, in q's standard deviations: beyond it the log-densities are subtracted


def normal_form(family: Gaussian, full: bool) -> NormalLaws:
    """Mean, whitening and constant of each state; full: as matrices, which any family can be."""
    mean, deviation = wide(family.mean), family.deviation
    with np.errstate(all="ignore"):
        if family.factor is not None:
            unit = np.eye(mean.shape[1])
            inverse = np.stack([solve_triangular(each, unit, lower=True, check_finite=False) for each in family.factor])
            logs = np.log(np.diagonal(family.factor, axis1=1, axis2=2))
        else:
            over, logs = 1.0 / deviation, np.log(deviation)
            inverse = over[:, :, None] * np.eye(mean.shape[1]) if full else over[:, None, :]
        constant = -(logs + HALF_LOG_TWO_PI).sum(axis=1)
    return np.ascontiguousarray(mean), np.ascontiguousarray(inverse), constant


def diagonal_ratio(p: Gaussian, q: Gaussian, excess: Array, log: Array) -> NormalRatio:
    """excess, log (K, F): var_p/var_q - 1 and its logarithm."""
    with np.errstate(all="ignore"):
        shift = (wide(p.mean) - wide(q.mean)) / q.deviation
        wider = excess / (1.0 + np.sqrt(1.0 + excess))  # std_p / std_q - 1
        near = ((np.abs(wider) < 0.5) & (np.abs(shift) <= APART)).all(axis=1)
        constant = 0.5 * (log - shift * shift).sum(axis=1)
        linear, square = -shift * (1.0 + wider), -0.5 * excess
    return near, constant, linear, np.ascontiguousarray(square[:, None, :])


def full_ratio(p: Gaussian, q: Gaussian) -> NormalRatio:
    """The same for matrices, by M - I."""
    n_states, n_features = wide(p.mean).shape
    near, constant = np.zeros(n_states, dtype=np.bool_), np.zeros(n_states)
    linear, square = np.zeros((n_states, n_features)), np.zeros((n_states, n_features, n_features))
    for s, (a, b) in enumerate(zip(normal_laws(p), normal_laws(q), strict=True)):
        w = whiten(a, b)
        if not (np.abs(w.difference).max() <= NEAR and np.abs(w.shift).max() <= APART):
            continue
        near[s] = True
        root = w.diagonal.excess / (1.0 + np.sqrt(1.0 + w.diagonal.excess))  # M_jj - 1
        beyond = w.below + np.diag(root)  # M - I
        difference = beyond + beyond.T + beyond.T @ beyond  # M^T M - I
        constant[s] = 0.5 * (w.diagonal.log.sum() - w.shift @ w.shift)
        linear[s] = -(w.shift + beyond.T @ w.shift)
        square[s] = -np.tril(difference, -1) - np.diag(0.5 * np.diagonal(difference))
    return near, constant, linear, square
