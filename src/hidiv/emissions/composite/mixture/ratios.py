"""Log-ratios of two mixtures, of values seen and of what is partly known; the divergence of what stays hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hidiv.emissions.composite.mixture.marked import Marked, paired_components, weighted_sum
from hidiv.emissions.evidence import log_ratios
from hidiv.emissions.evidence.symbol_sets import by_distinct_row, set_divergence, set_ratio
from hidiv.emissions.registry import comparable, pair
from hidiv.recursions.mixture_rows import NEAR
from hidiv.recursions.terms import log_ratio, row_divergence
from hidiv.types import Array, Flags

if TYPE_CHECKING:
    from hidiv.emissions.composite.mixture.law import MixtureLaw


def are_paired(p: MixtureLaw, q: MixtureLaw) -> bool:
    """Whether each component of p compares with the one in the same place in q."""
    return len(p.components) == len(q.components) and all(map(comparable, p.components, q.components))


def mixed_ratio(p: MixtureLaw, q: MixtureLaw, ratios: Array | None, laws: Array, log_p: Array, log_q: Array) -> Array:
    """(n, K): log q/p; ratios (n, K, C) of paired components, laws (n, K, C) of p's given what is known."""
    with np.errstate(invalid="ignore"):
        value = np.where(log_p == log_q, 0.0, log_q - log_p)
    if ratios is None:
        return value
    with np.errstate(invalid="ignore"):  # opposite infinities: not near
        steps = ratios + log_ratio(p.weights, q.weights)
    near = np.asarray((np.abs(steps) < NEAR).all(axis=2))
    small = np.where(near[:, :, None], steps, 0.0)
    return np.where(near, np.log1p((laws * np.expm1(small)).sum(axis=2)), value)


def density_ratio(p: MixtureLaw, q: MixtureLaw, x: Array) -> Array:
    """(n, 1): log q/p of one state and one column at any numbers (n, 1), in the sample space or not."""
    ratios = None
    if are_paired(p, q):
        pairs = zip(p.components, q.components, strict=True)
        ratios = np.stack([pair(a, b).log_ratio(a, b, x) for a, b in pairs], axis=2)
    with np.errstate(divide="ignore"):
        log_weights = np.log(p.weights)
    terms = np.stack([member.log_density(x)[:, :, 0] for member in p.components], axis=2) + log_weights
    log_p = p.log_density(x)[:, :, 0]
    laws = np.where(log_p[:, :, None] > -np.inf, np.exp(terms - log_p[:, :, None]), p.weights)
    return mixed_ratio(p, q, ratios, laws, log_p, q.log_density(x)[:, :, 0])


def weight_ratio(
    p: MixtureLaw, q: MixtureLaw, x: Array, lower: Array | None, upper: Array | None, inside: Flags | None
) -> Array:
    """(R, K): as `log_ratios.weight_ratio`."""
    known, ratios = (x, lower, upper), None
    if are_paired(p, q):
        pairs = zip(p.components, q.components, strict=True)
        ratios = np.stack([log_ratios.weight_ratio(a, b, *known) for a, b in pairs], axis=2)
    value = mixed_ratio(p, q, ratios, p.component_laws(*known), p.log_weight(*known), q.log_weight(*known))
    if inside is None:
        return value
    symbols = p.as_symbols(), q.as_symbols()
    sets = by_distinct_row(inside, lambda rows: set_ratio(symbols[0].probs, symbols[1].probs, rows))
    return log_ratios.settled(*symbols, x, lower, upper, inside, log_ratios.added((value, sets)))


def residual(
    p: MixtureLaw, q: MixtureLaw, x: Array, lower: Array | None, upper: Array | None, inside: Flags | None
) -> Array:
    """(R, K): as `log_ratios.residual`, of component and observation together."""
    known = x, lower, upper
    laws = [family.component_laws(*known) for family in (p, q)]
    each = [log_ratios.residual(a, b, *known) for _, a, b in paired_components(Marked(p), Marked(q))]
    value = row_divergence(*laws) + weighted_sum(laws[0], np.stack(each, axis=2))
    value = np.where(p.log_weight(*known) == -np.inf, 0.0, value)
    if inside is not None:
        # Component and symbol together are a symbol of a larger alphabet.
        restricted, tables = ~inside.all(axis=1), (p.marked_symbols().probs, q.marked_symbols().probs)
        sets = np.tile(inside[restricted], (1, len(p.components)))
        value[restricted] = by_distinct_row(sets, lambda rows: set_divergence(*tables, rows))
    return value
