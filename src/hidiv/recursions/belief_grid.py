"""Filters of a chain on a triangulated grid whose points are created when they are first met."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.recursions.kernels import kernel
from hidiv.types import Array, Flags, Numbers

Tables = tuple[Array, Numbers, Array, Array, Array, Flags, Numbers, Array, Array]


@kernel
def belief_grid(
    transition_p: Array,
    probabilities_p: Array,
    transition_q: Array,
    probabilities_q: Array,
    start: Array,
    start_states: Flags,
    ticks: Array,
    limit: int,
) -> Tables | None:
    """The filters of q that stand for all it can have while p emits, each filter a mean of corners of its cell.

    Cells: the Kuhn triangulation of the cumulative probabilities with the given `ticks` (ascending from 0 to 1) on
    every axis. start (n, K), with start_states (n, K_p) the states
    that p may be in there. Returns None beyond `limit` points, else

        points (G, K), index and weights (G, M, K) of the corners around the filter after each symbol,
        log q(symbol | point) (G, M), excess (G, M), reached (G, K_p); index, weights (n, K) and excess (n,) of start

    where excess is the largest log(mean of the corners / filter), which rounding alone makes positive.
    """
    n_symbols, n_states = probabilities_q.shape[1], len(transition_q)
    moves = (transition_p > 0)[None] & (probabilities_p.T > 0)[:, None, :]  # (M, K_p, K_p)
    corners = _Corners(ticks, n_states)
    index0, weights0, excess0 = corners.locate(start)
    reached = _meet(np.zeros((0, len(transition_p)), dtype=np.bool_), corners, index0, weights0, start_states)
    index = np.zeros((0, n_symbols, n_states), dtype=np.int32)
    weights, log_scale, excess = np.zeros((0, n_symbols, n_states)), np.zeros((0, n_symbols)), np.zeros((0, n_symbols))
    seen = np.zeros((0, n_symbols), dtype=np.bool_)
    anywhere = transition_q.sum(axis=0) * probabilities_q.T  # where q cannot emit a symbol: as if it were anywhere
    waiting = np.arange(len(corners.points))
    while len(waiting):
        count = len(corners.points)
        if count > limit:
            return None
        index, weights, log_scale, excess, seen = (_longer(a, count) for a in (index, weights, log_scale, excess, seen))
        after = np.einsum("js,xst->jxt", reached[waiting], moves) > 0
        at = np.argwhere(after.any(axis=2) & ~seen[waiting])
        row, symbol = waiting[at[:, 0]], at[:, 1]
        joint = (corners.points[row] @ transition_q) * probabilities_q.T[symbol]
        total = joint.sum(axis=1)
        joint = np.where(total[:, None] > 0, joint, anywhere[symbol])
        norm = joint.sum(axis=1)
        with np.errstate(divide="ignore"):
            log_scale[row, symbol] = np.log(total)
        seen[row, symbol] = True
        row, symbol, joint = row[norm > 0], symbol[norm > 0], joint[norm > 0] / norm[norm > 0, None]
        index[row, symbol], weights[row, symbol], excess[row, symbol] = corners.locate(joint)
        before = _longer(reached, len(corners.points))
        met = np.argwhere(after.any(axis=2))
        reached = _meet(
            before,
            corners,
            index[waiting[met[:, 0]], met[:, 1]],
            weights[waiting[met[:, 0]], met[:, 1]],
            after[met[:, 0], met[:, 1]],
        )
        waiting = np.flatnonzero((reached & ~before).any(axis=1))
    return corners.points, index, weights, log_scale, excess, reached, index0, weights0, excess0


class _Corners:
    """The corners of the triangulation met so far, numbered by their ticks; points (G, K)."""

    def __init__(self, ticks: Array, n_states: int) -> None:
        self.ticks = ticks
        self.points = np.zeros((0, n_states))
        self._number: dict[bytes, int] = {}

    def locate(self, beliefs: Array) -> tuple[Numbers, Array, Array]:
        """Numbers (n, K) of the corners around beliefs (n, K), their shares (n, K), and the excess (n,).

        A corner without a share is not created.
        """
        count, n_states = beliefs.shape
        axes = n_states - 1
        sums = np.minimum(np.cumsum(beliefs, axis=1)[:, :-1], 1.0)
        rest = (beliefs > 0)[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
        sums = np.where(rest > 0, sums, 1.0)
        cell = np.clip(np.searchsorted(self.ticks, sums, side="right") - 1, 0, len(self.ticks) - 2)
        share = np.minimum(1.0, (sums - self.ticks[cell]) / (self.ticks[cell + 1] - self.ticks[cell]))
        order = axes - 1 - np.argsort(-share[:, ::-1], axis=1, kind="stable")  # of equal ones the later axis first
        sorted_share = np.take_along_axis(share, order, axis=1)
        bounds = np.concatenate([np.ones((count, 1)), sorted_share, np.zeros((count, 1))], axis=1)
        weights = np.maximum(bounds[:, :-1] - bounds[:, 1:], 0.0)
        corner = np.repeat(cell[:, None, :], n_states, axis=1)  # (n, K, K - 1): one axis after another a tick up
        for i in range(axes):
            corner[np.arange(count), i + 1 :, order[:, i]] += 1
        index = np.zeros((count, n_states), dtype=np.int32)
        index[weights > 0] = self._points(corner[weights > 0])
        some = np.take_along_axis(index, (weights > 0).argmax(axis=1)[:, None], axis=1)
        index = np.where(weights > 0, index, some).astype(np.int32)
        mean = np.einsum("bi,bik->bk", weights, self.points[index])
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(mean > 0, mean / beliefs, 1.0)
        return index, weights, np.log(np.maximum(ratio.max(axis=1, initial=1.0), 1.0))

    def _points(self, corners: NDArray[np.int64]) -> Numbers:
        """(n,): the numbers of corners (n, K - 1), which are created where they are new."""
        kinds, member = np.unique(corners, axis=0, return_inverse=True)
        numbers = np.zeros(len(kinds), dtype=np.int32)
        created: list[Array] = []
        for i, kind in enumerate(kinds):
            numbers[i] = self._number.setdefault(kind.tobytes(), len(self._number))
            if numbers[i] == len(self.points) + len(created):
                created.append(np.diff(np.concatenate([[0.0], self.ticks[kind], [1.0]])))
        if created:
            self.points = np.concatenate([self.points, np.array(created)])
        return np.asarray(numbers[member.ravel()])


def _longer(table: NDArray[Any], count: int) -> NDArray[Any]:
    """The table with rows of zeros appended for new points."""
    return np.concatenate([table, np.zeros((count - len(table), *table.shape[1:]), dtype=table.dtype)])


def _meet(reached: Flags, corners: _Corners, index: Numbers, weights: Array, states: Flags) -> Flags:
    """(G, K_p): the states reached at every point, states (n, K_p) added at all corners (n, K) that have a share."""
    reached = _longer(reached, len(corners.points))
    for i in range(index.shape[1]):
        shared = weights[:, i] > 0
        np.logical_or.at(reached, index[shared, i], states[shared])
    return reached
