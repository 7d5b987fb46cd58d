"""The numbers a recursion reads: one model's tables, and those of a pair with their accurate log-ratios."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hidiv.recursions.layout import Layout
from hidiv.types import Array

# initial (K,), transition (G, K, K), log_weight (R, K), or the log-ratios of the three
Law = tuple[Array, Array, Array]
# the log-weights of the nodes first..end-1, and for a pair their log-ratios and residuals
MakeRows = Callable[[int, int], tuple[Array, Array | None, Array | None]]


@dataclass(frozen=True, eq=False)
class Tables:
    """initial (K,), transition (G, K, K), log_weight (R, K); a layout says which of them a node uses.

    shift (R,) or None: what was taken out of the rows of log_weight; only log-likelihoods depend on it.
    """

    initial: Array
    transition: Array
    log_weight: Array
    shift: Array | None = None

    @property
    def n_states(self) -> int:
        """K."""
        return int(self.initial.shape[0])

    @property
    def arrays(self) -> Law:
        """The tables without the shift, as kernels take them."""
        return packed(self.initial, self.transition, self.log_weight)

    def taken_out(self, layout: Layout) -> float:
        """The sum of `shift` over all nodes, which belongs to the log-likelihood; -inf where it overflows."""
        if self.shift is None:
            return 0.0
        return float(self.shift[layout.rows(np.arange(layout.n_nodes))].sum(dtype=np.longdouble))


@dataclass(frozen=True, eq=False)
class PairTables:
    """Tables of p and q, and log(q/p) of each part, computed from parameter differences.

    initial_ratio (K,), transition_ratio (G, K, K), weight_ratio (R, K); entries where p or q vanish are not read.
    residual (R, K) >= 0 or None: what the hidden part of an observation adds (definitions (1.3)); +inf allowed.
    """

    p: Tables
    q: Tables
    initial_ratio: Array
    transition_ratio: Array
    weight_ratio: Array
    residual: Array | None = None

    @property
    def ratios(self) -> Law:
        """The three log-ratios, as kernels take them."""
        return packed(self.initial_ratio, self.transition_ratio, self.weight_ratio)


def packed(initial: Array, transition: Array, log_weight: Array) -> Law:
    """The three arrays, C-contiguous as the kernels take them."""
    return np.ascontiguousarray(initial), np.ascontiguousarray(transition), np.ascontiguousarray(log_weight)
