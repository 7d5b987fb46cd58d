"""Bounds of entropy rates over a tree of contexts: the last symbols, split into their extensions to the past."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hidiv.recursions.kernels import kernel

Array = NDArray[np.float64]
Found = tuple[float, float, int, int, bool]
Bounds = Callable[[Array, Array], tuple[Array, Array, Array]]  # products of p and q -> probability, lower, upper

SMALLEST = 1e-280  # entries below this could underflow: a context that has some is not split


@kernel
def cross_contexts(
    law: Array,
    transition_p: Array,
    probabilities_p: Array,
    middle: Array,
    transition_q: Array,
    probabilities_q: Array,
    threshold: float,
    depth: int,
    limit: int,
) -> Found:
    """Bounds of the cross-entropy rate of q under p, started in its stationary `law`.

    After a context w, q's filter lies between the filters c_i(w) from each of its states: given p's state s the cost
    of the next symbol, convex in the filter, is at most the largest at the c_i, and at least its tangent, which is
    taken at the mean of the c_i weighed by `middle` (K_q,). A context is split while its probability times the width
    is above `threshold`. Returns the bounds, leaves, depth, and whether less than `limit` contexts were met.
    """
    step_p = transition_p[None] * probabilities_p.T[:, None, :]
    step_q = transition_q[None] * probabilities_q.T[:, None, :]
    next_p, next_q = transition_p @ probabilities_p, transition_q @ probabilities_q

    def bounds(of_p: Array, of_q: Array) -> tuple[Array, Array, Array]:
        after = np.einsum("r,brs->bs", law, of_p)
        sums = of_q.sum(axis=2)
        alive = sums > 0
        joint = of_q @ next_q  # (B, K_q, M)
        with np.errstate(divide="ignore", invalid="ignore"):
            predicted = np.where(alive[:, :, None], joint / sums[:, :, None], 0.0)
            centre = np.einsum("i,bix->bx", middle, joint) / (sums @ middle)[:, None]
            logs, greatest, at_centre = np.log(predicted), np.log(predicted.max(axis=1)), np.log(centre)
            costs = -_expected(next_p, logs)  # (B, K_p, K_q)
            above = np.where(alive[:, None, :], costs, -np.inf).max(axis=2)
            ratio = _expected(next_p, predicted / centre[:, None, :])
            together = -_expected(next_p, at_centre[:, None, :])[:, :, 0] - np.log(ratio.max(axis=2))
            apart = -_expected(next_p, greatest[:, None, :])[:, :, 0]
            below = np.where(together > apart, together, apart)
            lower = np.where(after > 0, after * below, 0.0).sum(axis=1)
            upper = np.where(after > 0, after * above, 0.0).sum(axis=1)
        return after.sum(axis=1), lower, upper

    return _walked(bounds, [step_p, step_q], threshold, depth, limit)


@kernel
def entropy_contexts(
    law: Array, transition: Array, probabilities: Array, threshold: float, depth: int, limit: int
) -> Found:
    """Bounds of the entropy rate of p, started in its stationary `law`.

    H(next | context, state before it) <= rate <= H(next | context), summed over a complete tree of contexts.
    """
    steps = transition[None] * probabilities.T[:, None, :]
    following = transition @ probabilities

    def bounds(of_p: Array, _: Array) -> tuple[Array, Array, Array]:
        mass = law[None, :, None] * of_p
        rows = mass @ following  # (B, K, M)
        given, weight = mass.sum(axis=2), mass.sum(axis=(1, 2))
        with np.errstate(divide="ignore", invalid="ignore"):
            lower = np.where(given > 0, given * _entropy(rows / given[:, :, None]), 0.0).sum(axis=1)
            upper = np.where(weight > 0, weight * _entropy((rows / weight[:, None, None]).sum(axis=1)), 0.0)
        return weight, lower, upper

    return _walked(bounds, [steps], threshold, depth, limit)


def _expected(law: Array, values: Array) -> Array:
    """(B, K_p, n): sum over symbols of law (K_p, M) times values (B, n, M), zeros of the law excluding infinities."""
    return np.asarray(np.where(law[None, :, None, :] > 0, law[None, :, None, :] * values[:, None], 0.0).sum(axis=3))


def _entropy(laws: Array) -> Array:
    """(...,): entropies of laws (..., M)."""
    return np.asarray(-np.where(laws > 0, laws * np.log(np.where(laws > 0, laws, 1.0)), 0.0).sum(axis=-1))


def _walked(bounds: Bounds, steps: list[Array], threshold: float, depth: int, limit: int) -> Found:
    """All contexts of a length together, from two symbols on; the same ones as depth first."""
    front = [np.eye(step.shape[1])[None] for step in steps]
    for _ in range(2):
        front = _extended(front, steps)
    lower, upper, leaves, met, reached = [], [], 0, 0, 2
    for length in range(2, depth + 1):
        met += len(front[0])
        if met > limit:
            return 0.0, 0.0, leaves, length, False
        weight, low, high = bounds(front[0], front[-1])
        width = np.minimum(high - low, 64.0 * weight)
        small = (front[-1] > 0) & (front[-1] < SMALLEST)
        split = (weight > 0) & (width > threshold) & (length < depth)
        if len(steps) > 1:
            split &= ~small.any(axis=(1, 2))
        there = ~split & (weight > 0)
        lower.append(low[there].sum())
        upper.append(high[there].sum())
        leaves, reached = leaves + int((~split).sum()), length
        if not split.any():
            break
        front = _extended([matrices[split] for matrices in front], steps)
    return float(np.sum(lower)), float(np.sum(upper)), leaves, reached, met < limit


def _extended(front: list[Array], steps: list[Array]) -> list[Array]:
    """Every context with every symbol before it; q's products rescaled, as only their ratios count."""
    made = [
        (step[None] @ matrices[:, None]).reshape(-1, *step.shape[1:])
        for matrices, step in zip(front, steps, strict=True)
    ]
    if len(made) > 1:
        _, exponent = np.frexp(made[1].max(axis=(1, 2), keepdims=True))
        made[1] = made[1] * np.ldexp(1.0, -exponent)
    return made
