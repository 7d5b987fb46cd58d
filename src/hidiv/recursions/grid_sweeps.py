"""Sweeps over a grid of filters: bounds of the cost of the symbols to come, by value iteration on its points."""

from __future__ import annotations

import numpy as np

from hidiv.recursions.kernels import kernel
from hidiv.types import Array, Flags, Numbers

SMALLEST = 1e-280  # dividing by less would overflow


@kernel
def spread_sweeps(
    transition: Array,
    probabilities: Array,
    index: Numbers,
    weights: Array,
    cost: Array,
    reached: Flags,
    values: Array,
    count: int,
    logarithmic: bool,
) -> tuple[Array, float, float]:
    """`count` times U'(j, s) = cost(j, s) + sum over s', x of p(s', x | s) [mean of U(., s') around the next filter].

    The mean is that of the values or, `logarithmic`, minus the logarithm of that of exp(-U). values, cost, reached
    (G, K_p). Returns the values, and the least and the largest last change where reached and not infinite before.
    """
    least, largest = np.inf, -np.inf
    emits = probabilities.T[None]  # (1, M, K_p)
    for _ in range(count):
        base = values.min() if np.isfinite(values).any() else 0.0
        source = np.exp(base - values) if logarithmic else values
        mean = np.zeros((*index.shape[:2], values.shape[1]))
        for i in range(index.shape[2]):
            weight = weights[:, :, i, None]
            mean += np.where(weight > 0, weight * np.where(weight > 0, source[index[:, :, i]], 0.0), 0.0)
        with np.errstate(divide="ignore"):
            ahead = base - np.log(mean) if logarithmic else mean
        following = _without_zeros(emits, ahead).sum(axis=1)  # (G, K_p)
        new = cost + _without_zeros(transition[None], following[:, None, :]).sum(axis=2)
        known = reached & (values < np.inf)
        change = new[known] - values[known]
        least, largest = float(change.min(initial=np.inf)), float(change.max(initial=-np.inf))
        values = new
    return values, least, largest


@kernel
def tangent_sweeps(
    transition_p: Array,
    probabilities_p: Array,
    transition_q: Array,
    probabilities_q: Array,
    points: Array,
    index: Numbers,
    weights: Array,
    reached: Flags,
    values: Array,
    slopes: Array,
    count: int,
) -> tuple[Array, Array, float]:
    """`count` steps of the functions v(j, s) - log(b . D(j, s)) of a filter b, lower bounds closed under a step.

    With t = c_j M_x D(i, s'): v' = sum over s', x of p(s', x | s) [v(i, s') - log t], D' = sum of p(s', x | s) M_x
    D(i, s') / t, means over the corners i around the next filter. values (G, K_p), slopes (G, K_p, K). Returns both
    and the least last change, v' - v - max log(D' / D), where reached.
    """
    least = np.inf
    seen = (points @ transition_q)[:, None, :] * probabilities_q.T[None]  # (G, M, K)
    anywhere = transition_q.mean(axis=0)[None, :] * probabilities_q.T  # (M, K)
    for _ in range(count):
        ahead = np.zeros_like(values)
        tilt = np.zeros_like(slopes)
        for i in range(index.shape[2]):
            slope, value = slopes[index[:, :, i]], values[index[:, :, i]]  # (G, M, K_p, K), (G, M, K_p)
            t = np.einsum("gxk,gxsk->gxs", seen, slope)
            t = np.where(t > SMALLEST, t, np.einsum("xk,gxsk->gxs", anywhere, slope))
            t = np.where(t > SMALLEST, t, 1.0)
            emits = weights[:, :, i, None] * probabilities_p.T[None]
            ahead += _without_zeros(emits, value - np.log(t)).sum(axis=1)
            tilt += np.einsum("gxs,xk,gxsk->gsk", emits / t, probabilities_q.T, slope, optimize=True)
        new = _without_zeros(transition_p[None], ahead[:, None, :]).sum(axis=2)
        turned = np.einsum("st,gtk,fk->gsf", transition_p, tilt, transition_q, optimize=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(turned > 0, turned / slopes, 0.0).max(axis=2)
            change = (new - values - np.log(ratio))[reached]
        least = float(change.min(initial=np.inf))
        values, slopes = new, turned
    return values, slopes, least


@kernel
def chance_sweeps(
    index: Numbers, weights: Array, chance: Array, cost: Array, values: Array, count: int
) -> tuple[Array, float, float]:
    """`count` times V'(j) = cost(j) + sum over x of chance(j, x) [mean of V around the next filter].

    chance (G, M), cost and values (G,). Returns the values, the least and the largest last change.
    """
    change = np.zeros(1)
    for _ in range(count):
        new = cost + (chance * (weights * values[index]).sum(axis=2)).sum(axis=1)
        change, values = new - values, new
    return values, float(change.min()), float(change.max())


def _without_zeros(weights: Array, values: Array) -> Array:
    """weights times values, 0 where the weight is 0 even if the value is infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(weights > 0, weights * values, 0.0)
