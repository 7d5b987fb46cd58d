"""The permutation score test: do the mean scores of groups differ by more than dealing the sequences anew explains?

With scores z_i made uncorrelated and of equal size, the statistic is the sum over groups of n_g |mean of z in g|^2. All
reference values are products of matrices of group labels with the table of scores: nothing is fitted again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import comb, log, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.answers.jobs import Executor, all_done
from hidiv.types import Array, IntArray

SINGULAR = 1e-9  # share of the largest eigenvalue of the correlations of scores: below it there is none
AT_ONCE = 2_000_000  # labels dealt in one piece of work
ROUNDING = 1e-10  # relative: statistics of one value, added up in another order


@dataclass(frozen=True, eq=False)
class WhiteScores:
    """Scores without correlation (m, r): centred within strata, `rank` r of P coordinates."""

    scores: Array
    strata: IntArray
    n_coordinates: int

    @property
    def rank(self) -> int:
        """The number of directions in which the scores vary."""
        return int(self.scores.shape[1])


def whitened(scores: Array, strata: IntArray) -> WhiteScores:
    """Scores (m, P) centred in every stratum and made uncorrelated by the inverse of their mean outer product.

    With few sequences the mean outer product is shrunk towards its diagonal, by P over P plus what is free after
    centring: with as many directions as sequences every way of dealing them would have the same statistic otherwise.
    """
    centred = np.array(scores, dtype=np.float64)
    for stratum in np.unique(strata):
        mine = strata == stratum
        centred[mine] -= centred[mine].mean(axis=0)
    size = np.sqrt(np.mean(centred * centred, axis=0))
    scale = np.abs(scores).max(axis=0, initial=0.0)
    used = size > 1e-12 * np.maximum(scale, 1e-300)
    unit = centred[:, used] / size[used]
    if not unit.shape[1]:
        return WhiteScores(np.zeros((len(scores), 0)), strata, scores.shape[1])
    values, vectors = np.linalg.eigh(unit.T @ unit / len(unit))
    kept = values > SINGULAR * values[-1]
    free = len(scores) - len(np.unique(strata))
    share = kept.sum() / (kept.sum() + free)
    spread = (1.0 - share) * values[kept] + share
    return WhiteScores(unit @ (vectors[:, kept] / np.sqrt(spread)), strata, scores.shape[1])


def statistic(white: WhiteScores, labels: IntArray, n_groups: int) -> float:
    """The statistic of one way to deal the sequences: labels (m,) from 0."""
    return float(_statistics(white.scores, labels[None], n_groups)[0])


def _statistics(scores: Array, labels: NDArray[Any], n_groups: int) -> Array:
    """(B,): the statistics of labels (B, m)."""
    rest = np.broadcast_to(scores.sum(axis=0), (len(labels), scores.shape[1])).copy()
    total = np.zeros(len(labels))
    counts = np.bincount(labels[0], minlength=n_groups)
    for g in range(n_groups):
        if g < n_groups - 1:
            sums = (labels == g).astype(np.float64) @ scores
            rest -= sums
        else:
            sums = rest
        total += np.einsum("br,br->b", sums, sums) / max(int(counts[g]), 1)
    return total


def reference(
    white: WhiteScores,
    labels: IntArray,
    n_groups: int,
    permutations: int,
    rng: np.random.Generator,
    executor: Executor = None,
    title: str = "permutations",
) -> Array:
    """(permutations,): the statistics of sequences dealt anew within strata; the same wherever they are computed."""
    size = int(np.clip(AT_ONCE // max(len(labels), 1), 1, permutations))
    pieces = [min(size, permutations - done) for done in range(0, permutations, size)]
    jobs = list(zip(pieces, rng.spawn(len(pieces)), strict=True))
    work = partial(_dealt, scores=white.scores, strata=white.strata, labels=labels, n_groups=n_groups)
    return np.concatenate(all_done(work, jobs, executor, title))


def _dealt(
    job: tuple[int, np.random.Generator], *, scores: Array, strata: IntArray, labels: IntArray, n_groups: int
) -> Array:
    count, rng = job
    dealt = np.tile(labels.astype(np.int16), (count, 1))
    for stratum in np.unique(strata):
        mine = np.flatnonzero(strata == stratum)
        if len(mine) > 1:
            dealt[:, mine] = rng.permuted(dealt[:, mine], axis=1)
    return _statistics(scores, dealt, n_groups)


def p_value(observed: float, drawn: Array) -> float:
    """(1 + how many reach the observed value) / (1 + all)."""
    reached = int((drawn >= observed * (1.0 - ROUNDING)).sum())
    return (1 + reached) / (1 + len(drawn))


def ways(labels: IntArray, strata: IntArray) -> float:
    """How many different ways there are to deal the sequences, at most 1e18."""
    total = 1.0
    for stratum in np.unique(strata):
        counts = np.bincount(labels[strata == stratum])
        left = int(counts.sum())
        parts = []
        for count in counts.tolist():
            parts.append(comb(left, count) if left < 200 else 10**18)
            left -= count
        total = min(total * float(min(prod(parts), 10**18)), 1e18)
    return total


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, which keep the chance of any wrong finding among all pairs at the level."""
    order = np.argsort(p_values)
    adjusted, so_far = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order.tolist()):
        so_far = max(so_far, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = so_far
    return adjusted


def memory(transition: Array, left: float = 0.01) -> float:
    """Steps after which a chain has forgotten its state to a share `left`; infinite where it never does."""
    size = np.sort(np.abs(np.linalg.eigvals(transition)))[::-1]
    second = float(size[1]) if len(size) > 1 else 0.0
    if second >= 1.0 - 1e-12:
        return float("inf")
    return log(left) / log(second) if second > 1e-300 else 1.0
