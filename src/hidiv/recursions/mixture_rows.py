"""Log-densities of mixtures from those of their components, and the log-ratio of two mixtures that are close."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hidiv.recursions.kernels import kernel
from hidiv.types import Array

NEAR = 0.5  # log-ratios of components below it are summed as differences from one


@kernel
def mixture_table(tables: Sequence[Array], weights: Array, threads: int = 0) -> tuple[Array, bool]:
    """log sum_c exp(weights[c] + tables[c]), (n, K), from C tables (n, K) and log-weights (C, K).

    And whether a number is none or infinite.
    """
    return _log_sum(tables, weights)


@kernel
def mixture_tables(
    tables_p: Sequence[Array],
    tables_q: Sequence[Array],
    ratios: Sequence[Array],
    weights_p: Array,
    weights_q: Array,
    weights_ratio: Array,
    threads: int = 0,
) -> tuple[Array, Array, Array, bool]:
    """(n, K) three times: log-densities of two mixtures and log q/p; ratios and weights_ratio are those of components.

    Where all log-ratios of components are below 1/2 it is log1p of the mean of their excesses, else the difference.
    """
    (log_p, odd_p), (log_q, odd_q) = _log_sum(tables_p, weights_p), _log_sum(tables_q, weights_q)
    with np.errstate(all="ignore"):
        steps = np.stack([ratio + weight for ratio, weight in zip(ratios, weights_ratio, strict=True)])
        near = (np.abs(steps) < NEAR).all(axis=0)
        laws = np.exp(np.stack([table + weight for table, weight in zip(tables_p, weights_p, strict=True)]) - log_p)
        close = np.log1p((laws * np.expm1(np.where(near, steps, 0.0))).sum(axis=0))
        ratio = np.where(near, close, log_q - log_p)
        return log_p, log_q, ratio, odd_p or odd_q or not bool((np.abs(ratio) <= 1e300).all())


def _log_sum(tables: Sequence[Array], weights: Array) -> tuple[Array, bool]:
    """What `mixture_table` promises, in numpy for both twins."""
    with np.errstate(all="ignore"):
        every = np.stack([table + weight for table, weight in zip(tables, weights, strict=True)])
        top = every.max(axis=0)
        value = top + np.log(np.exp(every - top).sum(axis=0))
        return value, not bool((np.abs(value) <= 1e300).all())
