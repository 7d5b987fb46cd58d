"""Sums over the powers of a stochastic matrix by doubling, in O(log N) (definitions (3.1), (3.2) and (4.1))."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hidiv.recursions.kernels import kernel
from hidiv.types import Array

SMALL = 8  # states up to which many chains are done side by side
AT_ONCE = 512  # chains of a stack whose matrices stay in the cache


def stochastic(matrix: Array, axis: int = -1) -> Array:
    """Rows rescaled to sum to one: without it squaring drifts by eps a step, with it by eps a squaring."""
    return np.asarray(matrix / matrix.sum(axis=axis, keepdims=True))


def mean_law(initial: Array, transition: Array, children: int, depth: int) -> Array:
    """(..., K): the law of the state at a node drawn uniformly from a regular tree of `depth` levels.

    initial (..., K), transition (..., K, K): one chain or a stack of them. Level l holds children^l nodes and has the
    law initial T^l; children = 1 is a chain. Everything added is non-negative, so every chain is as good as any other:
    periodic, reducible, nearly decomposable, defective.
    """
    weight = _weights_of_doublings(children, depth)
    if initial.ndim == 2 and initial.shape[1] <= SMALL:
        return mean_laws(np.ascontiguousarray(initial), np.ascontiguousarray(transition), weight)
    return _mean_law(initial[..., None, :], transition, weight, np.matmul, -1)[..., 0, :]


@kernel
def mean_laws(initial: Array, transition: Array, weight: Array) -> Array:
    """(m, K): the mean laws of m chains, initial (m, K), transition (m, K, K), by the weights of the doublings (S, 2).

    A product of small matrices costs less than calling for it: many at once, the chains as last axis.
    """
    law = np.empty_like(initial)
    for start in range(0, len(initial), AT_ONCE):
        some = slice(start, start + AT_ONCE)
        rows = np.ascontiguousarray(initial[some].T)
        matrices = np.ascontiguousarray(np.moveaxis(transition[some], 0, -1))
        law[some] = _mean_law(rows[None], matrices, weight, _side_by_side, -2)[0].T
    return law


def _mean_law(
    initial: Array, transition: Array, weight: Array, times: Callable[[Array, Array], Array], axis: int
) -> Array:
    """The same for laws that are matrices of one row, `axis` counting the states."""
    law, power = stochastic(initial, axis), stochastic(transition, axis)
    for older, newest in weight.tolist():
        law = (older * law + times(law, power)) / (1.0 + older)
        power = stochastic(times(power, power), axis)
        if newest > 0:
            law = (1.0 - newest) * law + newest * times(initial, power)
            power = stochastic(times(power, transition), axis)
        law = stochastic(law, axis)
    return law


def _weights_of_doublings(children: int, depth: int) -> Array:
    """(S, 2): from one level to `depth` levels in steps that double them, and add one where the second weight is not 0.

    First the weight of the older levels beside that of as many newer ones, then the share of the level added.
    """
    weight, levels = [], 1
    for bit in bin(depth)[3:]:
        older = (1.0 / children) ** levels
        levels *= 2
        weight.append((older, _last_level_share(children, levels) if bit == "1" else 0.0))
        levels += int(bit)
    return np.array(weight).reshape(-1, 2)


def _side_by_side(left: Array, right: Array) -> Array:
    """(R, C, m): m products of matrices left (R, K, m) and right (K, C, m)."""
    total = left[:, 0, None] * right[0]
    part = np.empty_like(total)
    for j in range(1, len(right)):
        total += np.multiply(left[:, j, None], right[j], out=part)
    return np.asarray(total)


def _last_level_share(children: int, levels: int) -> float:
    """Share of the nodes of a regular tree of levels + 1 levels that lie on the last one."""
    if children == 1:
        return 1.0 / (levels + 1)
    shrink = 1.0 / children
    return (1.0 - shrink) / (1.0 - shrink ** (levels + 1))


def summed_powers(transition: Array, column: Array, terms: int) -> Array:
    """(K,): (I + T + ... + T^(terms-1)) column."""
    total, power = np.zeros_like(column), stochastic(transition)
    block, ahead = np.array(column), np.eye(len(column))
    while terms:
        if terms & 1:
            total = total + ahead @ block
            ahead = stochastic(ahead @ power)
        block = block + power @ block
        power = stochastic(power @ power)
        terms >>= 1
    return np.asarray(total)


def power(transition: Array, exponent: int) -> Array:
    """(K, K): T^exponent."""
    result, square = np.eye(len(transition)), stochastic(transition)
    while exponent:
        if exponent & 1:
            result = stochastic(result @ square)
        square = stochastic(square @ square)
        exponent >>= 1
    return np.asarray(result)


def log_row_sums(log_rows: Array, stochastic_part: Array, power: int) -> tuple[Array, Array]:
    """Log row sums and normalised rows of B^power, B = diag(exp(log_rows)) stochastic_part; power >= 1.

    The row sums are carried as logs and never formed, so they keep their relative accuracy from 1 - 1e-18 to
    exp(-1e12); rows of zeros (log -inf) stay so.
    """
    result: tuple[Array, Array] | None = None
    square = (np.array(log_rows), np.array(stochastic_part))
    while True:
        if power & 1:
            result = square if result is None else _product(result, square)
        power >>= 1
        if not power:
            assert result is not None
            return result
        square = _product(square, square)


def _product(left: tuple[Array, Array], right: tuple[Array, Array]) -> tuple[Array, Array]:
    """(diag e^l P)(diag e^r Q) = diag e^(l + log P e^r) [P diag(e^r) Q, rows rescaled]."""
    log_left, p = left
    log_right, q = right
    mean, weights = log_mean_exp(p, log_right)
    with np.errstate(invalid="ignore"):
        log_rows = np.where(mean == -np.inf, -np.inf, log_left + mean)
    rows = weights @ q
    total = rows.sum(axis=-1, keepdims=True)
    return log_rows, np.asarray(np.divide(rows, total, out=np.zeros_like(rows), where=total > 0))


def log_mean_exp(rows: Array, logs: Array) -> tuple[Array, Array]:
    """log sum_s rows(r, s) e^logs(s) for rows (..., R, K) that sum to one and logs (..., K); and the reweighted rows.

    Relatively accurate when every log is near 0 (through expm1 and log1p), safe when they are far from it.
    """
    logs = logs[..., None, :]
    live = (rows > 0) & (logs > -np.inf)
    top = np.where(live, logs, -np.inf).max(axis=-1, keepdims=True)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        weights = np.where(live, rows * np.exp(logs - shift), 0.0)
        total = weights.sum(axis=-1, keepdims=True)
        far = (shift + np.log(total))[..., 0]
        near = np.log1p(np.where(rows > 0, rows * np.expm1(logs), 0.0).sum(axis=-1))
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    return np.asarray(np.where(np.abs(near) < 0.5, near, far)), weights
