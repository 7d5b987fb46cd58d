"""The permutation score test: do the mean scores of groups differ by more than dealing the sequences anew explains?

With scores z_i made uncorrelated and of equal size, the statistic is the sum over groups of n_g |mean of z in g|^2. All
reference values are products of matrices of group labels with the table of scores: nothing is fitted again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import comb, log, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.answers.jobs import Executor, all_done
from hidiv.types import Array, IntArray

SINGULAR = 1e-9  # share of the size of scores: below it they do not vary
DIAGONAL = 0.3  # share of the diagonal in the information
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


def whitened(scores: Array, strata: IntArray, like: Array) -> WhiteScores:
    """Scores (m, P) centred in every stratum and made uncorrelated, by the inverse of the information.

    The information is the mean outer product of the scores `like` (N, P) of draws from the model. That of the data's
    own scores holds the difference between the groups, too, which hides it where sequences are few, and with as many
    directions as sequences all ways to deal them have one statistic. DIAGONAL of it is that of its diagonal alone.
    """
    centred = np.array(scores, dtype=np.float64)
    for stratum in np.unique(strata):
        mine = strata == stratum
        centred[mine] -= centred[mine].mean(axis=0)
    own, drawn = (np.sqrt(np.mean(part * part, axis=0)) for part in (centred, like))
    used = own > SINGULAR * np.maximum(np.abs(scores).max(axis=0, initial=0.0), 1e-300)
    size = np.where(drawn > SINGULAR * own, drawn, own)[used]
    unit, draws = centred[:, used] / size, like[:, used] / size
    if not unit.shape[1]:
        return WhiteScores(np.zeros((len(scores), 0)), strata, scores.shape[1])
    values, vectors = np.linalg.eigh(draws.T @ draws / len(draws))
    varied = np.einsum("ij,ij->j", unit @ vectors, unit @ vectors)
    kept = varied > SINGULAR * varied.max()
    spread = (1.0 - DIAGONAL) * np.maximum(values[kept], 0.0) + DIAGONAL
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
    """(permutations,): the statistics of sequences dealt anew within strata; the same wherever they are computed.

    Where there are no more ways than that, every other way once: the p-value is then exact, without any draw.
    """
    if ways(labels, strata := white.strata) <= permutations:
        every = _every_way(labels, strata)
        others = every[(every != labels).any(axis=1)]
        return np.concatenate(
            all_done(partial(_statistics, white.scores, n_groups=n_groups), [others], executor, title)
        )
    size = int(np.clip(AT_ONCE // max(len(labels), 1), 1, permutations))
    pieces = [min(size, permutations - done) for done in range(0, permutations, size)]
    jobs = list(zip(pieces, rng.spawn(len(pieces)), strict=True))
    dealing = partial(_dealt, scores=white.scores, strata=white.strata, labels=labels, n_groups=n_groups)
    return np.concatenate(all_done(dealing, jobs, executor, title))


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


def _every_way(labels: IntArray, strata: IntArray) -> IntArray:
    """(ways, m): every way to deal the labels within strata."""
    table = labels[None]
    for stratum in np.unique(strata):
        mine = np.flatnonzero(strata == stratum)
        dealt = np.array(list(_arrangements(labels[mine].tolist())), dtype=labels.dtype)
        table = np.repeat(table, len(dealt), axis=0)
        table[:, mine] = np.tile(dealt, (len(table) // len(dealt), 1))
    return table


def _arrangements(labels: list[int]) -> Iterator[list[int]]:
    """Every different order of some labels."""
    if not labels:
        yield []
    for first in set(labels):
        rest = list(labels)
        rest.remove(first)
        for others in _arrangements(rest):
            yield [first, *others]


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
