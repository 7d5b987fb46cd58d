"""Sums along chains drawn from p: divergences of the next observation, and controls whose means are known.

The sequences are drawn by the caller (definitions (5.8)).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hidiv.recursions.filters import FAINT, Weights, run_backward, run_both
from hidiv.recursions.kernels import kernel
from hidiv.recursions.predictive import Following, ObservationPoints, Past, Wanted, steps_ahead
from hidiv.recursions.value_function import surprises
from hidiv.types import Array, IntArray

ChainLaw = tuple[Array, Array, Array]  # initial (K,), transition (K, K), weights (R, K) of the observations

NOTHING = 1e-290  # probabilities of p below this add nothing


@kernel
def chain_sums(
    p: ChainLaw,
    q: ChainLaw,
    row_of: IntArray,
    points: tuple[Array, Array, Array, Array],
    following: tuple[Array, Array] | None,
    logs: tuple[Array, Array] | None,
    symbols: bool,
    products: bool,
    last: int,
    threads: int = 0,
    value: tuple[Array, IntArray] | None = None,
    counts: bool = True,
) -> Array | None:
    """(n, C): sums over the nodes of n chains; None where a probability is too small to be computed this way.

    row_of (n, N): the row of the weights that a node has. points: p (K, J), q scaled (L, J), scale (J,), weight (J,).
    Columns: log p/q; the divergences of the next observation; what the functions `value` of both filters exceed their
    expectation by, if there are any (value_function.py); linear functions of the filters less their expectation,
    with the step after if `following`, over all nodes but the `last` and over those; if `counts`, expected first
    states (K,), pairs (K, K) and, by state, rows if `symbols` or log-ratios (K, L) if `logs`; `products` of two filter
    probabilities, again twice, and of three if there are few.
    """
    del threads  # the same numbers whatever it is
    tables = [np.ascontiguousarray(law[2][row_of].transpose(1, 2, 0)) for law in (p, q)]
    one, two = run_both((p[0], q[0]), (p[1][None], q[1][None]), [Weights(table, None) for table in tables])
    if not min(one.log_prob.min(), two.log_prob.min()) >= np.log(FAINT):
        return None
    at_p, at_q, scale, weight = points
    if np.any((at_p.T @ one.predicted > NOTHING) & ~(at_q.T @ two.predicted > NOTHING)):
        return None
    with np.errstate(divide="ignore", over="ignore"):
        space = ObservationPoints(at_p, at_q * np.exp(scale), np.log(at_q) + scale, at_q, scale, weight, None, symbols)
    past = Past(one.predicted, one.updated, two.predicted, two.updated)
    wanted = Wanted(products, None if following is None else Following(*following))
    base, sums = node_sums((space,), np.zeros(row_of.shape[1], dtype=np.int64), past, wanted, last)
    plain = (one.log_prob - two.log_prob).sum(axis=0)
    first = [] if value is None else [surprises(*value, points, past)[None]]
    if not counts:
        return np.concatenate([plain[None], base[None], *first, *sums]).T
    smoothed, into = run_backward(p[1][None], one)
    pairs = p[1][:, :, None] * np.einsum("trn,tsn->rsn", one.updated[:-1], into[1:])
    counted = [smoothed[0], pairs.reshape(-1, len(row_of))]
    if symbols:
        shown = [(smoothed * np.equal(row_of.T, m)[:, None, :]).sum(axis=0) for m in range(len(p[2]))]
        counted.append(np.stack(shown, axis=1).reshape(-1, len(row_of)))
    if logs is not None:
        log_p, log_q = (table[row_of].transpose(1, 2, 0) for table in logs)
        with np.errstate(invalid="ignore"):
            terms = smoothed[:, :, None, :] * (log_p[:, :, None, :] - log_q[:, None, :, :])
        counted.append(np.where(smoothed[:, :, None, :] > 0, terms, 0.0).sum(axis=0).reshape(-1, len(row_of)))
    return np.concatenate([plain[None], base[None], *first, *sums[:2], *counted, *sums[2:]]).T


def node_sums(
    spaces: Sequence[ObservationPoints], space_of: IntArray, past: Past, wanted: Wanted, last: int
) -> tuple[Array, list[Array]]:
    """(n,): divergences summed over the nodes; linear functions (F, n) over early and late nodes, products of two over
    early and late nodes, products of three.

    `space_of` (N,) is the index of a node's points; no control is formed at the last node.
    """
    length = len(space_of)
    base = np.zeros(past.p_before.shape[2])
    sums: list[Array] = []
    for kind, space in enumerate(spaces):
        nodes = np.flatnonzero(space_of == kind)
        mine = past if len(nodes) == length else past.nodes(nodes)
        for start, step in steps_ahead(space, mine, wanted):
            base += step.divergence.sum(axis=0)
            at = nodes[start : start + len(step.divergence)]
            early = at < length - 1 - last
            late = ~early & (at < length - 1)
            parts = [
                part[:, here].sum(axis=1)
                for part, here in (
                    (step.linear, early), (step.linear, late), (step.quadratic, early), (step.quadratic, late),
                    (step.cubic, early | late),
                )
            ]  # fmt: skip
            sums = [a + b for a, b in zip(sums, parts, strict=True)] if sums else parts
    return base, sums
