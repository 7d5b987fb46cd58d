"""Filters on a triangulated grid, created when first needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hidiv.recursions.kernels import kernel

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Numbers = NDArray[np.int32]

Tables = tuple[Array, Numbers, Array, Array, Array, Flags, Numbers, Array, Array]


@kernel
def belief_grid(
    transition_p: Array,
    probabilities_p: Array,
    transition_q: Array,
    probabilities_q: Array,
    start: Array,
    beside: Flags,
    ticks: Array,
    limit: int,
) -> Tables | None:
    """The filters of q that stand for all it can have while p emits, each filter a mean of corners of its cell.

    Cells: the Kuhn triangulation of the cumulative probabilities with the given `ticks` (ascending from 0 to 1) on
    every axis. start (n, K) with the states of p beside each (n, K_p). Returns None beyond `limit` points, else

        points (G, K), index and weights (G, M, K) of the corners around the filter after each symbol,
        log q(symbol | point) (G, M), excess (G, M), reached (G, K_p); index, weights (n, K) and excess (n,) of start

    where excess is the largest log(mean of the corners / filter), which rounding alone makes positive.
    """
    n_symbols, n_states = probabilities_q.shape[1], len(transition_q)
    moves = (transition_p > 0)[None] & (probabilities_p.T > 0)[:, None, :]  # (M, K_p, K_p)
    corners = _Corners(ticks, n_states)
    reached = np.zeros((0, len(transition_p)), dtype=np.bool_)
    seen: dict[int, tuple[Numbers, Array, Array, Array]] = {}
    index0, weights0, excess0 = corners.locate(start)
    reached = _meet(reached, corners, index0, weights0, beside)
    waiting = np.arange(len(corners.points))
    while len(waiting):
        if len(corners.points) > limit:
            return None
        rows = [_after(corners, j, transition_q, probabilities_q) for j in waiting.tolist() if j not in seen]
        seen.update(zip([j for j in waiting.tolist() if j not in seen], rows, strict=True))
        before = np.concatenate([reached, np.zeros((len(corners.points) - len(reached), len(transition_p)), np.bool_)])
        reached = before
        for j in waiting.tolist():
            index, weights, _, _ = seen[j]
            reached = _meet(reached, corners, index, weights, (before[j] @ moves).astype(np.bool_))
        grown = np.zeros(len(reached), dtype=np.bool_)
        grown[: len(before)] = (reached[: len(before)] & ~before).any(axis=1)
        grown[len(before) :] = True
        waiting = np.flatnonzero(grown)
    count = len(corners.points)
    tables = [seen[j] for j in range(count)]
    index, weights, log_scale, excess = (np.stack([table[i] for table in tables]) for i in range(4))
    unused = ~(np.einsum("js,xst->jx", reached, moves) > 0)
    index[unused], weights[unused], log_scale[unused], excess[unused] = 0, 0.0, 0.0, 0.0
    points = np.array(corners.points).reshape(count, n_states)
    shape = (count, n_symbols, n_states)
    return (points, index.reshape(shape), weights.reshape(shape), log_scale, excess, reached, index0, weights0, excess0)


class _Corners:
    """Corners of the triangulation by their ticks."""

    def __init__(self, ticks: Array, n_states: int) -> None:
        self.ticks, self.n_states = ticks, n_states
        self.points: list[Array] = []
        self._number: dict[tuple[int, ...], int] = {}

    def locate(self, beliefs: Array) -> tuple[Numbers, Array, Array]:
        """Corners around beliefs (n, K) and their shares; a corner without a share is not created."""
        count, n_states = beliefs.shape
        sums = np.minimum(np.cumsum(beliefs, axis=1)[:, :-1], 1.0)
        rest = (beliefs > 0)[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
        sums = np.where(rest > 0, sums, 1.0)
        cell = np.clip(np.searchsorted(self.ticks, sums, side="right") - 1, 0, len(self.ticks) - 2)
        share = np.minimum(1.0, (sums - self.ticks[cell]) / (self.ticks[cell + 1] - self.ticks[cell]))
        axes = n_states - 1
        order = axes - 1 - np.argsort(-share[:, ::-1], axis=1, kind="stable")  # of equal ones the later axis first
        sorted_share = np.take_along_axis(share, order, axis=1)
        bounds = np.concatenate([np.ones((count, 1)), sorted_share, np.zeros((count, 1))], axis=1)
        weights = np.maximum(bounds[:, :-1] - bounds[:, 1:], 0.0)
        index = np.zeros((count, n_states), dtype=np.int32)
        for b in range(count):
            corner, some = cell[b].copy(), -1
            for i in range(n_states):
                if i > 0:
                    corner[order[b, i - 1]] += 1
                index[b, i] = -1
                if weights[b, i] > 0:
                    index[b, i] = some = self._point(tuple(corner.tolist()))
            index[b][index[b] < 0] = some
        mean = np.einsum("bi,bik->bk", weights, np.array(self.points).reshape(-1, n_states)[index])
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(mean > 0, mean / beliefs, 1.0)
        return index, weights, np.log(np.maximum(ratio.max(axis=1), 1.0))

    def _point(self, corner: tuple[int, ...]) -> int:
        if corner not in self._number:
            self._number[corner] = len(self.points)
            self.points.append(np.diff(np.concatenate([[0.0], self.ticks[list(corner)], [1.0]])))
        return self._number[corner]


def _after(corners: _Corners, j: int, transition: Array, probabilities: Array) -> tuple[Numbers, Array, Array, Array]:
    """The filter after every symbol from point j: corners and shares (M, K), log of the symbols' probabilities (M,)."""
    n_states = len(transition)
    joint = (corners.points[j] @ transition)[None, :] * probabilities.T
    total = joint.sum(axis=1)
    anywhere = transition.sum(axis=0)[None, :] * probabilities.T  # where q cannot emit it: as if it were anywhere
    joint = np.where(total[:, None] > 0, joint, anywhere)
    norm = joint.sum(axis=1)
    possible = np.flatnonzero(norm > 0)
    index = np.zeros((len(total), n_states), dtype=np.int32)
    weights, excess = np.zeros((len(total), n_states)), np.zeros(len(total))
    index[possible], weights[possible], excess[possible] = corners.locate(joint[possible] / norm[possible, None])
    with np.errstate(divide="ignore"):
        return index, weights, np.log(total), excess


def _meet(reached: Flags, corners: _Corners, index: Numbers, weights: Array, states: Flags) -> Flags:
    """What is reached, with the states (n, K_p) at all corners (n, K) that have a share."""
    more = len(corners.points) - len(reached)
    reached = np.concatenate([reached, np.zeros((more, states.shape[1]), np.bool_)]) if more else reached.copy()
    for i in range(index.shape[1]):
        there = weights[:, i] > 0
        np.logical_or.at(reached, index[there, i], states[there])
    return reached
