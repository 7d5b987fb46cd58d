"""Bounds of entropy rates over a tree of contexts: the last symbols, split into their extensions to the past."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hidiv.recursions.kernels import kernel
from hidiv.types import Array

ContextBounds = tuple[float, float, int, int, bool]  # lower, upper, leaves, depth, finished
Ends = tuple[Array, Array, Array]  # probability, lower, upper
Bounds = Callable[[Array, Array, int], Ends]  # of products of p and q over so many symbols

# Products of q's steps must not underflow: a state would look impossible. Models with a positive step or first
# probability below SMALLEST_STEP are out of range (bounds 0 and infinity); a context with a product below SMALLEST, or
# one that the next step could bring below FAINTEST, is not split.
SMALLEST_STEP, SMALLEST, FAINTEST = 1e-150, 1e-280, 1e-300
OUT_OF_RANGE: ContextBounds = (0.0, np.inf, 0, 0, True)


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
) -> ContextBounds:
    """Bounds of the cross-entropy rate of q under p, started in its stationary `law`.

    After a context w, q's filter lies between the filters c_i(w) from each of its states: given p's state s the cost
    of the next symbol, convex in the filter, is at most the largest at the c_i, and at least its tangent, which is
    taken at the mean of the c_i weighed by `middle` (K_q,). A context is split while its probability times the width
    is above `threshold`. Returns the bounds, leaves, depth, and whether less than `limit` contexts were met; bounds of
    0 and infinity where q has probabilities too small for doubles.
    """
    if _least_step(transition_q, probabilities_q) < SMALLEST_STEP:
        return OUT_OF_RANGE
    steps = [_steps(transition_p, probabilities_p), _steps(transition_q, probabilities_q)]
    bounds = _cross_bounds(transition_p @ probabilities_p, transition_q @ probabilities_q, middle)
    return _summed(lambda of_p, of_q, _: bounds(law, of_p, of_q), steps, threshold, depth, limit)


def _steps(transition: Array, probabilities: Array) -> Array:
    """(M, K, K): one step that emits a symbol."""
    return np.asarray(transition[None] * probabilities.T[:, None, :])


def _least_step(transition: Array, probabilities: Array) -> float:
    """The least positive probability of a transition and an emission together."""
    possible = (transition > 0)[None] & (probabilities.T > 0)[:, None, :]
    return float(_steps(transition, probabilities)[possible].min(initial=1.0))


def _cross_bounds(next_p: Array, next_q: Array, middle: Array) -> Callable[[Array, Array, Array], Ends]:
    def bounds(law: Array, of_p: Array, of_q: Array) -> Ends:
        after = np.einsum("r,brs->bs", law, of_p)
        sums = of_q.sum(axis=2)
        alive = sums > 0
        joint = of_q @ next_q  # (B, K_q, M)
        lost = (joint < FAINTEST) & ((of_q > 0).astype(np.float64) @ (next_q > 0) > 0)
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
        unknown = lost.any(axis=(1, 2)) | ~(sums @ middle > 0)
        return after.sum(axis=1), np.where(unknown, 0.0, lower), np.where(unknown, np.inf, upper)

    return bounds


@kernel
def entropy_contexts(
    law: Array, transition: Array, probabilities: Array, threshold: float, depth: int, limit: int
) -> ContextBounds:
    """Bounds of the entropy rate of p, started in its stationary `law`.

    H(next | context, state before it) <= rate <= H(next | context), summed over a complete tree of contexts.
    """
    bounds = _entropy_bounds(transition @ probabilities)
    steps = [_steps(transition, probabilities)]
    return _summed(lambda of_p, _, __: bounds(law, of_p), steps, threshold, depth, limit)


def _entropy_bounds(following: Array) -> Callable[[Array, Array], Ends]:
    def bounds(law: Array, of_p: Array) -> Ends:
        mass = law[None, :, None] * of_p
        rows = mass @ following  # (B, K, M)
        given, weight = mass.sum(axis=2), mass.sum(axis=(1, 2))
        with np.errstate(divide="ignore", invalid="ignore"):
            lower = np.where(given > 0, given * _entropy(rows / given[:, :, None]), 0.0).sum(axis=1)
            upper = np.where(weight > 0, weight * _entropy((rows / weight[:, None, None]).sum(axis=1)), 0.0)
        return weight, lower, upper

    return bounds


@kernel
def chain_contexts(
    initial_p: Array,
    laws: Array,
    transition_p: Array,
    probabilities_p: Array,
    initial_q: Array,
    middle: Array,
    transition_q: Array,
    probabilities_q: Array,
    entropy: bool,
    threshold: float,
    depth: int,
    limit: int,
) -> ContextBounds:
    """Bounds of the cost of the third and all later symbols of a chain that begins: of q under p, or p's `entropy`.

    A context of k symbols stands for all nodes that have more than k before them, `laws` (depth + 1, K) being the sum
    of the laws of the state before it; where it is all there is before a node, the node's cost is exact.
    """
    if not entropy:
        first = initial_q[initial_q > 0].min(initial=1.0)
        if min(first, _least_step(transition_q, probabilities_q)) < SMALLEST_STEP:
            return OUT_OF_RANGE
    following = transition_p @ probabilities_p, transition_q @ probabilities_q
    steps = [_steps(transition_p, probabilities_p), _steps(transition_q, probabilities_q)][: 1 if entropy else 2]
    cross, own = _cross_bounds(*following, middle), _entropy_bounds(following[0])
    firsts = [(initial_p[:, None] * probabilities_p).T, (initial_q[:, None] * probabilities_q).T][: len(steps)]

    def bounds(of_p: Array, of_q: Array, length: int) -> Ends:
        return own(laws[length], of_p) if entropy else cross(laws[length], of_p, of_q)

    def after_first(of_p: Array, of_q: Array) -> Array:
        """(2,) bounds of the cost of what follows the words themselves, first symbol first.

        What q cannot have, or with a probability that may have underflowed, costs anything up to infinity.
        """
        starts = [
            np.einsum("xr,brs->bxs", first, matrices) for first, matrices in zip(firsts, (of_p, of_q), strict=False)
        ]
        chance = starts[0] @ following[0]
        one, two = (starts[0], following[0]) if entropy else (starts[1], following[1])
        with np.errstate(divide="ignore", invalid="ignore"):
            after = one @ two
            cost = -np.log(after / one.sum(axis=2, keepdims=True)) * chance
            known = after > (0.0 if entropy else FAINTEST)
            both = np.where(known, cost, 0.0), np.where(known, cost, np.inf)
            return np.array([np.where(chance > 0, each, 0.0).sum() for each in both])

    return _summed(bounds, steps, threshold, depth, limit, after_first)


def _expected(law: Array, values: Array) -> Array:
    """(B, K_p, n): sum over symbols of law (K_p, M) times values (B, n, M), zeros of the law excluding infinities."""
    return np.asarray(np.where(law[None, :, None, :] > 0, law[None, :, None, :] * values[:, None], 0.0).sum(axis=3))


def _entropy(laws: Array) -> Array:
    """(...,): entropies of laws (..., M)."""
    return np.asarray(-np.where(laws > 0, laws * np.log(np.where(laws > 0, laws, 1.0)), 0.0).sum(axis=-1))


def _summed(
    bounds: Bounds,
    steps: list[Array],
    threshold: float,
    depth: int,
    limit: int,
    after_first: Callable[[Array, Array], Array] = lambda of_p, of_q: np.zeros(2),
) -> ContextBounds:
    """Bounds summed over the contexts, all of one length at a time from two symbols on.

    They are those that a depth-first walk finds. `after_first` (2,): bounds of what the extensions of some contexts
    cost as the first symbols of a chain.
    """
    floor = max(SMALLEST, FAINTEST / steps[-1][steps[-1] > 0].min(initial=1.0))
    front = _extended([np.eye(step.shape[1])[None] for step in steps], steps)
    exact = [after_first(front[0], front[-1])]
    front = _extended(front, steps)
    lower, upper, leaves, met, reached = [], [], 0, 0, 2
    for length in range(2, depth + 1):
        met += len(front[0])
        if met > limit:
            return 0.0, 0.0, leaves, length, False
        weight, low, high = bounds(front[0], front[-1], length)
        width = np.minimum(high - low, 64.0 * weight)
        small = (front[-1] > 0) & (front[-1] < floor)
        split = (weight > 0) & (width > threshold) & (length < depth)
        if len(steps) > 1:
            split &= ~small.any(axis=(1, 2))
        leaf = ~split & (weight > 0)
        lower.append(low[leaf].sum())
        upper.append(high[leaf].sum())
        leaves, reached = leaves + int((~split).sum()), length
        if not split.any():
            break
        front = [matrices[split] for matrices in front]
        exact.append(after_first(front[0], front[-1]))
        front = _extended(front, steps)
    ends = np.sum(exact, axis=0) + [np.sum(lower), np.sum(upper)]
    return float(ends[0]), float(ends[1]), leaves, reached, met < limit


def _extended(front: list[Array], steps: list[Array]) -> list[Array]:
    """Products of every context with every symbol put before it; those of q rescaled, as only their ratios count."""
    extended = [
        (step[None] @ matrices[:, None]).reshape(-1, *step.shape[1:])
        for matrices, step in zip(front, steps, strict=True)
    ]
    if len(extended) > 1:
        _, exponent = np.frexp(extended[1].max(axis=(1, 2), keepdims=True))
        extended[1] = extended[1] * np.ldexp(1.0, -exponent)
    return extended
