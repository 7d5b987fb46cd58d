"""The posterior divergence of many chains at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hidiv.recursions.kernels import kernel
from hidiv.recursions.normal_rows import NormalLaws, NormalRatio, normal_tables
from hidiv.recursions.posterior_sweep import Posterior, are_apart, is_faint, posterior_value
from hidiv.recursions.tables import Law, Layout, PairTables, Places
from hidiv.types import Array, IntArray

BEYOND = -2  # stands in place of p's failing node for a sequence out of the compiled kernel's range


@dataclass(frozen=True, eq=False)
class PosteriorBatch:
    """Results of m sequences, as `posterior_sequences` gives them: numbers (m, 3) and places (m, 5)."""

    numbers: Array
    places: IntArray

    @property
    def impossible(self) -> NDArray[np.bool_]:
        """(m,): which sequences p or q cannot produce."""
        return np.asarray((self.places[:, 3:] >= 0).any(axis=1))

    @property
    def values(self) -> Array:
        """(m,): the divergences, +inf where p's posterior goes and q's cannot follow."""
        return np.where(self.places[:, 0] >= 0, np.inf, self.numbers[:, 0])

    def one(self, i: int) -> Posterior:
        """The result of one sequence; nodes count from its start."""
        node, parent_state, state, failed_p, failed_q = self.places[i].tolist()
        if failed_p >= 0 or failed_q >= 0:
            return Posterior(np.nan, np.nan, np.nan, impossible=("p", failed_p) if failed_p >= 0 else ("q", failed_q))
        if node >= 0:
            return Posterior(np.inf, np.nan, np.nan, infinite=(node, parent_state, state))
        value, log_p, log_q = self.numbers[i].tolist()
        return Posterior(value, log_p, log_q)


def posterior_batch(pair: PairTables, layout: Layout, start: IntArray, threads: int = 0) -> PosteriorBatch:
    """All sequences; sequence i holds the nodes start[i]..start[i+1]-1 of a layout without parents.

    threads: 0 for all processors; the numbers are the same, bit for bit, whatever it is.
    """
    places, laws = layout.places, (pair.p.arrays, pair.q.arrays, pair.ratios)
    numbers, outcomes = posterior_sequences(start, places, *laws, pair.residual, threads)
    for i in np.flatnonzero(outcomes[:, 3] == BEYOND):
        numbers[i], outcomes[i] = _one_sequence(start[i], start[i + 1], places, *laws, pair.residual)
    for i in faint_sequences(numbers, start, lambda: pair.ratios):
        numbers[i], outcomes[i] = _one_sequence(start[i], start[i + 1], places, *laws, pair.residual, by_node=True)
    for side, tables in ((1, pair.p), (2, pair.q)):
        if tables.shift is not None:
            rows = layout.rows(np.arange(layout.n_nodes))
            numbers[:, side] += np.add.reduceat(tables.shift[rows], start[:-1])
    return PosteriorBatch(numbers, outcomes)


def faint_sequences(numbers: Array, start: IntArray, ratios: Callable[[], Law]) -> IntArray:
    """The sequences whose values need logarithms for their digits; the log-ratios are asked for where it matters."""
    faint = np.flatnonzero(is_faint(numbers[:, 0], np.diff(start)))
    return faint if faint.size and are_apart(*ratios()) else faint[:0]


@kernel
def posterior_sequences(
    start: IntArray, places: Places, p: Law, q: Law, ratio: Law, residual: Array | None, threads: int = 0
) -> tuple[Array, IntArray]:
    """(m, 3): value, both log-likelihoods; (m, 5): infinite place, failing nodes of p and q, -1 where there is none."""
    if places[0] is not None:
        raise ValueError("sequences are chains and have no parents")
    values, outcomes = np.full((len(start) - 1, 3), np.nan), np.full((len(start) - 1, 5), -1, dtype=np.int64)
    for i, (first, end) in enumerate(itertools.pairwise(start)):
        values[i], outcomes[i] = _one_sequence(first, end, places, p, q, ratio, residual)
    return values, outcomes


# x (n, F) and what `NormalPair` holds, with independent columns.
NormalEvidence = tuple[Array, NormalLaws, NormalLaws, NormalRatio]


@kernel
def posterior_normal_sequences(
    start: IntArray,
    p: tuple[Array, Array],
    q: tuple[Array, Array],
    ratio: tuple[Array, Array],
    normal: NormalEvidence,
    limit: float,
    threads: int = 0,
) -> tuple[Array, IntArray] | None:
    """`posterior_sequences` of normal observations, without tables of their weights; initial and transition of each.

    None where a number is none or a log-density beyond +-limit, or numbers are out of the compiled kernel's range.
    """
    log_p, log_q, log_ratio, odd = normal_tables(*normal, True, limit=limit)
    if odd or log_q is None:
        return None
    laws = ((*p, log_p), (*q, log_q), (*ratio, log_ratio))
    return posterior_sequences(start, (None, None, None), *laws, None, threads)


def _one_sequence(
    first: int, end: int, places: Places, p: Law, q: Law, ratio: Law, residual: Array | None, by_node: bool = False
) -> tuple[list[float], list[int]]:
    """One row of each of the two arrays of `posterior_sequences`."""
    _, transition_of, row_of = places
    rows = np.arange(first, end) if row_of is None else row_of[first:end]
    part = None, None if transition_of is None else transition_of[first:end], rows
    *numbers, _, place, failed_p, failed_q = posterior_value(int(end - first), part, p, q, ratio, residual, by_node)
    return numbers, [*place, failed_p, failed_q]
