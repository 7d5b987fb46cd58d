"""Functions of both filters that foretell the divergence still to come, fitted to drawn sequences.

V(c) = l'c + c'Qc of the filters c = (p's, q's) after an observation; coefficients are l (D,), then the rows of Q up to
their diagonals. What V exceeds its expectation given the past by has mean zero, whatever its coefficients are, since
the expectation is a sum over the points of an observation; the nearer V is to the expected sum of the divergences to
come, the less is left of the variance of a draw. With `m` nodes to come V_m is the projection of KL + E[V_(m-1) | past]
on the functions of this form, where the drawn filters are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hidiv.recursions.predictive import Past
from hidiv.types import Array, IntArray

RIDGE = 1e-5  # of the size of a product of two functions
CURVED = 32  # filter probabilities whose products enter: those that vary most
EVERY, FURTHER = 64, 1.15  # numbers of nodes to come that have coefficients of their own: all up to this, then fewer
FURTHEST = 4096  # nodes to come beyond which nothing changes
CELLS = 1 << 22  # numbers of one kind at once

Points = tuple[Array, Array, Array, Array]  # p (K, J), q scaled (L, J), scale (J,), weight (J,)


class Filtered(NamedTuple):
    """Filters of both models one below the other, (D, P) at P nodes: after an observation, and before the next.

    weight (P,): how many of the drawn nodes each stands for.
    """

    after: Array
    before: Array
    weight: Array


def drawn_points(past: Past, count: int, rng: np.random.Generator) -> Filtered:
    """The filters at about `count` of the nodes of drawn sequences, rare ones with a larger chance."""
    after = _flat(past.p_after[:-1], past.q_after[:-1])
    # The leverage of a node is large where few are like it.
    gram = after @ after.T / after.shape[1]
    inverse = np.linalg.inv(gram + 1e-9 * np.trace(gram) * np.eye(len(gram)))
    leverage = np.maximum(np.einsum("dp,dp->p", after, inverse @ after), 0.0)
    chance = leverage
    for _ in range(20):  # none above one, and `count` in all
        chance = np.minimum(chance * (count / max(chance.sum(), 1e-300)), 1.0)
    chosen = np.flatnonzero(rng.random(len(chance)) < chance)
    before = _flat(past.p_before[1:], past.q_before[1:])
    return Filtered(after[:, chosen], before[:, chosen], 1.0 / chance[chosen])


def _flat(p: Array, q: Array) -> Array:
    """(D, T n) of filters (T, K, n) and (T, L, n)."""
    both = np.concatenate([p, q], axis=1)
    return np.ascontiguousarray(both.transpose(1, 0, 2).reshape(both.shape[1], -1))


def fitted_values(points: Points, drawn: Filtered, length: int) -> tuple[Array, IntArray] | None:
    """(R, D + D (D + 1) / 2) coefficients and (N,) which of them a node has; None where the fit explodes.

    At the last node, after which nothing comes, all are zero.
    """
    states, (rows, columns) = len(drawn.after), np.tril_indices(len(drawn.after))
    spread = drawn.after.var(axis=1)
    curved = np.zeros(states, dtype=np.bool_)
    curved[np.argsort(-spread, kind="stable")[:CURVED]] = True
    square = np.flatnonzero(curved[rows] & curved[columns])
    kept = np.concatenate([np.arange(states), states + square])
    after = np.concatenate([drawn.after, drawn.after[rows[square]] * drawn.after[columns[square]]])
    ahead = expected_functions(points, drawn.before, rows[square], columns[square])
    weighted = after * drawn.weight
    gram = weighted @ after.T
    diagonal = np.diagonal(gram).copy()
    gram[np.diag_indices_from(gram)] += RIDGE * diagonal + 1e-9 * diagonal.max()
    # Less its mean, so that V does not grow with the nodes to come.
    reward = _divergence(points, drawn.before)
    if not (np.isfinite(gram).all() and np.isfinite(reward).all()):
        return None
    reward -= drawn.weight @ reward / drawn.weight.sum()
    try:
        solved = np.linalg.solve(gram, np.column_stack([weighted @ reward, weighted @ ahead.T]))
    except np.linalg.LinAlgError:
        return None
    first, step = solved[:, 0], np.ascontiguousarray(solved[:, 1:])
    to_come, value_of = _to_come(length)
    coefficients = np.zeros((len(to_come), states + len(rows)))
    value, m = np.zeros(len(kept)), 0
    for row, wanted in enumerate(to_come):
        while m < wanted:
            value, m = first + step @ value, m + 1
        coefficients[row, kept] = value
    largest = float(np.abs(coefficients).max(initial=0.0))
    return (coefficients, value_of) if largest < 1e12 else None


def functions(states: int) -> int:
    """How many functions are fitted for filters of so many states in all."""
    curved = min(states, CURVED)
    return states + curved * (curved + 1) // 2


def _divergence(points: Points, before: Array) -> Array:
    """(P,): KL of the laws of the next observation."""
    at_p, at_q, scale, weight = points
    norm_p, norm_q = at_p.T @ before[: len(at_p)], at_q.T @ before[len(at_p) :]
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = norm_p * (np.log(norm_p / norm_q) - scale[:, None])
    return np.asarray(weight @ np.where(norm_p > 0, terms, 0.0))


def _to_come(length: int) -> tuple[list[int], IntArray]:
    """Numbers of nodes to come that have coefficients, and for each node of a chain the place of its own."""
    numbers, m = [0], 1
    while m <= min(length - 1, FURTHEST):
        numbers.append(m)
        m = m + 1 if m < EVERY else max(m + 1, int(m * FURTHER))
    left = np.arange(length - 1, -1, -1)
    return numbers, np.searchsorted(np.array(numbers), left, side="right") - 1


def expected_functions(points: Points, before: Array, rows: IntArray, columns: IntArray) -> Array:
    """(D + S, P): expectations, over the next observation, of the filters after it and of S products of two of them."""
    at_p, at_q, _, weight = points
    count = len(at_p)
    tables = np.concatenate([at_p, at_q])
    by_kind = np.where(rows < count, 0, np.where(columns < count, 1, 2))
    products = weight * tables[rows] * tables[columns]
    out = np.empty((len(before) + len(rows), before.shape[1]))
    size = max(1, CELLS // max(len(weight), len(rows)))
    for start in range(0, before.shape[1], size):
        part = slice(start, start + size)
        here = before[:, part]
        norm_p, norm_q = at_p.T @ here[:count], at_q.T @ here[count:]
        over_p, over_q = _inverse(norm_p), _inverse(norm_q)
        ratio = norm_p * over_q
        out[:count, part] = here[:count]
        out[count : len(before), part] = here[count:] * ((at_q * weight) @ ratio)
        for kind, over in enumerate((over_p, np.where(norm_p > 0, over_q, 0.0), ratio * over_q)):
            mine = np.flatnonzero(by_kind == kind)
            out[len(before) + mine, part] = here[rows[mine]] * here[columns[mine]] * (products[mine] @ over)
    return out


def surprises(coefficients: Array, value_of: IntArray, points: Points, past: Past) -> Array:
    """(n,): by how much the values after the nodes exceed their expectations, summed over all nodes but the last."""
    total = np.zeros(past.p_before.shape[2])
    states = past.p_before.shape[1] + past.q_before.shape[1]
    rows, columns = np.tril_indices(states)
    for t in range(len(value_of) - 1):
        value = coefficients[value_of[t]]
        after, before = (
            np.concatenate([p[t], q[t]]) for p, q in ((past.p_after, past.q_after), (past.p_before, past.q_before))
        )
        total += value[:states] @ after + value[states:] @ (after[rows] * after[columns])
        total -= value @ expected_functions(points, before, rows, columns)
    return total


def _inverse(values: Array) -> Array:
    """1 / values, 0 where that is not finite."""
    with np.errstate(divide="ignore", over="ignore"):
        inverse = 1.0 / values
    return np.where(np.isfinite(inverse), inverse, 0.0)
