"""Rows of knowledge under two models: both log-weights and their accurate log-ratio."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hidiv.divergences.pair import families
from hidiv.emissions.evidence.log_ratios import PairWeights, residual, weight_ratio
from hidiv.errors import InvalidEvidence
from hidiv.inference.rows import EvidenceRows
from hidiv.inference.weights import FAR, far_rows, log_weights, moved, relative, settled, symbol_sets
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.normal_rows import NormalPair
from hidiv.recursions.terms import log_ratio
from hidiv.types import Array, IntArray


class PairRows(NamedTuple):
    """(R, K) each: what a recursion on two models reads of R rows; shifts (R,) were taken out of the weights."""

    p: Array
    q: Array
    ratio: Array
    residual: Array | None
    shift_p: Array | None
    shift_q: Array | None


def weigher(p: Model, q: Model) -> PairWeights | None:
    """`PairWeights` of the models' families, made once for many calls of `pair_rows`; None where they have several."""
    if len(p.emissions) == len(q.emissions) == 1 and p.emissions[0].n_features:
        return PairWeights(p.emissions[0], q.emissions[0])
    return None


def pair_rows(
    p: Model, q: Model, rows: EvidenceRows, place: Tree, unobserved: bool = False, weigh: Any = None
) -> PairRows:
    """The rows under both models, with what stays hidden of an observation where `unobserved`."""
    weigh = weigh or weigher(p, q)
    if rows.plain and not unobserved and weigh is not None and isinstance(weigh.fast, NormalPair):
        near_p, near_q, between, odd = weigh.fast(rows.x, True, FAR)
        if near_q is not None and not odd:
            return PairRows(near_p, near_q, between, None, None, None)
    seen = _seen(rows, weigh)
    if seen is not None and rows.plain and not unobserved and _are_near(*seen):
        return PairRows(*seen, None, None, None)
    weights_p, weights_q, ratio = _weights(p, q, rows, place, seen)
    residuals = _by_rows(p, q, rows, residual) if unobserved else None
    if p.end is not None and q.end is not None:
        ratio[rows.n_rows - rows.n_ended :] += log_ratio(p.end, q.end)
    if np.isnan(ratio).any():  # the difference of the weights stands in where the formula of a family is out of range
        with np.errstate(invalid="ignore"):
            difference = weights_q - weights_p
        ratio = np.where(np.isnan(ratio) & np.isfinite(difference), difference, ratio)
    far = far_rows(weights_p, weights_q)
    if not far.size:
        return PairRows(weights_p, weights_q, ratio, residuals, None, None)
    state = _common_state(weights_p, weights_q, far)
    near_p, near_q = (relative(model, rows, weights, far, state) for model, weights in ((p, weights_p), (q, weights_q)))
    return _moved(weights_p, weights_q, ratio, residuals, far, state, near_p, near_q)


def two_evidences(p: Model, q: Model, rows: EvidenceRows, rows_q: EvidenceRows, place: Tree) -> PairRows:
    """A row for every node, each model with knowledge of its own."""
    weights_p, weights_q = log_weights(p, rows, place), log_weights(q, rows_q, place)
    weights_p, weights_q = (w if r.row_of is None else w[r.row_of] for w, r in ((weights_p, rows), (weights_q, rows_q)))
    with np.errstate(invalid="ignore"):
        ratio = np.where(weights_p == weights_q, 0.0, weights_q - weights_p)
    far = far_rows(weights_p, weights_q)
    if not far.size:
        return PairRows(weights_p, weights_q, ratio, None, None, None)
    return _moved(weights_p, weights_q, ratio, None, far, _common_state(weights_p, weights_q, far), None, None)


def _common_state(weights_p: Array, weights_q: Array, far: IntArray) -> IntArray:
    """(r,): p's likeliest state of those that both models allow."""
    return np.asarray(np.where(weights_q[far] > -np.inf, weights_p[far], -np.inf).argmax(axis=1))


def _moved(
    weights_p: Array,
    weights_q: Array,
    ratio: Array,
    residuals: Array | None,
    far: IntArray,
    state: IntArray,
    near_p: Array | None,
    near_q: Array | None,
) -> PairRows:
    """The rows `far` relative to one state each."""
    weights_p, shift_p = moved(weights_p, far, state, near_p)
    weights_q, shift_q = moved(weights_q, far, state, near_q)
    ratio[far] = _relative_ratio(ratio[far], weights_p[far], weights_q[far], state)
    return PairRows(weights_p, weights_q, ratio, residuals, shift_p, shift_q)


def _seen(rows: EvidenceRows, weigh: Any) -> tuple[Array, Array, Array] | None:
    """(R, K) three times: log-weights of values and intervals, and log-ratios; None where one pass cannot do it."""
    if rows.symbols is not None or weigh is None:
        return None
    try:
        weights: tuple[Array, Array, Array] = weigh(rows.x, rows.lower, rows.upper)
    except InvalidEvidence:  # whose message is to name the node
        return None
    return weights


def _are_near(weights_p: Array, weights_q: Array, ratio: Array) -> bool:
    """Whether all is within +-FAR, the usual case: nothing is impossible, and nothing has to be moved."""
    return all(table.min() >= -FAR and table.max() <= FAR for table in (weights_p, weights_q, ratio))


def _weights(
    p: Model, q: Model, rows: EvidenceRows, place: Tree, seen: tuple[Array, Array, Array] | None
) -> tuple[Array, Array, Array]:
    """(R, K) three times: both models' log-weights, with allowed states and ends of chains, and their log-ratios."""
    if seen is not None:
        weights_p, weights_q, ratio = seen
        try:
            return settled(p, rows, weights_p), settled(q, rows, weights_q), ratio
        except InvalidEvidence:
            pass
    return log_weights(p, rows, place), log_weights(q, rows, place), _by_rows(p, q, rows, weight_ratio)


def _relative_ratio(ratio: Array, near_p: Array, near_q: Array, state: IntArray) -> Array:
    """(r, K): log-ratios less that of `state`, by whichever difference rounds less."""
    base = np.take_along_axis(ratio, state[:, None], axis=1)
    with np.errstate(invalid="ignore", over="ignore"):
        from_ratios, from_weights = ratio - base, near_q - near_p
        better = np.abs(ratio) + np.abs(base) <= np.abs(near_p) + np.abs(near_q)
    both = np.isfinite(from_weights)  # elsewhere the ratio is infinite, and its sign says which law vanishes
    return np.where(both, np.where(better & np.isfinite(from_ratios), from_ratios, from_weights), ratio)


def _by_rows(p: Model, q: Model, rows: EvidenceRows, compare: Any) -> Array:
    """(R, K): the families of both models compared on every row of evidence, group by group."""
    table = np.zeros((rows.n_rows, p.n_states))
    groups: list[Any] = [slice(None)]
    if rows.group is not None:
        groups = [np.flatnonzero(rows.group == g) for g in range(int(rows.group.max()) + 1)]
    for where, (family_p, family_q) in zip(groups, families(p, q), strict=False):
        lower, upper = (None if bound is None else bound[where] for bound in (rows.lower, rows.upper))
        if family_p.n_features or family_q.n_features:
            table[where] = compare(family_p, family_q, rows.x[where], lower, upper, symbol_sets(family_p, rows, where))
    return table
