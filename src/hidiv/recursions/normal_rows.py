"""Normal log-densities of rows of observations, and the log-ratio of two models' without a difference of the two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hidiv.recursions.kernels import kernel
from hidiv.types import Array, Flags

# mean (K, F), whiten (K, 1, F) for independent columns or (K, F, F) lower triangular, constant (K,): the log-density is
# constant - |z|^2/2 with z = whiten (x - mean).
NormalLaws = tuple[Array, Array, Array]
# near (K,), constant (K,), linear (K, F), square in the shape of whiten: in the states `near` the log-ratio is
# constant + sum_i z_i (linear_i + sum_{j<=i} square_ij z_j) with p's z.
NormalRatio = tuple[Flags, Array, Array, Array]


@kernel
def normal_table(x: Array, p: NormalLaws, threads: int = 0, limit: float = 1e300) -> tuple[Array, bool]:
    """(n, K) log-densities of x (n, F), and whether some number is none or beyond +-limit."""
    mean, whiten, constant = p
    value = np.empty((len(x), len(mean)))
    with np.errstate(all="ignore"):
        for s in range(len(mean)):
            value[:, s] = constant[s] - 0.5 * np.square(_whitened(x, mean[s], whiten[s])).sum(axis=1)
        return value, not bool((np.abs(value) <= limit).all())


@kernel
def normal_tables(
    x: Array,
    p: NormalLaws,
    q: NormalLaws,
    between: NormalRatio,
    with_q: bool,
    threads: int = 0,
    limit: float = 1e300,
) -> tuple[Array, Array | None, Array, bool]:
    """(n, K) log-densities of p and q (None unless wanted) and log q/p.

    And whether some number is none or infinite, or a log-density beyond +-limit.
    """
    near, constant, linear, square = between
    log_p, _ = normal_table(x, p)
    log_q, _ = normal_table(x, q)
    with np.errstate(all="ignore"):
        ratio = log_q - log_p
        for s in np.flatnonzero(near):
            z = _whitened(x, p[0][s], p[1][s])
            inner = z * square[s] if len(square[s]) == 1 else z @ square[s].T
            ratio[:, s] = constant[s] + (z * (inner + linear[s])).sum(axis=1)
            log_q[:, s] = log_p[:, s] + ratio[:, s]
        ends = (log_p, limit), (log_q, limit), (ratio, 1e300)
        odd = not all(bool((np.abs(table) <= end).all()) for table, end in ends)
    return log_p, log_q if with_q else None, ratio, odd


def _whitened(x: Array, mean: Array, whiten: Array) -> Array:
    """(n, F): z of one state."""
    apart = x - mean
    return np.asarray(apart * whiten if len(whiten) == 1 else apart @ whiten.T)


@dataclass(frozen=True, eq=False)
class NormalPair:
    """The laws of two models and the polynomial between them; called with x (n, F), the tables of its rows."""

    p: NormalLaws
    q: NormalLaws
    between: NormalRatio

    def __call__(self, x: Array, with_q: bool, limit: float = 1e300) -> tuple[Array, Array | None, Array, bool]:
        return normal_tables(np.ascontiguousarray(x), self.p, self.q, self.between, with_q, limit=limit)
