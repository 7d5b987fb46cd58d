"""The posterior divergence of many chains at once."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from hidiv.recursions.kernels import kernel
from hidiv.recursions.layout import IntArray, Layout, Places
from hidiv.recursions.posterior import Posterior, posterior_value
from hidiv.recursions.tables import Law, PairTables

Array = NDArray[np.float64]


def posterior_batch(pair: PairTables, layout: Layout, start: IntArray, threads: int = 0) -> list[Posterior]:
    """One result a sequence; sequence i holds the nodes start[i]..start[i+1]-1 of a layout without parents.

    threads: 0 for all processors; the numbers are the same, bit for bit, whatever it is. Nodes in a result count from
    the start of its sequence.
    """
    values, found = posterior_sequences(
        start, layout.places, pair.p.arrays, pair.q.arrays, pair.ratios, pair.residual, threads
    )
    return [_result(value, place) for value, place in zip(values.tolist(), found.tolist(), strict=True)]


def _result(value: list[float], found: list[int]) -> Posterior:
    node, parent_state, state, failed_p, failed_q = found
    if failed_p >= 0 or failed_q >= 0:
        return Posterior(np.nan, np.nan, np.nan, impossible=("p", failed_p) if failed_p >= 0 else ("q", failed_q))
    if node >= 0:
        return Posterior(np.inf, np.nan, np.nan, infinite=(node, parent_state, state))
    return Posterior(value[0], value[1], value[2])


@kernel
def posterior_sequences(
    start: IntArray, places: Places, p: Law, q: Law, ratio: Law, residual: Array | None, threads: int = 0
) -> tuple[Array, IntArray]:
    """(m, 3): value, both log-likelihoods; (m, 5): infinite place, failing nodes of p and q, -1 where there is none."""
    parent, transition_of, row_of = places
    if parent is not None:
        raise ValueError("sequences are chains and have no parents")
    values, found = np.full((len(start) - 1, 3), np.nan), np.full((len(start) - 1, 5), -1, dtype=np.int64)
    rows = np.arange(start[-1]) if row_of is None else row_of
    for i, (first, end) in enumerate(itertools.pairwise(start)):
        part = None, None if transition_of is None else transition_of[first:end], rows[first:end]
        *numbers, _, place, failed_p, failed_q = posterior_value(int(end - first), part, p, q, ratio, residual, False)
        values[i] = numbers
        found[i] = *place, failed_p, failed_q
    return values, found
